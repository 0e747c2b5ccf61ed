//! What belongs to the keys of one operator: their state, their timers, and the clocks.

use super::sweep::Sweeper;
use super::{KeyedContext, TimeDomain};
use flugs_batch::Key;
use flugs_state::{KeyedStore, SnapshotTable, StateTime, TimerTable, Ttl};
use flugs_task::OpenContext;
use flugs_types::{Clock, Result, Timestamp};
use std::sync::Arc;

/// What belongs to the keys of one operator: their state, their timers, and the clocks.
pub struct KeyedRuntime<K> {
    pub(super) store: KeyedStore<K>,
    pub(super) event_timers: TimerTable<K>,
    pub(super) processing_timers: TimerTable<K>,
    pub(super) time: StateTime,
    clock: Arc<dyn Clock>,
    sweeper: Sweeper,
}

impl<K: Key> KeyedRuntime<K> {
    pub(super) fn open(context: &mut OpenContext<'_>, store: KeyedStore<K>, ttls: &[Ttl]) -> Result<Self> {
        let now = context.clock.now();
        let expired = context.counter("numStateExpired");
        Ok(KeyedRuntime {
            store,
            event_timers: context.state.timers("timers.event")?,
            processing_timers: context.state.timers("timers.processing")?,
            time: StateTime { watermark: Timestamp::MIN, processing_time: now },
            clock: context.clock.clone(),
            sweeper: Sweeper::new(ttls, context.state.is_restored(), now, expired),
        })
    }

    /// What a function sees of this key.
    #[inline]
    pub(super) fn context<'a>(
        &'a mut self,
        key: &'a K,
        hash: u64,
        timestamp: Timestamp,
    ) -> KeyedContext<'a, K> {
        KeyedContext::new(self, key, hash, timestamp)
    }

    /// The store, to be walked through.
    pub(crate) fn store(&mut self) -> (&mut KeyedStore<K>, StateTime) {
        (&mut self.store, self.time)
    }

    pub(super) fn timers(&mut self, domain: TimeDomain) -> &mut TimerTable<K> {
        match domain {
            TimeDomain::EventTime => &mut self.event_timers,
            TimeDomain::ProcessingTime => &mut self.processing_timers,
        }
    }

    /// Rows or timers are about to be worked on.
    pub(super) fn begin(&mut self) {
        self.time.processing_time = self.clock.now();
        self.sweeper.touched(self.time);
    }

    pub(super) fn advance(&mut self, watermark: Timestamp) {
        self.time = StateTime { watermark, processing_time: self.clock.now() };
        self.sweeper.advanced(self.time);
        self.touched_by_timers(TimeDomain::EventTime, watermark);
    }

    pub(super) fn next_tick(&self) -> Option<Timestamp> {
        [self.processing_timers.next(), self.sweeper.next_tick()].into_iter().flatten().min()
    }

    pub(super) fn tick(&mut self, now: Timestamp) {
        self.time.processing_time = now;
        self.sweeper.sweep(&mut self.store, self.time);
        self.touched_by_timers(TimeDomain::ProcessingTime, now);
    }

    fn touched_by_timers(&mut self, domain: TimeDomain, upto: Timestamp) {
        if self.timers(domain).next().is_some_and(|time| time <= upto) {
            self.sweeper.touched(self.time);
        }
    }

    pub(super) fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        let mut tables = self.store.tables();
        tables.push(&mut self.event_timers);
        tables.push(&mut self.processing_timers);
        tables
    }
}
