//! The rows of a window that meet, a bounded number of pairs at a time.

use super::WindowJoinKind;
use crate::calc::evaluate_filter;
use crate::row::{RowBytes, RowCodec};
use crate::window::OUTPUT_ROWS;
use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array, new_null_array};
use arrow::compute::{filter_record_batch, take};
use arrow::datatypes::SchemaRef;
use datafusion_physical_expr::PhysicalExpr;
use flugs_types::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// What all meetings of a join share.
pub(super) struct Terms {
    pub(super) kind: WindowJoinKind,
    pub(super) condition: Option<Arc<dyn PhysicalExpr>>,
    /// Left and then right columns.
    pub(super) both: SchemaRef,
    pub(super) output: SchemaRef,
    pub(super) left: RowCodec,
    pub(super) right: RowCodec,
}

/// The rows of some keys.
#[derive(Default)]
pub(super) struct Guests {
    left: Vec<RowBytes>,
    right: Vec<RowBytes>,
    /// Where the rows of each key stand on both sides.
    groups: Vec<(Range<usize>, Range<usize>)>,
}

impl Guests {
    /// Adds the rows of a key. `meet` is false for keys that equal nothing.
    pub(super) fn add(&mut self, left: Vec<RowBytes>, right: Vec<RowBytes>, meet: bool) {
        let from = (self.left.len(), self.right.len());
        self.left.extend(left);
        self.right.extend(right);
        if meet {
            self.groups.push((from.0..self.left.len(), from.1..self.right.len()));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.left.len() + self.right.len()
    }
}

/// Rows on their way out: first all pairs, key by key, then rows that had no partner.
pub(super) struct Meeting {
    left: Side,
    right: Side,
    groups: Vec<(Range<usize>, Range<usize>)>,
    /// The next pair: group, and places within it.
    at: (usize, usize, usize),
    pairs_done: bool,
}

struct Side {
    columns: Vec<ArrayRef>,
    /// Which rows had a partner.
    met: Vec<bool>,
    /// Up to where rows without one were given.
    given: usize,
}

impl Side {
    fn new(codec: &RowCodec, rows: Vec<RowBytes>) -> Result<Self> {
        let columns = codec.decode(rows.iter().map(RowBytes::as_slice))?;
        Ok(Side { columns, met: vec![false; rows.len()], given: 0 })
    }

    fn take(&self, rows: &UInt64Array) -> Result<Vec<ArrayRef>> {
        let take = |column: &ArrayRef| take(column, rows, None);
        self.columns.iter().map(take).collect::<Result<_, _>>().map_err(not_fitting)
    }

    /// The next rows that had a partner, or had none.
    fn next(&mut self, met: bool) -> UInt64Array {
        let mut rows = Vec::new();
        while rows.len() < OUTPUT_ROWS && self.given < self.met.len() {
            if self.met[self.given] == met {
                rows.push(self.given as u64);
            }
            self.given += 1;
        }
        rows.into()
    }
}

impl Meeting {
    pub(super) fn new(terms: &Terms, guests: Guests) -> Result<Self> {
        Ok(Meeting {
            left: Side::new(&terms.left, guests.left)?,
            right: Side::new(&terms.right, guests.right)?,
            groups: guests.groups,
            at: (0, 0, 0),
            pairs_done: false,
        })
    }

    /// The next rows, perhaps none; `None` when there are no more.
    pub(super) fn next(&mut self, terms: &Terms) -> Result<Option<RecordBatch>> {
        use WindowJoinKind::{Anti, Full, Inner, Left, Right, Semi};
        if !self.pairs_done {
            if matches!(terms.kind, Semi | Anti) && terms.condition.is_none() {
                self.meet_all();
            } else if let Some(pairs) = self.pairs(terms)? {
                return Ok(Some(pairs));
            }
            self.pairs_done = true;
        }
        let left = match terms.kind {
            Left | Full | Anti => Some(false),
            Semi => Some(true),
            Inner | Right => None,
        };
        if let Some(met) = left.filter(|_| self.left.given < self.left.met.len()) {
            let rows = self.left.next(met);
            let mut columns = self.left.take(&rows)?;
            if matches!(terms.kind, Left | Full) {
                columns.extend(nulls(terms.right.types(), rows.len()));
            }
            return batch(&terms.output, columns, rows.len()).map(Some);
        }
        if matches!(terms.kind, Right | Full) && self.right.given < self.right.met.len() {
            let rows = self.right.next(false);
            let mut columns = nulls(terms.left.types(), rows.len());
            columns.extend(self.right.take(&rows)?);
            return batch(&terms.output, columns, rows.len()).map(Some);
        }
        Ok(None)
    }

    /// Without a condition, all rows of a key meet if there are some on both sides.
    fn meet_all(&mut self) {
        for (left, right) in self.groups.drain(..) {
            if !right.is_empty() {
                self.left.met[left].fill(true);
            }
        }
    }

    /// The next pairs for which the condition holds; of semi and anti joins none, but they are noted.
    fn pairs(&mut self, terms: &Terms) -> Result<Option<RecordBatch>> {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        while left.len() < OUTPUT_ROWS {
            let (group, l, r) = self.at;
            let Some((lefts, rights)) = self.groups.get(group) else { break };
            if l >= lefts.len() || rights.is_empty() {
                self.at = (group + 1, 0, 0);
                continue;
            }
            let n = (rights.len() - r).min(OUTPUT_ROWS - left.len());
            left.extend(std::iter::repeat_n((lefts.start + l) as u64, n));
            right.extend((rights.start + r..rights.start + r + n).map(|row| row as u64));
            self.at = if r + n == rights.len() { (group, l + 1, 0) } else { (group, l, r + n) };
        }
        if left.is_empty() {
            return Ok(None);
        }
        let (left, right) = (UInt64Array::from(left), UInt64Array::from(right));
        let mut columns = self.left.take(&left)?;
        columns.extend(self.right.take(&right)?);
        let mut pairs = batch(&terms.both, columns, left.len())?;
        let holds = match &terms.condition {
            Some(condition) => Some(evaluate_filter(condition, &pairs)?),
            None => None,
        };
        for pair in 0..left.len() {
            if holds.as_ref().is_none_or(|holds| holds.is_valid(pair) && holds.value(pair)) {
                self.left.met[left.value(pair) as usize] = true;
                self.right.met[right.value(pair) as usize] = true;
            }
        }
        if let Some(holds) = holds {
            pairs = filter_record_batch(&pairs, &holds).map_err(not_fitting)?;
        }
        if matches!(terms.kind, WindowJoinKind::Semi | WindowJoinKind::Anti) {
            return Ok(Some(RecordBatch::new_empty(terms.output.clone())));
        }
        let rows = pairs.num_rows();
        batch(&terms.output, pairs.columns().to_vec(), rows).map(Some)
    }
}

fn nulls<'a>(types: impl Iterator<Item = &'a arrow::datatypes::DataType>, rows: usize) -> Vec<ArrayRef> {
    types.map(|data_type| new_null_array(data_type, rows)).collect()
}

fn batch(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(not_fitting)
}

fn not_fitting(e: arrow::error::ArrowError) -> Error {
    Error::bug("stored rows are not those of the inputs").caused_by(e)
}
