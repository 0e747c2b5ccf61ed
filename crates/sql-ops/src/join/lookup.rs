//! Joins rows with those that an outside table has for their keys at the time.

mod retry;

pub use retry::LookupRetry;

use super::attach::{Attach, AttachSpec};
use super::spec::{LookupCalc, LookupJoinSpec, LookupKey};
use crate::calc::evaluate_filter;
use crate::failure::evaluate;
use crate::row::null_keys;
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{filter_record_batch, take_record_batch};
use arrow::datatypes::{Field, Schema};
use flugs_batch::ChangeBatch;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Clock, Error, Result, Timestamp};
use retry::Waiting;
use std::sync::Arc;

/// Rows that are looked up at a time: what is found for them is held as a whole.
const ROWS_AT_A_TIME: usize = 1024;

/// Joins rows with those that an outside table has for their keys. See [`LookupJoinSpec`].
///
/// Rows are looked up many at a time; where a key recurs it is the source's affair to remember what it found.
pub struct LookupJoin {
    spec: LookupJoinSpec,
    attach: Option<Attach>,
    clock: Option<Arc<dyn Clock>>,
    waiting: Option<Waiting>,
}

impl LookupJoin {
    /// A join with this source.
    pub fn new(spec: LookupJoinSpec) -> Self {
        LookupJoin { spec, attach: None, clock: None, waiting: None }
    }
}

/// Rows, and for each the row of the left that it is for, in ascending order.
type Found = (RecordBatch, Vec<u32>);

/// The rows for each row of `left`.
fn find(spec: &LookupJoinSpec, left: &RecordBatch) -> Result<Found> {
    calculated(spec, lookup(spec, left, &asked(spec, left)?)?)
}

/// The rows that are looked up: NULL equals nothing.
fn asked(spec: &LookupJoinSpec, left: &RecordBatch) -> Result<Vec<u32>> {
    let keys = key_columns(spec, left)?;
    let rows = 0..left.num_rows() as u32;
    Ok(match null_keys(keys.columns()) {
        Some(nulls) => rows.filter(|row| nulls.is_valid(*row as usize)).collect(),
        None => rows.collect(),
    })
}

/// What the table has for these rows of `left`.
fn lookup(spec: &LookupJoinSpec, left: &RecordBatch, asked: &[u32]) -> Result<Found> {
    let mut keys = key_columns(spec, left)?;
    if asked.len() < keys.num_rows() {
        keys = take_record_batch(&keys, &UInt32Array::from(asked.to_vec())).map_err(misfit)?;
    }
    if asked.is_empty() {
        return Ok((RecordBatch::new_empty(spec.right.clone()), Vec::new()));
    }
    let (rows, of) = spec.source.lookup(&keys)?;
    let place = |row: &u32| asked.get(*row as usize).copied();
    let of = of.iter().map(place).collect::<Option<_>>();
    Ok((rows, of.ok_or_else(|| Error::bug("a look-up gives rows for a key that was not asked for"))?))
}

/// What is made of what was found.
fn calculated(spec: &LookupJoinSpec, (rows, of): Found) -> Result<Found> {
    match &spec.calc {
        Some(calc) => compute(calc, rows, of),
        None => Ok((rows, of)),
    }
}

fn key_columns(spec: &LookupJoinSpec, left: &RecordBatch) -> Result<RecordBatch> {
    let column = |key: &LookupKey| -> Result<ArrayRef> {
        match key {
            LookupKey::Column(column) => Ok(left.column(*column).clone()),
            LookupKey::Constant(value) => value
                .to_array_of_size(left.num_rows())
                .map_err(|e| Error::bug(format!("the constant {value} of a look-up")).caused_by(e)),
        }
    };
    let columns: Vec<ArrayRef> = spec.keys.iter().map(column).collect::<Result<_>>()?;
    let field =
        |(i, column): (usize, &ArrayRef)| Field::new(format!("k{i}"), column.data_type().clone(), true);
    let schema = Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>());
    let options = RecordBatchOptions::new().with_row_count(Some(left.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(schema), columns, &options).map_err(misfit)
}

fn misfit(e: arrow::error::ArrowError) -> Error {
    Error::bug("the columns of a look-up do not fit each other").caused_by(e)
}

/// Filters and computes what was looked up.
fn compute(calc: &LookupCalc, rows: RecordBatch, of: Vec<u32>) -> Result<(RecordBatch, Vec<u32>)> {
    let (rows, of) = match &calc.filter {
        None => (rows, of),
        Some(filter) => {
            let keep = evaluate_filter(filter, &rows)?;
            let kept = of.into_iter().zip(keep.iter()).filter(|(_, keep)| *keep == Some(true));
            let of = kept.map(|(row, _)| row).collect();
            (filter_record_batch(&rows, &keep).map_err(misfit)?, of)
        }
    };
    let columns = calc.columns.iter().map(|expr| evaluate(expr, &rows)).collect::<Result<_>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    let rows = RecordBatch::try_new_with_options(calc.schema.clone(), columns, &options).map_err(misfit)?;
    Ok((rows, of))
}

impl Operator for LookupJoin {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.clock = Some(context.clock.clone());
        let spec = &self.spec;
        let columns = spec.left.fields().len();
        let misses = |key: &LookupKey| matches!(key, LookupKey::Column(column) if *column >= columns);
        if spec.keys.is_empty() || spec.keys.iter().any(misses) {
            return Err(Error::bug("the keys of a look-up are columns of the left and constants"));
        }
        self.attach = Some(Attach::new(&AttachSpec {
            join_type: spec.join_type,
            left: &spec.left,
            right: spec.calc.as_ref().map_or(&spec.right, |calc| &calc.schema),
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
        let (spec, waiting) = (&self.spec, &mut self.waiting);
        let now = self.clock.as_ref().map_or(Timestamp::MIN, |clock| clock.now());
        attach.run(ROWS_AT_A_TIME, out, |left| match &spec.retry {
            Some(retry) => retry.find(spec, left, waiting, now),
            None => find(spec, left).map(Some),
        })
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.waiting.as_ref().map(|waiting| waiting.until)
    }
}

#[cfg(test)]
mod tests;
