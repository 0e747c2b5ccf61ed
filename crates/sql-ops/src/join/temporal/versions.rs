//! What is kept of each key of the table, for as long as a time to live says.

use crate::row::RowBytes;
use crate::ttl::TimeToLive;
use flugs_batch::Data;
use flugs_state::{Fuel, KeyedTable, SnapshotTable};
use flugs_task::OpenContext;
use flugs_types::{Result, Timestamp};
use std::time::Duration;

/// By key, and when a row of the key came last (where that matters).
pub(super) struct Versions<V> {
    table: KeyedTable<RowBytes, (Timestamp, V)>,
    ttl: Option<TimeToLive>,
}

impl<V: Data + Default + Send> Versions<V> {
    pub(super) fn open(ttl: Option<Duration>, context: &mut OpenContext<'_>) -> Result<Self> {
        let table = context.state.keyed("right")?;
        Ok(Versions { table, ttl: ttl.map(|ttl| TimeToLive::new(ttl, context)) })
    }

    pub(super) fn prefetch(&self, hash: u64) {
        self.table.prefetch(hash);
    }

    pub(super) fn get(&self, hash: u64, key: &RowBytes) -> Option<&V> {
        let (touched, versions) = self.table.get_hashed(hash, key)?;
        (!is_over(self.ttl.as_ref(), *touched)).then_some(versions)
    }

    /// What is kept of a key of which a change comes now.
    pub(super) fn changed(&mut self, hash: u64, key: &RowBytes) -> &mut V {
        let now = now(self.ttl.as_ref());
        if let Some(ttl) = &mut self.ttl {
            ttl.touched();
        }
        let (touched, versions) = self.table.get_or_insert_hashed(hash, key, || (now, V::default()));
        if is_over(self.ttl.as_ref(), *touched) {
            self.ttl.iter().for_each(|ttl| ttl.count(1));
            *versions = V::default();
        }
        *touched = now;
        versions
    }

    /// A row has come that needs what is kept of a key.
    pub(super) fn used(&mut self, hash: u64, key: &RowBytes) {
        let Some(ttl) = &self.ttl else { return };
        let now = now(Some(ttl));
        if let Some((touched, _)) = self.table.get_mut_hashed(hash, key)
            && !is_over(Some(ttl), *touched)
        {
            *touched = now;
        }
    }

    pub(super) fn remove(&mut self, hash: u64, key: &RowBytes) {
        self.table.remove_hashed(hash, key);
    }

    pub(super) fn clear(&mut self) {
        self.table.clear();
    }

    /// Looks through a part of the table: see `KeyedTable::sweep`.
    pub(super) fn prune(
        &mut self,
        cursor: &mut u64,
        bytes: usize,
        mut looks: impl FnMut(&V) -> bool,
        mut keeps: impl FnMut(&mut V) -> bool,
    ) {
        let looks = |_: &RowBytes, (_, versions): &(Timestamp, V)| looks(versions);
        let keeps = |_: &RowBytes, (_, versions): &mut (Timestamp, V)| keeps(versions);
        self.table.sweep(cursor, &mut Fuel(bytes), looks, keeps);
    }

    pub(super) fn ttl(&self) -> Option<&TimeToLive> {
        self.ttl.as_ref()
    }

    /// Takes away what has expired, in a part of the table.
    pub(super) fn sweep(&mut self) {
        let Some(ttl) = &mut self.ttl else { return };
        let (table, mut expired) = (&mut self.table, 0);
        ttl.sweep(|ttl, cursor, fuel| {
            let looks = |_: &RowBytes, (touched, _): &(Timestamp, V)| is_over(Some(ttl), *touched);
            table.sweep(cursor, fuel, looks, |_, _| {
                expired += 1;
                false
            })
        });
        ttl.count(expired);
        if table.is_empty() {
            ttl.rest();
        }
    }

    pub(super) fn table(&mut self) -> &mut dyn SnapshotTable {
        &mut self.table
    }
}

fn is_over(ttl: Option<&TimeToLive>, touched: Timestamp) -> bool {
    ttl.is_some_and(|ttl| ttl.is_expired(touched.0.max(0) as u64))
}

fn now(ttl: Option<&TimeToLive>) -> Timestamp {
    ttl.map_or(Timestamp::EPOCH, |ttl| Timestamp(ttl.now() as i64))
}
