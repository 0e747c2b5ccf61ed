//! One open file.

use super::names::PartPath;
use super::output::Output;
use super::pending::Pending;
use crate::{Compression, failure};
use flugs_types::{Error, Result, Timestamp};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::time::Duration;

/// Rows are gathered to so many bytes before they are written.
const BUFFER_BYTES: usize = 64 << 10;

/// When a file ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rolling {
    pub(crate) bytes: u64,
    pub(crate) open: Duration,
    pub(crate) inactive: Duration,
}

impl Default for Rolling {
    fn default() -> Self {
        Rolling { bytes: 128 << 20, open: Duration::from_secs(60), inactive: Duration::from_secs(60) }
    }
}

/// A hidden file. It is removed with this value, unless a checkpoint may name it.
pub(super) struct Hidden {
    path: PartPath,
    in_checkpoint: bool,
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if !self.in_checkpoint {
            // One that cannot be removed stays hidden and harms nobody; the next run's start tries again.
            let _ = fs::remove_file(self.path.hidden());
        }
    }
}

pub(crate) struct Part {
    hidden: Hidden,
    output: Output,
    /// Whole records that are not written yet.
    buffer: Vec<u8>,
    /// Whether anything was written since the file was last forced to disk.
    dirty: bool,
    opened: Timestamp,
    last_row: Timestamp,
}

impl Part {
    /// Creates the file. `None` says that the name is taken.
    pub(super) fn create(path: PartPath, compression: Compression, now: Timestamp) -> Result<Option<Self>> {
        let name = path.hidden();
        let file = match File::create_new(&name) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::AlreadyExists => return Ok(None),
            Err(e) => return Err(failure::writing(&name, e)),
        };
        let visible = path.visible();
        let part = Self::over(file, path, compression, now)?;
        // Looked at only now: nobody else can commit to the name while this hidden file exists.
        let is_taken = fs::exists(&visible).map_err(|e| failure::reading(&visible, e))?;
        Ok(if is_taken { None } else { Some(part) })
    }

    /// Writes to an empty file that is open already.
    fn over(file: File, path: PartPath, compression: Compression, now: Timestamp) -> Result<Self> {
        let hidden = Hidden { path, in_checkpoint: false };
        let output =
            Output::new(file, compression).map_err(|e| failure::writing(&hidden.path.hidden(), e))?;
        let buffer = Vec::with_capacity(BUFFER_BYTES + BUFFER_BYTES / 8);
        Ok(Part { hidden, output, buffer, dirty: false, opened: now, last_row: now })
    }

    /// Where to append a record (and before the first one, a header).
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// A record was appended.
    pub(crate) fn appended(&mut self, now: Timestamp) -> Result<()> {
        self.last_row = now;
        self.dirty = true;
        if self.buffer.len() >= BUFFER_BYTES { self.write() } else { Ok(()) }
    }

    fn failed(&self, error: io::Error) -> Error {
        failure::writing(&self.hidden.path.hidden(), error)
    }

    fn write(&mut self) -> Result<()> {
        self.output.write_all(&self.buffer).map_err(|e| self.failed(e))?;
        self.buffer.clear();
        Ok(())
    }

    pub(super) fn is_full(&self, rolling: &Rolling) -> bool {
        let waiting = if matches!(self.output, Output::Plain(_)) { self.buffer.len() as u64 } else { 0 };
        self.output.bytes() + waiting >= rolling.bytes
    }

    /// When it ends if no row comes.
    pub(super) fn ends_at(&self, rolling: &Rolling) -> Timestamp {
        (self.opened + rolling.open).min(self.last_row + rolling.inactive)
    }

    pub(super) fn last_row(&self) -> Timestamp {
        self.last_row
    }

    /// Forces all rows to disk and goes on. Not for compressed files.
    pub(super) fn sync(&mut self) -> Result<Pending> {
        self.write()?;
        if self.dirty {
            self.output.sync().map_err(|e| self.failed(e))?;
            self.dirty = false;
        }
        self.hidden.in_checkpoint = true;
        Ok(Pending { path: self.hidden.path.clone(), bytes: self.output.bytes() })
    }

    /// Forces all rows to disk and ends the file.
    pub(super) fn finish(mut self) -> Result<Finished> {
        self.write()?;
        let bytes = self.output.finish().map_err(|e| failure::writing(&self.hidden.path.hidden(), e))?;
        Ok(Finished { hidden: self.hidden, bytes })
    }
}

/// A file that has ended and waits for a barrier.
pub(super) struct Finished {
    hidden: Hidden,
    bytes: u64,
}

impl Finished {
    /// A file that a checkpoint names.
    pub(super) fn of_checkpoint(pending: Pending) -> Self {
        Finished { hidden: Hidden { path: pending.path, in_checkpoint: true }, bytes: pending.bytes }
    }

    /// What is to be committed. From now on a checkpoint may name the file.
    pub(super) fn into_pending(mut self) -> Pending {
        self.hidden.in_checkpoint = true;
        Pending { path: self.hidden.path.clone(), bytes: self.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    #[test]
    fn a_full_disk_is_named_with_what_to_do() {
        let path = PartPath { folder: "/out".into(), name: "part-1.txt".into() };
        let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut part = Part::over(full(), path.clone(), Compression::None, Timestamp::EPOCH).unwrap();
        part.buffer().resize(BUFFER_BYTES, b'x');
        let error = part.appended(Timestamp::EPOCH).unwrap_err();
        assert_eq!(error.kind(), flugs_types::ErrorKind::Environment);
        let text = error.to_string();
        assert!(text.contains("no space left to write /out/.part-1.txt.inprogress"), "{text}");
        assert!(text.contains("free space and restart the job"), "{text}");

        let mut part = Part::over(full(), path.clone(), Compression::Gzip, Timestamp::EPOCH).unwrap();
        part.buffer().push(b'x');
        part.appended(Timestamp::EPOCH).unwrap();
        assert!(part.finish().err().unwrap().to_string().contains("no space left"));

        let mut part = Part::over(full(), path, Compression::None, Timestamp::EPOCH).unwrap();
        part.buffer().push(b'x');
        part.appended(Timestamp::EPOCH).unwrap();
        assert!(part.sync().unwrap_err().to_string().contains("no space left"));
    }
}
