//! Operator state: small tables that belong to a subtask and not to keys.
//!
//! They are meant for positions and rules, not for data: a snapshot encodes such a table as a whole before
//! the first change after the freeze.

use crate::run::PieceWriter;
use crate::snapshot::{FrozenPiece, Fuel, SnapshotTable, StateKind, StateSchema};
use flugs_batch::Data;
use flugs_batch::data::Schema;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where a table that is captured as a whole stands in a snapshot.
#[derive(Default)]
struct Whole {
    frozen: bool,
    piece: Option<Box<dyn FrozenPiece>>,
}

impl Whole {
    fn freeze(&mut self) {
        debug_assert!(!self.frozen && self.piece.is_none(), "one snapshot at a time");
        *self = Whole { frozen: true, piece: None };
    }

    /// Captures what `encode` writes, if that is due.
    fn capture(&mut self, encode: impl FnOnce(&mut Entries)) {
        if self.frozen {
            let mut entries = Entries::default();
            encode(&mut entries);
            self.piece = Some(Box::new(entries));
            self.frozen = false;
        }
    }

    fn hand_out(&mut self, fuel: &mut Fuel, pieces: &mut Vec<Box<dyn FrozenPiece>>) -> bool {
        if let Some(piece) = self.piece.take() {
            fuel.spend(piece.bytes());
            pieces.push(piece);
        }
        true
    }
}

/// Encoded entries, each with its end.
#[derive(Default)]
struct Entries {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Entries {
    fn push(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        encode(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }
}

impl FrozenPiece for Entries {
    fn encode(&self, out: &mut PieceWriter<'_>) {
        let mut start = 0;
        for &end in &self.ends {
            out.unkeyed(|block| block.extend_from_slice(&self.bytes[start..end]));
            start = end;
        }
    }

    fn bytes(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<usize>()
    }
}

/// Items that are dealt out one by one when the parallelism changes: item `i` of all subtasks' items, one subtask after the
/// other, goes to subtask `i % parallelism`. With unchanged parallelism each subtask gets its own back.
pub struct ListTable<T> {
    name: Arc<str>,
    kind: StateKind,
    items: Vec<T>,
    snapshot: Whole,
}

impl<T: Data> ListTable<T> {
    /// A list with these items.
    pub fn new(name: &str, items: Vec<T>) -> Self {
        Self::of_kind(name, StateKind::List, items)
    }

    fn of_kind(name: &str, kind: StateKind, items: Vec<T>) -> Self {
        ListTable { name: name.into(), kind, items, snapshot: Whole::default() }
    }

    /// The items.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// The items, to be changed.
    pub fn items_mut(&mut self) -> &mut Vec<T> {
        let ListTable { items, snapshot, .. } = self;
        snapshot.capture(|entries| items.iter().for_each(|item| entries.push(|out| item.encode(out))));
        &mut self.items
    }

    /// Appends an item.
    pub fn push(&mut self, item: T) {
        self.items_mut().push(item);
    }

    /// Puts these items in the place of all.
    pub fn replace(&mut self, items: impl IntoIterator<Item = T>) {
        let all = self.items_mut();
        all.clear();
        all.extend(items);
    }
}

impl<T: Data> SnapshotTable for ListTable<T> {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema(&self) -> StateSchema {
        StateSchema { kind: self.kind, key: Schema::Unit, value: T::schema() }
    }

    fn freeze(&mut self) {
        self.snapshot.freeze();
    }

    fn capture(&mut self, fuel: &mut Fuel, pieces: &mut Vec<Box<dyn FrozenPiece>>) -> bool {
        self.items_mut();
        self.snapshot.hand_out(fuel, pieces)
    }

    fn cancel(&mut self) {
        self.snapshot = Whole::default();
    }

    fn bytes(&self) -> usize {
        self.items.capacity() * size_of::<T>() + self.items.iter().map(T::heap_bytes).sum::<usize>()
    }
}

/// Items of which every subtask gets all, those of the first old subtask first.
pub struct UnionListTable<T>(ListTable<T>);

impl<T: Data> UnionListTable<T> {
    /// A list with these items.
    pub fn new(name: &str, items: Vec<T>) -> Self {
        UnionListTable(ListTable::of_kind(name, StateKind::UnionList, items))
    }

    /// The items.
    pub fn items(&self) -> &[T] {
        self.0.items()
    }

    /// The items, to be changed.
    pub fn items_mut(&mut self) -> &mut Vec<T> {
        self.0.items_mut()
    }

    /// Appends an item.
    pub fn push(&mut self, item: T) {
        self.0.push(item);
    }

    /// Puts these items in the place of all.
    pub fn replace(&mut self, items: impl IntoIterator<Item = T>) {
        self.0.replace(items);
    }
}

impl<T: Data> SnapshotTable for UnionListTable<T> {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn schema(&self) -> StateSchema {
        self.0.schema()
    }
    fn freeze(&mut self) {
        self.0.freeze();
    }
    fn capture(&mut self, fuel: &mut Fuel, pieces: &mut Vec<Box<dyn FrozenPiece>>) -> bool {
        self.0.capture(fuel, pieces)
    }
    fn cancel(&mut self) {
        self.0.cancel();
    }
    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

/// A map that is the same in every subtask, because each makes the same changes in the same order. A restored subtask
/// reads the copy of one old subtask.
pub struct BroadcastTable<K, V> {
    name: Arc<str>,
    map: BTreeMap<K, V>,
    snapshot: Whole,
}

impl<K: Data + Ord, V: Data> BroadcastTable<K, V> {
    /// A table with these entries.
    pub fn new(name: &str, map: BTreeMap<K, V>) -> Self {
        BroadcastTable { name: name.into(), map, snapshot: Whole::default() }
    }

    /// The entries.
    pub fn map(&self) -> &BTreeMap<K, V> {
        &self.map
    }

    /// The entries, to be changed.
    pub fn map_mut(&mut self) -> &mut BTreeMap<K, V> {
        let BroadcastTable { map, snapshot, .. } = self;
        snapshot.capture(|entries| {
            for (key, value) in map.iter() {
                entries.push(|out| {
                    key.encode(out);
                    value.encode(out);
                });
            }
        });
        &mut self.map
    }

    /// The value of the key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.map.get(key)
    }

    /// Sets the value of the key; returns the former one.
    pub fn put(&mut self, key: K, value: V) -> Option<V> {
        self.map_mut().insert(key, value)
    }

    /// Removes the key; returns its value.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.map_mut().remove(key)
    }

    /// The entries in the order of keys.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.map.iter()
    }
}

impl<K: Data + Ord, V: Data> SnapshotTable for BroadcastTable<K, V> {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema(&self) -> StateSchema {
        StateSchema { kind: StateKind::Broadcast, key: K::schema(), value: V::schema() }
    }

    fn freeze(&mut self) {
        self.snapshot.freeze();
    }

    fn capture(&mut self, fuel: &mut Fuel, pieces: &mut Vec<Box<dyn FrozenPiece>>) -> bool {
        self.map_mut();
        self.snapshot.hand_out(fuel, pieces)
    }

    fn cancel(&mut self) {
        self.snapshot = Whole::default();
    }

    fn bytes(&self) -> usize {
        self.map.iter().map(|(k, v)| size_of::<(K, V)>() + k.heap_bytes() + v.heap_bytes()).sum()
    }
}
