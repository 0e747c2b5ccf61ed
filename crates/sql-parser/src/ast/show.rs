//! `SHOW` statements.

use super::{Name, PartitionEntry};
use sqlparser::ast::Ident;

/// `SHOW what [FROM | IN where] [[NOT] LIKE | ILIKE pattern]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Show {
    /// What is shown.
    pub object: ShowObject,
    /// The catalog, database or table after `FROM` or `IN`; for `COLUMNS` and `PARTITIONS` the table is in [`ShowObject`].
    pub from: Option<Name>,
    /// Which names.
    pub filter: Option<LikeFilter>,
}

/// What `SHOW` shows.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowObject {
    /// `CATALOGS`.
    Catalogs,
    /// `CURRENT CATALOG`.
    CurrentCatalog,
    /// `DATABASES`.
    Databases,
    /// `CURRENT DATABASE`.
    CurrentDatabase,
    /// `TABLES`.
    Tables,
    /// `VIEWS`.
    Views,
    /// `[USER] FUNCTIONS`.
    Functions {
        /// `USER`: only those that were created.
        user: bool,
    },
    /// `COLUMNS FROM t`.
    Columns(Name),
    /// `PARTITIONS t [PARTITION (..)]`.
    Partitions(Name, Vec<PartitionEntry>),
    /// `CREATE TABLE t`.
    CreateTable(Name),
    /// `CREATE VIEW v`.
    CreateView(Name),
    /// `CREATE CATALOG c`.
    CreateCatalog(Ident),
    /// `[FULL] MODULES`.
    Modules {
        /// `FULL`.
        full: bool,
    },
    /// `JOBS`.
    Jobs,
    /// `JARS`.
    Jars,
    /// `PROCEDURES`.
    Procedures,
}

/// `[NOT] LIKE 'pattern'` or `[NOT] ILIKE 'pattern'`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LikeFilter {
    /// The pattern: `%` is any text, `_` any character.
    pub pattern: String,
    /// `NOT`.
    pub negated: bool,
    /// `ILIKE`: case does not count.
    pub ignore_case: bool,
}
