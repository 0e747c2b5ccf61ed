//! What a table function is.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use flugs_sql_types::{RowField, SqlType};
use flugs_types::{Error, Result};
use std::fmt;
use std::ops::Range;

/// A function that gives any number of rows for one.
pub trait TableFunction: fmt::Debug + Send + Sync + 'static {
    /// Its name.
    fn name(&self) -> &str;

    /// The columns of the rows for arguments of these types. An error where it does not take them.
    fn columns(&self, arguments: &[SqlType]) -> Result<Vec<RowField>>;

    /// The types that arguments of these types are widened to before [`eval`](Self::eval) sees them; as they are unless said
    /// otherwise.
    fn coerce(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        Ok(arguments.to_vec())
    }

    /// Whether equal arguments always give equal rows.
    fn is_deterministic(&self) -> bool {
        true
    }

    /// The rows for some rows of the arguments. All columns are of the same length, which is at least `rows.end`; the caller
    /// chooses ranges so small that the result stays bounded, down to a single row.
    fn eval(&self, arguments: &[ArrayRef], rows: Range<usize>) -> Result<TableRows>;
}

/// Rows that a table function gave.
#[derive(Debug, Clone)]
pub struct TableRows {
    /// The rows, with the columns of [`TableFunction::columns`].
    pub rows: RecordBatch,
    /// For each of them the row of the arguments it was given for, in ascending order.
    pub of: Vec<u32>,
}

impl TableRows {
    /// Rows with the rows of the arguments they belong to; an error where these are not as many, not in order or not in
    /// `range`.
    pub fn new(rows: RecordBatch, of: Vec<u32>, range: Range<usize>) -> Result<Self> {
        let known = of.iter().all(|row| range.contains(&(*row as usize)));
        if of.len() != rows.num_rows() || !of.is_sorted() || !known {
            return Err(Error::user(
                "a table function did not say in order which row each of its rows belongs to",
            ));
        }
        Ok(TableRows { rows, of })
    }
}
