//! Keyed state of windows: a table a namespace, found once for many rows and closed as a whole.

use crate::run::PieceWriter;
use crate::snapshot::{FrozenPiece, Fuel, SnapshotTable, StateKind, StateSchema};
use crate::table::KeyedTable;
use flugs_batch::data::Schema;
use flugs_batch::{Data, Key};
use flugs_types::KeyGroupRange;
use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// What a look at one pane costs of a slice's fuel.
const PANE_FUEL: usize = 64;

/// Ordered namespaces (windows), each with the state of its keys.
///
/// A pane joins a running snapshot when it is first touched after the freeze, so freezing costs the same however
/// many panes there are.
pub struct PaneTable<K, N, V> {
    name: Arc<str>,
    groups: KeyGroupRange,
    panes: BTreeMap<N, Pane<K, V>>,
    /// Counts the freezes.
    snapshot: u64,
    running: bool,
    /// The last pane that is captured as a whole.
    captured_to: Option<N>,
    /// Pieces of panes that were removed before they were captured.
    pieces: Vec<Box<dyn FrozenPiece>>,
}

struct Pane<K, V> {
    table: KeyedTable<K, V>,
    /// The encoded namespace.
    prefix: Arc<[u8]>,
    /// The snapshot that this pane has joined, or was made after.
    joined: u64,
}

struct PanePiece {
    prefix: Arc<[u8]>,
    entries: Box<dyn FrozenPiece>,
}

impl FrozenPiece for PanePiece {
    fn encode(&self, out: &mut PieceWriter<'_>) {
        self.entries.encode(&mut out.with_prefix(&self.prefix));
    }

    fn bytes(&self) -> usize {
        self.entries.bytes() + self.prefix.len()
    }
}

impl<K: Key, V: Data> Pane<K, V> {
    fn join(&mut self, snapshot: u64, running: bool) {
        if self.joined != snapshot {
            self.joined = snapshot;
            if running {
                self.table.freeze();
            }
        }
    }

    fn capture(&mut self, fuel: &mut Fuel, pieces: &mut Vec<Box<dyn FrozenPiece>>) -> bool {
        let start = pieces.len();
        let complete = self.table.capture(fuel, pieces);
        self.mark(pieces, start);
        complete
    }

    /// Puts the namespace before the entries of the pieces from `start` on.
    fn mark(&self, pieces: &mut Vec<Box<dyn FrozenPiece>>, start: usize) {
        let own = pieces.split_off(start);
        pieces.extend(own.into_iter().map(|entries| {
            Box::new(PanePiece { prefix: Arc::clone(&self.prefix), entries }) as Box<dyn FrozenPiece>
        }));
    }
}

impl<K: Key, N: Data + Ord, V: Data> PaneTable<K, N, V> {
    /// A table without panes, for keys of these groups.
    pub fn new(name: &str, groups: KeyGroupRange) -> Self {
        PaneTable {
            name: name.into(),
            groups,
            panes: BTreeMap::new(),
            snapshot: 0,
            running: false,
            captured_to: None,
            pieces: Vec::new(),
        }
    }

    /// How many panes there are.
    pub fn len(&self) -> usize {
        self.panes.len()
    }

    /// Whether there is no pane.
    pub fn is_empty(&self) -> bool {
        self.panes.is_empty()
    }

    /// How many keys all panes have together.
    pub fn entries(&self) -> usize {
        self.panes.values().map(|pane| pane.table.len()).sum()
    }

    /// The namespaces in order.
    pub fn namespaces(&self) -> impl DoubleEndedIterator<Item = &N> {
        self.panes.keys()
    }

    /// The namespaces of a range in order.
    pub fn within(&self, range: impl RangeBounds<N>) -> impl DoubleEndedIterator<Item = &N> {
        self.panes.range(range).map(|(namespace, _)| namespace)
    }

    /// All panes in the order of namespaces.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&N, &KeyedTable<K, V>)> {
        self.panes.iter().map(|(namespace, pane)| (namespace, &pane.table))
    }

    /// The first pane.
    pub fn first(&self) -> Option<(&N, &KeyedTable<K, V>)> {
        self.iter().next()
    }

    /// The pane of the namespace.
    pub fn pane(&self, namespace: &N) -> Option<&KeyedTable<K, V>> {
        self.panes.get(namespace).map(|pane| &pane.table)
    }

    /// The pane of the namespace, to be changed; made if there is none.
    pub fn pane_mut(&mut self, namespace: N) -> &mut KeyedTable<K, V> {
        let PaneTable { name, groups, panes, snapshot, running, .. } = self;
        let pane = panes.entry(namespace).or_insert_with_key(|namespace| Pane {
            table: KeyedTable::of_pane(Arc::clone(name), *groups),
            prefix: namespace.to_bytes().into(),
            joined: *snapshot,
        });
        pane.join(*snapshot, *running);
        &mut pane.table
    }

    /// The pane of the namespace, to be changed, if there is one.
    pub fn existing_mut(&mut self, namespace: &N) -> Option<&mut KeyedTable<K, V>> {
        let pane = self.panes.get_mut(namespace)?;
        pane.join(self.snapshot, self.running);
        Some(&mut pane.table)
    }

    /// Takes the pane of the namespace out. What a running snapshot has not captured of it is captured now.
    pub fn remove(&mut self, namespace: &N) -> Option<KeyedTable<K, V>> {
        let pane = self.panes.remove(namespace)?;
        Some(self.leave(pane))
    }

    /// Takes the first pane out, as [`remove`](PaneTable::remove) does.
    pub fn take_first(&mut self) -> Option<(N, KeyedTable<K, V>)> {
        let (namespace, pane) = self.panes.pop_first()?;
        Some((namespace, self.leave(pane)))
    }

    fn leave(&mut self, mut pane: Pane<K, V>) -> KeyedTable<K, V> {
        pane.join(self.snapshot, self.running);
        pane.capture(&mut Fuel::UNLIMITED.clone(), &mut self.pieces);
        pane.table
    }

    /// Drops the pane of the namespace; cheaper than to take it out, since a running snapshot gets what it has not captured
    /// without a copy. Says whether there was one.
    pub fn discard(&mut self, namespace: &N) -> bool {
        let Some(mut pane) = self.panes.remove(namespace) else { return false };
        pane.join(self.snapshot, self.running);
        let start = self.pieces.len();
        pane.table.clear();
        pane.table.capture(&mut Fuel::UNLIMITED.clone(), &mut self.pieces);
        let mut own = self.pieces.split_off(start);
        pane.mark(&mut own, 0);
        self.pieces.append(&mut own);
        true
    }
}

impl<K: Key, N: Data + Ord, V: Data> SnapshotTable for PaneTable<K, N, V> {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema(&self) -> StateSchema {
        StateSchema {
            kind: StateKind::KeyedPanes,
            key: Schema::Tuple(vec![N::schema(), K::schema()]),
            value: V::schema(),
        }
    }

    fn freeze(&mut self) {
        debug_assert!(!self.running, "one snapshot at a time");
        if self.running {
            self.cancel();
        }
        self.snapshot += 1;
        self.running = true;
        self.captured_to = None;
    }

    fn capture(&mut self, fuel: &mut Fuel, pieces: &mut Vec<Box<dyn FrozenPiece>>) -> bool {
        pieces.append(&mut self.pieces);
        if !self.running {
            return true;
        }
        let from = self.captured_to.clone().map_or(Bound::Unbounded, Bound::Excluded);
        for (namespace, pane) in self.panes.range_mut((from, Bound::Unbounded)) {
            if fuel.is_spent() {
                return false;
            }
            pane.join(self.snapshot, true);
            if !pane.capture(fuel, pieces) {
                return false;
            }
            fuel.spend(PANE_FUEL);
            self.captured_to = Some(namespace.clone());
        }
        self.running = false;
        true
    }

    fn cancel(&mut self) {
        self.running = false;
        self.pieces.clear();
        self.panes.values_mut().for_each(|pane| pane.table.cancel());
    }

    fn bytes(&self) -> usize {
        let of_pane =
            |pane: &Pane<K, V>| size_of::<(N, Pane<K, V>)>() + pane.prefix.len() + pane.table.bytes();
        self.panes.values().map(of_pane).sum()
    }
}

#[cfg(test)]
mod tests;
