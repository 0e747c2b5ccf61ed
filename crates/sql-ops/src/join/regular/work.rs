//! What a batch has changed, on its way to be joined.

use super::gather::Segment;
use crate::join::plan::{Keys, NONE, Side};
use crate::row::{EncodedRows, RowBytes};
use arrow::array::ArrayRef;
use std::collections::BTreeMap;

/// How many bytes of decoded rows are kept for the deltas of a batch.
const SEGMENTS_BYTES_MAX: usize = 32 << 20;

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
    pub(super) segments: Segments,
}

/// The decoded rows of the other input for one key, if it has many. They do not change while the work lasts.
#[derive(Default)]
pub(super) struct Segments {
    key: RowBytes,
    /// By where they begin, with their number of rows.
    columns: BTreeMap<u32, (usize, Vec<ArrayRef>)>,
    bytes: usize,
}

impl Segments {
    pub(super) fn get(&self, key: &RowBytes, segment: Segment) -> Option<Vec<ArrayRef>> {
        let (rows, columns) = self.columns.get(&segment.at).filter(|_| self.key == *key)?;
        (*rows == segment.rows).then(|| columns.clone())
    }

    /// Keeps what was decoded of so many bytes, as long as all of it is not too much.
    pub(super) fn set(&mut self, key: RowBytes, segment: Segment, columns: &[ArrayRef], bytes: usize) {
        if self.key != key {
            *self = Segments { key, ..Segments::default() };
        }
        if self.bytes + bytes <= SEGMENTS_BYTES_MAX {
            self.bytes += bytes;
            self.columns.insert(segment.at, (segment.rows, columns.to_vec()));
        }
    }
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
        Work {
            side,
            now,
            columns,
            encoded,
            keys,
            deltas,
            cursor: Cursor::default(),
            segments: Segments::default(),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.cursor.delta >= self.deltas.len()
    }
}
