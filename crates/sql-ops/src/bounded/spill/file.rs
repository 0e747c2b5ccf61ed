//! A file without a name.

use crate::bounded::spec::SpillSpec;
use flugs_types::{Error, Result};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that is gone with its last handle. One task reads and writes it.
#[derive(Debug)]
pub(in crate::bounded) struct SpillFile {
    file: File,
    dir: PathBuf,
}

impl SpillFile {
    /// A new file in the folder of the specification, which is made if need be.
    pub(in crate::bounded) fn create(spec: &SpillSpec) -> Result<Arc<Self>> {
        let dir = spec.spill_dir.clone().unwrap_or_else(std::env::temp_dir);
        let file = std::fs::create_dir_all(&dir).and_then(|()| tempfile::tempfile_in(&dir));
        let file =
            file.map_err(|e| failed("cannot make a file for what does not fit into memory", &dir, e))?;
        Ok(Arc::new(SpillFile { file, dir }))
    }

    #[cfg(test)]
    pub(super) fn of(file: File) -> Arc<Self> {
        Arc::new(SpillFile { file, dir: PathBuf::from("test") })
    }

    /// Writes the bytes at this place.
    pub(in crate::bounded) fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(bytes)).map_err(|e| {
            failed(&format!("cannot write {} bytes that do not fit into memory", bytes.len()), &self.dir, e)
        })
    }

    /// Appends the bytes from one place to another to `to`.
    pub(super) fn read(&self, from: u64, len: usize, to: &mut Vec<u8>) -> Result<()> {
        let start = to.len();
        to.resize(start + len, 0);
        let mut file = &self.file;
        file.seek(SeekFrom::Start(from))
            .and_then(|_| file.read_exact(&mut to[start..]))
            .map_err(|e| failed("cannot read back what did not fit into memory", &self.dir, e))
    }
}

fn failed(what: &str, dir: &Path, error: io::Error) -> Error {
    let mend = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "free space there, spill to a larger disk, give operators more memory, or run the query with more subtasks"
        }
        _ => "look at the folder's permissions, or spill to another",
    };
    Error::environment(what).at(dir.display().to_string()).mend(mend).caused_by(error)
}
