//! A folder that goes when its user is done.

use crate::options::Options;
use flugs::{Error, Result};
use std::path::{Path, PathBuf};

/// A fresh folder below the one that the options name; it is removed when this is dropped.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(options: &Options, name: &str) -> Result<Self> {
        let path = options.folder().join(name);
        std::fs::create_dir_all(&path).map_err(|e| {
            Error::environment("the folder cannot be made")
                .at(path.display().to_string())
                .mend("name another with --store")
                .caused_by(e)
        })?;
        Ok(Folder(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left over lies in a folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
        let _ = self.0.parent().map(std::fs::remove_dir);
    }
}
