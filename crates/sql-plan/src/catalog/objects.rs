//! Tables, views and functions as they were declared.

use crate::catalog::Current;
use crate::stream::ScanSource;
use flugs_sql_functions::table::TableFunction;
use flugs_sql_types::{Column, SqlType, TableSchema};
use flugs_table::Options;
use std::sync::Arc;

/// A table or a view.
#[derive(Debug, Clone)]
pub enum CatalogObject {
    /// A table.
    Table(CatalogTable),
    /// A view.
    View(CatalogView),
}

/// Where a table's rows are.
#[derive(Clone)]
pub enum TableKind {
    /// In what its options name.
    Connector,
    /// In something that the program gave.
    Inline(ScanSource),
}

impl std::fmt::Debug for TableKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            TableKind::Connector => "Connector",
            TableKind::Inline(_) => "Inline",
        })
    }
}

/// A table as `CREATE TABLE` declares it.
#[derive(Debug, Clone)]
pub struct CatalogTable {
    /// Its columns in order.
    pub columns: Vec<CatalogColumn>,
    /// The watermark, where it has one.
    pub watermark: Option<Watermark>,
    /// The columns of the primary key; empty where there is none.
    pub primary_key: Vec<String>,
    /// The name of the primary key's constraint, where it has one.
    pub constraint: Option<String>,
    /// The columns by which it is partitioned.
    pub partition_keys: Vec<String>,
    /// What stands in `WITH (...)`.
    pub options: Options,
    /// Its comment.
    pub comment: Option<String>,
    /// Where its rows are.
    pub kind: TableKind,
    /// Where names in its expressions are looked up: what was current when it was declared.
    pub current: Current,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogColumn {
    /// Its name.
    pub name: String,
    /// Its type; of computed columns as planning found it.
    pub sql_type: SqlType,
    /// Where its values come from.
    pub kind: ColumnKind,
    /// Its comment.
    pub comment: Option<String>,
}

/// Where a column's values come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnKind {
    /// From the rows.
    Physical,
    /// From an expression, which is kept as text.
    Computed(String),
    /// From the connector or format.
    Metadata {
        /// Its key there.
        key: String,
        /// Whether it is left out when the table is written.
        is_virtual: bool,
    },
}

/// `WATERMARK FOR column AS expression`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watermark {
    /// The row-time column.
    pub column: String,
    /// The expression as text.
    pub expression: String,
}

impl CatalogTable {
    /// What its connector sees: physical columns and keys.
    pub fn physical(&self) -> TableSchema {
        let columns = self.columns.iter().filter(|c| c.kind == ColumnKind::Physical);
        TableSchema {
            columns: columns.map(|c| Column { name: c.name.clone(), sql_type: c.sql_type.clone() }).collect(),
            primary_key: self.primary_key.clone(),
            partition_keys: self.partition_keys.clone(),
        }
    }

    /// The column of a name.
    pub fn column(&self, name: &str) -> Option<&CatalogColumn> {
        self.columns.iter().find(|c| c.name == name)
    }
}

/// A view as `CREATE VIEW` declares it.
#[derive(Debug, Clone)]
pub struct CatalogView {
    /// The query as text.
    pub query: String,
    /// The names that the view gives its columns; empty where it takes the query's.
    pub column_names: Vec<String>,
    /// The types of the columns, as planning found them.
    pub columns: Vec<(String, SqlType)>,
    /// Its comment.
    pub comment: Option<String>,
    /// Where names in the query are looked up: what was current when it was declared.
    pub current: Current,
}

/// A function that the user declared or registered.
#[derive(Clone)]
pub enum CatalogFunction {
    /// A scalar function.
    Scalar(Arc<datafusion_expr::ScalarUDF>),
    /// An aggregate function.
    Aggregate(Arc<datafusion_expr::AggregateUDF>),
    /// A table function.
    Table(Arc<dyn TableFunction>),
    /// One that a statement declared by the name under which the program registered it.
    Alias {
        /// The registered name (`CREATE FUNCTION f AS 'name'`).
        target: String,
    },
}

impl std::fmt::Debug for CatalogFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CatalogFunction::Scalar(function) => write!(f, "Scalar({})", function.name()),
            CatalogFunction::Aggregate(function) => write!(f, "Aggregate({})", function.name()),
            CatalogFunction::Table(_) => f.write_str("Table"),
            CatalogFunction::Alias { target } => write!(f, "Alias({target})"),
        }
    }
}
