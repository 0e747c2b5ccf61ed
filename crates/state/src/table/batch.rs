//! Access for many rows at once.
//!
//! While a table fits the processor's second-level cache, rows are looked up one after the other. Beyond it, the
//! keys of a group of rows are hashed and their homes fetched together before the first is read, so that the
//! waits for memory overlap.

use super::directory::{Directory, RowKey};
use flugs_batch::{Data, Key};
use flugs_types::hash_key;

/// Rows that are fetched together.
const GROUP: usize = 64;
/// Tables up to this size are looked up row by row.
const PLAIN_BYTES_MAX: usize = 256 << 10;

impl<K: Key, V: Data> Directory<K, V> {
    #[inline(always)]
    pub(super) fn for_each_row<R: RowKey<K>>(
        &mut self,
        rows: usize,
        mut key: impl FnMut(usize) -> R,
        mut init: impl FnMut() -> V,
        mut f: impl FnMut(usize, &mut V),
    ) {
        let mut row = 0;
        while row < rows && self.bytes() < PLAIN_BYTES_MAX {
            // Looked at anew for each group, since the table grows.
            for row in row..rows.min(row + GROUP) {
                let key = key(row);
                f(row, self.find_or_insert(hash_key(key.key()), key, &mut init));
            }
            row += GROUP;
        }
        let mut keys = Vec::with_capacity(if row < rows { GROUP } else { 0 });
        while row < rows {
            let n = GROUP.min(rows - row);
            keys.extend((row..row + n).map(&mut key).map(|key| (hash_key(key.key()), key)));
            keys.iter().for_each(|(hash, _)| self.prefetch(*hash));
            for (i, (hash, key)) in keys.drain(..).enumerate() {
                f(row + i, self.find_or_insert(hash, key, &mut init));
            }
            row += n;
        }
    }
}
