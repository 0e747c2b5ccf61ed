//! How an exchange chooses the receiving subtask of each row.

use flugs_batch::{Exchanged, Records};
use flugs_types::{KeyGroup, Result, SubtaskId, hash_key};
use std::hash::Hash;
use std::marker::PhantomData;

/// Distributes batches over lanes, one for each receiver.
pub trait Route<B>: Send {
    /// Moves the rows of `batch` behind those of the lanes they go to.
    fn split(&mut self, batch: B, lanes: &mut [B]) -> Result<()>;
}

/// By key group: rows of one key go to the subtask that owns the key.
pub struct KeyGroupRoute<T, H> {
    hash: H,
    rows: PhantomData<fn(T)>,
}

impl<T> KeyGroupRoute<T, ()> {
    /// A route by this key.
    pub fn new<K: Hash>(
        mut key: impl FnMut(&T) -> K + Send,
    ) -> KeyGroupRoute<T, impl FnMut(&T) -> u64 + Send> {
        KeyGroupRoute::by_hash(move |row: &T| hash_key(&key(row)))
    }
}

impl<T, H: FnMut(&T) -> u64> KeyGroupRoute<T, H> {
    /// A route by the key of which this is the hash (see [`hash_key`]).
    pub fn by_hash(hash: H) -> Self {
        KeyGroupRoute { hash, rows: PhantomData }
    }
}

impl<T: Send + 'static, H: FnMut(&T) -> u64 + Send> Route<Records<T>> for KeyGroupRoute<T, H> {
    fn split(&mut self, batch: Records<T>, lanes: &mut [Records<T>]) -> Result<()> {
        let parallelism = lanes.len() as u32;
        // Room for an even share and a little more, so that pushes seldom grow a vector; small shares grow by themselves,
        // or a thousand lanes would hold room for far more rows than there are.
        let share = batch.len() / lanes.len();
        if share >= 8 {
            for lane in lanes.iter_mut() {
                lane.values.reserve(share + share / 8);
                lane.times.reserve(share + share / 8);
            }
        }
        for (value, time) in batch {
            let owner = KeyGroup::of_hash((self.hash)(&value)).owner(parallelism);
            lanes[owner as usize].push(value, time);
        }
        Ok(())
    }
}

/// Batches in turn.
#[derive(Debug)]
pub struct RebalanceRoute {
    next: usize,
}

impl RebalanceRoute {
    /// Starts at the sender's own index, so that senders do not all begin with the same receiver.
    pub fn new(sender: SubtaskId) -> Self {
        RebalanceRoute { next: sender.index as usize }
    }
}

/// How many rows go to one receiver before it is the next one's turn, where a batch is larger.
const TURN_ROWS: usize = 1024;

impl<T: Send + 'static> Route<Records<T>> for RebalanceRoute {
    fn split(&mut self, batch: Records<T>, lanes: &mut [Records<T>]) -> Result<()> {
        // At least one row each where there are as many, at most a turn's.
        let turn = batch.len().div_ceil(lanes.len()).clamp(1, TURN_ROWS);
        let (mut values, mut times) = (batch.values.into_iter(), batch.times.into_iter());
        while values.len() > 0 {
            let at = self.next % lanes.len();
            lanes[at].values.extend(values.by_ref().take(turn));
            lanes[at].times.extend(times.by_ref().take(turn));
            self.next = at + 1;
        }
        Ok(())
    }
}

/// Batches in turn over the receivers that are near the sender: lanes are only those.
pub type RescaleRoute = RebalanceRoute;

/// Every row to every receiver.
#[derive(Debug)]
pub struct BroadcastRoute;

impl<B: Exchanged + Clone> Route<B> for BroadcastRoute {
    fn split(&mut self, batch: B, lanes: &mut [B]) -> Result<()> {
        if let Some((last, others)) = lanes.split_last_mut() {
            others.iter_mut().for_each(|lane| lane.append(batch.clone()));
            last.append(batch);
        }
        Ok(())
    }
}

/// All rows to the first receiver.
#[derive(Debug)]
pub struct GlobalRoute;

impl<B: Exchanged> Route<B> for GlobalRoute {
    fn split(&mut self, batch: B, lanes: &mut [B]) -> Result<()> {
        lanes[0].append(batch);
        Ok(())
    }
}

/// By a function of the row and the number of receivers.
pub struct CustomRoute<F>(pub F);

impl<T: Send + 'static, F: FnMut(&T, u32) -> u32 + Send> Route<Records<T>> for CustomRoute<F> {
    fn split(&mut self, batch: Records<T>, lanes: &mut [Records<T>]) -> Result<()> {
        let n = lanes.len() as u32;
        for (value, time) in batch {
            let to = (self.0)(&value, n);
            let Some(lane) = lanes.get_mut(to as usize) else {
                return Err(flugs_types::Error::user(format!("the partitioner chose receiver {to} of {n}"))
                    .mend("return a number below the one it is given"));
            };
            lane.push(value, time);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
