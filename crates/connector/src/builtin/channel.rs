//! A source that the embedding program feeds.
//!
//! A bounded queue under one lock, shared by the senders and the one reader that owns the split. The lock is
//! held for a push or for taking out a batch, never while anything waits: a full queue parks its senders on a
//! condition variable, an empty one leaves the reader to its waker.

use super::assign_once::AssignOnce;
use crate::{
    Boundedness, EnumeratorContext, PollContext, ReaderContext, ReaderStatus, Source, SourceOutput,
    SourceReader, Split, SplitEnumerator, SplitStatus,
};
use flugs_batch::{Record, Records};
use flugs_types::{Result, Timestamp};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

const SPLIT: &str = "channel";

/// A channel into a job: rows given to the [`Sender`] come out of the [`ChannelSource`]. At most `capacity` rows
/// (one at least) wait in between.
///
/// Not replayable: rows that were read but are not in a checkpoint are lost when the job fails, so each row is
/// seen at most once.
pub fn channel_source<T: Record>(capacity: usize) -> (Sender<T>, ChannelSource<T>) {
    let queue = Queue {
        rows: VecDeque::new(),
        capacity: capacity.max(1),
        senders: 1,
        receiving: true,
        caught_up: false,
        waiting: None,
    };
    let shared = Arc::new(Shared { queue: Mutex::new(queue), room: Condvar::new() });
    let source =
        ChannelSource { receiver: Arc::new(Receiver(shared.clone())), boundedness: Boundedness::Unbounded };
    (Sender(shared), source)
}

struct Queue<T> {
    rows: VecDeque<(T, Timestamp)>,
    capacity: usize,
    senders: usize,
    /// Whether the source or one of its readers is left.
    receiving: bool,
    /// Whether the program said that nothing before now is missing, and sent no row since.
    caught_up: bool,
    /// The reader that found nothing.
    waiting: Option<Waker>,
}

struct Shared<T> {
    queue: Mutex<Queue<T>>,
    /// Signalled when rows were taken out, or nobody will take any.
    room: Condvar,
}

impl<T> Shared<T> {
    /// The queue. It is consistent after every statement under the lock, so a panic elsewhere does no harm.
    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Unlocks first: the woken reader takes the lock.
fn unlock_and_wake<T>(mut queue: MutexGuard<'_, Queue<T>>) {
    let waiting = queue.waiting.take();
    drop(queue);
    if let Some(waker) = waiting {
        waker.wake();
    }
}

/// Why a row was not taken. It gives the row back.
#[derive(Clone, PartialEq, Eq)]
pub enum SendError<T> {
    /// The channel is full.
    Full(T),
    /// The source and all its readers are gone: the job has ended.
    Closed(T),
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SendError::Full(_) => "the channel into the job is full",
            SendError::Closed(_) => "the job that reads the channel has ended",
        })
    }
}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<T> std::error::Error for SendError<T> {}

/// Gives rows to a job. The stream ends when all clones of it are dropped.
pub struct Sender<T>(Arc<Shared<T>>);

impl<T> Sender<T> {
    /// Gives a row without event time; blocks while the channel is full. Not for use inside a task.
    pub fn send(&self, row: T) -> Result<(), SendError<T>> {
        self.send_at(row, Timestamp::MIN)
    }

    /// Gives a row with its event time; blocks while the channel is full. Not for use inside a task.
    pub fn send_at(&self, row: T, time: Timestamp) -> Result<(), SendError<T>> {
        push(self.wait_for_room(), row, time)
    }

    /// Gives a row without event time, if there is room.
    pub fn try_send(&self, row: T) -> Result<(), SendError<T>> {
        self.try_send_at(row, Timestamp::MIN)
    }

    /// Gives a row with its event time, if there is room.
    pub fn try_send_at(&self, row: T, time: Timestamp) -> Result<(), SendError<T>> {
        push(self.0.lock(), row, time)
    }

    /// Gives rows in order, as many at once as there is room for; blocks while the channel is full. Not for use inside
    /// a task. Where the job has ended, the rows that were not taken come back.
    pub fn send_all(&self, rows: Records<T>) -> Result<(), SendError<Records<T>>> {
        let mut rows = rows.into_iter();
        while rows.len() > 0 {
            let mut queue = self.wait_for_room();
            if !queue.receiving {
                return Err(SendError::Closed(rows.collect()));
            }
            let room = queue.capacity - queue.rows.len();
            queue.rows.extend(rows.by_ref().take(room));
            queue.caught_up = false;
            unlock_and_wake(queue);
        }
        Ok(())
    }

    /// The queue, once it is not full or nobody reads it any more.
    fn wait_for_room(&self) -> MutexGuard<'_, Queue<T>> {
        let full = |queue: &mut Queue<T>| queue.receiving && queue.rows.len() >= queue.capacity;
        self.0.room.wait_while(self.0.lock(), full).unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that no row older than what comes next is missing: once the rows given so far are read, this source
    /// does not hold back the watermark of those it is joined with, until another row is given.
    pub fn caught_up(&self) {
        let mut queue = self.0.lock();
        queue.caught_up = true;
        unlock_and_wake(queue);
    }
}

fn push<T>(mut queue: MutexGuard<'_, Queue<T>>, row: T, time: Timestamp) -> Result<(), SendError<T>> {
    if !queue.receiving {
        return Err(SendError::Closed(row));
    }
    if queue.rows.len() >= queue.capacity {
        return Err(SendError::Full(row));
    }
    queue.rows.push_back((row, time));
    queue.caught_up = false;
    unlock_and_wake(queue);
    Ok(())
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.lock().senders += 1;
        Sender(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.senders -= 1;
        if queue.senders == 0 {
            unlock_and_wake(queue);
        }
    }
}

/// The receiving end, shared by the source and its readers; closes the channel with the last of them.
struct Receiver<T>(Arc<Shared<T>>);

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.receiving = false;
        let rows = std::mem::take(&mut queue.rows);
        drop(queue);
        self.0.room.notify_all();
        drop(rows);
    }
}

/// A source of the rows that a [`Sender`] is given; see [`channel_source`]. One reader gets them all.
pub struct ChannelSource<T> {
    receiver: Arc<Receiver<T>>,
    boundedness: Boundedness,
}

impl<T> ChannelSource<T> {
    /// Declares the source bounded: a job in batch mode may then wait for its end before it shows results.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.boundedness = Boundedness::Bounded;
        self
    }
}

impl<T: Record> Source for ChannelSource<T> {
    type Item = T;

    fn boundedness(&self) -> Boundedness {
        self.boundedness
    }

    fn enumerator(&self, context: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>> {
        let split = Split { id: SPLIT.into(), payload: Vec::new() };
        Ok(Box::new(AssignOnce::new(context, || vec![vec![split]])?))
    }

    fn reader(&self, context: ReaderContext) -> Result<Box<dyn SourceReader<T>>> {
        let receiver = self.receiver.clone();
        let waker = context.waker;
        Ok(Box::new(Reader { receiver, waker, split: None, complete: false, caught_up: false }))
    }
}

struct Reader<T> {
    receiver: Arc<Receiver<T>>,
    waker: Waker,
    split: Option<Split>,
    complete: bool,
    /// Whether this was the last status told.
    caught_up: bool,
}

/// What a look into the queue found.
enum Found<T> {
    Rows(Records<T>),
    Nothing { caught_up: bool },
    End,
}

impl<T: Record> Reader<T> {
    fn look(&self) -> Found<T> {
        let shared = &self.receiver.0;
        let mut queue = shared.lock();
        if queue.rows.is_empty() {
            if queue.senders == 0 {
                return Found::End;
            }
            queue.waiting = Some(self.waker.clone());
            return Found::Nothing { caught_up: queue.caught_up };
        }
        let n = queue.rows.len().min(super::batch_rows::<T>());
        let rows = queue.rows.drain(..n).collect();
        drop(queue);
        shared.room.notify_all();
        Found::Rows(rows)
    }
}

impl<T: Record> SourceReader<T> for Reader<T> {
    fn add_splits(&mut self, splits: Vec<Split>) -> Result<()> {
        self.split = splits.into_iter().next().or(self.split.take());
        self.waker.wake_by_ref();
        Ok(())
    }

    fn no_more_splits(&mut self) {
        self.complete = true;
        self.waker.wake_by_ref();
    }

    fn poll(&mut self, _context: &mut PollContext, out: &mut dyn SourceOutput<T>) -> Result<ReaderStatus> {
        if self.split.is_none() {
            return Ok(if self.complete { ReaderStatus::Finished } else { ReaderStatus::Waiting });
        }
        match self.look() {
            Found::Rows(rows) => {
                if self.caught_up {
                    self.caught_up = false;
                    out.status(SPLIT, SplitStatus::Behind);
                }
                out.emit(SPLIT, rows)?;
                Ok(ReaderStatus::More)
            }
            Found::Nothing { caught_up } => {
                if caught_up && !self.caught_up {
                    self.caught_up = true;
                    out.status(SPLIT, SplitStatus::CaughtUp);
                }
                Ok(ReaderStatus::Waiting)
            }
            Found::End => {
                self.split = None;
                out.finished(SPLIT);
                Ok(if self.complete { ReaderStatus::Finished } else { ReaderStatus::Waiting })
            }
        }
    }

    fn snapshot(&mut self) -> Result<Vec<Split>> {
        Ok(self.split.iter().cloned().collect())
    }
}

#[cfg(test)]
mod tests;
