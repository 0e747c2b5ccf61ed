//! The table of keyed state.
//!
//! `shard` is a small hash table in one allocation, `directory` finds the shard of a hash and grows, `capture`
//! takes snapshots, `batch` looks many rows up at once; this file is what others see. Unsafe code is in `shard`, and
//! around calls of it in `directory` and `capture`.

mod batch;
mod capture;
mod directory;
mod shard;

pub use capture::Drained;

use crate::snapshot::{FrozenPiece, Fuel, SnapshotTable, StateKind, StateSchema};
use directory::{Borrowed, Directory};
use flugs_batch::{Data, Key};
use flugs_types::{KeyGroupRange, hash_key};
use std::sync::Arc;

/// What a look at one shard costs of a slice's fuel, besides its size.
const SHARD_FUEL: usize = 64;

/// State of keys: a hash table in the order of key groups whose growth and whose snapshots stop nobody for long.
///
/// Methods that end in `_hashed` take the key's hash, `flugs_types::hash_key(key)`, and are wrong with any other.
/// Methods that insert panic on a key outside the table's range of key groups.
pub struct KeyedTable<K, V> {
    name: Arc<str>,
    entries: Directory<K, V>,
}

impl<K: Key, V: Data> KeyedTable<K, V> {
    /// An empty table for keys of these groups.
    pub fn new(name: &str, groups: KeyGroupRange) -> Self {
        Self::of_pane(name.into(), groups)
    }

    pub(crate) fn of_pane(name: Arc<str>, groups: KeyGroupRange) -> Self {
        KeyedTable { name, entries: Directory::new(groups) }
    }

    /// How many keys have a value.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no key has a value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of the key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.get_hashed(hash_key(key), key)
    }

    /// The value of the key with this hash.
    #[inline]
    pub fn get_hashed(&self, hash: u64, key: &K) -> Option<&V> {
        self.entries.find(hash, |k| k == key)
    }

    /// Whether the key has a value.
    pub fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// The value of the key, to be changed.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.get_mut_hashed(hash_key(key), key)
    }

    /// The value of the key with this hash, to be changed.
    #[inline]
    pub fn get_mut_hashed(&mut self, hash: u64, key: &K) -> Option<&mut V> {
        self.entries.find_mut(hash, |k| k == key)
    }

    /// The value of the key; where there is none, `init` makes one.
    #[inline]
    pub fn get_or_insert_with(&mut self, key: K, init: impl FnOnce() -> V) -> &mut V {
        self.entries.find_or_insert(hash_key(&key), key, init)
    }

    /// The value of the key with this hash; where there is none, the key is cloned and `init` makes one.
    #[inline]
    pub fn get_or_insert_hashed(&mut self, hash: u64, key: &K, init: impl FnOnce() -> V) -> &mut V {
        self.entries.find_or_insert(hash, Borrowed(key), init)
    }

    /// Sets the value of the key; returns the former one.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let hash = hash_key(&key);
        match self.entries.find_mut(hash, |k| *k == key) {
            Some(old) => Some(std::mem::replace(old, value)),
            None => {
                self.entries.insert_new(hash, (key, value));
                None
            }
        }
    }

    /// Removes the key; returns its value.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.remove_hashed(hash_key(key), key)
    }

    /// Removes the key with this hash; returns its value.
    pub fn remove_hashed(&mut self, hash: u64, key: &K) -> Option<V> {
        self.entries.remove(hash, |k| k == key).map(|(_, value)| value)
    }

    /// Calls `f` with the value of the key with this hash, if there is one; what it leaves there is the value afterwards. Where `f`
    /// panics, the key has none.
    #[inline]
    pub fn update_hashed<R>(&mut self, hash: u64, key: &K, f: impl FnOnce(&mut Option<V>) -> R) -> R {
        self.entries.update(hash, key, f)
    }

    /// For each row in order, calls `f` with the value of the row's key; `init` makes the value of a new key.
    ///
    /// Faster than row by row where the table is larger than the processor's caches. `key` is called for up to 64 rows
    /// before `f` is for the first of them.
    #[inline]
    pub fn for_each_row(
        &mut self,
        rows: usize,
        key: impl FnMut(usize) -> K,
        init: impl FnMut() -> V,
        f: impl FnMut(usize, &mut V),
    ) {
        self.entries.for_each_row(rows, key, init, f);
    }

    /// Likewise with borrowed keys, which are cloned where they are new.
    #[inline]
    pub fn for_each_row_ref<'k>(
        &mut self,
        rows: usize,
        mut key: impl FnMut(usize) -> &'k K,
        init: impl FnMut() -> V,
        f: impl FnMut(usize, &mut V),
    ) {
        self.entries.for_each_row(rows, |row| Borrowed(key(row)), init, f);
    }

    /// Asks the processor to fetch the place of the key with this hash, for a look-up some 64 keys later. Worth it for tables
    /// larger than the processor's caches.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        self.entries.prefetch(hash);
    }

    /// All keys and values; keys of a lower key group come first.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter()
    }

    /// Calls `f` for all keys and values, those of a lower key group first.
    pub fn for_each_mut(&mut self, mut f: impl FnMut(&K, &mut V)) {
        self.retain(|key, value| {
            f(key, value);
            true
        });
    }

    /// Keeps the entries for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        let mut at = 0;
        while at < self.entries.entries() {
            let end = self.entries.span(at).end;
            self.entries.sift(at, |_, _| true, &mut keep);
            at = end;
        }
    }

    /// Looks through a part of the table, from the place that `cursor` names (0 is the start) until `fuel` is spent: entries for
    /// which `due` holds are given to `keep`, which may change them and says whether they stay. Says whether the end was
    /// reached; `cursor` is at the start again then. Entries that come or go meanwhile may be missed or not.
    pub fn sweep(
        &mut self,
        cursor: &mut u64,
        fuel: &mut Fuel,
        mut due: impl FnMut(&K, &V) -> bool,
        mut keep: impl FnMut(&K, &mut V) -> bool,
    ) -> bool {
        while !fuel.is_spent() {
            let Some(at) = self.entries.entry_at(*cursor) else {
                *cursor = 0;
                return true;
            };
            fuel.spend(SHARD_FUEL + self.entries.shard(at).bytes());
            let next = self.entries.span(at).end;
            *cursor = self.entries.place_of(next);
            self.entries.sift(at, &mut due, &mut keep);
        }
        false
    }

    /// Appends the keys of some shards, from the place that `cursor` names (0 is the start). Says whether there are more.
    pub(crate) fn keys_from(&self, cursor: &mut u64, keys: &mut Vec<K>) -> bool {
        while let Some(at) = self.entries.entry_at(*cursor) {
            keys.extend(self.entries.keys_at(at).cloned());
            *cursor = self.entries.place_of(self.entries.span(at).end);
            if !keys.is_empty() {
                return true;
            }
        }
        false
    }

    /// Removes all. Cheaper than to drain: what a running snapshot has not captured is given to it without a copy.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Takes all entries out, those of a lower key group first. What a running snapshot has not captured is captured now.
    pub fn drain(&mut self) -> Drained<K, V> {
        self.entries.drain()
    }
}

impl<K: Key, V: Data> IntoIterator for KeyedTable<K, V> {
    type Item = (K, V);
    type IntoIter = Drained<K, V>;

    fn into_iter(mut self) -> Drained<K, V> {
        self.drain()
    }
}

impl<K: Key, V: Data> SnapshotTable for KeyedTable<K, V> {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema(&self) -> StateSchema {
        StateSchema { kind: StateKind::Keyed, key: K::schema(), value: V::schema() }
    }

    fn freeze(&mut self) {
        self.entries.freeze();
    }

    fn capture(&mut self, fuel: &mut Fuel, pieces: &mut Vec<Box<dyn FrozenPiece>>) -> bool {
        self.entries.capture(fuel, pieces)
    }

    fn cancel(&mut self) {
        self.entries.cancel();
    }

    fn bytes(&self) -> usize {
        self.entries.bytes()
    }
}

#[cfg(test)]
mod tests;
