//! Where checkpoints lie in a store, and who may add to them.
//!
//! ```text
//! <job>/generation/<n>                              a claim: run n of the job has begun
//! <job>/chk-<id>-<n>/manifest                       checkpoint id, published by run n
//! <job>/chk-<id>-<n>/<uid>-<subtask>-<attempt>.run  state that was written for it
//! <job>/latest                                      the newest checkpoint that was published, by the name of its folder
//! ```
//!
//! All functions block: they call the store.
//!
//! # One owner
//!
//! Two processes may believe that they run the same job: one was cut off and replaced, and does not know. An owner
//!
//! 1. claims a generation ([`claim_generation`]), *then* looks for what to restore ([`latest`], or [`open`]),
//! 2. publishes that under its own generation ([`adopt`]), and
//! 3. publishes each checkpoint ([`publish`]) by *first* writing the manifest and *then* looking for claims above its
//!    own.
//!
//! It commits what a manifest covers only after the publication under its own generation returned `Ok`. One of
//! two owners claims first and lists then, the other writes first and checks then, and both look after they have left
//! their mark, so they cannot both miss each other: if the old owner's check does not see the new claim, the check came
//! before it, the manifest came before the check, and so the new owner's listing, which comes after its claim, sees
//! the manifest and goes on from it. If the check does see the claim, the old owner commits nothing; whether the
//! new one goes on from that manifest or from the one before is then equally right. This needs a store
//! whose listing shows what was written before it began, as object stores and file systems do.
//!
//! The second step is for a third owner. Without it, one that restored (and committed) an older manifest and died would
//! leave no trace of its choice, and the next might find a late manifest of a fenced run in between, from which
//! the first did *not* go on, and commit that as well. Published under its own generation, the choice is the
//! newest manifest. It also makes a restore from an explicit older checkpoint stay chosen after a crash.
//!
//! An owner that starts from nothing has nothing to publish: until its first checkpoint the next owner may go on from a manifest
//! that came late, or that this owner was told to leave alone. That is right as long as it has neither committed nor removed
//! anything by then: files that earlier owners wrote are removed only by a run that was restored.
//!
//! # A newest checkpoint that is gone
//!
//! What lies in a folder can be lost to a hand or a disk, and a manifest that is not there looks like one that never was: the
//! one before would be gone on from, and what was committed since would be committed again. So [`publish`] records, after
//! the manifest and before it returns, which checkpoint is the newest, and [`latest`] refuses where the record names a newer
//! one than there is. The record is read before the listing, which then shows what it names or a newer one: retention
//! never removes the newest. A manifest that is newer than the record is what a crash between the two leaves, or an
//! older owner's late record; nothing was lost then. Stores without a record are read as they are.
//!
//! # What may be deleted
//!
//! [`retain`] may run beside a checkpoint that is being written, because that one lies in a newer folder than all
//! published ones and shares files only with its parent, the newest published one, whose files are kept.

mod layout;
mod retain;

use crate::{BlobStore, Kind, Manifest};
use bytes::Bytes;
use flugs_types::{CheckpointId, Error, Generation, Result};

use layout::Folder;
pub use layout::{generation_path, job_folder, latest_path, manifest_path, state_path};
pub use retain::{Retained, retain};

/// How often a lost race is run again before the store is said to be at fault.
const TRIES: usize = 100;

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

impl Entry {
    fn folder(&self) -> Folder {
        Folder { generation: self.generation, checkpoint: self.checkpoint }
    }
}

/// Makes the caller the owner of a job's checkpoints: claims the generation after the highest one.
pub fn claim_generation(store: &dyn BlobStore, job: &str) -> Result<Generation> {
    // What could not be claimed is taken, be it by something that no listing shows (a folder in the claim's place).
    let mut taken = None;
    for _ in 0..TRIES {
        let paths = store.list(&job_folder(job))?;
        let published = paths.iter().filter_map(|p| layout::folder_of(p)).map(|f| f.generation);
        let claimed = paths.iter().filter_map(|p| layout::claim_of(p));
        let next = match claimed.chain(published).chain(taken).max() {
            None => Generation(1),
            Some(highest) => highest.0.checked_add(1).map(Generation).ok_or_else(|| {
                Error::state(format!("job '{job}' has run out of generations"))
                    .at(store.describe())
                    .mend("a file with a generation that was never claimed lies there: remove it")
            })?,
        };
        let text = format!("run {next} of job '{job}' has begun\n");
        if store.put_if_absent(&generation_path(job, next), Bytes::from(text))? {
            return Ok(next);
        }
        taken = Some(next);
    }
    Err(Error::transient(format!("others were faster to claim a generation of job '{job}' {TRIES} times"))
        .at(store.describe())
        .mend("see which processes keep starting this job"))
}

/// Publishes a checkpoint. Only after `Ok` may anything be committed.
///
/// A newer owner makes it an error of kind [`Fenced`](flugs_types::ErrorKind::Fenced) that names both. After any other
/// error the manifest may be there or not, or may yet come; calling it again with the same manifest is right.
pub fn publish(store: &dyn BlobStore, manifest: &Manifest) -> Result<()> {
    let path = manifest.path();
    if let Some(flaw) = manifest.flaw() {
        return Err(
            Error::bug(format!("a manifest that could not be read was to be published: {flaw}")).at(path)
        );
    }
    let bytes = manifest.encode();
    if !store.put_if_absent(&path, bytes.clone())? && store.get(&path)?.as_ref() != Some(&bytes) {
        // A try before this one wrote it, and was slow to. It is told nothing, so that nothing was committed.
        return Err(Error::transient(format!("there is another checkpoint {} already", manifest.checkpoint))
            .at(path)
            .mend("each try of a job must number its checkpoints above those of all tries before"));
    }
    let claims = store.list(&layout::claims_folder(&manifest.job))?;
    let newest = claims.iter().filter_map(|p| layout::claim_of(p)).max();
    match newest.filter(|&newest| newest > manifest.generation) {
        None => store.put(&latest_path(&manifest.job), layout::record_of(&path)),
        Some(newest) => Err(Error::fenced(format!(
            "generation {} of job '{}' is fenced by generation {newest}",
            manifest.generation, manifest.job
        ))
        .at(store.describe())
        .mend("another process runs this job now; nothing is to be done for this one")),
    }
}

/// Publishes what was restored as the first checkpoint of a new run, and gives the manifest that it goes on from.
///
/// `base` may be any checkpoint, of this job or another. Its files are shared. To be called once, after everything
/// that could refuse the restore, and before anything that `base` covers is committed again. Fails as
/// [`publish`] does.
pub fn adopt(store: &dyn BlobStore, job: &str, generation: Generation, base: &Manifest) -> Result<Manifest> {
    let adopted = Manifest {
        job: job.to_owned(),
        generation,
        checkpoint: base.checkpoint.next(),
        // The savepoint itself stays with its owner; this is a copy that retention may drop.
        kind: if base.kind == Kind::Savepoint { Kind::Checkpoint } else { base.kind },
        parent: Some(base.checkpoint),
        ..base.clone()
    };
    publish(store, &adopted)?;
    Ok(adopted)
}

/// The newest checkpoint of a job: the highest by generation and number. To be called after
/// [`claim_generation`].
///
/// One that is damaged or gone is not passed over, for going on from an older one would commit results again: the error, of
/// kind [`State`](flugs_types::ErrorKind::State), names it, and the newest good one before it.
pub fn latest(store: &dyn BlobStore, job: &str) -> Result<Option<Manifest>> {
    for _ in 0..TRIES {
        let recorded = recorded(store, job)?;
        let entries = list(store, job)?;
        if let Some(recorded) = recorded.filter(|r| entries.first().is_none_or(|e| e.folder() < *r)) {
            return Err(gone(store, job, recorded, &entries));
        }
        let Some((newest, older)) = entries.split_first() else { return Ok(None) };
        match read(store, newest) {
            Ok(Some(manifest)) => return Ok(Some(manifest)),
            // The owner before has just published a newer one and dropped this.
            Ok(None) => continue,
            Err(e) => return Err(damaged(store, job, newest, older, e)),
        }
    }
    Err(Error::transient(format!(
        "the newest manifest of job '{job}' is listed but not there, {TRIES} times"
    ))
    .at(store.describe())
    .mend("see whether another process deletes checkpoints, and whether the store lists what it has"))
}

/// Which checkpoint is recorded as the newest. A damaged record (a disk may lose the content of a file at a power cut) is
/// as good as none: it guards what is there, and is not needed to read it.
fn recorded(store: &dyn BlobStore, job: &str) -> Result<Option<Folder>> {
    let record = store.get(&latest_path(job))?;
    Ok(record.and_then(|bytes| layout::recorded_in(&bytes)))
}

fn gone(store: &dyn BlobStore, job: &str, recorded: Folder, entries: &[Entry]) -> Error {
    let Folder { generation, checkpoint } = recorded;
    Error::state(format!(
        "the newest checkpoint of job '{job}' is gone: it was published and is not there any more"
    ))
    .at(manifest_path(job, checkpoint, generation))
    .mend(format!("put it back, or start afresh and restore nothing; {}", alternative(store, entries)))
}

fn damaged(store: &dyn BlobStore, job: &str, newest: &Entry, older: &[Entry], cause: Error) -> Error {
    Error::new(cause.kind(), format!("the newest checkpoint of job '{job}' cannot be restored"))
        .at(&newest.path)
        .caused_by(cause)
        .mend(alternative(store, older))
}

/// From what a user may go on where the newest checkpoint cannot be restored.
fn alternative(store: &dyn BlobStore, older: &[Entry]) -> String {
    match older.iter().find(|entry| matches!(read(store, entry), Ok(Some(_)))) {
        Some(entry) => format!(
            "the newest good one before it is '{}': restore from that explicitly, knowing that results since then come again",
            entry.path
        ),
        None => "there is no good one before it".to_owned(),
    }
}

/// Reads the checkpoint at a path: that of its manifest or of its folder.
pub fn open(store: &dyn BlobStore, path: &str) -> Result<Manifest> {
    let path = path.trim_end_matches('/');
    let within = format!("{path}/{}", layout::MANIFEST);
    let candidates =
        if path.ends_with(&format!("/{}", layout::MANIFEST)) { vec![path] } else { vec![&within, path] };
    for candidate in candidates {
        if let Some(bytes) = store.get(candidate)? {
            return Manifest::parse(&bytes, candidate);
        }
    }
    Err(Error::environment(format!("there is no checkpoint at '{path}'"))
        .at(store.describe())
        .mend("name the folder of a checkpoint, such as 'job/chk-0000000001-1', or the manifest in it"))
}

/// The published checkpoints of a job, the newest first.
pub fn list(store: &dyn BlobStore, job: &str) -> Result<Vec<Entry>> {
    Ok(entries(store.list(&job_folder(job))?.iter()))
}

fn entries<'a>(paths: impl Iterator<Item = &'a String>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = paths
        .filter(|path| layout::is_manifest(path))
        .filter_map(|path| {
            let Folder { generation, checkpoint } = layout::folder_of(path)?;
            Some(Entry { generation, checkpoint, path: path.clone() })
        })
        .collect();
    entries.sort_by_key(|e| std::cmp::Reverse(e.folder()));
    entries
}

/// Reads a listed manifest; `None` where it is gone meanwhile.
fn read(store: &dyn BlobStore, entry: &Entry) -> Result<Option<Manifest>> {
    let Some(bytes) = store.get(&entry.path)? else { return Ok(None) };
    let manifest = Manifest::parse(&bytes, &entry.path)?;
    if (manifest.generation, manifest.checkpoint) != (entry.generation, entry.checkpoint) {
        return Err(Error::state(format!(
            "the manifest is that of checkpoint {} of generation {}, but lies in the folder of another",
            manifest.checkpoint, manifest.generation
        ))
        .at(&entry.path)
        .mend("move it to where it belongs, or restore from it explicitly"));
    }
    Ok(Some(manifest))
}

#[cfg(test)]
mod race_tests;
#[cfg(test)]
mod tests;
