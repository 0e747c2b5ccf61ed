//! The directory: which shard a hash is in, and how the table grows.
//!
//! Indexed by the top bits of the hash within the table's range of key groups, so that shards stand in the order of
//! key groups. A shard of depth `d` fills the `2^(D - d)` entries, `D` being the directory's depth, whose first `d`
//! bits are those of its keys. A full shard splits in two by the next bit; where its depth is the directory's, the
//! directory doubles first. Growth therefore never moves more than one shard. Keys whose hashes are not spread would
//! make the directory double without end: past a bound it does not, and their shard grows instead.

use super::capture::Snapshot;
use super::shard::Shard;
use flugs_batch::{Data, Key};
use flugs_types::{KEY_GROUPS, KeyGroupRange, hash_key};
use std::mem::needs_drop;

/// Bits of the hash that the directory leaves to the shards.
const SHARD_BITS: u32 = 32;
/// The directory may have so many entries ...
const ENTRIES_MIN: usize = 64;
/// ... and so many more for each shard.
const ENTRIES_PER_SHARD: usize = 16;

/// What keys and values of a shard may hold beyond their own size before it is split.
const HEAP_MAX: usize = 128 << 10;

/// Owns the shards of a table.
pub(super) struct Directory<K, V> {
    /// Empty where the table is, else a power of two, at least two.
    shards: Vec<Shard<K, V>>,
    /// The first hash of the range.
    base: u64,
    /// The last hash of the range, less the first.
    last: u64,
    /// How many low bits of `hash - base` do not matter in the directory.
    shift: u32,
    /// How many low bits of `hash - base` are not zero for all hashes of the range.
    bits: u32,
    len: usize,
    /// What shards, keys and values take.
    bytes: usize,
    allocated: usize,
    pub(super) snapshot: Snapshot<K, V>,
}

/// A key that is looked up and, where it is new, inserted.
pub(super) trait RowKey<K> {
    fn key(&self) -> &K;
    fn into_key(self) -> K;
}

impl<K> RowKey<K> for K {
    #[inline(always)]
    fn key(&self) -> &K {
        self
    }

    #[inline(always)]
    fn into_key(self) -> K {
        self
    }
}

/// A borrowed key, cloned where it is new.
pub(super) struct Borrowed<'k, K>(pub(super) &'k K);

impl<K: Clone> RowKey<K> for Borrowed<'_, K> {
    #[inline(always)]
    fn key(&self) -> &K {
        self.0
    }

    #[inline(always)]
    fn into_key(self) -> K {
        self.0.clone()
    }
}

/// What values and keys hold is counted only where they can hold something.
#[inline(always)]
fn heap_of<K: Data, V: Data>(key: &K, value: &V) -> usize {
    if needs_drop::<(K, V)>() { key.heap_bytes() + value.heap_bytes() } else { 0 }
}

impl<K, V> Directory<K, V> {
    pub(super) fn new(groups: KeyGroupRange) -> Self {
        let group_bits = KEY_GROUPS.ilog2();
        let span = groups.end.saturating_sub(groups.start).clamp(1, KEY_GROUPS);
        let bits = 64 - group_bits + span.next_power_of_two().ilog2();
        Directory {
            shards: Vec::new(),
            base: u64::from(groups.start) << (64 - group_bits),
            last: ((u128::from(span) << (64 - group_bits)) - 1) as u64,
            shift: bits - 1,
            bits,
            len: 0,
            bytes: 0,
            allocated: 0,
            snapshot: Snapshot::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.shards.capacity() * size_of::<Shard<K, V>>()
    }

    /// How many entries the directory has.
    pub(super) fn entries(&self) -> usize {
        self.shards.len()
    }

    /// The entry of a hash; past the end where the table is empty or the hash is not in its range.
    #[inline(always)]
    fn index(&self, hash: u64) -> usize {
        (hash.wrapping_sub(self.base) >> self.shift) as usize
    }

    fn depth(&self) -> u32 {
        self.bits - self.shift
    }

    /// The entries that the shard at `at` fills.
    pub(super) fn span(&self, at: usize) -> std::ops::Range<usize> {
        let shard = self.shards[at];
        if shard.is_vacant() {
            return at..at + 1;
        }
        // SAFETY: shards in the directory are allocated.
        let n = 1 << (self.depth() - unsafe { shard.depth() });
        let start = at & !(n - 1);
        start..start + n
    }

    /// The entry that a place of a walk is in, a place being `hash - base` and one past the end of the range `u64::MAX` at the
    /// latest; `None` at the end. Places stay true while the table grows.
    pub(super) fn entry_at(&self, place: u64) -> Option<usize> {
        let at = (place >> self.shift) as usize;
        (at < self.shards.len() && place != u64::MAX).then_some(at)
    }

    /// The place where an entry starts.
    pub(super) fn place_of(&self, at: usize) -> u64 {
        u64::try_from((at as u128) << self.shift).unwrap_or(u64::MAX)
    }

    /// The keys of the shard at an entry.
    pub(super) fn keys_at(&self, at: usize) -> impl Iterator<Item = &K> {
        let shard = self.shards[at];
        // SAFETY: the shard is in the directory, and `self` is borrowed for as long as the references.
        unsafe { shard.places().map(move |place| &shard.entry(place).as_ref().0) }
    }

    /// The shard at a directory entry.
    pub(super) fn shard(&self, at: usize) -> Shard<K, V> {
        self.shards[at]
    }

    /// The shards in order, each once, vacant ones left out.
    pub(super) fn shards(&self) -> impl Iterator<Item = Shard<K, V>> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            while at < self.shards.len() {
                let shard = self.shards[at];
                at = self.span(at).end;
                if !shard.is_vacant() {
                    return Some(shard);
                }
            }
            None
        })
    }

    /// All entries.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.shards().flat_map(|shard| {
            // SAFETY: shards in the directory are allocated, and `self` is borrowed for as long as the references.
            unsafe {
                shard.places().map(move |place| {
                    let (key, value) = shard.entry(place).as_ref();
                    (key, value)
                })
            }
        })
    }

    pub(super) fn mark_captured(&mut self, at: usize) {
        let epoch = self.snapshot.epoch;
        let span = self.span(at);
        self.shards[span].iter_mut().for_each(|shard| shard.captured = epoch);
    }

    /// Notes what keys and values of a shard hold.
    pub(super) fn measured(&mut self, at: usize, heap: usize) {
        let shard = self.shards[at];
        // SAFETY: shards in the directory are allocated, and `self` is borrowed to be changed.
        unsafe {
            self.bytes = self.bytes - shard.heap() + heap;
            shard.set_heap(heap);
        }
    }

    /// Frees the empty shard at `at`.
    fn release_empty(&mut self, at: usize) {
        let shard = self.shards[at];
        let span = self.span(at);
        // SAFETY: allocated, empty, and replaced in all its entries below.
        unsafe {
            self.bytes -= shard.bytes() + shard.heap();
            shard.free();
        }
        self.allocated -= 1;
        self.shards[span].fill(Shard::vacant(self.snapshot.epoch));
        if self.len == 0 {
            self.reset();
        }
    }

    /// Makes the directory of an empty table as it was in the beginning. All shards are vacant.
    fn reset(&mut self) {
        debug_assert!(self.shards.iter().all(|shard| shard.is_vacant()));
        self.shards = Vec::new();
        self.shift = self.bits - 1;
        (self.len, self.bytes, self.allocated) = (0, 0, 0);
        self.snapshot.cursor = usize::MAX;
    }

    /// Takes all shards out; the table is empty then.
    pub(super) fn take_shards(&mut self) -> Vec<Shard<K, V>> {
        let taken = self.shards().collect();
        self.shards.clear();
        self.reset();
        taken
    }

    fn double(&mut self) {
        self.shards = self.shards.iter().flat_map(|&shard| [shard, shard]).collect();
        self.shift -= 1;
        self.snapshot.cursor = self.snapshot.cursor.saturating_mul(2);
    }
}

impl<K: Key, V: Data> Directory<K, V> {
    #[inline(always)]
    pub(super) fn find(&self, hash: u64, is_key: impl FnMut(&K) -> bool) -> Option<&V> {
        let shard = self.shards.get(self.index(hash))?;
        // SAFETY: shards in the directory are allocated or vacant, and `self` is borrowed for as long as the entry.
        unsafe { shard.find(hash, is_key).map(|place| &shard.entry(place).as_ref().1) }
    }

    #[inline(always)]
    pub(super) fn find_mut(&mut self, hash: u64, is_key: impl FnMut(&K) -> bool) -> Option<&mut V> {
        let shard = self.own(self.index(hash))?;
        // SAFETY: shards in the directory are allocated or vacant, and `self` is borrowed for as long as the entry.
        unsafe { shard.find(hash, is_key).map(|place| &mut shard.entry(place).as_mut().1) }
    }

    /// The value of a key; where there is none, `init` makes one.
    #[inline(always)]
    pub(super) fn find_or_insert<R: RowKey<K>>(
        &mut self,
        hash: u64,
        key: R,
        init: impl FnOnce() -> V,
    ) -> &mut V {
        if let Some(shard) = self.own(self.index(hash)) {
            // SAFETY: shards in the directory are allocated or vacant, and `self` is borrowed for as long as the entry.
            unsafe {
                if let Some(place) = shard.find(hash, |k| k == key.key()) {
                    return &mut shard.entry(place).as_mut().1;
                }
            }
        }
        self.insert_new(hash, (key.into_key(), init()))
    }

    /// Inserts an entry whose key is not there.
    pub(super) fn insert_new(&mut self, hash: u64, entry: (K, V)) -> &mut V {
        assert!(
            hash.wrapping_sub(self.base) <= self.last,
            "a key of another subtask's key group came to this table"
        );
        let at = self.make_room(hash);
        let heap = heap_of(&entry.0, &entry.1);
        self.len += 1;
        self.bytes += heap;
        // SAFETY: the shard has room, the key is not there, and `self` is borrowed for as long as the entry.
        unsafe { &mut self.shards[at].insert(hash, entry, heap).as_mut().1 }
    }

    pub(super) fn remove(&mut self, hash: u64, is_key: impl FnMut(&K) -> bool) -> Option<(K, V)> {
        let at = self.index(hash);
        let shard = self.own(at)?;
        // SAFETY: the shard is in the directory, and the place was just found under this hash.
        let entry = unsafe {
            let place = shard.find(hash, is_key)?;
            shard.remove(hash, place)
        };
        self.len -= 1;
        self.settle(at, heap_of(&entry.0, &entry.1));
        Some(entry)
    }

    /// Frees memory of the shard at `at` after entries that held `heap` bytes were removed from it.
    fn settle(&mut self, at: usize, heap: usize) {
        let shard = self.shards[at];
        // SAFETY: the shard had an entry, so it is allocated.
        unsafe {
            let heap = shard.heap().saturating_sub(heap);
            self.measured(at, heap);
            if shard.len() == 0 {
                self.release_empty(at);
            } else if let Some(chunks) = shard.fewer_chunks() {
                self.rebuild(at, chunks);
            }
        }
    }

    /// Calls `f` with the value of a key, if there is one; what it leaves there is the value afterwards.
    #[inline]
    pub(super) fn update<R>(&mut self, hash: u64, key: &K, f: impl FnOnce(&mut Option<V>) -> R) -> R {
        let at = self.index(hash);
        // SAFETY: the shard is in the directory, and the place is found under this hash right before it is used.
        unsafe {
            if let Some(shard) = self.own(at)
                && let Some(place) = shard.find(hash, |k| k == key)
            {
                // Where `f` panics, the entry is gone.
                self.len -= 1;
                let (result, gone) = shard.update(hash, place, f);
                if gone {
                    self.settle(at, 0);
                } else {
                    self.len += 1;
                }
                return result;
            }
        }
        let mut value = None;
        let result = f(&mut value);
        if let Some(value) = value {
            self.insert_new(hash, (key.clone(), value));
        }
        result
    }

    /// Walks the shard at `at`: `keep` says for each entry for which `due` holds whether it stays. The shard is captured only where
    /// some entry is due. Returns how many entries were removed.
    pub(super) fn sift(
        &mut self,
        at: usize,
        mut due: impl FnMut(&K, &V) -> bool,
        mut keep: impl FnMut(&K, &mut V) -> bool,
    ) -> usize {
        let shard = self.shards[at];
        // SAFETY: the shard is in the directory; references to its entries end before they are changed or removed, and
        // a removal leaves the places of others as they are. The shard may be freed after the walk only.
        unsafe {
            let is_due = |place| {
                let (key, value) = shard.entry(place).as_ref();
                due(key, value)
            };
            let Some(first) = shard.places().position(is_due) else { return 0 };
            self.own(at);
            let (mut removed, mut heap) = (0, 0);
            for place in shard.places().skip(first) {
                let (key, value) = shard.entry(place).as_mut();
                if due(key, value) && !keep(key, value) {
                    let entry = shard.remove(hash_key(key), place);
                    self.len -= 1;
                    removed += 1;
                    heap += heap_of(&entry.0, &entry.1);
                }
            }
            if removed > 0 {
                self.settle(at, heap);
            }
            removed
        }
    }

    /// Fetches the home of a hash.
    #[inline(always)]
    pub(super) fn prefetch(&self, hash: u64) {
        if let Some(shard) = self.shards.get(self.index(hash)) {
            shard.prefetch(hash);
        }
    }

    /// The shard at an entry, to be changed: captured first, if a snapshot wants it.
    #[inline(always)]
    pub(super) fn own(&mut self, at: usize) -> Option<Shard<K, V>> {
        let shard = *self.shards.get(at)?;
        if shard.captured != self.snapshot.epoch {
            self.capture_at(at);
        }
        Some(shard)
    }

    /// Makes the shard of a hash have room; returns its entry.
    #[inline]
    fn make_room(&mut self, hash: u64) -> usize {
        let at = self.index(hash);
        // SAFETY: shards in the directory are allocated or vacant.
        let has_room = self.shards.get(at).is_some_and(|shard| unsafe { shard.has_room() });
        if has_room { at } else { self.grow(hash) }
    }

    #[cold]
    fn grow(&mut self, hash: u64) -> usize {
        if self.shards.is_empty() {
            let first = Shard::allocate(1, 0, self.snapshot.epoch);
            self.shards = vec![first; 2];
            (self.bytes, self.allocated) = (first.bytes(), 1);
        }
        loop {
            let at = self.index(hash);
            let shard = self.shards[at];
            // SAFETY: the shard is in the directory.
            if unsafe { shard.has_room() } {
                return at;
            }
            if shard.is_vacant() {
                self.shards[at] = Shard::allocate(1, self.depth(), self.snapshot.epoch);
                self.bytes += self.shards[at].bytes();
                self.allocated += 1;
            } else if shard.chunks() < Shard::<K, V>::CHUNKS_MAX || !self.can_split(at) {
                self.rebuild(at, shard.chunks() * 2);
            } else {
                self.split(at);
            }
        }
    }

    fn can_split(&self, at: usize) -> bool {
        // SAFETY: the shard is in the directory and not vacant.
        let deep = unsafe { self.shards[at].depth() } == self.depth();
        let entries_max = ENTRIES_MIN + ENTRIES_PER_SHARD * self.allocated;
        !deep || self.shift > SHARD_BITS && 2 * self.shards.len() <= entries_max
    }

    /// The hashes of a shard's keys in the order of their places. They are computed before anything is moved, since this is
    /// the keys' code and may panic.
    fn hashes(&self, at: usize) -> Vec<u64> {
        let shard = self.shards[at];
        // SAFETY: the shard is in the directory, and references to its entries end here.
        unsafe { shard.places().map(|place| hash_key(&shard.entry(place).as_ref().0)).collect() }
    }

    /// Makes the shard at `at` have so many chunks.
    fn rebuild(&mut self, at: usize, chunks: usize) {
        let hashes = self.hashes(at);
        let old = self.shards[at];
        let span = self.span(at);
        // SAFETY: the old shard is replaced in all its entries; the new one is made large enough for its keys.
        unsafe {
            let new = Shard::allocate(chunks, old.depth(), self.snapshot.epoch);
            new.set_heap(old.heap());
            self.bytes = self.bytes - old.bytes() + new.bytes();
            old.move_into(&hashes, |_| new);
            self.shards[span].fill(new);
        }
    }

    /// Whether the values of the shard at `at` hold so much that it should be split, and it can be.
    pub(super) fn is_heavy(&self, at: usize) -> bool {
        let shard = self.shards[at];
        // SAFETY: the shard is in the directory.
        unsafe { shard.heap() > HEAP_MAX && shard.len() > 1 && self.can_split(at) }
    }

    /// Splits the shard at `at` by the next bit of the hash; returns where its lower half starts.
    pub(super) fn split(&mut self, mut at: usize) -> usize {
        let hashes = self.hashes(at);
        // SAFETY: the shard is in the directory and not vacant.
        if unsafe { self.shards[at].depth() } == self.depth() {
            self.double();
            at *= 2;
        }
        let old = self.shards[at];
        let span = self.span(at);
        let middle = span.start + span.len() / 2;
        let (base, shift) = (self.base, self.shift);
        // SAFETY: the old shard is replaced in all its entries; each new one is as large and so has room for all its keys.
        unsafe {
            let depth = old.depth() + 1;
            let halves = [(); 2].map(|()| Shard::allocate(old.chunks(), depth, self.snapshot.epoch));
            let heap = old.heap();
            self.bytes = self.bytes - old.bytes() + halves.map(Shard::bytes).iter().sum::<usize>();
            old.move_into(&hashes, |hash| {
                halves[usize::from((hash.wrapping_sub(base) >> shift) as usize >= middle)]
            });
            self.allocated += 1;
            self.shards[span.start..middle].fill(halves[0]);
            self.shards[middle..span.end].fill(halves[1]);
            // Shared out by the number of keys; measured again at the next snapshot.
            let first = heap / hashes.len().max(1) * halves[0].len();
            halves[0].set_heap(first);
            halves[1].set_heap(heap - first);
        }
        for half in [span.start, middle] {
            // SAFETY: just made.
            if unsafe { self.shards[half].len() } == 0 {
                self.release_empty(half);
            }
        }
        span.start
    }
}

impl<K, V> Drop for Directory<K, V> {
    fn drop(&mut self) {
        for shard in self.take_shards() {
            // SAFETY: taken out of the directory, each once.
            unsafe { shard.release() };
        }
    }
}
