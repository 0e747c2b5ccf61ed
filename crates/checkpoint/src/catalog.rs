//! Where checkpoints lie in a store, and who may add to them.

use crate::{BlobStore, Manifest};
use flugs_types::{Attempt, CheckpointId, Error, Generation, OperatorUid, Result};

/// A published checkpoint as its path tells it, without having read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The run of the job that took it.
    pub generation: Generation,
    /// Its number.
    pub checkpoint: CheckpointId,
    /// The path of its manifest in the store.
    pub path: String,
}

/// What [`retain`] removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retained {
    /// How many manifests.
    pub manifests: usize,
    /// How many state files.
    pub files: usize,
}

/// The path of a checkpoint's manifest.
pub fn manifest_path(job: &str, checkpoint: CheckpointId, generation: Generation) -> String {
    format!("{job}/chk-{:010}-{generation}/manifest", checkpoint.0)
}

/// The path for the state of a subtask of an operator. No two writers ever share one: the generation is unique to
/// a run of the job, the attempt to a try within it.
pub fn state_path(
    job: &str,
    checkpoint: CheckpointId,
    generation: Generation,
    uid: &OperatorUid,
    subtask: u32,
    attempt: Attempt,
) -> String {
    let uid = flugs_types::hash_bytes(uid.as_str().as_bytes());
    format!("{job}/chk-{:010}-{generation}/{uid:016x}-{subtask}-{attempt}.run", checkpoint.0)
}

fn missing<T>() -> Result<T> {
    Err(Error::bug("the catalog is not there yet"))
}

/// Makes the caller the owner of a job's checkpoints: claims the generation after the highest one.
pub fn claim_generation(store: &dyn BlobStore, job: &str) -> Result<Generation> {
    let _ = (store, job);
    missing()
}

/// Publishes a checkpoint. Only after `Ok` may anything be committed.
///
/// A newer owner makes it an error of kind [`Fenced`](flugs_types::ErrorKind::Fenced) that names both.
pub fn publish(store: &dyn BlobStore, manifest: &Manifest) -> Result<()> {
    let _ = (store, manifest);
    missing()
}

/// The newest checkpoint of a job: the highest by generation and number. To be called after
/// [`claim_generation`].
///
/// A damaged one is not passed over: the error names it, and the newest good one before it.
pub fn latest(store: &dyn BlobStore, job: &str) -> Result<Option<Manifest>> {
    let _ = (store, job);
    missing()
}

/// Reads the checkpoint at a path: that of its manifest or of its folder.
pub fn open(store: &dyn BlobStore, path: &str) -> Result<Manifest> {
    let _ = (store, path);
    missing()
}

/// The published checkpoints of a job, the newest first.
pub fn list(store: &dyn BlobStore, job: &str) -> Result<Vec<Entry>> {
    let _ = (store, job);
    missing()
}

/// Removes all but the newest `keep` checkpoints (at least one is kept), and the state files that nothing
/// refers to any more. Savepoints stay and do not count.
pub fn retain(store: &dyn BlobStore, job: &str, keep: usize) -> Result<Retained> {
    let _ = (store, job, keep);
    missing()
}
