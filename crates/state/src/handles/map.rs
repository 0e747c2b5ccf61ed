//! A map a key.

use super::handle;
use crate::access::KeyedAccess;
use crate::cell::{Cell, Kept};
use crate::table::KeyedTable;
use crate::ttl::{Expiring, Life, StateTime, Tend, Timed};
use flugs_batch::{Data, Key};
use std::collections::BTreeMap;
use std::ops::RangeBounds;

/// Ordered, so that a function that walks the entries gives the same output after a restore.
pub(crate) type MapCell<K, MK, MV> = Cell<K, BTreeMap<MK, MV>, BTreeMap<MK, Timed<MV>>>;

impl<K: Key, MK: Data + Ord, MV: Data> MapCell<K, MK, MV> {
    /// Brings one entry up to the time.
    fn tend_entry(&mut self, hash: u64, key: &K, entry: &MK, time: StateTime, why: Tend) {
        let Kept::Expiring(table, ttl) = &mut self.kept else { return };
        let life = Life::new(*ttl, time);
        let Some(timed) = table.get_hashed(hash, key).and_then(|map| map.get(entry)) else { return };
        if !timed.is_due(life, why) {
            return;
        }
        let Some(map) = table.get_mut_hashed(hash, key) else { return };
        let Some(tended) = map.get_mut(entry).map(|timed| timed.tend(life, why)) else { return };
        self.expired += tended.removed;
        if !tended.keep {
            map.remove(entry);
            if map.is_empty() {
                table.remove_hashed(hash, key);
            }
        }
    }
}

handle! {
    /// A state of a map a key, which iterates in the order of its keys. With a time to live, each entry lives on its own.
    MapState<MK, MV>
}

impl<MK: Data + Ord, MV: Data> MapState<MK, MV> {
    /// The value of an entry.
    pub fn get<'s, K: Key>(&self, access: &'s mut KeyedAccess<'_, K>, entry: &MK) -> Option<&'s MV> {
        let (cell, hash, key, time) = access.cell::<MapCell<K, MK, MV>>(self.index);
        cell.tend_entry(hash, key, entry, time, Tend::Read);
        match &cell.kept {
            Kept::Plain(table) => table.get_hashed(hash, key)?.get(entry),
            Kept::Expiring(table, _) => table.get_hashed(hash, key)?.get(entry).map(|timed| &timed.value),
        }
    }

    /// Whether there is such an entry.
    pub fn contains<K: Key>(&self, access: &mut KeyedAccess<'_, K>, entry: &MK) -> bool {
        self.get(access, entry).is_some()
    }

    /// The value of an entry, to be changed; `init` makes one where there is none.
    pub fn get_or_insert_with<'s, K: Key>(
        &self,
        access: &'s mut KeyedAccess<'_, K>,
        entry: MK,
        init: impl FnOnce() -> MV,
    ) -> &'s mut MV {
        let (cell, hash, key, time) = access.cell::<MapCell<K, MK, MV>>(self.index);
        cell.tend_entry(hash, key, &entry, time, Tend::Write);
        match &mut cell.kept {
            Kept::Plain(table) => {
                table.get_or_insert_hashed(hash, key, BTreeMap::new).entry(entry).or_insert_with(init)
            }
            Kept::Expiring(table, ttl) => {
                let life = Life::new(*ttl, time);
                let map = table.get_or_insert_hashed(hash, key, BTreeMap::new);
                let timed = map.entry(entry).or_insert_with(|| Timed::new(init(), life));
                timed.touch(life);
                &mut timed.value
            }
        }
    }

    /// Sets the value of an entry; returns the former one.
    pub fn put<K: Key>(&self, access: &mut KeyedAccess<'_, K>, entry: MK, value: MV) -> Option<MV> {
        let (cell, hash, key, time) = access.cell::<MapCell<K, MK, MV>>(self.index);
        cell.tend_entry(hash, key, &entry, time, Tend::Write);
        match &mut cell.kept {
            Kept::Plain(table) => table.get_or_insert_hashed(hash, key, BTreeMap::new).insert(entry, value),
            Kept::Expiring(table, ttl) => {
                let timed = Timed::new(value, Life::new(*ttl, time));
                let map = table.get_or_insert_hashed(hash, key, BTreeMap::new);
                map.insert(entry, timed).map(|timed| timed.value)
            }
        }
    }

    /// Removes an entry; returns its value.
    pub fn remove<K: Key>(&self, access: &mut KeyedAccess<'_, K>, entry: &MK) -> Option<MV> {
        let (cell, hash, key, time) = access.cell::<MapCell<K, MK, MV>>(self.index);
        cell.tend_entry(hash, key, entry, time, Tend::Write);
        match &mut cell.kept {
            Kept::Plain(table) => remove_entry(table, hash, key, entry),
            Kept::Expiring(table, _) => remove_entry(table, hash, key, entry).map(|timed| timed.value),
        }
    }

    /// The entries in the order of their keys.
    pub fn iter<'s, K: Key>(
        &self,
        access: &'s mut KeyedAccess<'_, K>,
    ) -> impl DoubleEndedIterator<Item = (&'s MK, &'s MV)> + use<'s, MK, MV, K> {
        self.range(access, ..)
    }

    /// The entries with keys in the range, in order.
    pub fn range<'s, K: Key, R: RangeBounds<MK> + Clone>(
        &self,
        access: &'s mut KeyedAccess<'_, K>,
        range: R,
    ) -> impl DoubleEndedIterator<Item = (&'s MK, &'s MV)> + use<'s, MK, MV, K, R> {
        let (cell, hash, key, time) = access.cell::<MapCell<K, MK, MV>>(self.index);
        cell.tend(hash, key, time, Tend::Read);
        let (plain, timed) = match &cell.kept {
            Kept::Plain(table) => (table.get_hashed(hash, key), None),
            Kept::Expiring(table, _) => (None, table.get_hashed(hash, key)),
        };
        let plain = plain.map(|map| map.range(range.clone()));
        let timed = timed.map(|map| map.range(range));
        plain.into_iter().flatten().chain(timed.into_iter().flatten().map(|(key, timed)| (key, &timed.value)))
    }

    /// The keys of the entries in order.
    pub fn keys<'s, K: Key>(
        &self,
        access: &'s mut KeyedAccess<'_, K>,
    ) -> impl DoubleEndedIterator<Item = &'s MK> + use<'s, MK, MV, K> {
        self.iter(access).map(|(key, _)| key)
    }

    /// The values of the entries in the order of their keys.
    pub fn values<'s, K: Key>(
        &self,
        access: &'s mut KeyedAccess<'_, K>,
    ) -> impl DoubleEndedIterator<Item = &'s MV> + use<'s, MK, MV, K> {
        self.iter(access).map(|(_, value)| value)
    }

    /// Whether there is no entry.
    pub fn is_empty<K: Key>(&self, access: &mut KeyedAccess<'_, K>) -> bool {
        self.iter(access).next().is_none()
    }

    /// Removes all entries.
    pub fn clear<K: Key>(&self, access: &mut KeyedAccess<'_, K>) {
        let (cell, hash, key, _) = access.cell::<MapCell<K, MK, MV>>(self.index);
        cell.clear(hash, key);
    }
}

/// Removes an entry, and the key with its last one.
fn remove_entry<K: Key, MK: Data + Ord, V: Data>(
    table: &mut KeyedTable<K, BTreeMap<MK, V>>,
    hash: u64,
    key: &K,
    entry: &MK,
) -> Option<V> {
    // Looked up first: a table is not made to copy anything for an entry that is not there.
    table.get_hashed(hash, key)?.get(entry)?;
    let map = table.get_mut_hashed(hash, key)?;
    let removed = map.remove(entry);
    if map.is_empty() {
        table.remove_hashed(hash, key);
    }
    removed
}
