//! Rows of the output on their way into a batch.

use super::plan::{JoinPlan, Rows, Selection, Side};
use arrow::array::ArrayRef;
use flugs_batch::ChangeBatch;
use flugs_types::{Result, RowKind};

/// Rows of the output, each of a row of the input that is joined and one of the other;
/// [`NONE`](super::plan::NONE) is NULLs.
#[derive(Default)]
pub(super) struct Pairs {
    own: Vec<u32>,
    other: Vec<u32>,
    kinds: Vec<RowKind>,
}

impl Pairs {
    #[inline(always)]
    pub(super) fn push(&mut self, kind: RowKind, own: u32, other: u32) {
        self.own.push(own);
        self.other.push(other);
        self.kinds.push(kind);
    }

    /// The batch of these rows.
    pub(super) fn put_out(
        self,
        plan: &JoinPlan,
        side: Side,
        own: &[ArrayRef],
        other: &[ArrayRef],
    ) -> Result<Option<ChangeBatch>> {
        if self.kinds.is_empty() {
            return Ok(None);
        }
        // Where no row of the other input was looked at, there are only NULLs to be taken from it.
        let none = if other.is_empty() { plan.side(side.other()).codec.decode([])? } else { Vec::new() };
        let other = if other.is_empty() { &none } else { other };
        let own_at = Selection::new(self.own, rows_of(own));
        let other_at = Selection::new(self.other, rows_of(other));
        let (own, other) = (Rows::at(own, &own_at), Rows::at(other, &other_at));
        let (left, right) = if side == Side::Left { (own, other) } else { (other, own) };
        plan.put_out(left, right, &self.kinds).map(Some)
    }
}

/// How many rows these columns have; 0 where there is no column.
pub(super) fn rows_of(columns: &[ArrayRef]) -> usize {
    columns.first().map_or(0, |column| column.len())
}
