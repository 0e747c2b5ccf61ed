//! What a coordinator and its tasks say to each other.

use bytes::Bytes;
use flugs_batch::Barrier;
use flugs_connector::{Outstanding, Split};
use flugs_types::{CheckpointId, Error, OperatorUid, Result};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

/// A subtask of a job attempt: task number and index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubtaskRef {
    /// The task's number in the job graph.
    pub task: u32,
    /// The index of the parallel instance.
    pub index: u32,
}

/// From the coordinator to a task. Mail is read in order, between batches.
#[derive(Debug)]
pub enum Mail {
    /// A checkpoint begins. Sources cut their stream here; a drained task snapshots itself; every other task waits
    /// for the barriers of its inputs.
    Trigger(Barrier),
    /// The checkpoint is complete.
    Committed(CheckpointId),
    /// The checkpoint will not be completed.
    Aborted(CheckpointId),
    /// Splits for a source's reader.
    Splits(Vec<Split>),
    /// The reader gets no more splits.
    NoMoreSplits,
    /// What the splits that no reader has mean to the source's event time.
    Outstanding(Outstanding),
    /// Stop as if the input had ended here: sources send the end, the rest follows (stop with savepoint, drained).
    EndInput,
    /// The task is drained and all is committed: it may go.
    Finish,
    /// Stop at once.
    Cancel,
}

/// The state of one operator subtask at a checkpoint.
#[derive(Debug, Clone)]
pub struct OperatorAck {
    /// The operator.
    pub uid: OperatorUid,
    /// Its state; `None` where it has none.
    pub state: Option<StateData>,
}

/// The encoded run of an operator subtask's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateData {
    /// All of it: it is small.
    Here(Bytes),
    /// It was stored while it was encoded.
    Stored {
        /// Where.
        path: String,
        /// How long it is.
        bytes: u64,
        /// The CRC-32 (IEEE) of its content.
        crc32: u32,
    },
}

/// Where large state goes while it is encoded. Calls may block; they are made on background threads.
pub trait StateStore: Send + Sync + 'static {
    /// Begins the file of an operator subtask's state: its path, and where its parts go.
    fn begin(
        &self,
        checkpoint: CheckpointId,
        uid: &OperatorUid,
        index: u32,
    ) -> Result<(String, Box<dyn StateUpload>)>;
}

/// A file of state that comes in parts. One that is dropped unfinished leaves nothing.
pub trait StateUpload: Send {
    /// Appends a part. Its bytes are not kept.
    fn write(&mut self, part: Bytes) -> Result<()>;

    /// Completes the file.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// From a task to its coordinator.
#[derive(Debug)]
pub enum TaskEvent {
    /// State is restored and the task runs.
    Running,
    /// A source's reader has nothing left to read.
    SplitRequested,
    /// The state at a checkpoint.
    Ack {
        /// Which.
        checkpoint: CheckpointId,
        /// By operator of the chain.
        operators: Vec<OperatorAck>,
    },
    /// The state at a checkpoint could not be written; the task goes on.
    Declined {
        /// Which.
        checkpoint: CheckpointId,
        /// Why, for the user.
        reason: String,
    },
    /// The input has ended and all of it is processed. Triggers are still answered.
    Drained,
    /// The task has gone, in answer to `Finish` or `Cancel`.
    Gone,
    /// The task has failed and gone.
    Failed(Error),
}

/// Who is told.
pub trait Supervisor: Send + Sync + 'static {
    /// Takes an event; never blocks.
    fn report(&self, from: SubtaskRef, event: TaskEvent);
}

/// The mail of one task. Clones share it.
#[derive(Clone)]
pub struct Mailbox(Arc<Inner>);

struct Inner {
    queue: Mutex<VecDeque<Mail>>,
    filled: AtomicBool,
    waker: Waker,
}

impl Mailbox {
    /// An empty mailbox whose task is woken by `waker`.
    pub fn new(waker: Waker) -> Self {
        Mailbox(Arc::new(Inner { queue: Mutex::default(), filled: AtomicBool::new(false), waker }))
    }

    /// What wakes the task.
    pub fn waker(&self) -> &Waker {
        &self.0.waker
    }

    /// Puts mail in and wakes the task.
    pub fn post(&self, mail: Mail) {
        let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.push_back(mail);
        self.0.filled.store(true, Ordering::Release);
        drop(queue);
        self.0.waker.wake_by_ref();
    }

    /// Takes the oldest mail.
    pub fn take(&self) -> Option<Mail> {
        if !self.0.filled.load(Ordering::Acquire) {
            return None;
        }
        let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let mail = queue.pop_front();
        self.0.filled.store(!queue.is_empty(), Ordering::Release);
        mail
    }
}
