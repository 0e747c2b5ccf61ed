//! `ALTER` statements.

use super::create::{Column, Distribution, FunctionLanguage, PrimaryKey, Watermark};
use super::{Name, OptionEntry, PartitionEntry, Query};
use sqlparser::ast::Ident;

/// `ALTER TABLE [IF EXISTS] t ...`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    /// The table.
    pub name: Name,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// What is done.
    pub action: AlterTableAction,
}

/// What `ALTER TABLE` does.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterTableAction {
    /// `RENAME TO n`.
    Rename(Name),
    /// `RENAME old TO new`: a column.
    RenameColumn {
        /// The column.
        from: Ident,
        /// Its new name.
        to: Ident,
    },
    /// `SET ('k' = 'v', ...)`.
    SetOptions(Vec<OptionEntry>),
    /// `RESET ('k', ...)`.
    ResetOptions(Vec<String>),
    /// `ADD ...`.
    Add(AddOrModify),
    /// `MODIFY ...`.
    Modify(AddOrModify),
    /// `DROP c` or `DROP (c, ...)`: columns.
    DropColumns(Vec<Ident>),
    /// `DROP PRIMARY KEY`.
    DropPrimaryKey,
    /// `DROP CONSTRAINT n`.
    DropConstraint(Ident),
    /// `DROP WATERMARK`.
    DropWatermark,
    /// `DROP DISTRIBUTION`.
    DropDistribution,
    /// `ADD [IF NOT EXISTS] PARTITION (..) [WITH (..)] ...`.
    AddPartitions {
        /// `IF NOT EXISTS`.
        if_not_exists: bool,
        /// The partitions and their options.
        partitions: Vec<(Vec<PartitionEntry>, Vec<OptionEntry>)>,
    },
    /// `DROP [IF EXISTS] PARTITION (..), ...`.
    DropPartitions {
        /// `IF EXISTS`.
        if_exists: bool,
        /// The partitions.
        partitions: Vec<Vec<PartitionEntry>>,
    },
}

/// What `ADD` or `MODIFY` names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AddOrModify {
    /// Columns and where they go.
    pub columns: Vec<PositionedColumn>,
    /// A watermark.
    pub watermark: Option<Watermark>,
    /// A primary key.
    pub primary_key: Option<PrimaryKey>,
    /// A distribution.
    pub distribution: Option<Distribution>,
}

/// A column and where it goes.
#[derive(Debug, Clone, PartialEq)]
pub struct PositionedColumn {
    /// The column.
    pub column: Column,
    /// Where it goes; none: last if new, where it is if not.
    pub position: Option<ColumnPosition>,
}

/// Where a column goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnPosition {
    /// `FIRST`.
    First,
    /// `AFTER c`.
    After(Ident),
}

/// `ALTER VIEW v ...`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterView {
    /// The view.
    pub name: Name,
    /// What is done.
    pub action: AlterViewAction,
}

/// What `ALTER VIEW` does.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterViewAction {
    /// `RENAME TO n`.
    Rename(Name),
    /// `AS query`.
    As(Query),
}

/// `ALTER [TEMPORARY [SYSTEM]] FUNCTION [IF EXISTS] f AS 'name' [LANGUAGE l]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterFunction {
    /// The function.
    pub name: Name,
    /// `TEMPORARY`.
    pub temporary: bool,
    /// `TEMPORARY SYSTEM`.
    pub system: bool,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// The name of what implements it.
    pub class: String,
    /// `LANGUAGE`.
    pub language: Option<FunctionLanguage>,
}

/// `ALTER CATALOG c ...`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterCatalog {
    /// The catalog.
    pub name: Ident,
    /// What is done.
    pub action: CatalogAction,
}

/// What `ALTER CATALOG` does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogAction {
    /// `SET (..)`.
    SetOptions(Vec<OptionEntry>),
    /// `RESET (..)`.
    ResetOptions(Vec<String>),
    /// `COMMENT 'c'`.
    Comment(String),
}

/// `ALTER DATABASE d SET (..)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterDatabase {
    /// The database.
    pub name: Name,
    /// The new options.
    pub options: Vec<OptionEntry>,
}
