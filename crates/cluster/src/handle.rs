//! What the owner of a running job holds.

use crate::requests::{Answer, PendingCheckpoint, Wanted};
use flugs_task::Metrics;
use flugs_types::{CheckpointId, Error, Result, Timestamp};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where a job is in its life. Flink's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobStatus {
    /// Not all of its tasks run yet.
    Created,
    /// All tasks run.
    Running,
    /// A task has failed; the others are being stopped.
    Failing,
    /// It will be started again.
    Restarting,
    /// It is being stopped on request.
    Cancelling,
    /// All input was processed and all results are committed.
    Finished,
    /// It failed for good.
    Failed,
    /// It was stopped on request.
    Canceled,
}

impl JobStatus {
    /// Whether it is over.
    pub fn is_terminal(self) -> bool {
        matches!(self, JobStatus::Finished | JobStatus::Failed | JobStatus::Canceled)
    }
}

/// In words, as it stands in a sentence about the job.
impl fmt::Display for JobStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JobStatus::Created => "starting",
            JobStatus::Running => "running",
            JobStatus::Failing => "failing",
            JobStatus::Restarting => "waiting to be started again",
            JobStatus::Cancelling => "being stopped",
            JobStatus::Finished => "finished",
            JobStatus::Failed => "failed",
            JobStatus::Canceled => "cancelled",
        })
    }
}

/// What is known of a job at a moment. Displays as a small table in words, a line for each thing there is to say.
#[derive(Debug, Clone)]
pub struct JobReport {
    /// Where it is in its life.
    pub status: JobStatus,
    /// How many times it was started again.
    pub restarts: u32,
    /// How many checkpoints were completed by this run.
    pub checkpoints: u64,
    /// The newest completed checkpoint, restored ones included.
    pub checkpoint: Option<CheckpointId>,
    /// How long the newest checkpoint took from its trigger to its manifest.
    pub checkpoint_duration: Option<Duration>,
    /// How many bytes of state the newest checkpoint covers.
    pub checkpoint_bytes: u64,
    /// How many checkpoints failed or were given up.
    pub checkpoints_failed: u64,
    /// What the job was restored from, operator by operator; empty where it started afresh.
    pub restored: String,
    /// The checkpoint that it was first restored from.
    pub restored_from: Option<CheckpointId>,
    /// The last failure, as it is printed.
    pub failure: Option<String>,
    /// When all tasks ran first.
    pub running_since: Option<Timestamp>,
}

impl fmt::Display for JobReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, value: fmt::Arguments<'_>| writeln!(f, "{name:<19} {value}");
        line("status", format_args!("{}", self.status))?;
        if let Some(since) = self.running_since {
            line("running since", format_args!("{since}"))?;
        }
        if let Some(from) = self.restored_from {
            line("restored from", format_args!("checkpoint {from}"))?;
        }
        if self.restarts > 0 {
            line("restarts", format_args!("{}", self.restarts))?;
        }
        line(
            "checkpoints",
            format_args!("{} completed, {} failed", self.checkpoints, self.checkpoints_failed),
        )?;
        if let Some(newest) = self.checkpoint {
            let bytes = self.checkpoint_bytes;
            match self.checkpoint_duration {
                Some(took) => {
                    line("newest checkpoint", format_args!("{newest}, {bytes} bytes, took {took:?}"))?
                }
                None => line("newest checkpoint", format_args!("{newest}, from an earlier run"))?,
            }
        }
        if let Some(failure) = &self.failure {
            line("last failure", format_args!("{failure}"))?;
        }
        Ok(())
    }
}

pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    pub(crate) metrics: Arc<Metrics>,
}

struct State {
    report: JobReport,
    error: Option<Error>,
}

impl Shared {
    pub(crate) fn new() -> Self {
        let report = JobReport {
            status: JobStatus::Created,
            restarts: 0,
            checkpoints: 0,
            checkpoint: None,
            checkpoint_duration: None,
            checkpoint_bytes: 0,
            checkpoints_failed: 0,
            restored: String::new(),
            restored_from: None,
            failure: None,
            running_since: None,
        };
        Shared {
            state: Mutex::new(State { report, error: None }),
            changed: Condvar::new(),
            metrics: Arc::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut JobReport)) {
        change(&mut self.lock().report);
        self.changed.notify_all();
    }

    /// Waits until `look` finds something.
    pub(crate) fn wait<R>(&self, look: impl Fn(&JobReport) -> Option<R>) -> R {
        let mut state = self.lock();
        loop {
            if let Some(found) = look(&state.report) {
                return found;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until `look` finds something or the time is up.
    pub(crate) fn wait_for<R>(&self, timeout: Duration, look: impl Fn(&JobReport) -> Option<R>) -> Option<R> {
        let mut found = None;
        let nothing = |state: &mut State| {
            found = look(&state.report);
            found.is_none()
        };
        let waited = self.changed.wait_timeout_while(self.lock(), timeout, nothing);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        found
    }

    pub(crate) fn is_over(&self) -> bool {
        self.lock().report.status.is_terminal()
    }

    pub(crate) fn fail(&self, error: Error) {
        let mut state = self.lock();
        state.report.status = JobStatus::Failed;
        state.report.failure = Some(error.to_string());
        state.error = Some(error);
        drop(state);
        self.changed.notify_all();
    }
}

/// What a client asks of a job.
pub(crate) enum Request {
    Cancel,
    /// Ends the input of all sources where they are, then ends as if it were the end.
    Drain,
    Checkpoint(Wanted, Answer),
}

/// A handle of a job. Dropping it changes nothing for the job.
#[derive(Clone)]
pub struct JobHandle {
    pub(crate) shared: Arc<Shared>,
    pub(crate) ask: Arc<dyn Fn(Request) + Send + Sync>,
}

impl JobHandle {
    /// What is known now.
    pub fn report(&self) -> JobReport {
        self.shared.lock().report.clone()
    }

    /// Where the job is in its life.
    pub fn status(&self) -> JobStatus {
        self.shared.lock().report.status
    }

    /// The job's counters.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.shared.metrics
    }

    /// Stops the job at once. What is not committed stays uncommitted; a later run may go on from the last checkpoint.
    pub fn cancel(&self) {
        (self.ask)(Request::Cancel);
    }

    /// Asks for a checkpoint now. It may be waited for.
    pub fn trigger_checkpoint(&self) -> PendingCheckpoint {
        self.request(Wanted::Checkpoint)
    }

    /// Asks for a savepoint now: a checkpoint that retention never discards. It may be waited for.
    pub fn trigger_savepoint(&self) -> PendingCheckpoint {
        self.request(Wanted::Savepoint)
    }

    /// Stops the job with a savepoint, whose path is known when the job is over.
    ///
    /// With `drain` all inputs end where they are, as by [`drain`](Self::drain), and the job finishes: its final checkpoint is
    /// the savepoint. To be used where the job is to end for good: windows that were open have been emitted, timers have
    /// fired, and a job that goes on from it has nothing left to read.
    ///
    /// Without, the savepoint is taken of the running job, what it covers is committed, and the job is cancelled. What
    /// was read behind it stays uncommitted and is read again by a job that goes on from it; sinks that do not commit may
    /// have shown it. A savepoint that fails is told to the caller, and the job goes on.
    pub fn stop_with_savepoint(&self, drain: bool) -> PendingCheckpoint {
        self.request(if drain { Wanted::Drain } else { Wanted::Stop })
    }

    /// Ends all inputs where they are: event time goes to its end, everything is emitted and committed, the job finishes.
    pub fn drain(&self) {
        (self.ask)(Request::Drain);
    }

    fn request(&self, wanted: Wanted) -> PendingCheckpoint {
        let (answer, pending) = Answer::new(&self.shared);
        (self.ask)(Request::Checkpoint(wanted, answer));
        pending
    }

    /// Waits until the job is over. `Ok` if it finished or was cancelled on request.
    ///
    /// Blocks the calling thread; not to be called from a user function of a job.
    pub fn wait(&self) -> Result<JobReport> {
        let mut state = self.shared.lock();
        while !state.report.status.is_terminal() {
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        match state.error.take() {
            Some(error) => Err(error),
            None if state.report.status == JobStatus::Failed => {
                let failure = state.report.failure.as_deref().unwrap_or("for an unknown reason");
                Err(Error::job(format!("the job has failed, as an earlier wait was told: {failure}")))
            }
            None => Ok(state.report.clone()),
        }
    }

    /// Waits until `done` holds for the report, or the job is over, or the time is up; gives the last report.
    /// `done` is called under the report's lock: it must not use a handle of the job.
    pub fn wait_until(&self, timeout: Duration, mut done: impl FnMut(&JobReport) -> bool) -> JobReport {
        let state = self.shared.lock();
        let wait = |s: &mut State| !s.report.status.is_terminal() && !done(&s.report);
        let (state, _) = self
            .shared
            .changed
            .wait_timeout_while(state, timeout, wait)
            .unwrap_or_else(PoisonError::into_inner);
        state.report.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_a_table_in_words() {
        let mut report = Shared::new().lock().report.clone();
        assert_eq!(
            report.to_string(),
            "status              starting\ncheckpoints         0 completed, 0 failed\n"
        );
        report.status = JobStatus::Running;
        report.running_since = Some(Timestamp::from_secs(60));
        report.restored_from = Some(CheckpointId(6));
        report.checkpoint = Some(CheckpointId(7));
        assert!(report.to_string().contains("newest checkpoint   7, from an earlier run\n"), "{report}");
        report.checkpoint = Some(CheckpointId(9));
        report.checkpoint_duration = Some(Duration::from_millis(12));
        report.checkpoint_bytes = 4096;
        report.failure = Some("user function failed: no".to_owned());
        (report.restarts, report.checkpoints, report.checkpoints_failed) = (1, 2, 3);
        let lines = [
            "status              running",
            "running since       1970-01-01T00:01:00Z",
            "restored from       checkpoint 6",
            "restarts            1",
            "checkpoints         2 completed, 3 failed",
            "newest checkpoint   9, 4096 bytes, took 12ms",
            "last failure        user function failed: no\n",
        ];
        assert_eq!(report.to_string(), lines.join("\n"));
    }
}
