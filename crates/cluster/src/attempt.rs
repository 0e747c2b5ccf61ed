//! One attempt of a job: its tasks, its checkpoints and what else is under way.

use crate::enumerators::Enumerators;
use crate::snapshots::Stored;
use bytes::Bytes;
use flugs_checkpoint::{Coordinator, Subtask};
use flugs_task::{Mail, Mailbox, SubtaskRef};
use flugs_types::{CheckpointId, Error, OperatorUid, Timestamp};
use std::collections::{BTreeMap, HashSet};

/// How an attempt ends.
pub(crate) enum Outcome {
    Finished,
    Failed(Error),
    Canceled,
    /// A savepoint was the last that was asked of it.
    Stopped,
}

impl Outcome {
    /// Whether all that the newest checkpoint covers is committed now: a last commit that fails makes it a failure.
    pub(crate) fn ends_with_commits(&self) -> bool {
        matches!(self, Outcome::Finished | Outcome::Stopped)
    }
}

/// See the module.
pub(crate) struct Run {
    /// In order, so that equal runs post in equal order.
    pub(crate) mailboxes: BTreeMap<SubtaskRef, Mailbox>,
    pub(crate) alive: HashSet<SubtaskRef>,
    pub(crate) starting: HashSet<SubtaskRef>,
    /// Those that were drained before all had started: the coordinator hears of them then.
    pub(crate) drained_early: Vec<Subtask>,
    pub(crate) coordinator: Coordinator<Stored>,
    pub(crate) enumerators: Enumerators,
    /// Checkpoints under way: when they began and what the enumerators' states were.
    pub(crate) begun: BTreeMap<CheckpointId, (Timestamp, Vec<(OperatorUid, Bytes)>)>,
    pub(crate) started: Timestamp,
    pub(crate) wake_at: Option<Timestamp>,
    pub(crate) publishing: usize,
}

impl Run {
    /// Tells all tasks.
    pub(crate) fn post_all(&self, mail: impl Fn() -> Mail) {
        self.mailboxes.values().for_each(|m| m.post(mail()));
    }
}
