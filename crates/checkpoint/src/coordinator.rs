//! The protocol of checkpoints within one attempt of a job. Pure: [`Coordinator::step`] takes an event and the
//! time and says what is to be done.
//!
//! At most one checkpoint is under way. It is *collecting* from its [`Trigger`](Action::Trigger) until every
//! participant has acknowledged it, and *publishing* from then until [`Event::Published`]:
//!
//! ```text
//!            all acknowledged               Ok
//! collecting ---------------> publishing -------> Committed
//!     |                            |
//!     | declined, late, stopped    | Err
//!     +------------> Abort <-------+
//! ```
//!
//! A checkpoint that is publishing cannot be given up, by a timeout or a stop: its manifest may be there already, and
//! then a restart would go on from it. So the driver owes an answer to each [`Action::Publish`], and an answer is
//! the only end. An abort after a failed publication tells the participants no more than that they must not commit *now*:
//! what the checkpoint covers stays pending and belongs to the next one.
//!
//! What starts next, when nothing is under way: a savepoint that was asked for; the final checkpoint, when all
//! participants have drained; a checkpoint that was asked for; the periodic one, when it is due. The final one is
//! tried again after a failure, until the failures in a row exceed what is tolerated: `min_pause` later, but not before a delay
//! that grows with them, so that a store that is away is not called without pause. Messages about checkpoints that
//! are not under way are ignored: they are late.

use crate::Kind;
use flugs_types::{CheckpointId, Error, ErrorKind, Result, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// From a failure of the final checkpoint to the next try, at least; twice as long after each further failure in a row.
const RETRY_DELAY_MIN: Duration = Duration::from_millis(50);
/// But no longer than this.
const RETRY_DELAY_MAX: Duration = Duration::from_secs(10);

/// When checkpoints are taken and how many may fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointOptions {
    /// From the start of a periodic checkpoint to that of the next. `None`: only on request and at the end.
    pub interval: Option<Duration>,
    /// How long the acknowledgements of a checkpoint may take.
    pub timeout: Duration,
    /// From the end of a checkpoint to the start of the next periodic one, at least; also between two tries of the final one.
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

impl fmt::Display for Subtask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "subtask {} of task {}", self.index, self.task)
    }
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
    phase: Phase,
    participants: BTreeSet<Subtask>,
    drained: BTreeSet<Subtask>,
    running: Option<Running<P>>,
    savepoint_wanted: bool,
    checkpoint_wanted: bool,
    /// When the next periodic checkpoint is due, and before when it must not start all the same.
    due: Option<Timestamp>,
    rested: Timestamp,
    /// Before when the final checkpoint must not be tried again.
    retry: Timestamp,
    failed_in_row: u32,
    now: Timestamp,
    /// The time last asked for by [`Action::WakeAt`].
    alarm: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Before [`Event::Started`].
    Waiting,
    Running,
    /// Stopped, with a publication whose outcome is still to be told.
    Stopping,
    Ended,
}

#[derive(Debug)]
struct Running<P> {
    id: CheckpointId,
    kind: Kind,
    triggered: Timestamp,
    stage: Stage<P>,
}

#[derive(Debug)]
enum Stage<P> {
    Collecting { acks: BTreeMap<Subtask, P>, deadline: Timestamp },
    Publishing,
}

impl<P> Coordinator<P> {
    /// A coordinator that gives its first checkpoint the id `first`: higher than any id that this job has ever
    /// used, published or not.
    pub fn new(options: CheckpointOptions, first: CheckpointId) -> Self {
        Coordinator {
            options,
            next_id: first,
            phase: Phase::Waiting,
            participants: BTreeSet::new(),
            drained: BTreeSet::new(),
            running: None,
            savepoint_wanted: false,
            checkpoint_wanted: false,
            due: None,
            rested: Timestamp::MIN,
            retry: Timestamp::MIN,
            failed_in_row: 0,
            now: Timestamp::MIN,
            alarm: None,
        }
    }

    /// Takes an event, says what is to be done. `now` may step back (all waiting is then moved along with it), but
    /// a leap forward lets checkpoints time out.
    pub fn step(&mut self, now: Timestamp, event: Event<P>) -> Vec<Action<P>> {
        let mut actions = Vec::new();
        if self.phase == Phase::Ended {
            return actions;
        }
        self.move_to(now);
        self.apply(event, &mut actions);
        self.expire(&mut actions);
        self.trigger_next(&mut actions);
        self.set_alarm(&mut actions);
        actions
    }

    /// The checkpoint under way, if any.
    pub fn progress(&self) -> Option<Progress> {
        let running = self.running.as_ref()?;
        let participants = self.participants.len();
        let acknowledged = match &running.stage {
            Stage::Collecting { acks, .. } => acks.len(),
            Stage::Publishing => participants,
        };
        Some(Progress {
            checkpoint: running.id,
            kind: running.kind,
            triggered: running.triggered,
            acknowledged,
            participants,
        })
    }

    /// The id that the next checkpoint will get.
    pub fn next_id(&self) -> CheckpointId {
        self.next_id
    }

    fn move_to(&mut self, now: Timestamp) {
        let back = self.now.since(now);
        if self.now != Timestamp::MIN && !back.is_zero() {
            for time in self.due.iter_mut().chain([&mut self.rested, &mut self.retry]) {
                *time = *time - back;
            }
            if let Some(running) = &mut self.running {
                running.triggered = running.triggered - back;
                if let Stage::Collecting { deadline, .. } = &mut running.stage {
                    *deadline = *deadline - back;
                }
            }
        }
        self.now = now;
    }

    fn apply(&mut self, event: Event<P>, actions: &mut Vec<Action<P>>) {
        match event {
            Event::Started { subtasks } => {
                if self.phase == Phase::Waiting {
                    self.phase = Phase::Running;
                    self.participants.extend(subtasks);
                    self.due = self.next_due();
                }
            }
            // A timer that went off early is set again.
            Event::Tick => self.alarm = None,
            Event::Ack { checkpoint, subtask, payload } => {
                if let Some(acks) = self.acks_of(checkpoint, subtask) {
                    acks.entry(subtask).or_insert(payload);
                    self.publish_if_complete(actions);
                }
            }
            Event::Declined { checkpoint, subtask, reason } => {
                if self.acks_of(checkpoint, subtask).is_some() {
                    self.fail(format!("declined by {subtask}: {reason}"), None, actions);
                }
            }
            Event::SubtaskFinished { subtask } => {
                if self.participants.contains(&subtask) {
                    self.drained.insert(subtask);
                }
            }
            Event::TriggerRequested { kind } => match kind {
                Kind::Savepoint => self.savepoint_wanted = true,
                Kind::Checkpoint => self.checkpoint_wanted = true,
                Kind::Final => {}
            },
            Event::Published { checkpoint, result } => self.published(checkpoint, result, actions),
            Event::Stop => self.stop(actions),
        }
    }

    /// The acknowledgements of a checkpoint, where it is collecting and the subtask takes part.
    fn acks_of(&mut self, checkpoint: CheckpointId, subtask: Subtask) -> Option<&mut BTreeMap<Subtask, P>> {
        let running = self.running.as_mut().filter(|r| r.id == checkpoint)?;
        match &mut running.stage {
            Stage::Collecting { acks, .. } if self.participants.contains(&subtask) => Some(acks),
            _ => None,
        }
    }

    fn publish_if_complete(&mut self, actions: &mut Vec<Action<P>>) {
        let Some(running) = &mut self.running else { return };
        let Stage::Collecting { acks, .. } = &mut running.stage else { return };
        if acks.len() == self.participants.len() {
            let acks = std::mem::take(acks).into_iter().collect();
            running.stage = Stage::Publishing;
            actions.push(Action::Publish { checkpoint: running.id, kind: running.kind, acks });
        }
    }

    fn published(&mut self, checkpoint: CheckpointId, result: Result<()>, actions: &mut Vec<Action<P>>) {
        let publishing = |r: &Running<P>| r.id == checkpoint && matches!(r.stage, Stage::Publishing);
        let Some(kind) = self.running.as_ref().filter(|r| publishing(r)).map(|r| r.kind) else { return };
        match result {
            Ok(()) => {
                self.running = None;
                self.failed_in_row = 0;
                self.rested = self.now + self.options.min_pause;
                actions.push(Action::Committed { checkpoint });
                if kind == Kind::Final {
                    actions.push(Action::AllFinished);
                    self.phase = Phase::Ended;
                }
            }
            Err(error) => self.fail(format!("not published: {error}"), Some(error), actions),
        }
        if self.phase == Phase::Stopping {
            self.phase = Phase::Ended;
        }
    }

    fn stop(&mut self, actions: &mut Vec<Action<P>>) {
        self.phase = match self.running.take() {
            None => Phase::Ended,
            Some(Running { id, stage: Stage::Collecting { .. }, .. }) => {
                actions.push(Action::Abort { checkpoint: id, reason: "the job is being stopped".to_owned() });
                Phase::Ended
            }
            publishing => {
                self.running = publishing;
                Phase::Stopping
            }
        };
    }

    /// Ends the checkpoint under way without success.
    fn fail(&mut self, reason: String, cause: Option<Error>, actions: &mut Vec<Action<P>>) {
        let Some(Running { id, kind, .. }) = self.running.take() else { return };
        self.rested = self.now + self.options.min_pause;
        if kind == Kind::Final {
            self.retry = self.now + self.options.min_pause.max(retry_delay(self.failed_in_row));
        }
        actions.push(Action::Abort { checkpoint: id, reason: reason.clone() });
        if cause.as_ref().is_some_and(|e| e.kind() == ErrorKind::Fenced) {
            self.phase = Phase::Ended;
            actions.extend(cause.map(|reason| Action::FailJob { reason }));
            return;
        }
        // The user who asked for a savepoint is told; the job is none the worse for it.
        if kind != Kind::Savepoint && self.phase == Phase::Running {
            self.failed_in_row += 1;
            if self.failed_in_row > self.options.tolerable_failed {
                self.phase = Phase::Ended;
                let kind = cause.map_or(ErrorKind::Transient, |e| e.kind());
                actions.push(Action::FailJob { reason: self.too_many_failures(kind, id, &reason) });
            }
        }
    }

    fn too_many_failures(&self, kind: ErrorKind, id: CheckpointId, reason: &str) -> Error {
        let (failed, tolerated) = (self.failed_in_row, self.options.tolerable_failed);
        Error::new(kind, format!("{failed} checkpoints in a row failed and {tolerated} are tolerated; the last, {id}, was {reason}"))
            .mend("remove the cause, or allow a longer timeout or more tolerable failures")
    }

    fn expire(&mut self, actions: &mut Vec<Action<P>>) {
        let Some(Running { stage: Stage::Collecting { acks, deadline }, .. }) = &self.running else { return };
        if self.now < *deadline {
            return;
        }
        const NAMED: usize = 3;
        let late = || self.participants.iter().filter(|s| !acks.contains_key(s));
        let mut names = late().take(NAMED).map(Subtask::to_string).collect::<Vec<_>>().join(", ");
        let more = late().count().saturating_sub(NAMED);
        if more > 0 {
            names.push_str(&format!(" and {more} more"));
        }
        self.fail(format!("not acknowledged within {:?} by {names}", self.options.timeout), None, actions);
    }

    fn all_drained(&self) -> bool {
        self.drained.len() == self.participants.len()
    }

    fn next_due(&self) -> Option<Timestamp> {
        self.options.interval.map(|interval| self.now + interval)
    }

    /// When the next periodic checkpoint may start.
    fn next_start(&self) -> Option<Timestamp> {
        self.due.map(|due| due.max(self.rested))
    }

    fn trigger_next(&mut self, actions: &mut Vec<Action<P>>) {
        if self.phase != Phase::Running || self.running.is_some() {
            return;
        }
        if self.savepoint_wanted {
            self.savepoint_wanted = false;
            self.trigger(Kind::Savepoint, actions);
        } else if self.all_drained() {
            if self.now >= self.retry {
                self.trigger(Kind::Final, actions);
            }
        } else if self.checkpoint_wanted || self.next_start().is_some_and(|start| self.now >= start) {
            self.checkpoint_wanted = false;
            self.due = self.next_due();
            self.trigger(Kind::Checkpoint, actions);
        }
    }

    fn trigger(&mut self, kind: Kind, actions: &mut Vec<Action<P>>) {
        let id = self.next_id;
        self.next_id = id.next();
        // Even without any patience there is a moment for the answers.
        let deadline = self.now + self.options.timeout.max(Duration::from_micros(1));
        let stage = Stage::Collecting { acks: BTreeMap::new(), deadline };
        self.running = Some(Running { id, kind, triggered: self.now, stage });
        actions.push(Action::Trigger { checkpoint: id, kind });
        self.publish_if_complete(actions);
    }

    fn set_alarm(&mut self, actions: &mut Vec<Action<P>>) {
        if self.phase != Phase::Running {
            return;
        }
        let next = match &self.running {
            Some(Running { stage: Stage::Collecting { deadline, .. }, .. }) => Some(*deadline),
            Some(_) => None,
            None if self.all_drained() => Some(self.retry),
            None => self.next_start(),
        };
        // What is due by now has been done.
        let next = next.filter(|&t| t > self.now);
        if next.is_some() && next != self.alarm {
            self.alarm = next;
            actions.extend(next.map(Action::WakeAt));
        }
    }
}

fn retry_delay(failed_before: u32) -> Duration {
    RETRY_DELAY_MIN.saturating_mul(1 << failed_before.min(16)).min(RETRY_DELAY_MAX)
}

#[cfg(test)]
mod tests;
