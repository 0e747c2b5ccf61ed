//! Columns become Rust rows.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::TimestampMillisecondType;
use flugs_batch::{Batch, ChangeBatch, Record, Records};
use flugs_sql_types::{RowColumns, SqlRow};
use flugs_task::{Operator, Output, Progress};
use flugs_types::{Error, Result, RowKind, Timestamp};

/// What a [`ToRecords`] reads of batches.
#[derive(Debug, Clone)]
pub struct ToRecordsSpec {
    /// The column of each column of a row, in order; of its type.
    pub columns: Vec<usize>,
    /// The column that is the row's event time.
    pub rowtime: Option<usize>,
}

/// Makes records `E` of change batches, each of a row `R` and what it does to the table.
pub struct ToRecords<R, E> {
    spec: ToRecordsSpec,
    of_parts: fn(RowKind, R) -> E,
}

impl<R: SqlRow, E> ToRecords<R, E> {
    /// An operator that puts records together by `of_parts`.
    pub fn new(spec: ToRecordsSpec, of_parts: fn(RowKind, R) -> E) -> Self {
        ToRecords { spec, of_parts }
    }

    pub(super) fn records(&self, batch: &ChangeBatch) -> Result<Records<E>> {
        let columns: Vec<ArrayRef> = self.spec.columns.iter().map(|at| batch.column(*at).clone()).collect();
        let rows = R::rows(&RowColumns::new(&columns, batch.len()))?;
        let mut values = Vec::with_capacity(rows.len());
        for (at, row) in rows.into_iter().enumerate() {
            let row = row.ok_or_else(|| Error::bug("a row of a table is NULL as a whole"))?;
            values.push((self.of_parts)(batch.kind(at), row));
        }
        let times = match self.spec.rowtime {
            None => vec![Timestamp::MIN; values.len()],
            Some(column) => event_times(batch.column(column))?,
        };
        Ok(Records { values, times })
    }
}

/// Rows whose time is NULL (of an outer join) have none.
fn event_times(column: &ArrayRef) -> Result<Vec<Timestamp>> {
    let millis = column.as_primitive_opt::<TimestampMillisecondType>();
    let millis = millis.ok_or_else(|| Error::bug(format!("{} is no row time", column.data_type())))?;
    Ok(millis.iter().map(|time| time.map_or(Timestamp::MIN, Timestamp::from_millis)).collect())
}

impl<R: SqlRow, E: Record> Operator for ToRecords<R, E> {
    type In = ChangeBatch;
    type Out = Records<E>;

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<Records<E>>) -> Result<Progress> {
        if !batch.is_empty() {
            let _ = out.push(self.records(&batch)?)?;
        }
        Ok(Progress::Done)
    }
}
