//! Around an operator that asks for something outside, row by row: rows as bytes before it, columns behind it.
//!
//! Between both stand records of [`AskedRow`] and [`AnsweredRow`], which are state of the operator that asks while they wait.

use crate::row::{RowBytes, RowCodec};
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use flugs_batch::{Batch, ChangeBatch, Records};
use flugs_task::{Operator, Output, Progress};
use flugs_types::{Error, Result, RowKind};

/// A row that is asked for, and what it does.
pub type AskedRow = (RowKind, RowBytes);

/// The same with the answers.
pub type AnsweredRow = (RowKind, RowBytes, RowBytes);

/// Makes records of the rows of batches.
pub struct ToAsked {
    codec: RowCodec,
}

impl ToAsked {
    /// For rows of all columns of the input, encoded by this codec.
    pub fn new(codec: RowCodec) -> Self {
        ToAsked { codec }
    }
}

impl Operator for ToAsked {
    type In = ChangeBatch;
    type Out = Records<AskedRow>;

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<Records<AskedRow>>) -> Result<Progress> {
        if !batch.is_empty() {
            let rows = self.codec.encode(batch.rows().columns(), batch.len())?;
            let rows = (0..batch.len()).map(|at| (batch.kind(at), RowBytes::new(rows.row(at)))).collect();
            let _ = out.push(Records::untimed(rows))?;
        }
        Ok(Progress::Done)
    }
}

/// Makes batches of rows and answers: the columns of the first, then those of the second.
pub struct FromAnswered {
    rows: RowCodec,
    answers: RowCodec,
    schema: SchemaRef,
}

impl FromAnswered {
    /// For rows and answers that are encoded by these codecs.
    pub fn new(rows: RowCodec, answers: RowCodec, schema: SchemaRef) -> Self {
        FromAnswered { rows, answers, schema }
    }
}

impl Operator for FromAnswered {
    type In = Records<AnsweredRow>;
    type Out = ChangeBatch;

    fn process(&mut self, records: Records<AnsweredRow>, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let values = &records.values;
        if values.is_empty() {
            return Ok(Progress::Done);
        }
        let mut columns = self.rows.decode(values.iter().map(|(_, row, _)| row.as_slice()))?;
        columns.extend(self.answers.decode(values.iter().map(|(_, _, answers)| answers.as_slice()))?);
        let kinds: Vec<RowKind> = values.iter().map(|(kind, ..)| *kind).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(values.len()));
        let rows = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map_err(|e| Error::bug("answers are not of the types that were planned").caused_by(e))?;
        let _ = out.push(ChangeBatch::new(rows, &kinds)?)?;
        Ok(Progress::Done)
    }
}
