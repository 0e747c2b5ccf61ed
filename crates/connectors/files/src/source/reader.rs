//! The reader: decodes what the background reads, a bounded number of rows per poll.

use super::chunks::{BOM, FileChunks, Portion, ReadOptions};
use super::split::FileSplit;
use flugs_batch::Records;
use flugs_connector::{
    Malformed, PollContext, ReaderContext, ReaderStatus, SourceOutput, SourceReader, Split,
};
use flugs_formats::{Chunk, Decode, Feed, InputFormat, RAW_BYTES_MAX};
use flugs_types::{Error, Result};
use std::collections::VecDeque;
use std::sync::Arc;

/// Reads its splits one after the other.
pub(super) struct FileReader<F: InputFormat> {
    format: F,
    options: Arc<ReadOptions>,
    skip_empty: bool,
    context: ReaderContext,
    /// Not begun.
    pending: VecDeque<FileSplit>,
    current: Option<Current<F>>,
    no_more: bool,
}

/// The split that is being read.
struct Current<F: InputFormat> {
    id: String,
    /// With the position behind the last row that was handed on.
    split: FileSplit,
    feed: Feed<FileChunks>,
    /// Made when the file is open.
    decoder: Option<F::Decoder>,
    chunk: Option<Chunk>,
    /// The next record of the chunk.
    next: usize,
}

impl<F: InputFormat> FileReader<F> {
    pub(super) fn new(
        format: F,
        options: Arc<ReadOptions>,
        skip_empty: bool,
        context: ReaderContext,
    ) -> Self {
        FileReader {
            format,
            options,
            skip_empty,
            context,
            pending: VecDeque::new(),
            current: None,
            no_more: false,
        }
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
            Some(Portion::Opened { header }) => {
                let decoder = self.format.decoder(header.as_deref()).map_err(|e| {
                    Error::data(format!("the header cannot be used: {e}"))
                        .at(format!("{}:1", current.split.path))
                })?;
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

impl<F: InputFormat> SourceReader<F::Item> for FileReader<F> {
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
            let rows = Rows { format: &self.format, options: &self.options, skip_empty: self.skip_empty };
            rows.decode(current, chunk, out)?;
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

/// How records become rows.
struct Rows<'a, F> {
    format: &'a F,
    options: &'a ReadOptions,
    skip_empty: bool,
}

impl<F: InputFormat> Rows<'_, F> {
    /// Decodes a bounded number of records and moves the position behind them.
    fn decode(
        &self,
        current: &mut Current<F>,
        chunk: Chunk,
        out: &mut dyn SourceOutput<F::Item>,
    ) -> Result<()> {
        let decoder =
            current.decoder.as_mut().ok_or_else(|| Error::bug("a file's records came before it was open"))?;
        let first = current.next;
        let budget = self.options.budget;
        let stop_at = chunk.offset(first) + budget.bytes;
        let mut values = Vec::with_capacity(budget.rows.min(chunk.len() - first));
        while current.next < chunk.len()
            && current.next - first < budget.rows
            && current.split.offset < stop_at
        {
            let i = current.next;
            match self.decode_record(decoder, &chunk, i) {
                Ok(Some(value)) => values.push(value),
                Ok(None) => {}
                Err(error) => {
                    let raw = chunk.record(i);
                    out.malformed(Malformed {
                        split: current.id.clone(),
                        position: current.split.position(),
                        error,
                        raw: raw[..raw.len().min(RAW_BYTES_MAX)].to_vec(),
                    })?;
                }
            }
            current.split.line += chunk.lines(i);
            current.split.offset = chunk.offset(i + 1);
            current.next += 1;
        }
        if current.next < chunk.len() {
            current.chunk = Some(chunk);
        }
        if values.is_empty() { Ok(()) } else { out.emit(&current.id, Records::untimed(values)) }
    }

    /// The value of record `i`; none for a header or a blank.
    #[inline]
    fn decode_record(
        &self,
        decoder: &mut F::Decoder,
        chunk: &Chunk,
        i: usize,
    ) -> Result<Option<F::Item>, String> {
        let mut record = chunk.record(i);
        if i == 0 && chunk.offset(0) == 0 {
            if self.options.has_header {
                return Ok(None);
            }
            record = record.strip_prefix(BOM).unwrap_or(record);
        }
        let bytes = chunk.record_bytes(i);
        if bytes > self.options.record_bytes_max as u64 {
            let max = self.options.record_bytes_max;
            return Err(format!(
                "a record of {bytes} bytes, but at most {max} are taken; raise `max_record_bytes`"
            ));
        }
        if self.format.is_blank(record) || (self.skip_empty && record.is_empty()) {
            return Ok(None);
        }
        decoder.decode(record).map(Some).map_err(|e| e.to_string())
    }
}
