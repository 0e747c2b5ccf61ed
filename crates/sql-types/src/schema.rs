//! The columns of tables.

use crate::sql_type::SqlType;

/// What a column says about time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeKind {
    /// Event time: the table's watermark is about it.
    Rowtime,
    /// Processing time: the time at which a row is looked at.
    Proctime,
}

/// A physical column of a table, as its connector sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
}

/// What a connector knows of a table: its physical columns, and which of them are special.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableSchema {
    /// The physical columns in order.
    pub columns: Vec<Column>,
    /// The columns of the primary key, which is never checked; empty where there is none.
    pub primary_key: Vec<String>,
    /// The columns by which the table is partitioned.
    pub partition_keys: Vec<String>,
}

impl TableSchema {
    /// The index of a column.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }
}
