//! `CREATE` statements.

use super::{Expression, Name, OptionEntry, Query};
use flugs_sql_types::SqlType;
use sqlparser::ast::Ident;
use sqlparser::tokenizer::Span;

/// `CREATE [OR REPLACE] [TEMPORARY] TABLE [IF NOT EXISTS] t (...) ...`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    /// The table.
    pub name: Name,
    /// `TEMPORARY`.
    pub temporary: bool,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `CREATE OR REPLACE` (or `REPLACE`): only together with [`CreateTable::query`].
    pub or_replace: bool,
    /// The parenthesized part.
    pub spec: TableSpec,
    /// Column names without types, as `CREATE TABLE t (a, b) ... AS SELECT` has them: an order of the query's columns.
    pub column_order: Vec<Ident>,
    /// `COMMENT`.
    pub comment: Option<String>,
    /// `DISTRIBUTED`.
    pub distribution: Option<Distribution>,
    /// `PARTITIONED BY`.
    pub partitioned_by: Vec<Ident>,
    /// `WITH`.
    pub options: Vec<OptionEntry>,
    /// `LIKE`.
    pub like: Option<Like>,
    /// `AS query`.
    pub query: Option<Query>,
}

/// The parenthesized part of a `CREATE TABLE`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableSpec {
    /// The columns in order.
    pub columns: Vec<Column>,
    /// `WATERMARK FOR c AS e`: at most one.
    pub watermark: Option<Watermark>,
    /// The primary key, whether it stands alone or behind its column.
    pub primary_key: Option<PrimaryKey>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: Ident,
    /// What it is.
    pub kind: ColumnKind,
    /// `COMMENT`.
    pub comment: Option<String>,
}

/// What a column is.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnKind {
    /// `c type`: stored by the connector.
    Physical(SqlType),
    /// `c AS expr`.
    Computed(Box<Expression>),
    /// `c type METADATA [FROM 'key'] [VIRTUAL]`.
    Metadata {
        /// The column's type.
        sql_type: SqlType,
        /// The connector's key; none means the column's name.
        key: Option<String>,
        /// `VIRTUAL`: never written.
        is_virtual: bool,
    },
}

/// `WATERMARK FOR column AS expression`.
#[derive(Debug, Clone, PartialEq)]
pub struct Watermark {
    /// The time column; of more than one part where it is a field of a row.
    pub column: Name,
    /// The watermark.
    pub expression: Box<Expression>,
    /// Where the word `WATERMARK` stands.
    pub span: Span,
}

/// `[CONSTRAINT n] PRIMARY KEY (...) NOT ENFORCED`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrimaryKey {
    /// The constraint's name.
    pub name: Option<Ident>,
    /// Its columns.
    pub columns: Vec<Ident>,
    /// Where `PRIMARY KEY` stands.
    pub span: Span,
}

/// `DISTRIBUTED BY [HASH | RANGE] (columns) [INTO n BUCKETS]` or `DISTRIBUTED INTO n BUCKETS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distribution {
    /// How rows find their bucket.
    pub kind: DistributionKind,
    /// By which columns; empty where only the number of buckets is said.
    pub columns: Vec<Ident>,
    /// How many buckets.
    pub buckets: Option<u32>,
}

/// How rows find their bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DistributionKind {
    /// The connector chooses.
    Unknown,
    /// `HASH`.
    Hash,
    /// `RANGE`.
    Range,
}

/// `LIKE t (...)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Like {
    /// The table.
    pub table: Name,
    /// What is taken over; what is not named follows Flink's defaults.
    pub options: Vec<LikeOption>,
}

/// One `INCLUDING OPTIONS` and its like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LikeOption {
    /// What is done.
    pub behaviour: LikeBehaviour,
    /// With what.
    pub target: LikeTarget,
}

/// What `LIKE` does with a part of the other table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LikeBehaviour {
    /// Taken over; a clash is an error.
    Including,
    /// Left out.
    Excluding,
    /// Taken over; the new table's own wins.
    Overwriting,
}

/// A part of a table that `LIKE` may take over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LikeTarget {
    /// All of the following.
    All,
    /// The primary key.
    Constraints,
    /// `DISTRIBUTED`.
    Distribution,
    /// Computed columns.
    Generated,
    /// Metadata columns.
    Metadata,
    /// The `WITH` options.
    Options,
    /// `PARTITIONED BY`.
    Partitions,
    /// The watermark.
    Watermarks,
}

/// `CREATE [OR REPLACE] [TEMPORARY] VIEW [IF NOT EXISTS] v [(columns)] [COMMENT c] AS query`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateView {
    /// The view.
    pub name: Name,
    /// `TEMPORARY`.
    pub temporary: bool,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `OR REPLACE`.
    pub or_replace: bool,
    /// New names of the columns and their comments; empty where the query's hold.
    pub columns: Vec<(Ident, Option<String>)>,
    /// `COMMENT`.
    pub comment: Option<String>,
    /// The query.
    pub query: Query,
}

/// `CREATE [TEMPORARY [SYSTEM]] FUNCTION [IF NOT EXISTS] f AS 'name' [LANGUAGE l] [USING ...] [WITH (..)]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateFunction {
    /// The function.
    pub name: Name,
    /// `TEMPORARY`.
    pub temporary: bool,
    /// `TEMPORARY SYSTEM`.
    pub system: bool,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// The name of what implements it.
    pub class: String,
    /// `LANGUAGE`.
    pub language: Option<FunctionLanguage>,
    /// `USING JAR 'uri', ARTIFACT 'uri'`.
    pub resources: Vec<Resource>,
    /// `WITH`.
    pub options: Vec<OptionEntry>,
}

/// The language of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FunctionLanguage {
    /// `JAVA`.
    Java,
    /// `SCALA`.
    Scala,
    /// `PYTHON`.
    Python,
    /// Any other word, in upper case.
    Other(String),
}

/// A file that a function needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// What it is.
    pub kind: ResourceKind,
    /// Where it is.
    pub uri: String,
}

/// What a function's file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceKind {
    /// `JAR`.
    Jar,
    /// `FILE`.
    File,
    /// `ARCHIVE`.
    Archive,
    /// `ARTIFACT`.
    Artifact,
}

/// `CREATE CATALOG [IF NOT EXISTS] c [COMMENT t] [WITH (..)]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateCatalog {
    /// The catalog.
    pub name: Ident,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `COMMENT`.
    pub comment: Option<String>,
    /// `WITH`.
    pub options: Vec<OptionEntry>,
}

/// `CREATE DATABASE [IF NOT EXISTS] d [COMMENT t] [WITH (..)]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateDatabase {
    /// The database.
    pub name: Name,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `COMMENT`.
    pub comment: Option<String>,
    /// `WITH`.
    pub options: Vec<OptionEntry>,
}
