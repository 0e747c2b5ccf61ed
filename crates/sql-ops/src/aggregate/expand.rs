//! Grouping sets: each row once for each set.

use crate::outbox::Outbox;
use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use flugs_batch::{Batch, ChangeBatch};
use flugs_task::{Operator, Output, Progress};
use flugs_types::{Error, Result};
use std::sync::Arc;

/// What an [`Expand`] does.
#[derive(Debug, Clone)]
pub struct ExpandSpec {
    /// The input's columns.
    pub input: SchemaRef,
    /// The columns that are NULL in the rows of each grouping set: the keys that the set does not have. (A key that is an aggregate's
    /// argument too must stand in the input twice.)
    pub nulls: Vec<Vec<usize>>,
    /// The grouping id of each set, as `GROUPING_ID` gives it.
    pub ids: Vec<i64>,
    /// The name of the column of the grouping id.
    pub id_name: String,
}

impl ExpandSpec {
    /// The input's columns, those that a set sets to NULL being nullable, and the grouping id, `BIGINT NOT NULL`.
    pub fn output_schema(&self) -> SchemaRef {
        let nulled = |i: usize| self.nulls.iter().any(|nulls| nulls.contains(&i));
        let field = |(i, field): (usize, &FieldRef)| {
            if nulled(i) { Arc::new(field.as_ref().clone().with_nullable(true)) } else { field.clone() }
        };
        let mut fields: Vec<FieldRef> = self.input.fields().iter().enumerate().map(field).collect();
        fields.push(Arc::new(Field::new(&self.id_name, DataType::Int64, false)));
        Arc::new(Schema::new(fields))
    }
}

/// Gives each batch once for each grouping set, with the set's id in a last column.
pub struct Expand {
    spec: ExpandSpec,
    output: SchemaRef,
    outbox: Outbox,
}

impl Expand {
    /// For these sets.
    pub fn new(spec: ExpandSpec) -> Self {
        let output = spec.output_schema();
        Expand { spec, output, outbox: Outbox::default() }
    }

    fn expand(&self, batch: &ChangeBatch, nulls: &[usize], id: i64) -> Result<ChangeBatch> {
        let n = batch.len();
        let column = |(i, column): (usize, &ArrayRef)| {
            if nulls.contains(&i) { new_null_array(column.data_type(), n) } else { column.clone() }
        };
        let mut columns: Vec<ArrayRef> = batch.rows().columns().iter().enumerate().map(column).collect();
        columns.push(Arc::new(Int64Array::from(vec![id; n])));
        let options = RecordBatchOptions::new().with_row_count(Some(n));
        let rows = RecordBatch::try_new_with_options(self.output.clone(), columns, &options)
            .map_err(|e| Error::bug("the input has other columns than were planned").caused_by(e))?;
        batch.with_rows(rows)
    }
}

impl Operator for Expand {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        for (nulls, id) in self.spec.nulls.iter().zip(&self.spec.ids) {
            let expanded = self.expand(&batch, nulls, *id)?;
            self.outbox.put(expanded);
        }
        self.outbox.hand_on(out)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.outbox.hand_on(out)
    }
}
