//! The file source: what to read and how.

pub(crate) mod chunks;
pub(crate) mod discovery;
pub(crate) mod enumerator;
pub(crate) mod reader;
pub(crate) mod split;
#[cfg(test)]
pub(crate) mod tests;

use self::chunks::{Budget, ReadOptions};
use self::discovery::Discovery;
use self::enumerator::FileEnumerator;
use self::reader::{FileReader, Typed};
use crate::Compression;
use flugs_connector::{Boundedness, EnumeratorContext, ReaderContext, Source, SourceReader, SplitEnumerator};
use flugs_formats::InputFormat;
use flugs_types::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Records longer than this are malformed unless another bound is set.
const RECORD_BYTES_MAX: usize = 16 << 20;

/// Reads a file, a folder with all below it, or what matches a pattern.
///
/// A pattern has `*` (any letters) and `?` (one letter) within the parts of a path: `logs/*/part-?.jsonl`. Hidden
/// files and folders, whose names start with `.` or `_`, are passed over unless the pattern spells that letter
/// out, and links to folders are not followed below the folder that is named. A file named in full is read
/// whatever its name.
///
/// A file is read once, as it was when it was found: lines that are added behind its end of then may be left
/// out, and it must not shrink or be overwritten before it is read. So whoever writes into a watched folder
/// writes under a hidden name or elsewhere, and moves the file into place when it is whole (as
/// [`FileSink`](crate::FileSink) does).
///
/// Positions are kept per record, so a restored job goes on in the middle of a file, also of a compressed one
/// (which is decompressed again up to there, in the background). A byte order mark is no part of the first record.
#[derive(Debug, Clone)]
pub struct FileSource<F> {
    path: PathBuf,
    format: F,
    compression: Compression,
    split_bytes: Option<u64>,
    watch: Option<Duration>,
    ordered: bool,
    record_bytes_max: usize,
    skip_empty: bool,
    allow_empty: bool,
    budget: Budget,
}

impl<F: InputFormat> FileSource<F> {
    /// Reads what is at `path` (a file, a folder or a pattern) as `format`.
    pub fn new(path: impl AsRef<Path>, format: F) -> Self {
        FileSource {
            path: path.as_ref().to_owned(),
            format,
            compression: Compression::Auto,
            split_bytes: None,
            watch: None,
            ordered: false,
            record_bytes_max: RECORD_BYTES_MAX,
            skip_empty: false,
            allow_empty: false,
            budget: Budget::default(),
        }
    }

    /// How the files are compressed. Default: by their extension.
    #[must_use]
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Splits files into ranges of about `bytes` bytes, which are read in parallel. Files that can only be read
    /// from their start (compressed ones, and CSV whose quoted fields may hold line breaks) stay whole.
    #[must_use]
    pub fn split_bytes(mut self, bytes: u64) -> Self {
        self.split_bytes = Some(bytes.max(1));
        self
    }

    /// Goes on for ever: looks for new files each `interval`. Names that were read are remembered in the checkpoint
    /// (about 100 bytes for each file), so a file is never read again. Empty files are looked at again later.
    #[must_use]
    pub fn watch(mut self, interval: Duration) -> Self {
        self.watch = Some(interval);
        self
    }

    /// Reads the files in the order of their paths, one after the other: one reader gets them all, whatever the
    /// parallelism. With [`watch`](Self::watch), the files of each look are in order.
    #[must_use]
    pub fn ordered(mut self) -> Self {
        self.ordered = true;
        self
    }

    /// Longer records are malformed. Default: 16 MiB. It bounds the memory that a record can take.
    #[must_use]
    pub fn max_record_bytes(mut self, bytes: usize) -> Self {
        self.record_bytes_max = bytes.clamp(1, 1 << 30);
        self
    }

    /// Passes over empty lines, also where the format takes them for rows.
    #[must_use]
    pub fn skip_empty(mut self) -> Self {
        self.skip_empty = true;
        self
    }

    /// Finding no file at all is no error.
    #[must_use]
    pub fn allow_empty(mut self) -> Self {
        self.allow_empty = true;
        self
    }
}

impl<F: InputFormat> Source for FileSource<F> {
    type Item = F::Item;

    fn boundedness(&self) -> Boundedness {
        if self.watch.is_some() { Boundedness::Unbounded } else { Boundedness::Bounded }
    }

    fn enumerator(&self, context: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>> {
        let discovery = Discovery {
            path: self.path.clone(),
            compression: self.compression,
            // In order, a range would be read after the one before it anyway.
            split_bytes: self
                .split_bytes
                .filter(|_| !self.ordered && self.format.framing().splits_anywhere()),
            may_be_empty: self.allow_empty || self.watch.is_some(),
            looks_again: self.watch.is_some(),
            filter: None,
        };
        Ok(Box::new(FileEnumerator::new(discovery, self.watch, self.ordered, context)?))
    }

    fn reader(&self, context: ReaderContext) -> Result<Box<dyn SourceReader<F::Item>>> {
        let options = ReadOptions {
            compression: self.compression,
            framing: self.format.framing(),
            has_header: self.format.has_header(),
            record_bytes_max: self.record_bytes_max,
            record_bytes_setting: "`max_record_bytes`",
            budget: self.budget,
        };
        let format = Typed { format: self.format.clone(), skip_empty: self.skip_empty };
        Ok(Box::new(FileReader::new(format, Arc::new(options), context)))
    }
}
