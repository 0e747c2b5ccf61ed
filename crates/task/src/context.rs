//! What an operator is, and what it is opened with.

use crate::chain::Output;
use crate::metrics::{Counter, Metrics};
use flugs_batch::{Barrier, Batch};
use flugs_state::{OpenState, SnapshotTable};
use flugs_types::{
    Attempt, Background, CheckpointId, Clock, Generation, OperatorUid, Result, SubtaskId, Timestamp,
};
use std::sync::Arc;
use std::task::Waker;

/// Whether an operator has done what it was asked.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All of it.
    Done,
    /// It stopped because its output asked it to, or after a bounded amount of work; it goes on in
    /// [`Operator::resume`].
    More,
    /// It waits for something outside (a pending request) and will have the task woken; it goes on in
    /// [`Operator::resume`].
    Blocked,
}

/// Who an operator is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorIdent {
    /// The uid under which its state is stored.
    pub uid: OperatorUid,
    /// Its name, for messages.
    pub name: String,
    /// Which parallel instance.
    pub subtask: SubtaskId,
}

/// What an operator is opened with.
pub struct OpenContext<'a> {
    /// Name of the job.
    pub job: &'a str,
    /// Who it is.
    pub ident: &'a OperatorIdent,
    /// Where its state comes from; what is opened here must be shown by [`Operator::tables`].
    pub state: &'a mut OpenState,
    /// The time.
    pub clock: &'a Arc<dyn Clock>,
    /// Threads that may block.
    pub background: &'a Arc<dyn Background>,
    /// Makes the task step again, so that [`Operator::poll`] is called.
    pub waker: &'a Waker,
    /// The run of the job.
    pub generation: Generation,
    /// The try within the run.
    pub attempt: Attempt,
    /// Where counters are registered.
    pub metrics: &'a Arc<Metrics>,
}

impl OpenContext<'_> {
    /// A counter of this subtask, under a name such as `numLateRecordsDropped`.
    pub fn counter(&self, name: &str) -> Counter {
        self.metrics.counter(self.ident, name)
    }
}

/// A step of a chain: batches in, batches out, with state and time.
///
/// The order of calls: `open`, then any of `process`, `advance`, `tick`, `poll`, `barrier`; after one of
/// these returned `More` or `Blocked` only `resume`, until it returns `Done`; `end` once; after it
/// no `tick` or `poll`, but `barrier` may still come. `committed` may come at any time, also while the operator has
/// stopped. An error ends the attempt.
pub trait Operator: Send + 'static {
    /// What it takes.
    type In: Batch;
    /// What it gives.
    type Out: Batch;

    /// Opens state and handles.
    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        let _ = context;
        Ok(())
    }

    /// Takes a batch. An operator that may give much more than it takes looks at [`Output::is_ready`] after each
    /// batch that it hands on, and stops with `More` when it is not.
    fn process(&mut self, batch: Self::In, out: &mut Output<Self::Out>) -> Result<Progress>;

    /// Goes on after `More` or `Blocked`.
    fn resume(&mut self, out: &mut Output<Self::Out>) -> Result<Progress> {
        let _ = out;
        Ok(Progress::Done)
    }

    /// Event time has advanced: no row at or before `watermark` will follow, but for late ones. After `Done` the
    /// watermark is handed on (see [`forwards_watermarks`](Self::forwards_watermarks)).
    fn advance(&mut self, watermark: Timestamp, out: &mut Output<Self::Out>) -> Result<Progress> {
        let _ = (watermark, out);
        Ok(Progress::Done)
    }

    /// Whether watermarks of the input are the output's; an operator that makes its own says no. It then hands on
    /// [`Timestamp::MAX`] too, once its input has come to it: windows behind it wait for that.
    fn forwards_watermarks(&self) -> bool {
        true
    }

    /// The input has nothing to say about time for now, or has again. By default the output says so too.
    fn idleness(&mut self, idle: bool, out: &mut Output<Self::Out>) -> Result<Progress> {
        let _ = out.idleness(idle)?;
        Ok(Progress::Done)
    }

    /// When `tick` should be called, in processing time.
    fn next_tick(&self) -> Option<Timestamp> {
        None
    }

    /// The processing time asked for by `next_tick` has come.
    fn tick(&mut self, now: Timestamp, out: &mut Output<Self::Out>) -> Result<Progress> {
        let _ = (now, out);
        Ok(Progress::Done)
    }

    /// Whether `poll` is to be called in each step.
    fn polls(&self) -> bool {
        false
    }

    /// Looks for what came in from outside (completed requests).
    fn poll(&mut self, out: &mut Output<Self::Out>) -> Result<Progress> {
        let _ = out;
        Ok(Progress::Done)
    }

    /// A checkpoint's cut: what is buffered goes out, or into the tables. When `Done`, the tables are frozen and the
    /// barrier is handed on.
    fn barrier(&mut self, barrier: Barrier, out: &mut Output<Self::Out>) -> Result<Progress> {
        let _ = (barrier, out);
        Ok(Progress::Done)
    }

    /// The end of all input. `advance(Timestamp::MAX)` came before it if the input had event time.
    fn end(&mut self, out: &mut Output<Self::Out>) -> Result<Progress> {
        let _ = out;
        Ok(Progress::Done)
    }

    /// Every table that was opened in `open`, each time in the same order.
    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        Vec::new()
    }

    /// The checkpoint, and all before it, are complete.
    fn committed(&mut self, checkpoint: CheckpointId) -> Result<()> {
        let _ = checkpoint;
        Ok(())
    }
}
