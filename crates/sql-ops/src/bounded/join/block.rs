//! Rows of the right in memory, found by their keys.

use super::plan::{Plan, Side};
use crate::bounded::spill::{Record, STEP_BYTES, SpoolReader};
use crate::row::row_hash;
use arrow::array::ArrayRef;
use arrow::array::BooleanBufferBuilder;
use flugs_types::Result;
use hashbrown::HashTable;

/// Stands for no row.
pub(super) const NONE: u32 = u32::MAX;
/// So many rows are in a block at most: their numbers are below [`NONE`].
const ROWS_MAX: usize = 1 << 28;

/// Rows on their way into memory.
#[derive(Default)]
pub(super) struct Filling {
    bytes: Vec<u8>,
    /// Where keys and values end.
    ends: Vec<(usize, usize)>,
}

impl Filling {
    fn push(&mut self, record: Record<'_>) {
        self.bytes.extend_from_slice(record.key);
        let key = self.bytes.len();
        self.bytes.extend_from_slice(record.value);
        self.ends.push((key, self.bytes.len()));
    }

    /// Reads a slice of rows; whether the block is full, or there is no further row (the second).
    pub(super) fn step(&mut self, reader: &mut SpoolReader, limit: usize) -> Result<(bool, bool)> {
        let start = self.bytes.len();
        while self.bytes.len() < start + STEP_BYTES {
            if self.bytes.len() >= limit || self.ends.len() >= ROWS_MAX {
                return Ok((true, false));
            }
            if !reader.advance()? {
                return Ok((true, true));
            }
            self.push(reader.record());
        }
        Ok((false, false))
    }

    fn key(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1].1 };
        &self.bytes[start..self.ends[row].0]
    }

    /// Makes the rows findable.
    pub(super) fn into_block(self, plan: &Plan) -> Result<Block> {
        let rows = self.ends.len();
        let values = self.ends.iter().map(|(key, end)| &self.bytes[*key..*end]);
        let columns = plan.decode(Side::Right, values)?;
        let mut first: HashTable<u32> = HashTable::with_capacity(rows);
        let mut next = vec![NONE; rows];
        let (mut keys, mut ends) = (Vec::new(), Vec::with_capacity(rows));
        for row in 0..rows {
            keys.extend_from_slice(self.key(row));
            ends.push(keys.len());
        }
        drop(self);
        let keys = Keys { bytes: keys, ends };
        // From the last row on: so the rows of a key stand as they came.
        for row in (0..rows).rev() {
            let key = keys.get(row as u32);
            let hash = row_hash(key);
            match first.find_mut(hash, |of| keys.get(*of) == key) {
                Some(of) => {
                    next[row] = *of;
                    *of = row as u32;
                }
                None => {
                    first.insert_unique(hash, row as u32, |of| row_hash(keys.get(*of)));
                }
            }
        }
        let mut matched = BooleanBufferBuilder::new(rows);
        matched.append_n(rows, false);
        Ok(Block { columns, keys, first, next, matched })
    }
}

struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    fn get(&self, row: u32) -> &[u8] {
        let row = row as usize;
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.bytes[start..self.ends[row]]
    }
}

/// See the module.
pub(super) struct Block {
    pub(super) columns: Vec<ArrayRef>,
    keys: Keys,
    first: HashTable<u32>,
    /// The next row of the same key.
    next: Vec<u32>,
    /// Whether each row has had a match.
    pub(super) matched: BooleanBufferBuilder,
}

impl Block {
    /// How many rows it has.
    pub(super) fn len(&self) -> usize {
        self.next.len()
    }

    /// The first row with this key, or [`NONE`].
    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> u32 {
        self.first.find(row_hash(key), |of| self.keys.get(*of) == key).copied().unwrap_or(NONE)
    }

    /// The next row of the same key, or [`NONE`].
    #[inline]
    pub(super) fn next(&self, row: u32) -> u32 {
        self.next[row as usize]
    }
}
