//! Records that are sorted in memory.

use super::block::{self, Record};
use flugs_types::Result;

/// The first bytes of a key, which decide most comparisons.
#[inline]
pub(super) fn prefix(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut first = [0; 8];
            first[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(first)
        }
    }
}

/// Records in one buffer, and their order.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    bytes: Vec<u8>,
    /// The first bytes of each key, and where the record stands.
    order: Vec<(u64, u32)>,
}

impl Chunk {
    /// Appends a record. A chunk must be shorter than 4 GiB before.
    pub(super) fn push(&mut self, key: &[&[u8]], value: &[&[u8]]) -> Result<()> {
        let place = self.bytes.len();
        block::put(key, value, &mut self.bytes)?;
        self.order.push((prefix(block::at(&self.bytes, place).key), place as u32));
        Ok(())
    }

    /// Sorts by key; equal keys stay as they came.
    pub(super) fn sort(&mut self) {
        let bytes = &self.bytes;
        let key = |place: u32| block::at(bytes, place as usize).key;
        self.order.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| key(a.1).cmp(key(b.1))).then_with(|| a.1.cmp(&b.1))
        });
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// The memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len() + self.order.len() * size_of::<(u64, u32)>()
    }

    /// A record by its place in the order.
    #[inline]
    pub(super) fn record(&self, at: usize) -> Record<'_> {
        block::at(&self.bytes, self.order[at].1 as usize)
    }
}
