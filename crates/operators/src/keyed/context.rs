//! What a keyed function knows besides its row.

use super::KeyedRuntime;
use flugs_batch::Key;
use flugs_state::{KeyedAccess, TimerTable};
use flugs_types::Timestamp;
use std::ops::{Deref, DerefMut};

/// The state, the timers and the time of the key of one row or timer.
///
/// It stands for a [`KeyedAccess`] wherever a state handle asks for one: `self.count.get(cx)`.
pub struct KeyedContext<'a, K> {
    access: KeyedAccess<'a, K>,
    event_timers: &'a mut TimerTable<K>,
    processing_timers: &'a mut TimerTable<K>,
    timestamp: Timestamp,
}

impl<'a, K: Key> KeyedContext<'a, K> {
    #[inline]
    pub(super) fn new(runtime: &'a mut KeyedRuntime<K>, key: &'a K, hash: u64, timestamp: Timestamp) -> Self {
        let KeyedRuntime { store, event_timers, processing_timers, time, .. } = runtime;
        let access = KeyedAccess::with_hash(store, key, hash, *time);
        KeyedContext { access, event_timers, processing_timers, timestamp }
    }

    /// The event time of the row, if it has one; in a timer's call, the time that the timer was set for.
    pub fn timestamp(&self) -> Option<Timestamp> {
        (self.timestamp != Timestamp::MIN).then_some(self.timestamp)
    }

    /// How far event time has come; [`Timestamp::MIN`] before the first watermark.
    pub fn current_watermark(&self) -> Timestamp {
        self.access.time().watermark
    }

    /// The time of the machine, read once a batch.
    pub fn processing_time(&self) -> Timestamp {
        self.access.time().processing_time
    }

    /// Has this key called when the watermark comes to `time`; at the next watermark, if it is there already.
    pub fn register_event_time_timer(&mut self, time: Timestamp) {
        self.event_timers.register(time, self.access.key().clone());
    }

    /// Takes an event-time timer back; nothing happens if there is none.
    pub fn delete_event_time_timer(&mut self, time: Timestamp) {
        self.event_timers.delete(time, self.access.key());
    }

    /// Has this key called when the machine's time comes to `time`.
    pub fn register_processing_time_timer(&mut self, time: Timestamp) {
        self.processing_timers.register(time, self.access.key().clone());
    }

    /// Takes a processing-time timer back; nothing happens if there is none.
    pub fn delete_processing_time_timer(&mut self, time: Timestamp) {
        self.processing_timers.delete(time, self.access.key());
    }
}

impl<'a, K> Deref for KeyedContext<'a, K> {
    type Target = KeyedAccess<'a, K>;

    #[inline]
    fn deref(&self) -> &KeyedAccess<'a, K> {
        &self.access
    }
}

impl<K> DerefMut for KeyedContext<'_, K> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.access
    }
}
