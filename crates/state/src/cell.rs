//! One state of a keyed store: its table, with or without a time to live.

use crate::open::OpenState;
use crate::snapshot::{Fuel, SnapshotTable};
use crate::table::KeyedTable;
use crate::ttl::{Expiring, Life, StateTime, Tend, Ttl};
use flugs_batch::{Data, Key};
use flugs_types::Result;
use std::any::Any;

/// A state whose types are known to its handle only.
pub(crate) trait StateCell<K>: Any + Send {
    /// Its table.
    fn table(&mut self) -> &mut dyn SnapshotTable;

    /// Removes what is expired from `self`'s cursor on; says whether it came to the end of the table.
    fn sweep(&mut self, fuel: &mut Fuel, time: StateTime) -> bool;

    /// The memory that its table holds.
    fn bytes(&self) -> usize;

    /// How many values have expired and were removed so far.
    fn expired(&self) -> u64;

    /// Asks the processor to fetch the place of the key with this hash.
    fn prefetch(&self, hash: u64);

    /// Appends keys from `cursor` on, of one part of the table; says whether there are more.
    fn keys_from(&self, cursor: &mut u64, keys: &mut Vec<K>) -> bool;
}

/// `P` is the state of a key without, `E` with a time to live.
pub(crate) struct Cell<K, P, E> {
    pub(crate) kept: Kept<K, P, E>,
    pub(crate) expired: u64,
    cursor: u64,
}

pub(crate) enum Kept<K, P, E> {
    Plain(KeyedTable<K, P>),
    Expiring(KeyedTable<K, E>, Ttl),
}

impl<K: Key, P: Data, E: Expiring> Cell<K, P, E> {
    pub(crate) fn open(from: &mut OpenState, name: &str, ttl: Option<Ttl>) -> Result<Self> {
        let kept = match ttl {
            None => Kept::Plain(from.keyed(name)?),
            Some(ttl) => Kept::Expiring(from.keyed(name)?, ttl),
        };
        Ok(Cell { kept, expired: 0, cursor: 0 })
    }

    /// Brings the state of the key up to the time: what is expired is gone, what is to be touched is touched.
    pub(crate) fn tend(&mut self, hash: u64, key: &K, time: StateTime, why: Tend) {
        let Kept::Expiring(table, ttl) = &mut self.kept else { return };
        let life = Life::new(*ttl, time);
        if table.get_hashed(hash, key).is_some_and(|state| state.is_due(life, why)) {
            let expired = &mut self.expired;
            table.update_hashed(hash, key, |state| {
                if let Some(tended) = state.as_mut().map(|state| state.tend(life, why)) {
                    *expired += tended.removed;
                    if !tended.keep {
                        *state = None;
                    }
                }
            });
        }
    }

    pub(crate) fn clear(&mut self, hash: u64, key: &K) {
        match &mut self.kept {
            Kept::Plain(table) => drop(table.remove_hashed(hash, key)),
            Kept::Expiring(table, _) => drop(table.remove_hashed(hash, key)),
        }
    }
}

impl<K: Key, P: Data, E: Expiring> StateCell<K> for Cell<K, P, E> {
    fn table(&mut self) -> &mut dyn SnapshotTable {
        match &mut self.kept {
            Kept::Plain(table) => table,
            Kept::Expiring(table, _) => table,
        }
    }

    fn sweep(&mut self, fuel: &mut Fuel, time: StateTime) -> bool {
        let Kept::Expiring(table, ttl) = &mut self.kept else { return true };
        let life = Life::new(*ttl, time);
        let expired = &mut self.expired;
        table.sweep(
            &mut self.cursor,
            fuel,
            |_, state| state.is_due(life, Tend::Sweep),
            |_, state| {
                let tended = state.tend(life, Tend::Sweep);
                *expired += tended.removed;
                tended.keep
            },
        )
    }

    fn bytes(&self) -> usize {
        match &self.kept {
            Kept::Plain(table) => table.bytes(),
            Kept::Expiring(table, _) => table.bytes(),
        }
    }

    fn expired(&self) -> u64 {
        self.expired
    }

    fn prefetch(&self, hash: u64) {
        match &self.kept {
            Kept::Plain(table) => table.prefetch(hash),
            Kept::Expiring(table, _) => table.prefetch(hash),
        }
    }

    fn keys_from(&self, cursor: &mut u64, keys: &mut Vec<K>) -> bool {
        match &self.kept {
            Kept::Plain(table) => table.keys_from(cursor, keys),
            Kept::Expiring(table, _) => table.keys_from(cursor, keys),
        }
    }
}
