//! The sets of distinct rows, in memory and in state.

use crate::row::RowBytes;
use flugs_batch::Data;
use flugs_batch::data::{DecodeError, Nesting, Reader, Schema};
use flugs_types::KeyHasher;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::hash::BuildHasherDefault;

/// Rows with a number each, which is not 0: how often a row is there, or a bit for each filter.
pub(super) trait Numbers {
    /// The number of a row, 0 where it is not there; it must not stay 0.
    fn number(&mut self, row: RowBytes) -> &mut i64;

    /// Removes a row.
    fn remove_row(&mut self, row: &RowBytes);
}

impl Numbers for BTreeMap<RowBytes, i64> {
    fn number(&mut self, row: RowBytes) -> &mut i64 {
        self.entry(row).or_insert(0)
    }

    fn remove_row(&mut self, row: &RowBytes) {
        self.remove(row);
    }
}

/// A chunk of a set that has a table of its own. Stored in the order of its rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Chunk(HashMap<RowBytes, i64, BuildHasherDefault<KeyHasher>>);

impl Chunk {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Those for which `high` holds, and the others.
    pub(super) fn split(self, high: impl Fn(&RowBytes) -> bool) -> (Chunk, Chunk) {
        let (mut highs, mut lows) = (Chunk::default(), Chunk::default());
        for (row, number) in self.0 {
            let to = if high(&row) { &mut highs } else { &mut lows };
            to.0.insert(row, number);
        }
        (highs, lows)
    }
}

impl Numbers for Chunk {
    #[inline]
    fn number(&mut self, row: RowBytes) -> &mut i64 {
        self.0.entry(row).or_insert(0)
    }

    fn remove_row(&mut self, row: &RowBytes) {
        self.0.remove(row);
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
        let mut rows: Vec<(&RowBytes, &i64)> = self.0.iter().collect();
        rows.sort_unstable();
        let n = u32::try_from(rows.len()).expect("a chunk is split long before it has 2^32 rows");
        out.extend_from_slice(&n.to_le_bytes());
        for (row, number) in rows {
            row.encode(out);
            number.encode(out);
        }
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Chunk(BTreeMap::<RowBytes, i64>::decode(input)?.into_iter().collect()))
    }

    fn heap_bytes(&self) -> usize {
        // A control byte for each place.
        self.0.capacity() * (size_of::<(RowBytes, i64)>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_stored_as_a_map() {
        let mut chunk = Chunk::default();
        let mut map = BTreeMap::new();
        for i in 0..100u8 {
            let row = RowBytes::new(&vec![i; usize::from(i)]);
            *chunk.number(row.clone()) = i64::from(i) + 1;
            map.insert(row, i64::from(i) + 1);
        }
        assert_eq!(chunk.to_bytes(), map.to_bytes());
        let again = Chunk::from_bytes(&chunk.to_bytes()).unwrap();
        assert_eq!((again.len(), again.to_bytes()), (100, map.to_bytes()));
        let (high, low) = again.split(|row| row.len() >= 40);
        assert_eq!((high.len(), low.len()), (60, 40));
    }
}
