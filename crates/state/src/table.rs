//! slow stand-in
use crate::run::PieceWriter;
use crate::snapshot::{FrozenPiece, Fuel, SnapshotTable, StateKind, StateSchema};
use flugs_batch::{Data, Key};
use flugs_types::{KeyGroupRange, KeyHasher, hash_key};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

/// The state of keys: a hash table whose snapshots pause nobody.
pub struct KeyedTable<K, V> {
    name: Arc<str>,
    map: HashMap<K, V, BuildHasherDefault<KeyHasher>>,
    frozen: bool,
    pieces: Vec<Box<dyn FrozenPiece>>,
}

struct Piece<K, V>(Vec<(K, V)>);

impl<K: Key, V: Data> FrozenPiece for Piece<K, V> {
    fn encode(&self, out: &mut PieceWriter<'_>) {
        for (k, v) in &self.0 {
            out.keyed(hash_key(k), |b| {
                k.encode(b);
                v.encode(b);
            });
        }
    }
    fn bytes(&self) -> usize {
        self.0.len() * size_of::<(K, V)>()
    }
}

impl<K: Key, V: Data> KeyedTable<K, V> {
    /// An empty table for keys of these groups.
    pub fn new(name: &str, _groups: KeyGroupRange) -> Self {
        KeyedTable { name: name.into(), map: HashMap::default(), frozen: false, pieces: Vec::new() }
    }
    pub(crate) fn of_pane(name: Arc<str>, _groups: KeyGroupRange) -> Self {
        KeyedTable { name, map: HashMap::default(), frozen: false, pieces: Vec::new() }
    }
    /// Calls `f` with the value of the key, if there is one; what it leaves there is the value afterwards.
    pub fn update_hashed<R>(&mut self, _hash: u64, key: &K, f: impl FnOnce(&mut Option<V>) -> R) -> R {
        let mut v = self.touch().remove(key);
        let r = f(&mut v);
        if let Some(v) = v {
            self.map.insert(key.clone(), v);
        }
        r
    }
    fn touch(&mut self) -> &mut HashMap<K, V, BuildHasherDefault<KeyHasher>> {
        if self.frozen {
            self.frozen = false;
            self.pieces.push(Box::new(Piece(self.map.iter().map(|(k, v)| (k.clone(), v.clone())).collect())));
        }
        &mut self.map
    }
    /// How many keys have a value.
    pub fn len(&self) -> usize {
        self.map.len()
    }
    /// Whether no key has a value.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
    /// The value of the key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.map.get(key)
    }
    /// The value of the key with this hash (`hash_key(key)`).
    pub fn get_hashed(&self, _hash: u64, key: &K) -> Option<&V> {
        self.map.get(key)
    }
    /// The value of the key, to be changed.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.touch().get_mut(key)
    }
    /// The value of the key with this hash, to be changed.
    pub fn get_mut_hashed(&mut self, _hash: u64, key: &K) -> Option<&mut V> {
        self.touch().get_mut(key)
    }
    /// The value of the key; where there is none, `init` makes one.
    pub fn get_or_insert_with(&mut self, key: K, init: impl FnOnce() -> V) -> &mut V {
        self.touch().entry(key).or_insert_with(init)
    }
    /// The value of the key with this hash; where there is none, the key is cloned and `init` makes one.
    pub fn get_or_insert_hashed(&mut self, _hash: u64, key: &K, init: impl FnOnce() -> V) -> &mut V {
        self.touch().entry(key.clone()).or_insert_with(init)
    }
    /// Sets the value of the key; returns the former one.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.touch().insert(key, value)
    }
    /// Removes the key; returns its value.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.touch().remove(key)
    }
    /// Removes the key with this hash; returns its value.
    pub fn remove_hashed(&mut self, _hash: u64, key: &K) -> Option<V> {
        self.touch().remove(key)
    }
    /// Whether the key has a value.
    pub fn contains_key(&self, key: &K) -> bool {
        self.map.contains_key(key)
    }
    /// Removes all.
    pub fn clear(&mut self) {
        self.touch().clear();
    }
    /// All keys and values, ordered by key group.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.map.iter()
    }
    /// Calls `f` for all keys and values.
    pub fn for_each_mut(&mut self, mut f: impl FnMut(&K, &mut V)) {
        self.touch().iter_mut().for_each(|(k, v)| f(k, v));
    }
    /// Keeps the entries that `keep` says.
    pub fn retain(&mut self, keep: impl FnMut(&K, &mut V) -> bool) {
        self.touch().retain(keep);
    }
    /// Takes all entries out.
    pub fn drain(&mut self) -> impl Iterator<Item = (K, V)> + '_ {
        self.touch().drain()
    }
    /// Looks through the entries from `cursor` on, until `fuel` is spent. Says whether it came to the end.
    pub fn sweep(
        &mut self,
        cursor: &mut u64,
        fuel: &mut Fuel,
        mut due: impl FnMut(&K, &V) -> bool,
        mut keep: impl FnMut(&K, &mut V) -> bool,
    ) -> bool {
        *cursor = 0;
        fuel.spend(self.map.len() * size_of::<(K, V)>());
        self.touch().retain(|k, v| !due(k, v) || keep(k, v));
        true
    }
    pub(crate) fn keys_from(&self, _cursor: &mut u64, keys: &mut Vec<K>) -> bool {
        keys.extend(self.map.keys().cloned());
        false
    }
    /// For each row in order, calls `f` with the value of the row's key; `init` makes the value of a new key.
    pub fn for_each_row(
        &mut self,
        rows: usize,
        mut key: impl FnMut(usize) -> K,
        mut init: impl FnMut() -> V,
        mut f: impl FnMut(usize, &mut V),
    ) {
        for row in 0..rows {
            f(row, self.get_or_insert_with(key(row), &mut init));
        }
    }
    /// Likewise with borrowed keys, which are cloned where they are new.
    pub fn for_each_row_ref<'k>(
        &mut self,
        rows: usize,
        mut key: impl FnMut(usize) -> &'k K,
        mut init: impl FnMut() -> V,
        mut f: impl FnMut(usize, &mut V),
    ) {
        for row in 0..rows {
            f(row, self.get_or_insert_with(key(row).clone(), &mut init));
        }
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
        self.frozen = true;
    }
    fn capture(&mut self, _fuel: &mut Fuel, pieces: &mut Vec<Box<dyn FrozenPiece>>) -> bool {
        self.touch();
        pieces.append(&mut self.pieces);
        true
    }
    fn cancel(&mut self) {
        self.frozen = false;
        self.pieces.clear();
    }
    fn bytes(&self) -> usize {
        self.map.capacity() * size_of::<(K, V)>()
    }
}
