//! The file sink: where and how files are written.
//!
//! Rows go to hidden files `.<name>.inprogress`. A file that is full, old or idle is forced to disk and becomes a
//! committable; its rename to `<name>`, when the checkpoint is complete, makes its rows visible all at once. A file
//! that stays open over a barrier is part of the checkpoint with its length of then; whoever is restored
//! from that cuts it to this length and commits it. So a crash at any instruction leaves hidden files behind at
//! most, never half a row or a row twice.

mod buckets;
pub(crate) mod config;
pub(crate) mod files;
mod names;
mod orphans;
mod output;
mod part;
pub(crate) mod pending;
#[cfg(test)]
mod tests;
mod writer;

pub use buckets::Buckets;

use self::config::SinkConfig;
use self::writer::FileWriter;
use crate::Compression;
use flugs_connector::{Committable, Delivery, Sink, SinkWriter, WriterContext};
use flugs_formats::OutputFormat;
use flugs_types::{Result, Timestamp};
use std::fmt;
use std::path::Path;
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
    format: F,
    buckets: Buckets<F::Item>,
    config: SinkConfig,
}

impl<F: OutputFormat> FileSink<F> {
    /// Writes into `folder`, which is created if need be.
    pub fn new(folder: impl AsRef<Path>, format: F) -> Self {
        let config = SinkConfig::new(folder.as_ref().to_owned(), format.extension());
        FileSink { format, buckets: Buckets::none(), config }
    }

    /// A file ends when it has this many bytes. Default: 128 MiB.
    #[must_use]
    pub fn roll_bytes(mut self, bytes: u64) -> Self {
        self.config.rolling.bytes = bytes.max(1);
        self
    }

    /// A file is open for at most this long. Default: a minute.
    #[must_use]
    pub fn roll_after(mut self, open: Duration) -> Self {
        self.config.rolling.open = open;
        self
    }

    /// A file ends when no row came for this long. Default: a minute.
    #[must_use]
    pub fn roll_inactive(mut self, inactive: Duration) -> Self {
        self.config.rolling.inactive = inactive;
        self
    }

    /// Files end with each checkpoint too. Always so where they are compressed.
    #[must_use]
    pub fn roll_on_checkpoint(mut self) -> Self {
        self.config.roll_on_checkpoint = true;
        self
    }

    /// Compresses the files; `Auto` does not.
    #[must_use]
    pub fn compression(mut self, compression: Compression) -> Self {
        self.config.compression = compression;
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
        self.config.open_buckets_max = buckets.max(1);
        self
    }

    /// What file names start with. Default: `part`.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.config.prefix = prefix.into();
        self
    }

    /// What file names end with, behind the dot. Default: the format's extension, and that of the compression.
    #[must_use]
    pub fn suffix(mut self, suffix: impl Into<String>) -> Self {
        self.config.suffix = Some(suffix.into());
        self
    }
}

impl<F: OutputFormat> Clone for FileSink<F> {
    fn clone(&self) -> Self {
        FileSink { format: self.format.clone(), buckets: self.buckets.clone(), config: self.config.clone() }
    }
}

impl<F: OutputFormat> fmt::Debug for FileSink<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileSink").field("config", &self.config).finish_non_exhaustive()
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
        self.config.remove_left_over(context, states, committables)
    }

    fn writer(&self, context: WriterContext, restored: Vec<Vec<u8>>) -> Result<Box<dyn SinkWriter<F::Item>>> {
        self.config.compression.check()?;
        Ok(Box::new(FileWriter::new(self, &context, &restored)?))
    }
}
