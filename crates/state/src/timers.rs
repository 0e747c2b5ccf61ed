//! Timers: for each key the times at which it wants to be called.
//!
//! The truth is a keyed table, so that snapshots, restore and rescaling are those of keyed state. Beside it
//! stands an ordered index of all timers. It holds nothing that the table does not hold: a deleted timer leaves
//! both at once, so there is nothing to clean up later.

use crate::snapshot::{FrozenPiece, Fuel, SnapshotTable, StateKind, StateSchema};
use crate::table::KeyedTable;
use flugs_batch::data::{DecodeError, Reader, Schema};
use flugs_batch::{Data, Key};
use flugs_types::{KeyGroupRange, Timestamp, hash_key};
use std::collections::BTreeSet;

/// The times of one key, in order and each once. Most keys have one, which needs no allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Times {
    /// The only one.
    One(Timestamp),
    /// Any number of them.
    Many(Vec<Timestamp>),
}

impl Times {
    fn as_slice(&self) -> &[Timestamp] {
        match self {
            Times::One(time) => std::slice::from_ref(time),
            Times::Many(times) => times,
        }
    }

    fn insert(&mut self, time: Timestamp) -> bool {
        let Err(at) = self.as_slice().binary_search(&time) else { return false };
        match self {
            Times::One(only) => {
                let mut times = vec![*only];
                times.insert(at, time);
                *self = Times::Many(times);
            }
            Times::Many(times) => times.insert(at, time),
        }
        true
    }

    fn remove(&mut self, time: Timestamp) {
        if let Times::Many(times) = self {
            times.retain(|&t| t != time);
            if let [only] = times[..] {
                *self = Times::One(only);
            }
        }
    }
}

impl Data for Times {
    const BYTES_MIN: usize = 4;

    fn schema() -> Schema {
        Schema::List(Box::new(Schema::Timestamp))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        (self.as_slice().len() as u32).encode(out);
        self.as_slice().iter().for_each(|time| time.encode(out));
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let n = input.length(size_of::<i64>())?;
        let times = (0..n).map(|_| Timestamp::decode(input)).collect::<Result<Vec<_>, _>>()?;
        if times.is_empty() || !times.is_sorted_by(|a, b| a < b) {
            return Err(DecodeError::new("the times of a key are not in order"));
        }
        Ok(if let [only] = times[..] { Times::One(only) } else { Times::Many(times) })
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Times::One(_) => 0,
            Times::Many(times) => times.capacity() * size_of::<Timestamp>(),
        }
    }
}

/// At most one timer for each key and time.
pub struct TimerTable<K> {
    times: KeyedTable<K, Times>,
    index: BTreeSet<(Timestamp, K)>,
}

impl<K: Key> TimerTable<K> {
    /// A table without timers, for keys of these groups.
    pub fn new(name: &str, groups: KeyGroupRange) -> Self {
        TimerTable { times: KeyedTable::new(name, groups), index: BTreeSet::new() }
    }

    pub(crate) fn restored(times: KeyedTable<K, Times>) -> Self {
        let all = times
            .iter()
            .flat_map(|(key, times)| times.as_slice().iter().map(move |&time| (time, key.clone())));
        TimerTable { index: all.collect(), times }
    }

    /// How many timers there are.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Sets a timer of the key; says whether it is new.
    pub fn register(&mut self, time: Timestamp, key: K) -> bool {
        let hash = hash_key(&key);
        let mut made = false;
        let times = self.times.get_or_insert_hashed(hash, &key, || {
            made = true;
            Times::One(time)
        });
        let new = made || times.insert(time);
        if new {
            self.index.insert((time, key));
        }
        new
    }

    /// Removes the timer of the key; says whether there was one.
    pub fn delete(&mut self, time: Timestamp, key: &K) -> bool {
        // The pair is cloned because a set of pairs can only be asked for a pair.
        let found = self.index.remove(&(time, key.clone()));
        if found {
            self.forget(time, key);
        }
        found
    }

    fn forget(&mut self, time: Timestamp, key: &K) {
        self.times.update_hashed(hash_key(key), key, |times| match times {
            Some(Times::Many(_)) => times.iter_mut().for_each(|times| times.remove(time)),
            _ => *times = None,
        });
    }

    /// The time of the first timer.
    pub fn next(&self) -> Option<Timestamp> {
        self.index.first().map(|(time, _)| *time)
    }

    /// Takes the first timer out, by time and then by key, if it is due at `upto` (its time is not later).
    pub fn pop_due(&mut self, upto: Timestamp) -> Option<(Timestamp, K)> {
        if self.next()? > upto {
            return None;
        }
        let (time, key) = self.index.pop_first()?;
        self.forget(time, &key);
        Some((time, key))
    }
}

impl<K: Key> SnapshotTable for TimerTable<K> {
    fn name(&self) -> &str {
        self.times.name()
    }

    fn schema(&self) -> StateSchema {
        StateSchema { kind: StateKind::Timers, key: K::schema(), value: Times::schema() }
    }

    fn freeze(&mut self) {
        self.times.freeze();
    }

    fn capture(&mut self, fuel: &mut Fuel, pieces: &mut Vec<Box<dyn FrozenPiece>>) -> bool {
        self.times.capture(fuel, pieces)
    }

    fn cancel(&mut self) {
        self.times.cancel();
    }

    fn bytes(&self) -> usize {
        self.times.bytes() + self.index.len() * size_of::<(Timestamp, K)>()
    }
}

#[cfg(test)]
mod tests;
