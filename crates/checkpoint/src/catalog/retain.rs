//! Dropping old checkpoints and the files that nothing refers to.

use super::{Entry, entries, layout, read};
use crate::{BlobStore, Kind, Manifest};
use flugs_types::{Error, Result};
use std::collections::HashSet;

/// What [`retain`] removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retained {
    /// How many manifests.
    pub manifests: usize,
    /// How many state files.
    pub files: usize,
}

/// Removes all but the newest `keep` checkpoints (at least one is kept), and the state files that no remaining
/// manifest refers to: those of dropped checkpoints, and those of checkpoints that were given up. Savepoints stay, with
/// their files, and do not count.
///
/// To be called by the owner after [`publish`](super::publish) returned `Ok`. Only files in folders older than the newest
/// published checkpoint are touched, so that it may run while the next checkpoint is being written: a run takes one
/// checkpoint at a time under rising numbers, so that whatever is older than a published one has been decided, and a run of an
/// older generation is fenced. (A manifest that comes after its publication was told to have failed may find its files gone.
/// A newer one is there by then, so that nobody goes on from it unasked.) A manifest goes before its files: after a crash in between, the next call finds the
/// files unreferenced.
///
/// What a run that ended left in folders newer than its last published checkpoint stays until another run publishes.
///
/// A manifest that cannot be read is an error, and nothing is removed: what it refers to is not known.
pub fn retain(store: &dyn BlobStore, job: &str, keep: usize) -> Result<Retained> {
    let paths = store.list(&layout::job_folder(job))?;
    let published = entries(paths.iter());
    let Some(newest) = published.first().map(Entry::folder) else { return Ok(Retained::default()) };
    let mut checkpoints: Vec<(Entry, Manifest)> = Vec::new();
    let mut needed: HashSet<String> = HashSet::new();
    for entry in published {
        let Some(manifest) = read(store, &entry).map_err(|e| unreadable(&entry, e))? else { continue };
        if manifest.kind == Kind::Savepoint {
            needed.extend(manifest.files().map(str::to_owned));
        } else {
            checkpoints.push((entry, manifest));
        }
    }
    let dropped = checkpoints.split_off(keep.max(1).min(checkpoints.len()));
    for (_, manifest) in &checkpoints {
        needed.extend(manifest.files().map(str::to_owned));
    }
    for (entry, _) in &dropped {
        store.delete(&entry.path)?;
    }
    let mut removed = Retained { manifests: dropped.len(), files: 0 };
    let is_orphan = |path: &str| {
        layout::is_state(path)
            && !needed.contains(path)
            && layout::folder_of(path).is_some_and(|folder| folder < newest)
    };
    for path in paths.iter().filter(|path| is_orphan(path)) {
        store.delete(path)?;
        removed.files += 1;
    }
    Ok(removed)
}

fn unreadable(entry: &Entry, cause: Error) -> Error {
    Error::new(
        cause.kind(),
        "no old checkpoint is removed, because one cannot be read and may need their files",
    )
    .at(&entry.path)
    .caused_by(cause)
    .mend("mend or remove the one that cannot be read")
}
