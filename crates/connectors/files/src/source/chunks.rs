//! Reads a split on background threads: bytes, decompressed and cut into chunks of whole records.

use super::split::FileSplit;
use crate::{Compression, failure};
use flugs_formats::{Chunk, Cutter, Framing, Pull};
use flugs_types::{Error, Result};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// How much is done at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// Bytes that are read for a chunk.
    pub(crate) chunk_bytes: u64,
    /// Rows that a poll decodes at most.
    pub(crate) rows: usize,
    /// Bytes that a poll decodes, but for the end of the last record.
    pub(crate) bytes: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { chunk_bytes: 256 << 10, rows: 1024, bytes: 64 << 10 }
    }
}

/// How much of a compressed file is passed over in one piece of background work.
const SKIP_BYTES: u64 = 8 << 20;

/// A byte order mark in UTF-8, which is no part of the first record.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// What the reading of any split of a source needs.
#[derive(Debug)]
pub(crate) struct ReadOptions {
    pub(crate) compression: Compression,
    pub(crate) framing: Framing,
    pub(crate) has_header: bool,
    pub(crate) record_bytes_max: usize,
    /// What it is called where it is set.
    pub(crate) record_bytes_setting: &'static str,
    pub(crate) budget: Budget,
}

/// What a pull gives.
pub(super) enum Portion {
    /// The file is open.
    Opened(Opened),
    /// Something was read, but no record is complete yet.
    Nothing,
    /// Records.
    Chunk(Chunk),
}

/// What is known of a file when it is open.
pub(crate) struct Opened {
    /// Its first record, where that is a header.
    pub(crate) header: Option<Vec<u8>>,
    #[cfg(feature = "table-base")]
    pub(crate) facts: FileFacts,
}

/// What metadata columns say of a file.
#[cfg(feature = "table-base")]
#[derive(Debug, Clone)]
pub(crate) struct FileFacts {
    pub(crate) path: String,
    /// Compressed or not.
    pub(crate) bytes: u64,
    /// When it was last written to, where the file system knows.
    pub(crate) modified: Option<std::time::SystemTime>,
}

#[cfg(feature = "table-base")]
impl FileFacts {
    pub(crate) fn new(path: &str, metadata: &std::fs::Metadata) -> Self {
        FileFacts { path: path.to_owned(), bytes: metadata.len(), modified: metadata.modified().ok() }
    }
}

/// Reads one split from its position on.
pub(super) struct FileChunks {
    options: std::sync::Arc<ReadOptions>,
    split: FileSplit,
    stage: Stage,
}

enum Stage {
    Closed,
    /// A compressed file on its way to the position: so many bytes are to be passed over.
    Skipping(Box<dyn Read + Send>, u64),
    Reading(Box<Reading>),
    /// What was read before the error came is on its way.
    Failed(Error),
    Done,
}

struct Reading {
    input: Box<dyn Read + Send>,
    cutter: Cutter,
    /// Whether the first record belongs to the range before this one.
    drop_first: bool,
}

impl FileChunks {
    pub(super) fn new(options: std::sync::Arc<ReadOptions>, split: FileSplit) -> Self {
        FileChunks { options, split, stage: Stage::Closed }
    }

    fn path(&self) -> &Path {
        Path::new(&self.split.path)
    }

    fn open(&mut self) -> Result<Portion> {
        let path = self.path();
        let compression = self.options.compression.of(&self.split.path);
        let open = || File::open(path).map_err(|e| failure::reading(path, e));
        let header = if self.options.has_header {
            self.read_header(&mut *compression.read(open()?, path)?)?
        } else {
            None
        };
        let mut file = open()?;
        let metadata = file.metadata().map_err(|e| failure::reading(path, e))?;
        let opened = Opened {
            header,
            #[cfg(feature = "table-base")]
            facts: FileFacts::new(&self.split.path, &metadata),
        };
        self.stage = if compression == Compression::None {
            self.check_length(metadata.len())?;
            // The byte before a range tells whether a record starts right with it.
            let from =
                if self.split.aligned { self.split.offset } else { self.split.start.saturating_sub(1) };
            file.seek(SeekFrom::Start(from)).map_err(|e| failure::reading(path, e))?;
            self.read_from(Box::new(file), from)
        } else {
            Stage::Skipping(compression.read(file, path)?, self.split.offset)
        };
        Ok(Portion::Opened(opened))
    }

    fn read_from(&self, input: Box<dyn Read + Send>, offset: u64) -> Stage {
        let cutter = Cutter::new(self.options.framing, self.options.record_bytes_max, offset);
        Stage::Reading(Box::new(Reading { input, cutter, drop_first: !self.split.aligned }))
    }

    fn check_length(&self, bytes: u64) -> Result<()> {
        let path = self.path();
        let expected = self.split.end.unwrap_or(0).max(self.split.offset);
        if bytes < expected {
            return Err(Error::data(format!(
                "{} has {bytes} bytes now, but had at least {expected} when it was found",
                path.display()
            ))
            .mend(
                "a file must stay as it is until it is read: put it back, and move files into place whole",
            ));
        }
        Ok(())
    }

    fn read_header(&self, input: &mut dyn Read) -> Result<Option<Vec<u8>>> {
        let mut cutter = Cutter::new(self.options.framing, self.options.record_bytes_max, 0);
        loop {
            let read =
                read_into(input, &mut cutter, 8 << 10).map_err(|e| failure::reading(self.path(), e))?;
            let chunk = if read == 0 { cutter.finish() } else { cutter.cut() };
            if let Some(chunk) = chunk {
                if chunk.record_bytes(0) > self.options.record_bytes_max as u64 {
                    return Err(Error::data(format!("the header has {} bytes", chunk.record_bytes(0)))
                        .at(format!("{}:1", self.split.path)));
                }
                let record = chunk.record(0);
                return Ok(Some(record.strip_prefix(BOM).unwrap_or(record).to_vec()));
            }
            if read == 0 {
                return Ok(None);
            }
        }
    }

    fn skip(&mut self, mut input: Box<dyn Read + Send>, left: u64) -> Result<Portion> {
        let step = left.min(SKIP_BYTES);
        let skipped = io::copy(&mut (&mut input).take(step), &mut io::sink())
            .map_err(|e| failure::reading(self.path(), e))?;
        if skipped < step {
            return Err(Error::data(format!(
                "{} has fewer bytes than at the checkpoint, where {} of them were read",
                self.split.path, self.split.offset
            ))
            .mend("a file must stay as it is until it is read: put it back"));
        }
        self.stage = match left - step {
            0 => self.read_from(input, self.split.offset),
            left => Stage::Skipping(input, left),
        };
        Ok(Portion::Nothing)
    }

    fn read(&mut self, mut reading: Box<Reading>) -> Result<Option<Portion>> {
        let read = read_into(&mut *reading.input, &mut reading.cutter, self.options.budget.chunk_bytes);
        let at_end = matches!(read, Ok(0));
        let mut chunk = if at_end { reading.cutter.finish() } else { reading.cutter.cut() };
        if let Some(chunk) = &mut chunk
            && std::mem::take(&mut reading.drop_first)
        {
            chunk.drop_first();
        }
        let mut over = at_end;
        if let (Some(chunk), Some(end)) = (&mut chunk, self.split.end) {
            over |= chunk.cut_from(end) || chunk.offset(chunk.len()) >= end;
        }
        let failed = read.err().map(|e| failure::reading(self.path(), e));
        self.stage = match failed {
            _ if over => Stage::Done,
            Some(error) if chunk.is_none() => return Err(error),
            Some(error) => Stage::Failed(error),
            None => Stage::Reading(reading),
        };
        Ok(match chunk.filter(|chunk| !chunk.is_empty()) {
            Some(chunk) => Some(Portion::Chunk(chunk)),
            None if over => None,
            None => Some(Portion::Nothing),
        })
    }
}

impl Pull for FileChunks {
    type Item = Portion;

    fn pull(&mut self) -> Result<Option<Portion>> {
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Closed => self.open().map(Some),
            Stage::Skipping(input, left) => self.skip(input, left).map(Some),
            Stage::Reading(reading) => self.read(reading),
            Stage::Failed(error) => Err(error),
            Stage::Done => Ok(None),
        }
    }
}

/// Appends up to `bytes` bytes, fewer only at the end of the input. What was read before an error is kept.
fn read_into(input: &mut dyn Read, cutter: &mut Cutter, bytes: u64) -> io::Result<usize> {
    let buffer = cutter.buffer();
    buffer.reserve(bytes as usize);
    input.take(bytes).read_to_end(buffer)
}
