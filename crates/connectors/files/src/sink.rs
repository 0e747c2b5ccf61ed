//! The file sink: where and how files are written.
//!
//! Rows go to hidden files `.<name>.inprogress`. A file that is full, old or idle is forced to disk and becomes a
//! committable; its rename to `<name>`, when the checkpoint is complete, makes its rows visible all at once. A file
//! that stays open over a barrier is part of the checkpoint with its length of then; whoever is restored
//! from that cuts it to this length and commits it. So a crash at any instruction leaves hidden files behind at
//! most, never half a row or a row twice.

mod buckets;
mod names;
mod orphans;
mod output;
mod part;
mod pending;
#[cfg(test)]
mod tests;
mod writer;

pub use buckets::Buckets;

use self::names::PartNames;
use self::part::Rolling;
use self::writer::FileWriter;
use crate::{Compression, failure};
use flugs_connector::{Committable, Delivery, Sink, SinkWriter, WriterContext};
use flugs_formats::OutputFormat;
use flugs_types::{Error, OperatorUid, Result, Timestamp};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Writes rows to files in a folder, exactly once.
///
/// By default there is one file at a time for each subtask, which ends at 128 MiB, after a minute, or
/// when a minute passed without a row (as in Flink); its rows are visible with the next checkpoint. Files are
/// named `part-<sink>-<subtask>-<run>-<attempt>-<number>.<extension>`, where `<sink>` is derived from the job's name and the sink's uid,
/// so several sinks and jobs can share a folder.
///
/// To go back to an older checkpoint or savepoint (or to fork a job from it) needs
/// [`roll_on_checkpoint`](Self::roll_on_checkpoint): otherwise a file that was open then may have been
/// committed since with later rows, which is reported as an error.
pub struct FileSink<F: OutputFormat> {
    folder: PathBuf,
    format: F,
    buckets: Buckets<F::Item>,
    rolling: Rolling,
    roll_on_checkpoint: bool,
    compression: Compression,
    open_buckets_max: usize,
    prefix: String,
    suffix: Option<String>,
}

impl<F: OutputFormat> FileSink<F> {
    /// Writes into `folder`, which is created if need be.
    pub fn new(folder: impl AsRef<Path>, format: F) -> Self {
        FileSink {
            folder: folder.as_ref().to_owned(),
            format,
            buckets: Buckets::none(),
            rolling: Rolling::default(),
            roll_on_checkpoint: false,
            compression: Compression::None,
            open_buckets_max: 100,
            prefix: "part".to_owned(),
            suffix: None,
        }
    }

    /// A file ends when it has this many bytes. Default: 128 MiB.
    #[must_use]
    pub fn roll_bytes(mut self, bytes: u64) -> Self {
        self.rolling.bytes = bytes.max(1);
        self
    }

    /// A file is open for at most this long. Default: a minute.
    #[must_use]
    pub fn roll_after(mut self, open: Duration) -> Self {
        self.rolling.open = open;
        self
    }

    /// A file ends when no row came for this long. Default: a minute.
    #[must_use]
    pub fn roll_inactive(mut self, inactive: Duration) -> Self {
        self.rolling.inactive = inactive;
        self
    }

    /// Files end with each checkpoint too. Always so where they are compressed.
    #[must_use]
    pub fn roll_on_checkpoint(mut self) -> Self {
        self.roll_on_checkpoint = true;
        self
    }

    /// Compresses the files; `Auto` does not.
    #[must_use]
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Puts each row into a sub-folder.
    #[must_use]
    pub fn buckets(mut self, buckets: Buckets<F::Item>) -> Self {
        self.buckets = buckets;
        self
    }

    /// Puts each row into the sub-folder that `bucket` names for it and its event time, as [`Buckets::by`].
    #[must_use]
    pub fn bucket_by(self, bucket: impl Fn(&F::Item, Timestamp) -> String + Send + Sync + 'static) -> Self {
        self.buckets(Buckets::by(bucket))
    }

    /// How many buckets a subtask has open at a time. One more ends the file that has waited longest for
    /// a row. Default: 100.
    #[must_use]
    pub fn max_open_buckets(mut self, buckets: usize) -> Self {
        self.open_buckets_max = buckets.max(1);
        self
    }

    /// What file names start with. Default: `part`.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// What file names end with, behind the dot. Default: the format's extension, and that of the compression.
    #[must_use]
    pub fn suffix(mut self, suffix: impl Into<String>) -> Self {
        self.suffix = Some(suffix.into());
        self
    }

    fn absolute_folder(&self) -> Result<PathBuf> {
        let folder = std::path::absolute(&self.folder).map_err(|e| failure::writing(&self.folder, e))?;
        folder.to_str().ok_or_else(|| failure::not_utf8(&folder))?;
        Ok(folder)
    }

    fn names(&self, job: &str, uid: &OperatorUid) -> Result<PartNames> {
        for (what, text) in [("prefix", Some(self.prefix.as_str())), ("suffix", self.suffix.as_deref())] {
            let text = text.unwrap_or("x");
            if text.is_empty()
                || text.starts_with(['.', '_'])
                || text.contains(['/', '\\', '\0'])
                || text.len() > 64
            {
                return Err(Error::job(format!("'{text}' cannot be the {what} of file names")).mend(
                    "take 1 to 64 bytes, no separators, and no `.` or `_` at the start, which hides files",
                ));
            }
        }
        let suffix = match &self.suffix {
            Some(suffix) => suffix.clone(),
            None => format!("{}{}", self.format.extension(), self.compression.suffix()),
        };
        Ok(PartNames::new(&self.prefix, job, uid, suffix))
    }
}

impl<F: OutputFormat> Clone for FileSink<F> {
    fn clone(&self) -> Self {
        FileSink {
            folder: self.folder.clone(),
            format: self.format.clone(),
            buckets: self.buckets.clone(),
            prefix: self.prefix.clone(),
            suffix: self.suffix.clone(),
            ..*self
        }
    }
}

impl<F: OutputFormat> fmt::Debug for FileSink<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileSink")
            .field("folder", &self.folder)
            .field("rolling", &self.rolling)
            .finish_non_exhaustive()
    }
}

impl<F: OutputFormat> Sink for FileSink<F> {
    type Item = F::Item;

    fn delivery(&self) -> Delivery {
        Delivery::ExactlyOnce
    }

    fn remove_orphans(
        &self,
        context: &WriterContext,
        states: &[Vec<u8>],
        committables: &[Committable],
    ) -> Result<()> {
        self.remove_left_over(context, states, committables)
    }

    fn writer(&self, context: WriterContext, restored: Vec<Vec<u8>>) -> Result<Box<dyn SinkWriter<F::Item>>> {
        self.compression.check()?;
        Ok(Box::new(FileWriter::new(self, &context, &restored)?))
    }
}
