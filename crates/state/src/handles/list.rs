//! A list a key.

use super::handle;
use crate::access::KeyedAccess;
use crate::cell::{Cell, Kept};
use crate::ttl::{Life, Tend, Timed};
use flugs_batch::{Data, Key};

pub(crate) type ListCell<K, T> = Cell<K, Vec<T>, Vec<Timed<T>>>;

handle! {
    /// A state of a list a key. With a time to live, each item lives on its own.
    ListState<T>
}

impl<T: Data> ListState<T> {
    /// Appends an item.
    pub fn add<K: Key>(&self, access: &mut KeyedAccess<'_, K>, item: T) {
        self.add_all(access, std::iter::once(item));
    }

    /// Appends items.
    pub fn add_all<K: Key>(&self, access: &mut KeyedAccess<'_, K>, items: impl IntoIterator<Item = T>) {
        let mut items = items.into_iter().peekable();
        // A key without items has no entry.
        if items.peek().is_none() {
            return;
        }
        let (cell, hash, key, time) = access.cell::<ListCell<K, T>>(self.index);
        match &mut cell.kept {
            Kept::Plain(table) => table.get_or_insert_hashed(hash, key, Vec::new).extend(items),
            Kept::Expiring(table, ttl) => {
                let life = Life::new(*ttl, time);
                let list = table.get_or_insert_hashed(hash, key, Vec::new);
                list.extend(items.map(|item| Timed::new(item, life)));
            }
        }
    }

    /// Puts these items in the place of all.
    pub fn update<K: Key>(&self, access: &mut KeyedAccess<'_, K>, items: impl IntoIterator<Item = T>) {
        self.clear(access);
        self.add_all(access, items);
    }

    /// The items in the order in which they were added.
    pub fn iter<'s, K: Key>(
        &self,
        access: &'s mut KeyedAccess<'_, K>,
    ) -> impl Iterator<Item = &'s T> + use<'s, T, K> {
        let (cell, hash, key, time) = access.cell::<ListCell<K, T>>(self.index);
        cell.tend(hash, key, time, Tend::Read);
        let (plain, timed) = match &cell.kept {
            Kept::Plain(table) => (table.get_hashed(hash, key), None),
            Kept::Expiring(table, _) => (None, table.get_hashed(hash, key)),
        };
        let timed = timed.into_iter().flatten().map(|timed| &timed.value);
        plain.into_iter().flatten().chain(timed)
    }

    /// Whether there is no item.
    pub fn is_empty<K: Key>(&self, access: &mut KeyedAccess<'_, K>) -> bool {
        self.iter(access).next().is_none()
    }

    /// Removes all items.
    pub fn clear<K: Key>(&self, access: &mut KeyedAccess<'_, K>) {
        let (cell, hash, key, _) = access.cell::<ListCell<K, T>>(self.index);
        cell.clear(hash, key);
    }
}
