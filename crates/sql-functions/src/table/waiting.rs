//! Functions that wait for something outside: a request, a look-up.
//!
//! They see whole batches, so that one request may serve many rows. The operators that call them bound how many are under way,
//! time them out and keep the order that the query asks for.

use super::rows::TableRows;
use arrow::array::{ArrayRef, RecordBatch};
use flugs_sql_types::{RowField, SqlType};
use flugs_types::Result;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// A result that is still to come.
pub type Waiting<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// A scalar function that waits.
pub trait AsyncScalarFunction: fmt::Debug + Send + Sync + 'static {
    /// Its name.
    fn name(&self) -> &str;

    /// The type of its value for arguments of these types. An error where it does not take them.
    fn result_type(&self, arguments: &[SqlType]) -> Result<SqlType>;

    /// Whether equal arguments always give equal values.
    fn is_deterministic(&self) -> bool {
        true
    }

    /// The values for a batch of arguments: as many as it has rows.
    fn eval(&self, arguments: RecordBatch) -> Waiting<ArrayRef>;
}

/// A table function that waits.
pub trait AsyncTableFunction: fmt::Debug + Send + Sync + 'static {
    /// Its name.
    fn name(&self) -> &str;

    /// The columns of the rows for arguments of these types. An error where it does not take them.
    fn columns(&self, arguments: &[SqlType]) -> Result<Vec<RowField>>;

    /// Whether equal arguments always give equal rows.
    fn is_deterministic(&self) -> bool {
        true
    }

    /// The rows for a batch of arguments.
    fn eval(&self, arguments: RecordBatch) -> Waiting<TableRows>;
}
