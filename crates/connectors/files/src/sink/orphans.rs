//! Hidden files that nobody will commit.

use super::FileSink;
use super::names::PartNames;
use super::pending::Pending;
use crate::failure;
use flugs_connector::Committable;
use flugs_formats::OutputFormat;
use flugs_types::{Generation, OperatorUid, Result};
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

impl<F: OutputFormat> FileSink<F> {
    /// Removes hidden files that killed runs of this sink left behind, and gives their paths.
    ///
    /// Removed are the files of runs before `before` that neither a restored state nor a restored committable
    /// names. So `states` and `committables` must be those of *all* subtasks of the sink, and no checkpoint or
    /// savepoint but the restored one may be gone back to later. No writer does this by itself: it knows only
    /// its own states, and another job whose sink has the same uid may be writing to the folder.
    pub fn remove_orphans(
        &self,
        uid: &OperatorUid,
        before: Generation,
        states: &[Vec<u8>],
        committables: &[Committable],
    ) -> Result<Vec<PathBuf>> {
        let mut kept = BTreeSet::new();
        for bytes in states.iter().chain(committables.iter().map(|committable| &committable.0)) {
            kept.insert(Pending::decode(bytes)?.path.hidden());
        }
        let mut removed = Vec::new();
        remove_in(&self.absolute_folder()?, &self.names(uid)?, before, &kept, &mut removed)?;
        removed.sort();
        Ok(removed)
    }
}

fn remove_in(
    folder: &Path,
    names: &PartNames,
    before: Generation,
    kept: &BTreeSet<PathBuf>,
    removed: &mut Vec<PathBuf>,
) -> Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(failure::reading(folder, e)),
    };
    for entry in entries {
        let entry = entry.map_err(|e| failure::reading(folder, e))?;
        let path = entry.path();
        if entry.file_type().map_err(|e| failure::reading(&path, e))?.is_dir() {
            remove_in(&path, names, before, kept, removed)?;
            continue;
        }
        let generation = entry.file_name().to_str().and_then(|name| names.generation_of_hidden(name));
        if generation.is_some_and(|generation| generation < before) && !kept.contains(&path) {
            fs::remove_file(&path).map_err(|e| failure::writing(&path, e))?;
            removed.push(path);
        }
    }
    Ok(())
}
