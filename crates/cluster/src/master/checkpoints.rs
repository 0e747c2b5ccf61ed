//! The checkpoints of a running attempt: what the pure coordinator wants is done, and what came of it is told back.
//!
//! Uploads and publishing happen in the background; an attempt that has ended takes no part in what is still under way
//! for it, except that nobody starts anew before a manifest that is being published is there or is not.

use super::{Master, Phase};
use crate::attempt::Outcome;
use crate::events;
use crate::inbox::Message;
use crate::snapshots::{self, Header, Stored, Uploader};
use flugs_batch::{Barrier, BarrierKind};
use flugs_checkpoint::{Action, Event, Kind, Subtask, catalog};
use flugs_task::{Mail, OperatorAck, SubtaskRef};
use flugs_types::{CheckpointId, Result, Timestamp, guarded};
use std::sync::Arc;

impl Master {
    pub(super) fn uploader(&self) -> Uploader {
        Uploader {
            store: self.options.store.clone(),
            job: self.job.graph.name.clone(),
            generation: self.generation,
            attempt: self.attempt,
        }
    }

    pub(super) fn upload(&mut self, checkpoint: CheckpointId, from: SubtaskRef, operators: Vec<OperatorAck>) {
        // What nobody waits for any more would only be left over in the store.
        let Phase::Running(run) = &self.phase else { return };
        if !run.begun.contains_key(&checkpoint) {
            return;
        }
        let uploader = self.uploader();
        let (inbox, attempt) = (self.inbox.clone(), self.attempt);
        let work = move || {
            let stored = guarded(|| uploader.store(checkpoint, from.index, operators));
            inbox.post(Message::Stored(attempt, checkpoint, from, stored));
        };
        self.runtime.background.run(Box::new(work));
    }

    /// Steps the checkpoint coordinator and does what it wants.
    pub(super) fn coordinate(&mut self, now: Timestamp, event: Event<Stored>) {
        let Phase::Running(run) = &mut self.phase else { return };
        let actions = run.coordinator.step(now, event);
        for action in actions {
            self.act(now, action);
        }
    }

    fn act(&mut self, now: Timestamp, action: Action<Stored>) {
        let Phase::Running(run) = &mut self.phase else { return };
        match action {
            Action::Trigger { checkpoint, kind } => match run.enumerators.snapshot() {
                Ok(states) => {
                    run.begun.insert(checkpoint, (now, states));
                    self.requests.triggered(checkpoint, kind);
                    let kind = match kind {
                        Kind::Checkpoint => BarrierKind::Checkpoint,
                        Kind::Savepoint => BarrierKind::Savepoint,
                        Kind::Final => BarrierKind::Final,
                    };
                    run.post_all(|| Mail::Trigger(Barrier { checkpoint, kind }));
                }
                Err(error) => self.stop(now, Outcome::Failed(error)),
            },
            Action::Publish { checkpoint, kind, acks } => self.publish(now, checkpoint, kind, acks),
            Action::Committed { checkpoint } => run.post_all(|| Mail::Committed(checkpoint)),
            Action::Abort { checkpoint, reason } => {
                run.begun.remove(&checkpoint);
                run.post_all(|| Mail::Aborted(checkpoint));
                self.requests.given_up(checkpoint, &reason);
                events::given_up(&self.job.graph.name, checkpoint, &reason);
                self.shared.update(|report| {
                    report.checkpoints_failed += 1;
                    report.failure = Some(reason);
                });
            }
            Action::FailJob { reason } => self.stop(now, Outcome::Failed(reason)),
            Action::WakeAt(at) => run.wake_at = Some(at),
            Action::AllFinished => self.finish(Outcome::Finished),
        }
    }

    fn publish(
        &mut self,
        now: Timestamp,
        checkpoint: CheckpointId,
        kind: Kind,
        acks: Vec<(Subtask, Stored)>,
    ) {
        let Phase::Running(run) = &mut self.phase else { return };
        let enumerators = run.begun.get(&checkpoint).map(|(_, states)| states.clone()).unwrap_or_default();
        run.publishing += 1;
        let finished = kind == Kind::Final;
        let kind = if finished && self.requests.drain() { Kind::Savepoint } else { kind };
        let header = Header {
            job: self.job.clone(),
            generation: self.generation,
            checkpoint,
            kind,
            finished,
            created: now,
            parent: self.restored.as_ref().map(|m| m.checkpoint),
            enumerators,
        };
        let manifest = Arc::new(snapshots::manifest(header, acks));
        self.manifests.insert(checkpoint, manifest.clone());
        let (store, retained) = (self.options.store.clone(), self.options.retained);
        let (inbox, attempt) = (self.inbox.clone(), self.attempt);
        let work = move || {
            let result = guarded(|| catalog::publish(store.as_ref(), &manifest));
            let published = result.is_ok();
            inbox.post(Message::Published(attempt, checkpoint, result));
            if published {
                // What cannot be discarded now is discarded with the next checkpoint.
                let _ = guarded(|| catalog::retain(store.as_ref(), &manifest.job, retained));
            }
        };
        self.runtime.background.run(Box::new(work));
    }

    pub(super) fn published(&mut self, now: Timestamp, checkpoint: CheckpointId, result: Result<()>) {
        let manifest = self.manifests.remove(&checkpoint);
        let mut stop = false;
        if let (Ok(()), Some(manifest)) = (&result, manifest) {
            let run = match &self.phase {
                Phase::Running(run) | Phase::Stopping(run, _) => Some(run),
                _ => None,
            };
            let took = run.and_then(|r| r.begun.get(&checkpoint)).map(|(began, _)| now.since(*began));
            events::completed(&self.job.graph.name, &manifest, took);
            self.shared.update(|report| {
                report.checkpoints += 1;
                report.checkpoint = Some(checkpoint);
                report.checkpoint_duration = took;
                report.checkpoint_bytes = manifest.bytes();
            });
            stop = self.requests.completed(checkpoint, &manifest.path());
            self.restored = Some(manifest);
        }
        if let Phase::Running(run) | Phase::Stopping(run, _) = &mut self.phase {
            run.begun.remove(&checkpoint);
            run.publishing -= 1;
        }
        if stop {
            // Nothing follows the savepoint.
            self.coordinate(now, Event::Stop);
        }
        self.coordinate(now, Event::Published { checkpoint, result });
        if stop {
            self.finish(Outcome::Stopped);
        }
        self.if_stopped(now);
    }
}
