//! The coordinator of one job, as a task of the scheduler.
//!
//! ```text
//!  Preparing --> Deploying --> Running --> Stopping --> Over
//!                    ^                        |
//!                    +------ Pausing <--------+   (a failure that the restart strategy bears)
//! ```
//! *Preparing* claims the job's generation and finds what to restore; *Deploying* builds the tasks; both happen in
//! the background. *Stopping* lasts until every task has gone and no manifest is being published: only then is it
//! certain which checkpoint is the newest. Decisions are made by pure parts (the checkpoint coordinator, enumerators,
//! the restart tracker); this file carries them out, `checkpoints` what concerns checkpoints.

mod checkpoints;

use crate::attempt::{Outcome, Run};
use crate::deploy::{Deployment, Plan};
use crate::enumerators::{Discovery, Enumerators};
use crate::events;
use crate::handle::{JobHandle, JobStatus, Request, Shared};
use crate::inbox::{Inbox, Message, Reports};
use crate::job::{JobOptions, JobSpec};
use crate::prepare::{Prepared, prepare};
use crate::requests::Requests;
use crate::restart::RestartTracker;
use crate::runtime::Runtime;
use crate::snapshots::StateFiles;
use flugs_checkpoint::{Coordinator, Event, Manifest, Subtask};
use flugs_connector::EnumeratorEvent;
use flugs_task::{Mail, Obituary, Step, SubtaskRef, Task, TaskEvent};
use flugs_types::{Attempt, CheckpointId, Error, ErrorKind, Generation, Result, Timestamp, guarded};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// Starts a job. It runs on `runtime` until it ends; the handle shows it.
pub fn submit(runtime: &Runtime, job: JobSpec, options: JobOptions) -> JobHandle {
    let affinity = runtime.next_affinity();
    let slot = runtime.scheduler.slot(affinity);
    let inbox = Inbox::new(slot.waker());
    let shared = Arc::new(Shared::new());
    let master = Master {
        tracker: RestartTracker::new(options.restart.clone()),
        runtime: runtime.clone(),
        job: Arc::new(job),
        options,
        affinity,
        shared: shared.clone(),
        inbox: inbox.clone(),
        phase: Phase::New,
        cancelled: false,
        draining: false,
        requests: Requests::default(),
        now: Timestamp::MIN,
        generation: Generation(0),
        attempt: Attempt(0),
        next_checkpoint: CheckpointId(1),
        restored: None,
        manifests: BTreeMap::new(),
    };
    slot.start(Box::new(master));
    let asked = shared.clone();
    let ask = move |request| {
        // Nobody reads the inbox of a job that is over.
        if !asked.is_over() {
            inbox.post(Message::Client(request));
        }
    };
    JobHandle { shared, ask: Arc::new(ask) }
}

enum Phase {
    New,
    Preparing,
    Deploying,
    Running(Run),
    /// All that is left of an attempt goes.
    Stopping(Run, Outcome),
    /// Until the restart.
    Pausing(Timestamp),
    Over,
}

struct Master {
    runtime: Runtime,
    job: Arc<JobSpec>,
    options: JobOptions,
    affinity: u32,
    shared: Arc<Shared>,
    inbox: Inbox,
    phase: Phase,
    cancelled: bool,
    /// All inputs are to end where they are; a later attempt has to be told again.
    draining: bool,
    /// Checkpoints that clients have asked for.
    requests: Requests,
    /// The time of the last step.
    now: Timestamp,
    tracker: RestartTracker,
    generation: Generation,
    attempt: Attempt,
    next_checkpoint: CheckpointId,
    /// The newest complete checkpoint of this lineage.
    restored: Option<Arc<Manifest>>,
    /// Manifests being published.
    manifests: BTreeMap<CheckpointId, Arc<Manifest>>,
}

impl Task for Master {
    fn step(&mut self, now: Timestamp) -> Result<Step> {
        if matches!(self.phase, Phase::New) {
            self.prepare();
        }
        let back = self.now.since(now);
        self.now = now;
        if !back.is_zero() {
            self.set_back(now, back);
        }
        while let Some(message) = self.inbox.take() {
            self.take(now, message);
        }
        self.tick(now);
        Ok(match &self.phase {
            Phase::Over => Step::Done,
            Phase::Pausing(at) => Step::WaitUntil(*at),
            Phase::Running(run) => [run.wake_at, run.enumerators.wake_at()]
                .into_iter()
                .flatten()
                .min()
                .map_or(Step::Wait, Step::WaitUntil),
            _ => Step::Wait,
        })
    }

    fn name(&self) -> String {
        "flugs-coordinator".to_owned()
    }

    fn obituary(&self) -> Obituary {
        let (shared, job) = (self.shared.clone(), self.job.clone());
        Box::new(move |event| {
            if let TaskEvent::Failed(error) = event {
                events::failed(&job.graph.name, &error);
                shared.fail(error);
            }
        })
    }
}

impl Master {
    fn prepare(&mut self) {
        self.phase = Phase::Preparing;
        let (inbox, job, options) = (self.inbox.clone(), self.job.clone(), self.options.clone());
        let work = move || {
            inbox.post(Message::Prepared(guarded(|| prepare(options.store.as_ref(), &job, &options))))
        };
        self.runtime.background.run(Box::new(work));
    }

    fn take(&mut self, now: Timestamp, message: Message) {
        match message {
            Message::Client(request) => self.client(now, request),
            Message::Prepared(Ok(prepared)) => self.prepared(prepared),
            Message::Prepared(Err(_)) if self.cancelled => self.over(Outcome::Canceled),
            // A store that does not answer now is no reason to give a job up that would bear its failing later.
            Message::Prepared(Err(error)) => self.after_failure(now, now, error),
            Message::Deployed(attempt, result) if attempt == self.attempt => self.deployed(now, result),
            Message::Task(attempt, from, event) if attempt == self.attempt => self.task(now, from, event),
            Message::Stored(attempt, checkpoint, from, result) if attempt == self.attempt => {
                let subtask = Subtask { task: from.task, index: from.index };
                self.coordinate(
                    now,
                    match result {
                        Ok(payload) => Event::Ack { checkpoint, subtask, payload },
                        Err(error) => Event::Declined { checkpoint, subtask, reason: error.to_string() },
                    },
                );
            }
            Message::Published(attempt, checkpoint, result) if attempt == self.attempt => {
                self.published(now, checkpoint, result);
            }
            Message::Discovered(attempt, task, result) if attempt == self.attempt => {
                self.enumerate(now, |run| {
                    run.enumerators.step(now, task, EnumeratorEvent::Discovered(result))
                });
            }
            _ => {}
        }
    }

    fn client(&mut self, now: Timestamp, request: Request) {
        match request {
            Request::Cancel => {
                self.cancelled = true;
                match self.phase {
                    Phase::Running(_) => self.stop(now, Outcome::Canceled),
                    Phase::Pausing(_) => self.over(Outcome::Canceled),
                    Phase::Stopping(_, Outcome::Finished | Outcome::Stopped) | Phase::Over => {}
                    _ => self.shared.update(|report| report.status = JobStatus::Cancelling),
                }
            }
            Request::Drain => self.drain(),
            Request::Checkpoint(wanted, answer) => {
                self.requests.add(wanted, answer);
                match wanted.kind() {
                    Some(kind) => self.coordinate(now, Event::TriggerRequested { kind }),
                    None => self.drain(),
                }
            }
        }
    }

    fn drain(&mut self) {
        self.draining = true;
        if let Phase::Running(run) = &self.phase {
            run.post_all(|| Mail::EndInput);
        }
    }

    fn prepared(&mut self, prepared: Prepared) {
        self.generation = prepared.generation;
        let restored = prepared.restored.as_ref().map(|(manifest, _)| manifest);
        events::prepared(&self.job.graph.name, self.generation, restored);
        self.next_checkpoint = prepared.next_checkpoint;
        if let Some((manifest, mapping)) = prepared.restored {
            self.shared.update(|report| {
                report.restored = mapping;
                report.restored_from = manifest.parent;
                report.checkpoint = Some(manifest.checkpoint);
            });
            self.restored = Some(Arc::new(manifest));
        }
        self.deploy();
    }

    fn deploy(&mut self) {
        if self.cancelled {
            return self.over(Outcome::Canceled);
        }
        self.attempt = self.attempt.next();
        self.phase = Phase::Deploying;
        let plan = Plan {
            job: self.job.clone(),
            runtime: self.runtime.clone(),
            affinity: self.affinity,
            generation: self.generation,
            attempt: self.attempt,
            restored: self.restored.clone(),
            files: StateFiles::new(self.options.store.clone()),
            state_store: Arc::new(self.uploader()),
            supervisor: Arc::new(Reports(self.inbox.clone(), self.attempt)),
            metrics: self.shared.metrics.clone(),
            allow_non_restored_state: self.options.allow_non_restored_state,
            recoverable: self.options.recoverable,
        };
        let (inbox, attempt) = (self.inbox.clone(), self.attempt);
        let work = move || {
            let deployment = guarded(|| plan.build());
            drop(plan);
            inbox.post(Message::Deployed(attempt, deployment));
        };
        self.runtime.background.run(Box::new(work));
    }

    fn deployed(&mut self, now: Timestamp, result: Result<Deployment>) {
        let enumerators = result.and_then(|deployment| {
            let mailboxes = deployment.mailboxes.clone();
            Ok((Enumerators::new(&self.job, self.restored.as_deref(), mailboxes)?, deployment))
        });
        let (enumerators, deployment) = match enumerators {
            _ if self.cancelled => return self.over(Outcome::Canceled),
            Ok(built) => built,
            Err(error) => return self.after_failure(now, now, error),
        };
        let all: HashSet<SubtaskRef> = deployment.mailboxes.keys().copied().collect();
        self.phase = Phase::Running(Run {
            mailboxes: deployment.mailboxes,
            alive: all.clone(),
            starting: all,
            drained_early: Vec::new(),
            coordinator: Coordinator::new(self.options.checkpoints.clone(), self.next_checkpoint),
            enumerators,
            begun: BTreeMap::new(),
            started: now,
            wake_at: None,
            publishing: 0,
        });
        // Readers know of their splits, and whether these say how far time has come, before they read a row.
        self.enumerate(now, |run| run.enumerators.start(now));
        for built in deployment.tasks {
            built.slot.start(built.task);
        }
        for kind in self.requests.kinds() {
            self.coordinate(now, Event::TriggerRequested { kind });
        }
        if self.draining {
            self.drain();
        }
    }

    fn task(&mut self, now: Timestamp, from: SubtaskRef, event: TaskEvent) {
        let subtask = Subtask { task: from.task, index: from.index };
        match event {
            TaskEvent::Running => self.running(now, from),
            TaskEvent::SplitRequested => {
                let event = EnumeratorEvent::SplitRequested { reader: from.index };
                self.enumerate(now, |run| run.enumerators.step(now, from.task, event));
            }
            TaskEvent::Ack { checkpoint, operators } => self.upload(checkpoint, from, operators),
            TaskEvent::Declined { checkpoint, reason } => {
                self.coordinate(now, Event::Declined { checkpoint, subtask, reason });
            }
            TaskEvent::Drained => match &mut self.phase {
                Phase::Running(run) if !run.starting.is_empty() => run.drained_early.push(subtask),
                _ => self.coordinate(now, Event::SubtaskFinished { subtask }),
            },
            TaskEvent::Gone => self.gone(now, from),
            TaskEvent::Failed(error) => {
                let error = self.named(error, from);
                match &mut self.phase {
                    // The last commit failed: all that it covers is in the final checkpoint, and not yet visible.
                    Phase::Stopping(_, outcome) if outcome.ends_with_commits() => {
                        *outcome = Outcome::Failed(error)
                    }
                    _ => self.stop(now, Outcome::Failed(error)),
                }
                self.gone(now, from);
            }
        }
    }

    /// Names the task, where the error does not name the operator.
    fn named(&self, error: Error, from: SubtaskRef) -> Error {
        match self.job.graph.tasks.get(from.task as usize) {
            Some(task) => {
                error.in_subtask(&task.name, flugs_types::SubtaskId::new(from.index, task.parallelism))
            }
            None => error,
        }
    }

    fn running(&mut self, now: Timestamp, from: SubtaskRef) {
        let Phase::Running(run) = &mut self.phase else { return };
        run.starting.remove(&from);
        if !run.starting.is_empty() {
            return;
        }
        let subtasks = run.mailboxes.keys().map(|s| Subtask { task: s.task, index: s.index }).collect();
        let drained = std::mem::take(&mut run.drained_early);
        let (job, tasks) = (&self.job.graph.name, run.mailboxes.len());
        events::running(job, self.attempt, tasks, self.restored.as_deref());
        self.shared.update(|report| {
            report.status = JobStatus::Running;
            report.running_since.get_or_insert(now);
        });
        self.coordinate(now, Event::Started { subtasks });
        for subtask in drained {
            self.coordinate(now, Event::SubtaskFinished { subtask });
        }
    }

    /// Lets all tasks go when they have committed what they were told of.
    fn finish(&mut self, outcome: Outcome) {
        if let Phase::Running(run) = &self.phase {
            run.post_all(|| Mail::Finish);
            self.leave(outcome);
        }
    }

    /// Steps an enumerator and does what it wants.
    fn enumerate(&mut self, now: Timestamp, step: impl FnOnce(&mut Run) -> Result<Vec<Discovery>>) {
        let Phase::Running(run) = &mut self.phase else { return };
        match step(run) {
            Ok(discoveries) => {
                for discovery in discoveries {
                    let (inbox, attempt) = (self.inbox.clone(), self.attempt);
                    let work = move || {
                        let found = guarded(discovery.work);
                        inbox.post(Message::Discovered(attempt, discovery.task, found));
                    };
                    self.runtime.background.run(Box::new(work));
                }
            }
            Err(error) => self.stop(now, Outcome::Failed(error)),
        }
    }

    fn tick(&mut self, now: Timestamp) {
        match &mut self.phase {
            Phase::Pausing(at) if *at <= now && self.generation == Generation(0) => self.prepare(),
            Phase::Pausing(at) if *at <= now => self.deploy(),
            Phase::Running(run) => {
                if run.wake_at.is_some_and(|t| t <= now) {
                    run.wake_at = None;
                    self.coordinate(now, Event::Tick);
                }
                self.enumerate(now, |run| run.enumerators.wake(now));
            }
            _ => {}
        }
    }

    /// The clock was set back by so much: all waiting is moved along with it.
    fn set_back(&mut self, now: Timestamp, by: Duration) {
        self.tracker.set_back(by);
        match &mut self.phase {
            Phase::Pausing(at) => *at = *at - by,
            Phase::Running(run) => {
                run.started = run.started - by;
                run.enumerators.set_back(by);
                // The checkpoint coordinator does the same, and asks for its next time anew.
                run.wake_at = None;
                self.coordinate(now, Event::Tick);
            }
            _ => {}
        }
    }

    /// Tells all tasks to go.
    fn stop(&mut self, now: Timestamp, outcome: Outcome) {
        if let Phase::Running(run) = &self.phase {
            run.post_all(|| Mail::Cancel);
            let status =
                if matches!(outcome, Outcome::Canceled) { JobStatus::Cancelling } else { JobStatus::Failing };
            self.shared.update(|report| report.status = status);
            self.leave(outcome);
            self.if_stopped(now);
        }
    }

    fn leave(&mut self, outcome: Outcome) {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Running(run) => {
                self.next_checkpoint = run.coordinator.next_id();
                self.phase = Phase::Stopping(run, outcome);
            }
            other => self.phase = other,
        }
    }

    fn gone(&mut self, now: Timestamp, who: SubtaskRef) {
        if let Phase::Running(run) | Phase::Stopping(run, _) = &mut self.phase {
            run.alive.remove(&who);
        }
        self.if_stopped(now);
    }

    fn if_stopped(&mut self, now: Timestamp) {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Stopping(run, outcome) if run.alive.is_empty() && run.publishing == 0 => {
                let started = run.started;
                // The run is over whatever the enumerators' destructors say.
                let _ = guarded(|| {
                    drop(run);
                    Ok(())
                });
                match outcome {
                    Outcome::Failed(_) if self.cancelled => self.over(Outcome::Canceled),
                    Outcome::Failed(error) => self.after_failure(started, now, error),
                    outcome => self.over(outcome),
                }
            }
            other => self.phase = other,
        }
    }

    fn after_failure(&mut self, started: Timestamp, now: Timestamp, error: Error) {
        // A fresh job whose surroundings are wrong (a path, a permission) has nothing to lose yet: it says so at once
        // instead of trying for ever in silence.
        self.requests.attempt_failed(&error);
        let fresh = self.restored.is_none() && error.kind() == ErrorKind::Environment;
        let may_restart = error.kind().may_restart() && !fresh;
        let delay = if may_restart { self.tracker.failed(started, now) } else { None };
        let Some(delay) = delay else { return self.over(Outcome::Failed(error)) };
        events::restarting(&self.job.graph.name, self.attempt, self.restored.as_deref(), delay, &error);
        self.shared.update(|report| {
            report.status = JobStatus::Restarting;
            report.restarts += 1;
            report.failure = Some(error.to_string());
        });
        self.phase = Phase::Pausing(now + delay);
    }

    fn over(&mut self, outcome: Outcome) {
        self.phase = Phase::Over;
        // Who cancels a job is not told that it has failed on the way.
        let cancelled = self.cancelled && matches!(outcome, Outcome::Failed(_));
        let outcome = if cancelled { Outcome::Canceled } else { outcome };
        let last = self.restored.as_deref();
        events::over(&self.job.graph.name, &outcome, last);
        let status = match outcome {
            Outcome::Failed(error) => return self.shared.fail(error),
            Outcome::Finished => JobStatus::Finished,
            Outcome::Canceled | Outcome::Stopped => JobStatus::Canceled,
        };
        let finished = last.filter(|_| status == JobStatus::Finished);
        self.requests.over(finished.map(Manifest::path).as_deref());
        self.shared.update(|report| report.status = status);
    }
}

/// Without a coordinator nobody would ever end the tasks.
impl Drop for Master {
    fn drop(&mut self) {
        if let Phase::Running(run) | Phase::Stopping(run, _) = &self.phase {
            run.post_all(|| Mail::Cancel);
        }
    }
}
