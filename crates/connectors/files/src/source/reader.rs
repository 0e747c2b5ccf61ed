//! The reader: decodes what the background reads, a bounded number of rows per poll.

use super::chunks::{BOM, FileChunks, Opened, Portion, ReadOptions};
use super::split::FileSplit;
use flugs_batch::{Record, Records};
use flugs_connector::{
    Malformed, PollContext, ReaderContext, ReaderStatus, SourceOutput, SourceReader, Split,
};
use flugs_formats::{Chunk, Decode, Feed, InputFormat, RAW_BYTES_MAX};
use flugs_types::{Error, Result};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// How the records of files become items.
pub(crate) trait FileFormat: Send + 'static {
    /// What is emitted.
    type Item: Record;

    /// A decoder for one split.
    fn decoder(&self, opened: &Opened) -> Result<Box<dyn DecodeChunk<Self::Item>>>;
}

/// Turns records into items.
pub(crate) trait DecodeChunk<T>: Send {
    /// Decodes some records of a chunk, and calls `fail` in order for those that cannot be read. `options` say which of them
    /// are none: see [`ReadOptions::record`].
    fn decode(
        &mut self,
        chunk: &Chunk,
        records: Range<usize>,
        options: &ReadOptions,
        fail: &mut dyn FnMut(usize, String) -> Result<()>,
    ) -> Result<Vec<T>>;

    /// How many records there were since this was last asked of which there are rows although parts of them could not be read.
    fn take_mended(&mut self) -> usize {
        0
    }
}

impl ReadOptions {
    /// Record `i` of a chunk; none for a header, an error where it is too long.
    #[inline]
    pub(crate) fn record<'c>(&self, chunk: &'c Chunk, i: usize) -> Result<Option<&'c [u8]>, String> {
        let mut record = chunk.record(i);
        if i == 0 && chunk.offset(0) == 0 {
            if self.has_header {
                return Ok(None);
            }
            record = record.strip_prefix(BOM).unwrap_or(record);
        }
        let bytes = chunk.record_bytes(i);
        if bytes > self.record_bytes_max as u64 {
            let (max, setting) = (self.record_bytes_max, self.record_bytes_setting);
            return Err(format!("a record of {bytes} bytes, but at most {max} are taken; raise {setting}"));
        }
        Ok(Some(record))
    }
}

/// A format of typed records.
pub(super) struct Typed<F> {
    pub(super) format: F,
    pub(super) skip_empty: bool,
}

impl<F: InputFormat> FileFormat for Typed<F> {
    type Item = F::Item;

    fn decoder(&self, opened: &Opened) -> Result<Box<dyn DecodeChunk<F::Item>>> {
        let decoder = self
            .format
            .decoder(opened.header.as_deref())
            .map_err(|e| Error::data(format!("the header cannot be used: {e}")))?;
        Ok(Box::new(TypedDecoder { format: self.format.clone(), decoder, skip_empty: self.skip_empty }))
    }
}

struct TypedDecoder<F: InputFormat> {
    format: F,
    decoder: F::Decoder,
    skip_empty: bool,
}

impl<F: InputFormat> DecodeChunk<F::Item> for TypedDecoder<F> {
    fn decode(
        &mut self,
        chunk: &Chunk,
        records: Range<usize>,
        options: &ReadOptions,
        fail: &mut dyn FnMut(usize, String) -> Result<()>,
    ) -> Result<Vec<F::Item>> {
        let mut values = Vec::with_capacity(records.len());
        for i in records {
            let decoded = options.record(chunk, i).and_then(|record| match record {
                Some(record) if self.format.is_blank(record) || (self.skip_empty && record.is_empty()) => {
                    Ok(None)
                }
                Some(record) => self.decoder.decode(record).map(Some).map_err(|e| e.to_string()),
                None => Ok(None),
            });
            match decoded {
                Ok(value) => values.extend(value),
                Err(error) => fail(i, error)?,
            }
        }
        Ok(values)
    }
}

/// Reads its splits one after the other.
pub(crate) struct FileReader<F: FileFormat> {
    format: F,
    options: Arc<ReadOptions>,
    context: ReaderContext,
    /// Not begun.
    pending: VecDeque<FileSplit>,
    current: Option<Current<F::Item>>,
    no_more: bool,
}

/// The split that is being read.
struct Current<T> {
    id: String,
    /// With the position behind the last row that was handed on.
    split: FileSplit,
    feed: Feed<FileChunks>,
    /// Made when the file is open.
    decoder: Option<Box<dyn DecodeChunk<T>>>,
    chunk: Option<Chunk>,
    /// The next record of the chunk.
    next: usize,
}

impl<F: FileFormat> FileReader<F> {
    pub(crate) fn new(format: F, options: Arc<ReadOptions>, context: ReaderContext) -> Self {
        FileReader { format, options, context, pending: VecDeque::new(), current: None, no_more: false }
    }

    fn begin(&mut self, split: FileSplit) {
        let feed = Feed::new(FileChunks::new(Arc::clone(&self.options), split.clone()));
        self.current = Some(Current { id: split.id(), split, feed, decoder: None, chunk: None, next: 0 });
    }

    /// Takes the next portion from the background. `None` says that there is none yet.
    fn receive(&mut self, out: &mut dyn SourceOutput<F::Item>) -> Result<Option<()>> {
        let Some(current) = &mut self.current else { return Ok(Some(())) };
        let Some(portion) = current.feed.poll(&*self.context.background, &self.context.waker) else {
            return Ok(None);
        };
        match portion.map_err(|e| e.at(current.split.place()))? {
            Some(Portion::Opened(opened)) => {
                let decoder =
                    self.format.decoder(&opened).map_err(|e| e.at(format!("{}:1", current.split.path)))?;
                current.decoder = Some(decoder);
            }
            Some(Portion::Nothing) => {}
            Some(Portion::Chunk(chunk)) => {
                current.split.aligned = true;
                current.split.offset = chunk.offset(0);
                current.chunk = Some(chunk);
                current.next = 0;
            }
            None => {
                out.finished(&current.id);
                self.current = None;
            }
        }
        Ok(Some(()))
    }
}

impl<F: FileFormat> SourceReader<F::Item> for FileReader<F> {
    fn add_splits(&mut self, splits: Vec<Split>) -> Result<()> {
        for split in splits {
            self.pending.push_back(FileSplit::of_payload(&split.payload)?);
        }
        Ok(())
    }

    fn no_more_splits(&mut self) {
        self.no_more = true;
    }

    fn poll(
        &mut self,
        context: &mut PollContext,
        out: &mut dyn SourceOutput<F::Item>,
    ) -> Result<ReaderStatus> {
        if self.current.is_none() {
            match self.pending.pop_front() {
                Some(split) => self.begin(split),
                None if self.no_more => return Ok(ReaderStatus::Finished),
                None => {
                    context.request_split = true;
                    return Ok(ReaderStatus::Waiting);
                }
            }
        }
        if let Some(current) = &mut self.current
            && let Some(chunk) = current.chunk.take()
        {
            current.decode(chunk, &self.options, out)?;
            return Ok(ReaderStatus::More);
        }
        Ok(match self.receive(out)? {
            Some(()) => ReaderStatus::More,
            None => ReaderStatus::Waiting,
        })
    }

    fn snapshot(&mut self) -> Result<Vec<Split>> {
        let current = self.current.iter().map(|current| &current.split);
        Ok(current.chain(&self.pending).map(FileSplit::to_split).collect())
    }
}

impl<T: Record> Current<T> {
    /// Decodes a bounded number of records and moves the position behind them.
    fn decode(&mut self, chunk: Chunk, options: &ReadOptions, out: &mut dyn SourceOutput<T>) -> Result<()> {
        let decoder =
            self.decoder.as_mut().ok_or_else(|| Error::bug("a file's records came before it was open"))?;
        let first = self.next;
        let stop_at = chunk.offset(first) + options.budget.bytes;
        let end = (first + 1..chunk.len().min(first + options.budget.rows))
            .find(|&i| chunk.offset(i) >= stop_at)
            .unwrap_or(chunk.len().min(first + options.budget.rows));
        // The position moves from record to record only as far as failures need it.
        let (id, split) = (&self.id, &mut self.split);
        let mut at = first;
        let mut move_to = |split: &mut FileSplit, record: usize| {
            split.line += (at..record).map(|i| chunk.lines(i)).sum::<u64>();
            split.offset = chunk.offset(record);
            at = record;
        };
        let mut fail = |record: usize, error: String| {
            move_to(split, record);
            let raw = chunk.record(record);
            out.malformed(Malformed {
                split: id.clone(),
                position: split.position(),
                error,
                raw: raw[..raw.len().min(RAW_BYTES_MAX)].to_vec(),
            })
        };
        let values = decoder.decode(&chunk, first..end, options, &mut fail)?;
        let mended = decoder.take_mended();
        move_to(&mut self.split, end);
        self.next = end;
        if end < chunk.len() {
            self.chunk = Some(chunk);
        }
        if mended > 0 {
            out.mended(mended);
        }
        if values.is_empty() { Ok(()) } else { out.emit(&self.id, Records::untimed(values)) }
    }
}
