//! The protocol of checkpoints within one attempt of a job: one at a time, each ends committed or aborted.

use crate::Kind;
use flugs_types::{CheckpointId, Error, Result, Timestamp};
use std::marker::PhantomData;
use std::time::Duration;

/// When checkpoints are taken and how many may fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointOptions {
    /// From the start of a periodic checkpoint to that of the next. `None`: only on request and at the end.
    pub interval: Option<Duration>,
    /// How long the acknowledgements of a checkpoint may take.
    pub timeout: Duration,
    /// From the end of a checkpoint to the start of the next periodic one, at least.
    pub min_pause: Duration,
    /// How many checkpoints in a row may fail without failing the job. Savepoints do not count.
    pub tolerable_failed: u32,
}

impl Default for CheckpointOptions {
    fn default() -> Self {
        CheckpointOptions {
            interval: None,
            timeout: Duration::from_secs(600),
            min_pause: Duration::ZERO,
            tolerable_failed: 0,
        }
    }
}

/// A participant: one subtask of one task of the job graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subtask {
    /// The task's number in the job graph.
    pub task: u32,
    /// The subtask's index within the task.
    pub index: u32,
}

/// What happens to the coordinator.
#[derive(Debug)]
pub enum Event<P> {
    /// The attempt runs. Only the first counts.
    Started {
        /// All that take part: each answers every trigger until the job ends.
        subtasks: Vec<Subtask>,
    },
    /// Time has passed.
    Tick,
    /// A subtask's part of a checkpoint is stored.
    Ack {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// Who.
        subtask: Subtask,
        /// What it stored, for the manifest.
        payload: P,
    },
    /// A subtask cannot take part in a checkpoint but goes on running.
    Declined {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// Who.
        subtask: Subtask,
        /// Why, for the user.
        reason: String,
    },
    /// A subtask's inputs have ended and it has drained.
    SubtaskFinished {
        /// Who.
        subtask: Subtask,
    },
    /// A checkpoint is wanted now. It starts when the running one has ended; requests made until then are
    /// served by one. Asking for [`Kind::Final`] changes nothing: that one comes by itself.
    TriggerRequested {
        /// Which kind.
        kind: Kind,
    },
    /// An [`Action::Publish`] has ended.
    Published {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// How. [`Fenced`](flugs_types::ErrorKind::Fenced) fails the job at once; other errors count as a
        /// failed checkpoint.
        result: Result<()>,
    },
    /// The attempt ends for reasons outside: nothing new is started.
    Stop,
}

/// What the coordinator wants done, in this order.
#[derive(Debug)]
pub enum Action<P> {
    /// Tell all subtasks to take their part.
    Trigger {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// Its kind.
        kind: Kind,
    },
    /// Write the manifest and bring [`Event::Published`], whatever happens.
    Publish {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// Its kind.
        kind: Kind,
        /// What each participant stored, ordered by subtask.
        acks: Vec<(Subtask, P)>,
    },
    /// Tell all subtasks that the checkpoint is complete and will be restored from: commit what it covers.
    Committed {
        /// The checkpoint.
        checkpoint: CheckpointId,
    },
    /// Tell all subtasks that the checkpoint did not come about: what it covers belongs to the next one.
    Abort {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// Why, for the user.
        reason: String,
    },
    /// Fail this attempt. Nothing follows.
    FailJob {
        /// Why; its kind says whether a restart may help.
        reason: Error,
    },
    /// Bring [`Event::Tick`] at this time. Replaces the time asked for before.
    WakeAt(Timestamp),
    /// The final checkpoint is committed: the job has ended well. Nothing follows.
    AllFinished,
}

/// The checkpoint that is under way, to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// Its kind.
    pub kind: Kind,
    /// When it was triggered.
    pub triggered: Timestamp,
    /// How many participants have acknowledged.
    pub acknowledged: usize,
    /// How many there are.
    pub participants: usize,
}

/// Coordinates the checkpoints of one attempt of a job. `P` is what a subtask acknowledges with.
#[derive(Debug)]
pub struct Coordinator<P> {
    options: CheckpointOptions,
    next_id: CheckpointId,
    payload: PhantomData<P>,
}

impl<P> Coordinator<P> {
    /// A coordinator that gives its first checkpoint the id `first`: higher than any id that this job has ever
    /// used, published or not.
    pub fn new(options: CheckpointOptions, first: CheckpointId) -> Self {
        Coordinator { options, next_id: first, payload: PhantomData }
    }

    /// Takes an event, says what is to be done.
    pub fn step(&mut self, now: Timestamp, event: Event<P>) -> Vec<Action<P>> {
        let _ = (now, event, &self.options);
        Vec::new()
    }

    /// The checkpoint under way, if any.
    pub fn progress(&self) -> Option<Progress> {
        None
    }

    /// The id that the next checkpoint will get.
    pub fn next_id(&self) -> CheckpointId {
        self.next_id
    }
}
