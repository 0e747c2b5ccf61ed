//! Each row beside the rows that a table function makes of it.

use super::attach::{Attach, AttachSpec};
use super::spec::CorrelateSpec;
use crate::failure::evaluate;
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema};
use flugs_batch::ChangeBatch;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result};
use std::sync::Arc;

/// Rows that the function gets at a time: what it makes of them is held as a whole.
const ROWS_AT_A_TIME: usize = 256;

/// Puts each row beside the rows that a table function makes of it. See [`CorrelateSpec`].
pub struct Correlate {
    spec: CorrelateSpec,
    attach: Option<Attach>,
}

impl Correlate {
    /// An operator of this function.
    pub fn new(spec: CorrelateSpec) -> Self {
        Correlate { spec, attach: None }
    }
}

/// The arguments of the function.
fn arguments(spec: &CorrelateSpec, rows: &RecordBatch) -> Result<RecordBatch> {
    let columns: Vec<ArrayRef> =
        spec.arguments.iter().map(|expr| evaluate(expr, rows)).collect::<Result<_>>()?;
    let field =
        |(i, column): (usize, &ArrayRef)| Field::new(format!("a{i}"), column.data_type().clone(), true);
    let schema = Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>());
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(schema), columns, &options)
        .map_err(|e| Error::bug("the arguments of a table function").caused_by(e))
}

impl Operator for Correlate {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, _: &mut OpenContext<'_>) -> Result<()> {
        let spec = &self.spec;
        self.attach = Some(Attach::new(&AttachSpec {
            join_type: spec.join_type,
            left: &spec.left,
            right: &spec.right,
            condition: spec.condition.as_ref(),
            output: &spec.output,
            schema: &spec.schema,
        })?);
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if let Some(attach) = &mut self.attach {
            attach.start(batch);
        }
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let attach = self.attach.as_mut().ok_or_else(|| Error::bug("the operator is not open"))?;
        let spec = &self.spec;
        attach.run(ROWS_AT_A_TIME, out, |left| (spec.function)(&arguments(spec, left)?).map(Some))
    }
}

#[cfg(test)]
mod tests;
