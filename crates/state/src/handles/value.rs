//! One value a key.

use super::handle;
use crate::access::KeyedAccess;
use crate::cell::{Cell, Kept};
use crate::ttl::{Life, StateTime, Tend, Timed};
use flugs_batch::{Data, Key};

pub(crate) type ValueCell<K, T> = Cell<K, T, Timed<T>>;

handle! {
    /// A state of one value a key.
    ValueState<T>
}

impl<T: Data> ValueState<T> {
    /// The value. It is borrowed from `access`, so copy (or clone) it where the function's context is used again while it is
    /// needed: `state.get(cx).copied()`.
    pub fn get<'s, K: Key>(&self, access: &'s mut KeyedAccess<'_, K>) -> Option<&'s T> {
        let (cell, hash, key, time) = access.cell::<ValueCell<K, T>>(self.index);
        cell.get(hash, key, time)
    }

    /// The value, to be changed.
    pub fn get_mut<'s, K: Key>(&self, access: &'s mut KeyedAccess<'_, K>) -> Option<&'s mut T> {
        let (cell, hash, key, time) = access.cell::<ValueCell<K, T>>(self.index);
        cell.get_mut(hash, key, time)
    }

    /// The value, to be changed; `init` makes one where there is none.
    pub fn get_or_insert_with<'s, K: Key>(
        &self,
        access: &'s mut KeyedAccess<'_, K>,
        init: impl FnOnce() -> T,
    ) -> &'s mut T {
        let (cell, hash, key, time) = access.cell::<ValueCell<K, T>>(self.index);
        cell.get_or_insert_with(hash, key, time, init)
    }

    /// Sets the value.
    pub fn set<K: Key>(&self, access: &mut KeyedAccess<'_, K>, value: T) {
        self.update(access, |slot| *slot = Some(value));
    }

    /// Calls `f` with the value, if there is one; what it leaves there is the value afterwards. Where `f` panics, there is none.
    pub fn update<K: Key, R>(
        &self,
        access: &mut KeyedAccess<'_, K>,
        f: impl FnOnce(&mut Option<T>) -> R,
    ) -> R {
        let (cell, hash, key, time) = access.cell::<ValueCell<K, T>>(self.index);
        cell.update(hash, key, time, f)
    }

    /// Removes the value.
    pub fn clear<K: Key>(&self, access: &mut KeyedAccess<'_, K>) {
        let (cell, hash, key, _) = access.cell::<ValueCell<K, T>>(self.index);
        cell.clear(hash, key);
    }
}

impl<K: Key, T: Data> ValueCell<K, T> {
    pub(crate) fn get(&mut self, hash: u64, key: &K, time: StateTime) -> Option<&T> {
        self.tend(hash, key, time, Tend::Read);
        match &self.kept {
            Kept::Plain(table) => table.get_hashed(hash, key),
            Kept::Expiring(table, _) => table.get_hashed(hash, key).map(|timed| &timed.value),
        }
    }

    fn get_mut(&mut self, hash: u64, key: &K, time: StateTime) -> Option<&mut T> {
        self.tend(hash, key, time, Tend::Write);
        match &mut self.kept {
            Kept::Plain(table) => table.get_mut_hashed(hash, key),
            Kept::Expiring(table, ttl) => table.get_mut_hashed(hash, key).map(|timed| {
                timed.touch(Life::new(*ttl, time));
                &mut timed.value
            }),
        }
    }

    pub(crate) fn get_or_insert_with(
        &mut self,
        hash: u64,
        key: &K,
        time: StateTime,
        init: impl FnOnce() -> T,
    ) -> &mut T {
        self.tend(hash, key, time, Tend::Write);
        match &mut self.kept {
            Kept::Plain(table) => table.get_or_insert_hashed(hash, key, init),
            Kept::Expiring(table, ttl) => {
                let life = Life::new(*ttl, time);
                let timed = table.get_or_insert_hashed(hash, key, || Timed::new(init(), life));
                timed.touch(life);
                &mut timed.value
            }
        }
    }

    pub(crate) fn update<R>(
        &mut self,
        hash: u64,
        key: &K,
        time: StateTime,
        f: impl FnOnce(&mut Option<T>) -> R,
    ) -> R {
        self.tend(hash, key, time, Tend::Write);
        match &mut self.kept {
            Kept::Plain(table) => table.update_hashed(hash, key, f),
            Kept::Expiring(table, ttl) => {
                let life = Life::new(*ttl, time);
                table.update_hashed(hash, key, |slot| {
                    let mut value = slot.take().map(|timed| timed.value);
                    let result = f(&mut value);
                    *slot = value.map(|value| Timed::new(value, life));
                    result
                })
            }
        }
    }
}
