//! The sets of distinct rows, in memory and in state.

use crate::row::{RowBytes, row_hash, same_bytes};
use flugs_batch::Data;
use flugs_batch::data::{DecodeError, Nesting, Reader, Schema};
use flugs_types::prefetch;
use std::collections::BTreeMap;

/// Rows with a number each, which is not 0: how often a row is there, or a bit for each filter.
pub(super) trait Numbers {
    /// The number of a row with this hash ([`row_hash`]), 0 where it is not there; it must not stay 0.
    fn number(&mut self, hash: u64, row: &[u8]) -> &mut i64;

    /// Removes a row, whatever its number is.
    fn remove_row(&mut self, hash: u64, row: &[u8]);
}

impl Numbers for BTreeMap<RowBytes, i64> {
    fn number(&mut self, _: u64, row: &[u8]) -> &mut i64 {
        self.entry(RowBytes::new(row)).or_insert(0)
    }

    fn remove_row(&mut self, _: u64, row: &[u8]) {
        self.remove(&RowBytes::new(row));
    }
}

/// A chunk of a set that has a table of its own. Stored in the order of its rows.
///
/// Linear probing from a place that the hash says, so that a row is mostly one look at memory, which can be [asked
/// for](Chunk::prefetch) before. Its low bits say nothing about the place: they choose the chunk.
#[derive(Debug, Clone, Default)]
pub(super) struct Chunk {
    /// As many as a power of two, or none; at least a quarter is free.
    slots: Box<[Slot]>,
    len: usize,
}

/// A row and its number; free where that is 0.
#[derive(Debug, Clone, Default)]
struct Slot {
    row: RowBytes,
    number: i64,
}

/// The places of the smallest table that is not empty.
const SLOTS_MIN: usize = 4;

impl Chunk {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Asks for the memory where a row with this hash would be.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        if let Some(slot) = self.slots.get(self.home(hash)) {
            prefetch(slot);
        }
    }

    /// Those for which `high` holds, and the others.
    pub(super) fn split(self, high: impl Fn(&RowBytes) -> bool) -> (Chunk, Chunk) {
        let (mut highs, mut lows) = (Chunk::default(), Chunk::default());
        for slot in self.slots.into_iter().filter(|slot| slot.number != 0) {
            let to = if high(&slot.row) { &mut highs } else { &mut lows };
            to.put(slot);
        }
        (highs, lows)
    }

    fn home(&self, hash: u64) -> usize {
        (hash >> 32) as usize & self.slots.len().wrapping_sub(1)
    }

    /// Where the row is, or the free place where it would go. There must be one.
    #[inline]
    fn place(&self, hash: u64, row: &[u8]) -> usize {
        let mut at = self.home(hash);
        while self.slots[at].number != 0 && !same_bytes(&self.slots[at].row, row) {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    /// Adds a row that is not there.
    fn put(&mut self, slot: Slot) {
        self.reserve();
        let at = self.place(row_hash(&slot.row), &slot.row);
        self.slots[at] = slot;
        self.len += 1;
    }

    /// Makes a place for one more.
    fn reserve(&mut self) {
        if (self.len + 1) * 4 <= self.slots.len() * 3 {
            return;
        }
        let slots = (self.slots.len() * 2).max(SLOTS_MIN);
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); slots].into());
        for slot in old.into_iter().filter(|slot| slot.number != 0) {
            let at = self.place(row_hash(&slot.row), &slot.row);
            self.slots[at] = slot;
        }
    }
}

impl Numbers for Chunk {
    #[inline]
    fn number(&mut self, hash: u64, row: &[u8]) -> &mut i64 {
        self.reserve();
        let at = self.place(hash, row);
        let slot = &mut self.slots[at];
        if slot.number == 0 {
            slot.row = RowBytes::new(row);
            self.len += 1;
        }
        &mut slot.number
    }

    fn remove_row(&mut self, hash: u64, row: &[u8]) {
        let Some(last) = self.slots.len().checked_sub(1) else { return };
        let mut at = self.home(hash);
        while !same_bytes(&self.slots[at].row, row) {
            if self.slots[at].number == 0 {
                return;
            }
            at = (at + 1) & last;
        }
        self.len -= 1;
        self.slots[at] = Slot::default();
        // What stands behind comes closer to its home, so that no search ends at the free place too early.
        let mut next = (at + 1) & last;
        while self.slots[next].number != 0 {
            let home = self.home(row_hash(&self.slots[next].row));
            if next.wrapping_sub(home) & last >= next.wrapping_sub(at) & last {
                self.slots[at] = std::mem::take(&mut self.slots[next]);
                at = next;
            }
            next = (next + 1) & last;
        }
    }
}

/// As a map from rows to numbers.
impl Data for Chunk {
    const BYTES_MIN: usize = 4;

    fn schema() -> Schema {
        BTreeMap::<RowBytes, i64>::schema()
    }

    fn describe(nesting: &mut Nesting) -> Schema {
        BTreeMap::<RowBytes, i64>::describe(nesting)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let mut rows: Vec<&Slot> = self.slots.iter().filter(|slot| slot.number != 0).collect();
        rows.sort_unstable_by(|a, b| a.row.cmp(&b.row));
        let n = u32::try_from(rows.len()).expect("a chunk is split long before it has 2^32 rows");
        out.extend_from_slice(&n.to_le_bytes());
        for slot in rows {
            slot.row.encode(out);
            slot.number.encode(out);
        }
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let rows = BTreeMap::<RowBytes, i64>::decode(input)?;
        let mut chunk = Chunk::default();
        rows.into_iter()
            .filter(|(_, number)| *number != 0)
            .for_each(|(row, number)| chunk.put(Slot { row, number }));
        Ok(chunk)
    }

    fn heap_bytes(&self) -> usize {
        size_of_val(&self.slots[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_chunk_is_stored_as_a_map() {
        let mut chunk = Chunk::default();
        let mut map = BTreeMap::new();
        for i in 0..100u8 {
            let row = RowBytes::new(&vec![i; usize::from(i)]);
            *chunk.number(row_hash(&row), &row) = i64::from(i) + 1;
            map.insert(row, i64::from(i) + 1);
        }
        assert_eq!(chunk.to_bytes(), map.to_bytes());
        let again = Chunk::from_bytes(&chunk.to_bytes()).unwrap();
        assert_eq!((again.len(), again.to_bytes()), (100, map.to_bytes()));
        let (high, low) = again.split(|row| row.len() >= 40);
        assert_eq!((high.len(), low.len()), (60, 40));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn rows_come_and_go_as_in_a_map(changes in prop::collection::vec((0u8..40, any::<bool>(), 1i64..9), 0..400)) {
            let (mut chunk, mut map) = (Chunk::default(), BTreeMap::new());
            for (i, add, by) in changes {
                let row = [i; 30];
                let hash = row_hash(&row);
                if add {
                    *chunk.number(hash, &row) += by;
                    *map.number(hash, &row) += by;
                } else {
                    chunk.remove_row(hash, &row);
                    map.remove_row(hash, &row);
                }
                prop_assert_eq!(chunk.len(), map.len());
            }
            prop_assert_eq!(chunk.to_bytes(), map.to_bytes());
        }
    }
}
