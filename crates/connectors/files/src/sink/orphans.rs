//! Hidden files that nobody will commit.

use super::config::SinkConfig;
use super::names::PartNames;
use super::pending::Pending;
use crate::failure;
use flugs_connector::{Committable, WriterContext};
use flugs_types::{Generation, Result};
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

impl SinkConfig {
    /// Removes hidden files of this sink from generations before the context's, but for those that the restored states
    /// and committables, which are those of all subtasks, name. The checkpoint that they are from is the newest of its
    /// lineage by then, so no other file is gone back to, unless an older checkpoint is restored by its path.
    pub(crate) fn remove_left_over(
        &self,
        context: &WriterContext,
        states: &[Vec<u8>],
        committables: &[Committable],
    ) -> Result<()> {
        let mut kept = BTreeSet::new();
        for bytes in states.iter().chain(committables.iter().map(|committable| &committable.0)) {
            kept.insert(Pending::decode(bytes)?.path.hidden());
        }
        let names = self.names(&context.job, &context.uid)?;
        remove_in(&self.absolute_folder()?, &names, context.generation, &kept)
    }
}

fn remove_in(folder: &Path, names: &PartNames, before: Generation, kept: &BTreeSet<PathBuf>) -> Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(failure::reading(folder, e)),
    };
    for entry in entries {
        let entry = entry.map_err(|e| failure::reading(folder, e))?;
        let path = entry.path();
        if entry.file_type().map_err(|e| failure::reading(&path, e))?.is_dir() {
            remove_in(&path, names, before, kept)?;
            continue;
        }
        let generation = entry.file_name().to_str().and_then(|name| names.generation_of_hidden(name));
        if generation.is_some_and(|generation| generation < before) && !kept.contains(&path) {
            fs::remove_file(&path).map_err(|e| failure::writing(&path, e))?;
        }
    }
    Ok(())
}
