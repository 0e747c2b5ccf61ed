//! Sinks: writers, and commits that come with the checkpoint.

use flugs_batch::{Record, Records};
use flugs_types::{
    Attempt, Background, CheckpointId, Clock, Generation, OperatorUid, Result, SubtaskId, Timestamp,
};
use std::sync::Arc;
use std::task::Waker;

/// What a sink guarantees after failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// Each result is visible exactly once: the sink commits with the checkpoint.
    ExactlyOnce,
    /// A result may be seen again after a failure.
    AtLeastOnce,
}

/// Something written but not visible yet, in the sink's own encoding. It is stored in the checkpoint and
/// committed once that is complete, perhaps by another process, perhaps more than once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committable(pub Vec<u8>);

/// What a writer gives at a barrier.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prepared {
    /// What is to be committed when the checkpoint is complete.
    pub committables: Vec<Committable>,
    /// What a later writer needs to go on (open files with their lengths, ...); distributed over the
    /// writers at a restore with another parallelism.
    pub state: Vec<Vec<u8>>,
}

/// Where results go.
pub trait Sink: Send + Sync + 'static {
    /// What it takes.
    type Item: Record;

    /// What it guarantees.
    fn delivery(&self) -> Delivery;

    /// Removes what killed runs left behind and nobody will commit. Called before the first writer of a restored job is made,
    /// with the states and committables of all subtasks of the checkpoint that is restored. It is not called where there is
    /// nothing to restore: what lies there may belong to a checkpoint that a later run is restored from.
    fn remove_orphans(
        &self,
        context: &WriterContext,
        states: &[Vec<u8>],
        committables: &[Committable],
    ) -> Result<()> {
        let _ = (context, states, committables);
        Ok(())
    }

    /// A writer for one subtask, with the states that fell to it.
    fn writer(
        &self,
        context: WriterContext,
        restored: Vec<Vec<u8>>,
    ) -> Result<Box<dyn SinkWriter<Self::Item>>>;
}

/// What a writer is made with.
#[derive(Clone)]
pub struct WriterContext {
    /// Name of the job. With `uid` it tells sinks apart that write to one place.
    pub job: String,
    /// Uid of the sink.
    pub uid: OperatorUid,
    /// Which writer this is.
    pub subtask: SubtaskId,
    /// The run of the job; with `attempt` unique for each try that ever wrote.
    pub generation: Generation,
    /// The try within the run.
    pub attempt: Attempt,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Threads that may block.
    pub background: Arc<dyn Background>,
    /// Makes the task look at the writer again.
    pub waker: Waker,
}

/// Writes rows.
pub trait SinkWriter<T>: Send {
    /// Writes a batch.
    fn write(&mut self, rows: Records<T>) -> Result<()>;

    /// The watermark has advanced.
    fn advance(&mut self, watermark: Timestamp) -> Result<()> {
        let _ = watermark;
        Ok(())
    }

    /// When the writer wants [`tick`](Self::tick) to be called, if at all.
    fn next_tick(&self) -> Option<Timestamp> {
        None
    }

    /// The time asked for has come.
    fn tick(&mut self, now: Timestamp) -> Result<()> {
        let _ = now;
        Ok(())
    }

    /// Called at a barrier: all rows written so far belong to `checkpoint`, and must survive a crash of the
    /// process once this returns. `end` says that no rows will follow.
    fn prepare(&mut self, checkpoint: CheckpointId, end: bool) -> Result<Prepared>;

    /// Makes committables visible. Called again after a failure in the middle, by this or a later process:
    /// what is already visible is no error.
    fn commit(&mut self, committables: Vec<Committable>) -> Result<()>;
}
