//! Some rows of the left and what they meet in a block of the right.

use super::block::{Block, NONE};
use super::plan::{Plan, Side};
use crate::bounded::spill::SpoolReader;
use crate::outbox::BATCH_ROWS;
use arrow::array::BooleanBufferBuilder;
use arrow::array::{ArrayRef, UInt32Array};
use flugs_batch::ChangeBatch;
use flugs_types::Result;

/// So many rows of the left are worked on at a time, of at most about so many bytes.
const LEFT_ROWS: usize = 1024;
const LEFT_BYTES: usize = 256 << 10;

/// See the module.
pub(super) struct Probe {
    columns: Vec<ArrayRef>,
    /// The next row of the right for each row, or [`NONE`].
    at: Vec<u32>,
    /// The first row that may have one.
    row: usize,
    /// The number of the first row among all of the left.
    pub(super) first: usize,
}

impl Probe {
    /// The next rows; `None` where there are no more.
    pub(super) fn read(
        reader: &mut SpoolReader,
        plan: &Plan,
        block: &Block,
        matched: &BooleanBufferBuilder,
        first: usize,
    ) -> Result<Option<Self>> {
        let (mut bytes, mut ends, mut at) = (Vec::new(), vec![0], Vec::new());
        while at.len() < LEFT_ROWS && bytes.len() < LEFT_BYTES && reader.advance()? {
            let record = reader.record();
            // A match of an earlier block is enough for these.
            let known = plan.is_left_only() && matched.get_bit(first + at.len());
            at.push(if known { NONE } else { block.find(record.key) });
            bytes.extend_from_slice(record.value);
            ends.push(bytes.len());
        }
        if at.is_empty() {
            return Ok(None);
        }
        let columns = plan.decode(Side::Left, ends.windows(2).map(|ends| &bytes[ends[0]..ends[1]]))?;
        Ok(Some(Probe { columns, at, row: 0, first }))
    }

    pub(super) fn len(&self) -> usize {
        self.at.len()
    }

    /// Some pairs with equal keys; none where all were given.
    fn candidates(
        &mut self,
        plan: &Plan,
        block: &Block,
        matched: &BooleanBufferBuilder,
    ) -> (Vec<u32>, Vec<u32>) {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let one_is_enough = plan.is_left_only();
        let by_key = plan.matches_by_key();
        while self.row < self.at.len() && left.len() < BATCH_ROWS {
            let next = self.at[self.row];
            if next == NONE || (one_is_enough && matched.get_bit(self.first + self.row)) {
                self.row += 1;
                continue;
            }
            left.push(self.row as u32);
            right.push(next);
            self.at[self.row] = if one_is_enough && by_key { NONE } else { block.next(next) };
        }
        (left, right)
    }

    /// The next matches, which are noted on both sides; `None` where there are no more. Of joins of the left alone nothing is given.
    pub(super) fn step(
        &mut self,
        plan: &Plan,
        block: &mut Block,
        matched: &mut BooleanBufferBuilder,
    ) -> Result<Option<ChangeBatch>> {
        let (mut left, mut right) = self.candidates(plan, block, matched);
        if left.is_empty() {
            return Ok(None);
        }
        if !plan.matches_by_key() {
            let (l, r) = (UInt32Array::from(left.clone()), UInt32Array::from(right.clone()));
            if let Some(matches) = plan.matches((&self.columns, &l), (&block.columns, &r))? {
                (left, right) = matches.set_indices().map(|pair| (left[pair], right[pair])).unzip();
            }
        }
        left.iter().for_each(|row| matched.set_bit(self.first + *row as usize, true));
        right.iter().for_each(|row| block.matched.set_bit(*row as usize, true));
        if plan.is_left_only() {
            return Ok(Some(ChangeBatch::default()));
        }
        let rows = left.len();
        let (left, right) = (UInt32Array::from(left), UInt32Array::from(right));
        plan.put_out(Some((&self.columns, &left)), Some((&block.columns, &right)), rows).map(Some)
    }

    /// After the last block: rows that are given by themselves, beside NULLs where the output has columns of the right.
    pub(super) fn alone(&self, plan: &Plan, matched: &BooleanBufferBuilder) -> Result<ChangeBatch> {
        let with_match = plan.is_left_only() && !plan.is_anti();
        if !with_match && !plan.keeps_unmatched(Side::Left) {
            return Ok(ChangeBatch::default());
        }
        let is_given = |row: &u32| matched.get_bit(self.first + *row as usize) == with_match;
        let rows: Vec<u32> = (0..self.len() as u32).filter(is_given).collect();
        if rows.is_empty() {
            return Ok(ChangeBatch::default());
        }
        let n = rows.len();
        plan.put_out(Some((&self.columns, &UInt32Array::from(rows))), None, n)
    }
}

/// From this row of the block on, some that have had no match, beside NULLs; and the row behind them.
pub(super) fn right_alone(plan: &Plan, block: &Block, from: usize) -> Result<(ChangeBatch, usize)> {
    let mut rows = Vec::new();
    let mut row = from;
    while row < block.len() && rows.len() < BATCH_ROWS {
        if !block.matched.get_bit(row) {
            rows.push(row as u32);
        }
        row += 1;
    }
    let n = rows.len();
    let batch = match n {
        0 => ChangeBatch::default(),
        _ => plan.put_out(None, Some((&block.columns, &UInt32Array::from(rows))), n)?,
    };
    Ok((batch, row))
}
