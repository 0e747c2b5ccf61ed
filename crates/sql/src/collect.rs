//! Results of queries, as they come.

use flugs_batch::{Batch, ChangeBatch, Records};
use flugs_cluster::{JobHandle, JobReport};
use flugs_connector::{Committable, Delivery, Prepared, Sink, SinkWriter, WriterContext};
use flugs_sql_plan::OutputColumn;
use flugs_table::{ChangelogMode, TableSink};
use flugs_types::{CheckpointId, Result, RowKind};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
struct Queue {
    batches: VecDeque<ChangeBatch>,
    writers: usize,
    started: bool,
}

/// Hands batches from the writers of a sink to whoever reads the result.
#[derive(Clone, Default)]
pub(crate) struct Handover(Arc<(Mutex<Queue>, Condvar)>);

impl Handover {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next batch; none when all writers have ended or `ended` says that the job has.
    fn next(&self, ended: impl Fn() -> bool) -> Option<ChangeBatch> {
        let mut queue = self.lock();
        loop {
            if let Some(batch) = queue.batches.pop_front() {
                return Some(batch);
            }
            if (queue.started && queue.writers == 0) || ended() {
                return None;
            }
            let wait = std::time::Duration::from_millis(20);
            queue = self.0.1.wait_timeout(queue, wait).unwrap_or_else(PoisonError::into_inner).0;
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
        self.0.lock().batches.extend(rows.values.into_iter().filter(|b| !b.is_empty()));
        self.0.0.1.notify_all();
        Ok(())
    }

    fn prepare(&mut self, _: CheckpointId, _: bool) -> Result<Prepared> {
        Ok(Prepared::default())
    }

    fn commit(&mut self, _: Vec<Committable>) -> Result<()> {
        Ok(())
    }
}

/// A change of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// What happens to the row.
    pub kind: RowKind,
    /// Which row of the batch it is.
    pub row: usize,
}

/// What a statement gives.
pub struct TableResult {
    columns: Vec<OutputColumn>,
    handover: Option<Handover>,
    job: Option<JobHandle>,
    /// Batches that are there already.
    ready: VecDeque<ChangeBatch>,
}

impl TableResult {
    /// A result without rows.
    pub(crate) fn ok() -> Self {
        TableResult { columns: Vec::new(), handover: None, job: None, ready: VecDeque::new() }
    }

    pub(crate) fn of_query(columns: Vec<OutputColumn>, handover: Handover, job: JobHandle) -> Self {
        TableResult { columns, handover: Some(handover), job: Some(job), ready: VecDeque::new() }
    }

    pub(crate) fn of_job(job: JobHandle) -> Self {
        TableResult { columns: Vec::new(), handover: None, job: Some(job), ready: VecDeque::new() }
    }

    /// The columns of the rows; empty where the statement gives none.
    pub fn columns(&self) -> &[OutputColumn] {
        &self.columns
    }

    /// The next changes as they come; `None` at the end.
    pub fn next_batch(&mut self) -> Option<ChangeBatch> {
        if let Some(batch) = self.ready.pop_front() {
            return Some(batch);
        }
        let (handover, job) = (self.handover.as_ref()?, self.job.as_ref()?);
        handover.next(|| job.report().status.is_terminal())
    }

    /// Waits for the job behind the statement to end, where there is one.
    pub fn wait(self) -> Result<Option<JobReport>> {
        self.job.map(|job| job.wait()).transpose()
    }

    /// The job behind the statement.
    pub fn job(&self) -> Option<&JobHandle> {
        self.job.as_ref()
    }
}
