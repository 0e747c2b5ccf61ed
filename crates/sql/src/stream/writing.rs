//! A stream of the program that takes the rows of a query.

use flugs_batch::Data;
use flugs_sql_ops::stream::{ToRecords, ToRecordsSpec};
use flugs_sql_plan::StreamOutput;
use flugs_sql_types::SqlRow;
use flugs_task::{NodeFactory, OneInput};
use flugs_types::RowKind;
use std::sync::Arc;

/// Makes records `E` of rows `T` and of what they do.
pub(super) struct StreamRows<T, E>(fn(RowKind, T) -> E);

impl<T: SqlRow, E: Data> StreamRows<T, E> {
    pub(super) fn new(of_parts: fn(RowKind, T) -> E) -> Self {
        StreamRows(of_parts)
    }
}

impl<T: SqlRow, E: Data> StreamOutput for StreamRows<T, E> {
    fn factory(&self, columns: usize, rowtime: Option<usize>) -> Arc<dyn NodeFactory> {
        let (spec, of_parts) = (ToRecordsSpec { columns: (0..columns).collect(), rowtime }, self.0);
        Arc::new(OneInput::new(move || ToRecords::new(spec.clone(), of_parts)))
    }
}
