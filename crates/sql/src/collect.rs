//! From the writer of a query to whoever reads its result.
//!
//! A [`Handover`] holds a bounded number of rows. A writer that finds it full waits, which holds up the query alone: queries run on
//! workers of their own. It waits no longer than the reader lives: when that goes, what is written is dropped.

use flugs_batch::{Batch, ChangeBatch, Records};
use flugs_connector::{Committable, Delivery, Prepared, Sink, SinkWriter, WriterContext};
use flugs_table::{ChangelogMode, TableSink};
use flugs_types::{CheckpointId, Result};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many rows may wait for the reader, but for the batch that goes beyond.
const ROWS_MAX: usize = 65_536;
/// How long a look at a job's end may be late.
const GLANCE: Duration = Duration::from_millis(20);

#[derive(Default)]
struct Queue {
    batches: VecDeque<ChangeBatch>,
    rows: usize,
    writers: usize,
    started: bool,
    /// Nobody reads any more.
    closed: bool,
}

/// Hands batches from the writer of a sink to whoever reads the result. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Handover(Arc<(Mutex<Queue>, Condvar)>);

/// What a reader finds.
pub(crate) enum Found {
    Batch(ChangeBatch),
    /// Nothing yet.
    Nothing,
    /// The writer has ended.
    End,
}

impl Handover {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next batch, waited for until `wait` is over. `ended` says that the job is over, even if no writer was ever there.
    pub(crate) fn next(&self, wait: Option<Duration>, ended: impl Fn() -> bool) -> Found {
        let mut queue = self.lock();
        let mut left = wait;
        loop {
            if let Some(batch) = queue.batches.pop_front() {
                queue.rows -= batch.len();
                self.0.1.notify_all();
                return Found::Batch(batch);
            }
            if (queue.started && queue.writers == 0) || ended() {
                return Found::End;
            }
            let step = left.map_or(GLANCE, |left| left.min(GLANCE));
            if step.is_zero() {
                return Found::Nothing;
            }
            left = left.map(|left| left - step);
            queue = self.0.1.wait_timeout(queue, step).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Nobody will read: what is there and what comes is dropped, and no writer waits.
    pub(crate) fn close(&self) {
        let mut queue = self.lock();
        queue.closed = true;
        queue.batches.clear();
        queue.rows = 0;
        drop(queue);
        self.0.1.notify_all();
    }

    fn put(&self, batch: ChangeBatch) {
        let mut queue = self.lock();
        while queue.rows >= ROWS_MAX && !queue.closed {
            queue = self.0.1.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        if !queue.closed {
            queue.rows += batch.len();
            queue.batches.push_back(batch);
            self.0.1.notify_all();
        }
    }
}

/// The table that a query's result is.
pub(crate) struct CollectTable(pub(crate) Handover);

impl TableSink for CollectTable {
    fn changelog_mode(&self, query: ChangelogMode) -> ChangelogMode {
        match query {
            ChangelogMode::Append => ChangelogMode::Append,
            _ => ChangelogMode::Retract,
        }
    }

    fn parallelism(&self) -> Option<u32> {
        Some(1)
    }

    fn sink(&self, _: bool) -> Result<Box<dyn Sink<Item = ChangeBatch>>> {
        Ok(Box::new(CollectSink(self.0.clone())))
    }
}

struct CollectSink(Handover);

impl Sink for CollectSink {
    type Item = ChangeBatch;

    fn delivery(&self) -> Delivery {
        Delivery::AtLeastOnce
    }

    fn writer(&self, _: WriterContext, _: Vec<Vec<u8>>) -> Result<Box<dyn SinkWriter<ChangeBatch>>> {
        let mut queue = self.0.lock();
        queue.writers += 1;
        queue.started = true;
        drop(queue);
        Ok(Box::new(CollectWriter(self.0.clone())))
    }
}

struct CollectWriter(Handover);

impl Drop for CollectWriter {
    fn drop(&mut self) {
        self.0.lock().writers -= 1;
        self.0.0.1.notify_all();
    }
}

impl SinkWriter<ChangeBatch> for CollectWriter {
    fn write(&mut self, rows: Records<ChangeBatch>) -> Result<()> {
        rows.values.into_iter().filter(|batch| !batch.is_empty()).for_each(|batch| self.0.put(batch));
        Ok(())
    }

    fn prepare(&mut self, _: CheckpointId, _: bool) -> Result<Prepared> {
        Ok(Prepared::default())
    }

    fn commit(&mut self, _: Vec<Committable>) -> Result<()> {
        Ok(())
    }
}
