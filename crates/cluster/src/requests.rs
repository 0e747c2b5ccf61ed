//! The checkpoints that clients have asked for, and how each of them learns what became of its own.
//!
//! A request waits until the coordinator triggers a checkpoint that serves it, through as many attempts as it takes; then it
//! shares that checkpoint's fate. One that is asked for with a stop is answered when the job is over. Whatever is not
//! answered when the job is over is answered by that.

use crate::handle::{JobReport, JobStatus, Shared};
use flugs_checkpoint::Kind;
use flugs_types::{CheckpointId, Error, ErrorKind, Result};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A checkpoint or savepoint that was asked for. Dropping it changes nothing for the job.
#[derive(Clone)]
pub struct PendingCheckpoint {
    shared: Arc<Shared>,
    slot: Arc<Slot>,
}

/// What became of a request: the path, or what [`Error`] is made from, for each who asks.
type Slot = Mutex<Option<Result<String, (ErrorKind, String)>>>;

impl PendingCheckpoint {
    /// Waits until it is complete, and gives the path of its manifest in the job's store, as [`Restore::Path`] takes it.
    ///
    /// An error says why there is none: it was given up, or the job was over before it was complete.
    ///
    /// Blocks the calling thread; not to be called from a user function of a job.
    ///
    /// [`Restore::Path`]: crate::Restore::Path
    pub fn wait(&self) -> Result<String> {
        self.shared.wait(|report| self.look(report))
    }

    /// As [`wait`](Self::wait), but no longer than this: `None` where the time is up. With [`Duration::ZERO`] it only looks.
    pub fn wait_for(&self, timeout: Duration) -> Option<Result<String>> {
        self.shared.wait_for(timeout, |report| self.look(report))
    }

    fn look(&self, report: &JobReport) -> Option<Result<String>> {
        let slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = slot.clone().map(|answer| answer.map_err(|(kind, text)| Error::new(kind, text)));
        answer.or_else(|| {
            let ended = match report.status {
                JobStatus::Finished => "the job had finished".to_owned(),
                JobStatus::Canceled => "the job was stopped".to_owned(),
                JobStatus::Failed => {
                    format!(
                        "the job has failed: {}",
                        report.failure.as_deref().unwrap_or("for an unknown reason")
                    )
                }
                _ => return None,
            };
            let text = format!("the checkpoint was not completed before the end of the job: {ended}");
            Some(Err(Error::job(text).mend("go on from the job's newest checkpoint, where there is one")))
        })
    }
}

/// Where a request's answer goes.
pub(crate) struct Answer {
    shared: Arc<Shared>,
    slot: Arc<Slot>,
}

impl Answer {
    /// An answer that is still to come, and who waits for it.
    pub(crate) fn new(shared: &Arc<Shared>) -> (Answer, PendingCheckpoint) {
        let slot = Arc::<Slot>::default();
        let pending = PendingCheckpoint { shared: shared.clone(), slot: slot.clone() };
        (Answer { shared: shared.clone(), slot }, pending)
    }

    fn give(self, answer: Result<String, (ErrorKind, String)>) {
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        self.shared.update(|_| ());
    }

    fn is_awaited(&self) -> bool {
        Arc::strong_count(&self.slot) > 1
    }
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Checkpoint,
    Savepoint,
    /// A savepoint, and the end of the job with it.
    Stop,
    /// The end of all inputs, and a final checkpoint that is a savepoint.
    Drain,
}

impl Wanted {
    /// What the coordinator is asked for. A final checkpoint comes by itself.
    pub(crate) fn kind(self) -> Option<Kind> {
        match self {
            Wanted::Checkpoint => Some(Kind::Checkpoint),
            Wanted::Savepoint | Wanted::Stop => Some(Kind::Savepoint),
            Wanted::Drain => None,
        }
    }

    fn is_served_by(self, kind: Kind) -> bool {
        // The final checkpoint takes the place of one that was asked for.
        self.kind() == Some(kind) || (self, kind) == (Wanted::Checkpoint, Kind::Final)
    }
}

/// See the module.
#[derive(Default)]
pub(crate) struct Requests {
    waiting: Vec<(Wanted, Answer)>,
    begun: Vec<(CheckpointId, Wanted, Answer)>,
    /// Stops whose savepoint is complete, at this path.
    stopping: Vec<(String, Answer)>,
}

impl Requests {
    pub(crate) fn add(&mut self, wanted: Wanted, answer: Answer) {
        // Of those that nobody waits for one is enough.
        self.waiting.retain(|(other, answer)| *other != wanted || answer.is_awaited());
        self.waiting.push((wanted, answer));
    }

    /// What an attempt that begins is to be asked for.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        self.waiting.iter().filter_map(|(wanted, _)| wanted.kind()).collect()
    }

    /// Whether the final checkpoint is to be a savepoint.
    pub(crate) fn drain(&self) -> bool {
        self.waiting.iter().any(|(wanted, _)| *wanted == Wanted::Drain)
    }

    /// A checkpoint was triggered.
    pub(crate) fn triggered(&mut self, checkpoint: CheckpointId, kind: Kind) {
        let served = self.waiting.extract_if(.., |(wanted, _)| wanted.is_served_by(kind));
        self.begun.extend(served.map(|(wanted, answer)| (checkpoint, wanted, answer)));
    }

    /// A checkpoint is complete, at this path. Says whether the job is to stop with it.
    pub(crate) fn completed(&mut self, checkpoint: CheckpointId, path: &str) -> bool {
        for (_, wanted, answer) in self.begun.extract_if(.., |(id, ..)| *id == checkpoint) {
            match wanted {
                Wanted::Stop => self.stopping.push((path.to_owned(), answer)),
                _ => answer.give(Ok(path.to_owned())),
            }
        }
        !self.stopping.is_empty()
    }

    /// A checkpoint was given up. A stop with it is, too: the job goes on.
    pub(crate) fn given_up(&mut self, checkpoint: CheckpointId, reason: &str) {
        for (id, _, answer) in self.begun.extract_if(.., |(id, ..)| *id == checkpoint) {
            answer.give(Err((ErrorKind::Transient, format!("checkpoint {id} was given up: {reason}"))));
        }
    }

    /// An attempt has failed, and all that it had begun. What it had not begun, and a stop whose last commit it
    /// failed at, is the next one's affair.
    pub(crate) fn attempt_failed(&mut self, error: &Error) {
        for (id, _, answer) in self.begun.drain(..) {
            let text = format!("checkpoint {id} was given up, because the job has failed: {error}");
            answer.give(Err((ErrorKind::Transient, text)));
        }
        self.waiting.extend(self.stopping.drain(..).map(|(_, answer)| (Wanted::Stop, answer)));
    }

    /// The job is over, but did not fail; where it has finished, with the checkpoint at this path.
    pub(crate) fn over(&mut self, finished: Option<&str>) {
        for (path, answer) in self.stopping.drain(..) {
            answer.give(Ok(path));
        }
        for (wanted, answer) in self.waiting.drain(..) {
            if let (Some(path), Wanted::Checkpoint | Wanted::Drain) = (finished, wanted) {
                answer.give(Ok(path.to_owned()));
            }
        }
    }
}
