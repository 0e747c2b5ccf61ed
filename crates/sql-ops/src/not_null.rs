//! Stands before a sink whose columns are NOT NULL where the query may give NULL.

use arrow::array::{Array, BooleanArray};
use arrow::buffer::BooleanBuffer;
use flugs_batch::{Batch, ChangeBatch};
use flugs_task::{Counter, OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result};
use std::sync::Arc;

/// What a [`NotNull`] does.
#[derive(Debug, Clone)]
pub struct NotNullSpec {
    /// The table that is written, for errors.
    pub table: Arc<str>,
    /// The columns that must not be NULL.
    pub columns: Vec<usize>,
    /// Leave out rows with NULL in one of them and count them (`numNullRowsDropped`), instead of failing.
    pub drops: bool,
}

/// Flink's not-null enforcer (`ConstraintEnforcer`): no NULL gets into the columns.
pub struct NotNull {
    spec: NotNullSpec,
    dropped: Option<Counter>,
}

impl NotNull {
    /// For these columns.
    pub fn new(spec: NotNullSpec) -> Self {
        NotNull { spec, dropped: None }
    }

    fn refused(&self, batch: &ChangeBatch, column: usize) -> Error {
        let (table, schema) = (&self.spec.table, batch.schema());
        let name = schema.field(column).name();
        Error::data(format!(
            "column '{name}' of table '{table}' is NOT NULL, and a row to be written has NULL in it"
        ))
        .mend("filter such rows out, or SET 'table.exec.sink.not-null-enforcer' = 'DROP' to leave them out")
    }

    fn without_nulls(&self, batch: &ChangeBatch) -> Result<ChangeBatch> {
        let mut keep = BooleanBuffer::new_set(batch.len());
        for column in &self.spec.columns {
            if let Some(nulls) = batch.column(*column).logical_nulls() {
                keep = &keep & nulls.inner();
            }
        }
        if let Some(dropped) = &self.dropped {
            dropped.add(batch.len() - keep.count_set_bits());
        }
        batch.filter(&BooleanArray::from(keep))
    }
}

impl Operator for NotNull {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.dropped = Some(context.counter("numNullRowsDropped"));
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let has_null = |column: &&usize| batch.column(**column).logical_null_count() > 0;
        let passed = match self.spec.columns.iter().find(has_null) {
            None => batch,
            Some(_) if self.spec.drops => self.without_nulls(&batch)?,
            Some(column) => return Err(self.refused(&batch, *column)),
        };
        if !passed.is_empty() {
            let _ = out.push(passed)?;
        }
        Ok(Progress::Done)
    }
}
