//! Snapshots of a table: copy on write, shard by shard.
//!
//! Each shard knows the last snapshot it was captured for. A freeze only counts that number up. Whoever is about
//! to change a shard with an older number captures it first ([`Directory::own`]); [`Directory::capture`] walks over the
//! others in slices. A shard that is dropped or cleared as a whole moves into its piece without a copy.

use super::directory::Directory;
use super::shard::Shard;
use crate::run::PieceWriter;
use crate::snapshot::{FrozenPiece, Fuel};
use flugs_batch::{Data, Key};
use flugs_types::hash_key;
use std::mem::needs_drop;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What passing a shard costs of a slice's fuel.
const PASS_FUEL: usize = 16;

/// Where a table stands in its snapshots.
pub(super) struct Snapshot<K, V> {
    /// Counts the freezes. It wraps after four billion of them, by when every shard has been captured or marked since.
    pub(super) epoch: u32,
    /// Whether the one of this number is incomplete.
    running: bool,
    /// The first directory entry that was not walked over yet.
    pub(super) cursor: usize,
    /// Captured and not handed out.
    pieces: Vec<Box<dyn FrozenPiece>>,
    /// Memory for copies.
    buffers: Arc<Buffers<K, V>>,
}

impl<K, V> Default for Snapshot<K, V> {
    fn default() -> Self {
        let kept = Kept { free: Vec::new(), used: 0, used_max: 0 };
        let buffers = Arc::new(Buffers(Mutex::new(kept)));
        Snapshot { epoch: 0, running: false, cursor: 0, pieces: Vec::new(), buffers }
    }
}

/// Memory of copies that are encoded, for those to come: memory that is fresh from the system costs several times what the
/// copying does. What one snapshot needed at a time is kept for the next, and no more.
struct Buffers<K, V>(Mutex<Kept<K, V>>);

struct Kept<K, V> {
    free: Vec<Vec<(K, V)>>,
    /// How many are in use, and how many were at most since the snapshot began.
    used: usize,
    used_max: usize,
}

impl<K, V> Buffers<K, V> {
    fn lock(&self) -> MutexGuard<'_, Kept<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, rows: usize) -> Vec<(K, V)> {
        let mut kept = self.lock();
        kept.used += 1;
        kept.used_max = kept.used_max.max(kept.used);
        let free = kept.free.pop();
        drop(kept);
        // Some room to spare, so that it serves for most shards.
        free.filter(|rows_of| rows_of.capacity() >= rows)
            .unwrap_or_else(|| Vec::with_capacity(rows + rows / 4))
    }

    fn give_back(&self, mut rows: Vec<(K, V)>) {
        rows.clear();
        let mut kept = self.lock();
        kept.used -= 1;
        kept.free.push(rows);
    }

    /// A snapshot begins: lets go what the one before did not need.
    fn begin(&self) {
        let mut kept = self.lock();
        let needed = kept.used_max.saturating_sub(kept.used);
        kept.free.truncate(needed);
        kept.free.shrink_to_fit();
        kept.used_max = kept.used;
    }
}

/// Entries that own no memory of their own: copied, and encoded later.
struct Copied<K, V> {
    rows: Vec<(K, V)>,
    buffers: Arc<Buffers<K, V>>,
}

impl<K, V> Drop for Copied<K, V> {
    fn drop(&mut self) {
        self.buffers.give_back(std::mem::take(&mut self.rows));
    }
}

/// Entries that own memory: encoded at once, for that is cheaper than to clone each into allocations of its own.
struct Encoded {
    bytes: Vec<u8>,
    /// The hash of each key and where its entry ends.
    entries: Vec<(u64, usize)>,
}

/// A whole shard.
struct Moved<K, V>(Shard<K, V>);

impl<K: Key, V: Data> FrozenPiece for Copied<K, V> {
    fn encode(&self, out: &mut PieceWriter<'_>) {
        self.rows.iter().for_each(|(key, value)| encode_entry(key, value, out));
    }

    fn bytes(&self) -> usize {
        self.rows.capacity() * size_of::<(K, V)>()
    }
}

impl FrozenPiece for Encoded {
    fn encode(&self, out: &mut PieceWriter<'_>) {
        let mut start = 0;
        for &(hash, end) in &self.entries {
            out.keyed(hash, |block| block.extend_from_slice(&self.bytes[start..end]));
            start = end;
        }
    }

    fn bytes(&self) -> usize {
        self.bytes.capacity() + self.entries.capacity() * size_of::<(u64, usize)>()
    }
}

impl<K: Key, V: Data> FrozenPiece for Moved<K, V> {
    fn encode(&self, out: &mut PieceWriter<'_>) {
        // SAFETY: this piece owns the shard, which nobody changes any more.
        unsafe {
            for place in self.0.places() {
                let (key, value) = self.0.entry(place).as_ref();
                encode_entry(key, value, out);
            }
        }
    }

    fn bytes(&self) -> usize {
        // SAFETY: this piece owns the shard.
        self.0.bytes() + unsafe { self.0.heap() }
    }
}

impl<K, V> Drop for Moved<K, V> {
    fn drop(&mut self) {
        // SAFETY: this piece owns the shard and is gone after this.
        unsafe { self.0.release() }
    }
}

fn encode_entry<K: Key, V: Data>(key: &K, value: &V, out: &mut PieceWriter<'_>) {
    out.keyed(hash_key(key), |block| {
        key.encode(block);
        value.encode(block);
    });
}

impl<K: Key, V: Data> Directory<K, V> {
    pub(super) fn freeze(&mut self) {
        debug_assert!(!self.snapshot.running, "one snapshot at a time");
        self.cancel();
        self.snapshot.epoch = self.snapshot.epoch.wrapping_add(1);
        self.snapshot.running = true;
        self.snapshot.cursor = 0;
        self.snapshot.buffers.begin();
    }

    /// Shards that were not captured keep their old number and are marked when they are next changed.
    pub(super) fn cancel(&mut self) {
        self.snapshot.running = false;
        self.snapshot.pieces.clear();
    }

    pub(super) fn capture(&mut self, fuel: &mut Fuel, pieces: &mut Vec<Box<dyn FrozenPiece>>) -> bool {
        while self.snapshot.running {
            let at = self.snapshot.cursor;
            if at >= self.entries() {
                self.snapshot.running = false;
            } else if fuel.is_spent() {
                break;
            } else {
                if self.shard(at).captured != self.snapshot.epoch {
                    fuel.spend(self.capture_at(at));
                }
                fuel.spend(PASS_FUEL);
                self.pass();
            }
        }
        pieces.append(&mut self.snapshot.pieces);
        !self.snapshot.running
    }

    /// Moves the cursor past a captured shard. What its values hold is known now: where that is much, the shard is split, so that
    /// the snapshots to come find pieces that do not take long.
    fn pass(&mut self) {
        let place = self.place_of(self.span(self.snapshot.cursor).end);
        let mut at = self.snapshot.cursor;
        while at < self.entries() && self.place_of(at) < place {
            if self.is_heavy(at) {
                at = self.split(at);
            } else {
                at = self.span(at).end;
            }
        }
        self.snapshot.cursor = at;
    }

    /// Captures the shard at `at` if a snapshot is running, and marks it as captured. Returns how many bytes were read.
    #[cold]
    pub(super) fn capture_at(&mut self, at: usize) -> usize {
        let shard = self.shard(at);
        let mut bytes = 0;
        if self.snapshot.running && !shard.is_vacant() {
            // SAFETY: the shard is in the directory.
            bytes = shard.bytes() + unsafe { shard.heap() };
            let piece = if needs_drop::<(K, V)>() { self.encode_shard(at) } else { self.copy_shard(shard) };
            self.snapshot.pieces.push(piece);
        }
        self.mark_captured(at);
        bytes
    }

    fn encode_shard(&mut self, at: usize) -> Box<dyn FrozenPiece> {
        let shard = self.shard(at);
        let mut heap = 0;
        // SAFETY: the shard is in the directory, and references to its entries end here.
        let piece = unsafe {
            let mut piece = Encoded { bytes: Vec::new(), entries: Vec::with_capacity(shard.len()) };
            piece.bytes.reserve(shard.len() * size_of::<(K, V)>() + shard.heap());
            for place in shard.places() {
                let (key, value) = shard.entry(place).as_ref();
                heap += key.heap_bytes() + value.heap_bytes();
                key.encode(&mut piece.bytes);
                value.encode(&mut piece.bytes);
                piece.entries.push((hash_key(key), piece.bytes.len()));
            }
            piece
        };
        self.measured(at, heap);
        Box::new(piece)
    }

    fn copy_shard(&mut self, shard: Shard<K, V>) -> Box<dyn FrozenPiece> {
        let buffers = self.snapshot.buffers.clone();
        // SAFETY: the caller's shard is in this directory, and references to its entries end here. There are as many places
        // as entries, so that many rows are written before the length says so.
        let rows = unsafe {
            let mut rows = buffers.take(shard.len());
            let mut written = 0;
            for (row, place) in rows.spare_capacity_mut().iter_mut().zip(shard.places()) {
                row.write(shard.entry(place).as_ref().clone());
                written += 1;
            }
            rows.set_len(written);
            rows
        };
        Box::new(Copied { rows, buffers })
    }

    /// Removes all entries. What a snapshot has not captured moves into its pieces.
    pub(super) fn clear(&mut self) {
        let Snapshot { running, epoch, .. } = &self.snapshot;
        let (running, epoch) = (*running, *epoch);
        for shard in self.take_shards() {
            if running && shard.captured != epoch {
                self.snapshot.pieces.push(Box::new(Moved(shard)));
            } else {
                // SAFETY: taken out of the directory, each once.
                unsafe { shard.release() };
            }
        }
    }

    /// Takes all entries out. What a snapshot has not captured is captured first.
    pub(super) fn drain(&mut self) -> Drained<K, V> {
        if self.snapshot.running {
            let mut pieces = Vec::new();
            self.capture(&mut Fuel(usize::MAX), &mut pieces);
            self.snapshot.pieces = pieces;
        }
        Drained { shards: self.take_shards().into_iter(), current: None }
    }
}

/// The entries that were taken out of a table.
pub struct Drained<K, V> {
    shards: std::vec::IntoIter<Shard<K, V>>,
    /// The shard that entries are taken from, and the chunk.
    current: Option<(Shard<K, V>, usize)>,
}

impl<K, V> Iterator for Drained<K, V> {
    type Item = (K, V);

    fn next(&mut self) -> Option<(K, V)> {
        loop {
            if let Some((shard, chunk)) = &mut self.current {
                // SAFETY: the shard was taken out of its table and belongs to this iterator until it is freed.
                if let Some(entry) = unsafe { shard.take_any(chunk) } {
                    return Some(entry);
                }
                let shard = *shard;
                self.current = None;
                // SAFETY: as above; it is empty.
                unsafe { shard.free() };
            }
            self.current = Some((self.shards.next()?, 0));
        }
    }
}

impl<K, V> Drop for Drained<K, V> {
    fn drop(&mut self) {
        let current = self.current.take().map(|(shard, _)| shard);
        for shard in current.into_iter().chain(self.shards.by_ref()) {
            // SAFETY: the shards belong to this iterator; entries that were taken count as free.
            unsafe { shard.release() };
        }
    }
}
