//! What a batch has changed, on its way to be joined.

use crate::join::plan::{Keys, NONE, Side};
use crate::row::EncodedRows;
use arrow::array::ArrayRef;

/// A row that came, went, or was replaced by another of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Delta {
    /// Which of the work's keys.
    pub(super) key: u32,
    /// The row that went.
    pub(super) minus: u32,
    /// The row that came.
    pub(super) plus: u32,
    /// How many rows the key has afterwards.
    pub(super) total: u32,
    /// Both rows give the same output.
    pub(super) same: bool,
    /// Where the row that came stands, if it cannot be found by what it holds.
    pub(super) place: u32,
}

impl Delta {
    pub(super) fn plus(key: u32, plus: u32, total: u32) -> Self {
        Delta { key, minus: NONE, plus, total, same: false, place: NONE }
    }

    pub(super) fn minus(key: u32, minus: u32, total: u32) -> Self {
        Delta { key, minus, plus: NONE, total, same: false, place: NONE }
    }

    pub(super) fn update(key: u32, minus: u32, plus: u32, total: u32) -> Self {
        Delta { key, minus, plus, total, same: false, place: NONE }
    }

    pub(super) fn is_update(&self) -> bool {
        self.minus != NONE && self.plus != NONE
    }
}

/// Which rows of a delta are joined in one go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Both,
    Minus,
    Plus,
}

/// Deltas of one input, and how far they have been joined.
pub(super) struct Work {
    pub(super) side: Side,
    /// The time at which they came, in microseconds.
    pub(super) now: i64,
    /// Their stored columns: rows of the batch, then rows that were only in state.
    pub(super) columns: Vec<ArrayRef>,
    /// The rows of the batch as they are stored, and their first columns.
    pub(super) encoded: Option<(EncodedRows, Option<EncodedRows>)>,
    pub(super) keys: Keys,
    pub(super) deltas: Vec<Delta>,
    pub(super) cursor: Cursor,
}

/// How far a work has come.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cursor {
    /// The delta that is next.
    pub(super) delta: usize,
    /// The part of it that was begun.
    pub(super) part: Option<Part>,
    /// The row of the other input that is next.
    pub(super) at: u32,
    /// How many of the rows equal to that are done.
    pub(super) copies: u32,
    /// How many matches the part has had.
    pub(super) found: u32,
}

impl Work {
    pub(super) fn new(
        side: Side,
        now: i64,
        columns: Vec<ArrayRef>,
        encoded: Option<(EncodedRows, Option<EncodedRows>)>,
        keys: Keys,
        deltas: Vec<Delta>,
    ) -> Self {
        Work { side, now, columns, encoded, keys, deltas, cursor: Cursor::default() }
    }

    pub(super) fn is_done(&self) -> bool {
        self.cursor.delta >= self.deltas.len()
    }
}
