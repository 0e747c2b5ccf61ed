//! What a job tells of itself through `tracing`: how it starts, ends and fails, and its checkpoints. Nothing for each
//! record or batch; a program without a subscriber pays nothing.
//!
//! All events have the target `flugs` and the field `job`. Failures that the job gets over are warnings, completed checkpoints
//! are told at the level of debugging.

use crate::attempt::Outcome;
use flugs_checkpoint::Manifest;
use flugs_types::{Attempt, CheckpointId, Error, Generation};
use std::time::Duration;
use tracing::{debug, error, info, warn};

const TARGET: &str = "flugs";

/// What a run starts from is known. `adopted` is its own copy of what it goes on from.
pub(crate) fn prepared(job: &str, generation: Generation, adopted: Option<&Manifest>) {
    match adopted {
        None => info!(target: TARGET, job, %generation, "job starts afresh"),
        Some(adopted) => {
            let from = adopted.parent.unwrap_or_default();
            info!(target: TARGET, job, %generation, checkpoint = %from, bytes = adopted.bytes(), "job is restored from a checkpoint");
        }
    }
}

/// All tasks of an attempt run.
pub(crate) fn running(job: &str, attempt: Attempt, tasks: usize, from: Option<&Manifest>) {
    let checkpoint = from.map(|m| tracing::field::display(m.checkpoint));
    info!(target: TARGET, job, %attempt, tasks, checkpoint, "job runs");
}

/// An attempt has failed, and there will be another one.
pub(crate) fn restarting(
    job: &str,
    attempt: Attempt,
    from: Option<&Manifest>,
    delay: Duration,
    error: &Error,
) {
    let checkpoint = from.map(|m| tracing::field::display(m.checkpoint));
    warn!(target: TARGET, job, %attempt, checkpoint, ?delay, %error, "job has failed and is started again");
}

/// A checkpoint is complete.
pub(crate) fn completed(job: &str, manifest: &Manifest, took: Option<Duration>) {
    let (checkpoint, kind) = (manifest.checkpoint, manifest.kind);
    debug!(target: TARGET, job, %checkpoint, %kind, bytes = manifest.bytes(), ?took, path = manifest.path(), "checkpoint is complete");
}

/// A checkpoint was given up.
pub(crate) fn given_up(job: &str, checkpoint: CheckpointId, reason: &str) {
    warn!(target: TARGET, job, %checkpoint, reason, "checkpoint was given up");
}

/// The job is over.
pub(crate) fn over(job: &str, outcome: &Outcome, last: Option<&Manifest>) {
    let checkpoint = last.map(|m| tracing::field::display(m.checkpoint));
    match outcome {
        Outcome::Finished => info!(target: TARGET, job, checkpoint, "job has finished"),
        Outcome::Failed(error) => failed(job, error),
        Outcome::Canceled => info!(target: TARGET, job, checkpoint, "job was cancelled"),
        Outcome::Stopped => info!(target: TARGET, job, checkpoint, "job was stopped with a savepoint"),
    }
}

/// The job has failed for good.
pub(crate) fn failed(job: &str, error: &Error) {
    error!(target: TARGET, job, %error, "job has failed");
}
