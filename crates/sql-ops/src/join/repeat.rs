//! Rows as often as a number in them says: what `INTERSECT ALL` and `EXCEPT ALL` give of rows that are counted.

use super::attach::BATCH_ROWS;
use arrow::array::{Array, AsArray, Int64Array, RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::{Int64Type, SchemaRef};
use flugs_batch::{Batch, ChangeBatch};
use flugs_task::{Operator, Output, Progress};
use flugs_types::{Error, Result, RowKind};
use std::sync::Arc;

/// Gives each row as often as a column of it says, which is a `BIGINT`: not at all where that is NULL or less than 1. Of a row whose
/// number changes the difference alone is given. A `-U` and its `+U` differ in the number alone, and stand beside each other.
///
/// The output has `+I` and `-D`, and 1 in the place of the number: so often is each of its rows meant.
pub struct Repeat {
    times: usize,
    schema: SchemaRef,
    pending: Option<Pending>,
}

/// Rows on their way out.
struct Pending {
    batch: ChangeBatch,
    /// Which rows, and how often each is still to be given.
    runs: Vec<(u32, u64, RowKind)>,
    at: usize,
}

impl Repeat {
    /// By the number in this column; `schema`: names and types of the output's columns.
    pub fn new(times: usize, schema: SchemaRef) -> Self {
        Repeat { times, schema, pending: None }
    }

    fn runs(&self, batch: &ChangeBatch) -> Result<Vec<(u32, u64, RowKind)>> {
        let Some(times) = batch.column(self.times).as_primitive_opt::<Int64Type>() else {
            return Err(Error::bug("a number of rows is a BIGINT"));
        };
        let times = |row: usize| if times.is_valid(row) { times.value(row).max(0) } else { 0 };
        let (mut runs, mut row) = (Vec::new(), 0);
        while row < batch.len() {
            let next = row + 1;
            let is_update = batch.kind(row) == RowKind::UpdateBefore
                && next < batch.len()
                && batch.kind(next) == RowKind::UpdateAfter;
            let more = match batch.kind(row) {
                _ if is_update => times(next) - times(row),
                RowKind::Insert | RowKind::UpdateAfter => times(row),
                RowKind::UpdateBefore | RowKind::Delete => -times(row),
            };
            let kind = if more > 0 { RowKind::Insert } else { RowKind::Delete };
            if more != 0 {
                runs.push((row as u32, more.unsigned_abs(), kind));
            }
            row += if is_update { 2 } else { 1 };
        }
        Ok(runs)
    }

    /// The next rows of what is pending; none where all is out.
    fn next(&mut self) -> Result<Option<ChangeBatch>> {
        let Some(pending) = &mut self.pending else { return Ok(None) };
        let (mut rows, mut kinds) = (Vec::new(), Vec::new());
        while let Some((row, times, kind)) =
            pending.runs.get_mut(pending.at).filter(|_| rows.len() < BATCH_ROWS)
        {
            let n = (*times).min((BATCH_ROWS - rows.len()) as u64);
            rows.resize(rows.len() + n as usize, *row);
            kinds.resize(rows.len(), *kind);
            *times -= n;
            pending.at += usize::from(*times == 0);
        }
        if rows.is_empty() {
            self.pending = None;
            return Ok(None);
        }
        let taken = take_record_batch(pending.batch.rows(), &UInt32Array::from(rows));
        let given = taken.and_then(|rows| {
            let mut columns = rows.columns().to_vec();
            columns[self.times] = Arc::new(Int64Array::from_value(1, rows.num_rows()));
            RecordBatch::try_new(self.schema.clone(), columns)
        });
        let rows = given.map_err(|e| Error::bug("rows cannot be repeated").caused_by(e))?;
        ChangeBatch::new(rows, &kinds).map(Some)
    }
}

impl Operator for Repeat {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let runs = self.runs(&batch)?;
        self.pending = Some(Pending { batch, runs, at: 0 });
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        while out.is_ready() {
            match self.next()? {
                Some(batch) => {
                    let _ = out.push(batch)?;
                }
                None => return Ok(Progress::Done),
            }
        }
        Ok(Progress::More)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Compare, Step, changes, replay, rows_text, schema};

    #[test]
    fn a_row_is_given_as_often_as_it_says_and_of_a_change_the_difference() {
        let rows = schema("id BIGINT, n BIGINT");
        let table = "+I | 1 | 2\n+I | 2 | 0\n+I | 3 | NULL\n-U | 1 | 2\n+U | 1 | 5\n+I | 4 | -1\n-U | 1 | 5\n+U | 1 | 4\n\
                     -U | 3 | NULL\n+U | 3 | 1\n-U | 2 | 0\n+U | 2 | 0\n-D | 3 | 1\n-U | 1 | 4\n+U | 1 | -2";
        let steps = [Step::Batch(changes(&rows, table)), Step::End];
        let given = replay(|| Repeat::new(1, rows.clone()), &steps, &Compare::Rows);
        let given: Vec<String> = given.iter().flat_map(rows_text).collect();
        let expected = [
            ["+I | 1 | 1"; 5].as_slice(),
            &["-D | 1 | 1"],
            &["+I | 3 | 1"],
            &["-D | 3 | 1"],
            &["-D | 1 | 1"; 4],
        ];
        assert_eq!(given, expected.concat());
    }
}
