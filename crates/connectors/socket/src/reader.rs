//! The reader: decodes what the background receives, and connects again.

use crate::connection::{Connection, Portion};
use crate::source::Retries;
use flugs_batch::{Record, Records};
use flugs_connector::{
    Malformed, PollContext, ReaderContext, ReaderStatus, SourceOutput, SourceReader, Split,
};
use flugs_formats::{Chunk, Decode, Feed, Framing, InputFormat, RAW_BYTES_MAX};
use flugs_types::{Error, Result, Timestamp};
use std::ops::Range;

/// A poll decodes at most so many records: no more come with one read of a socket, so this bounds empty ones.
const ROWS_MAX: usize = 4096;

/// How the records of a connection become items.
pub(crate) trait SocketFormat: Send + 'static {
    /// What is emitted.
    type Item: Record;

    /// Where records end.
    fn framing(&self) -> Framing;

    /// A decoder for one connection.
    fn decoder(&self) -> Result<Box<dyn DecodeChunk<Self::Item>>>;
}

/// Turns records into items.
pub(crate) trait DecodeChunk<T>: Send {
    /// Decodes some records of a chunk, and calls `fail` in order for those that cannot be read.
    fn decode(
        &mut self,
        chunk: &Chunk,
        records: Range<usize>,
        record_bytes_max: usize,
        fail: &mut dyn FnMut(usize, String) -> Result<()>,
    ) -> Result<Vec<T>>;

    /// How many records there were since this was last asked of which there are rows although parts of them could not be read.
    fn take_mended(&mut self) -> usize {
        0
    }
}

/// Why a record is too long, if it is.
pub(crate) fn too_long(chunk: &Chunk, i: usize, max: usize, setting: &str) -> Option<String> {
    let bytes = chunk.record_bytes(i);
    (bytes > max as u64)
        .then(|| format!("a record of {bytes} bytes, but at most {max} are taken; raise {setting}"))
}

impl<F: InputFormat> SocketFormat for F {
    type Item = F::Item;

    fn framing(&self) -> Framing {
        InputFormat::framing(self)
    }

    fn decoder(&self) -> Result<Box<dyn DecodeChunk<F::Item>>> {
        Ok(Box::new(Typed { format: self.clone(), decoder: None }))
    }
}

struct Typed<F: InputFormat> {
    format: F,
    /// Made with the first record, which may be a header.
    decoder: Option<F::Decoder>,
}

impl<F: InputFormat> Typed<F> {
    /// The value of a record; none for a header or a blank.
    fn decode_record(&mut self, record: &[u8]) -> Result<Option<F::Item>, String> {
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            None => {
                let header = self.format.has_header().then_some(record);
                let made =
                    self.format.decoder(header).map_err(|e| format!("the header cannot be used: {e}"))?;
                let decoder = self.decoder.insert(made);
                if header.is_some() {
                    return Ok(None);
                }
                decoder
            }
        };
        if self.format.is_blank(record) {
            return Ok(None);
        }
        decoder.decode(record).map(Some).map_err(|e| e.to_string())
    }
}

impl<F: InputFormat> DecodeChunk<F::Item> for Typed<F> {
    fn decode(
        &mut self,
        chunk: &Chunk,
        records: Range<usize>,
        record_bytes_max: usize,
        fail: &mut dyn FnMut(usize, String) -> Result<()>,
    ) -> Result<Vec<F::Item>> {
        let mut values = Vec::with_capacity(records.len());
        for i in records {
            let decoded = match too_long(chunk, i, record_bytes_max, "`max_record_bytes`") {
                Some(error) => Err(error),
                None => self.decode_record(chunk.record(i)),
            };
            match decoded {
                Ok(value) => values.extend(value),
                Err(error) => fail(i, error)?,
            }
        }
        Ok(values)
    }
}

pub(crate) struct SocketReader<F: SocketFormat> {
    format: F,
    address: String,
    retries: Retries,
    record_bytes_max: usize,
    context: ReaderContext,
    split: Option<Split>,
    no_more: bool,
    link: Link<F::Item>,
    /// Tries since the last byte was received.
    failures: u32,
}

/// Where the reader is with its connection.
enum Link<T> {
    /// To be made at once.
    Down,
    /// To be made at this time.
    Waiting(Timestamp),
    Up(Box<Receiving<T>>),
}

struct Receiving<T> {
    feed: Feed<Connection>,
    decoder: Box<dyn DecodeChunk<T>>,
    chunk: Option<Chunk>,
    /// The next record of the chunk.
    next: usize,
    /// The number of the next line of this connection, counted from 1.
    line: u64,
}

impl<F: SocketFormat> SocketReader<F> {
    pub(crate) fn new(
        format: F,
        address: String,
        retries: Retries,
        record_bytes_max: usize,
        context: ReaderContext,
    ) -> Self {
        SocketReader {
            format,
            address,
            retries,
            record_bytes_max,
            context,
            split: None,
            no_more: false,
            link: Link::Down,
            failures: 0,
        }
    }

    fn connect(&mut self) -> Result<()> {
        let connection = Connection::new(self.address.clone(), self.format.framing(), self.record_bytes_max);
        let feed = Feed::new(connection);
        let decoder = self.format.decoder()?;
        self.link = Link::Up(Box::new(Receiving { feed, decoder, chunk: None, next: 0, line: 1 }));
        Ok(())
    }

    /// The connection is gone: waits for the next try or, after the last one, ends or fails.
    fn lost(
        &mut self,
        now: Timestamp,
        error: Option<Error>,
        out: &mut dyn SourceOutput<F::Item>,
    ) -> Result<()> {
        let after = self.retries.after(self.failures);
        self.failures += 1;
        self.link = match (after, error) {
            (Some(after), _) => Link::Waiting(now + after),
            (None, Some(error)) => return Err(error.at(self.address.clone())),
            (None, None) => {
                if let Some(split) = self.split.take() {
                    out.finished(&split.id);
                }
                Link::Down
            }
        };
        Ok(())
    }

    /// Decodes a bounded number of records of the present chunk.
    fn decode(
        &self,
        receiving: &mut Receiving<F::Item>,
        chunk: Chunk,
        out: &mut dyn SourceOutput<F::Item>,
    ) -> Result<()> {
        let (first, end) = (receiving.next, chunk.len().min(receiving.next + ROWS_MAX));
        let lines = |records: Range<usize>| records.map(|i| chunk.lines(i)).sum::<u64>();
        let mut fail = |i: usize, error: String| {
            let (line, record) = (receiving.line + lines(first..i), chunk.record(i));
            out.malformed(Malformed {
                split: self.address.clone(),
                position: format!("line {line}, byte {} of the connection", chunk.offset(i)),
                error,
                raw: record[..record.len().min(RAW_BYTES_MAX)].to_vec(),
            })
        };
        let values = receiving.decoder.decode(&chunk, first..end, self.record_bytes_max, &mut fail)?;
        let mended = receiving.decoder.take_mended();
        receiving.line += lines(first..end);
        if end < chunk.len() {
            receiving.next = end;
            receiving.chunk = Some(chunk);
        }
        if mended > 0 {
            out.mended(mended);
        }
        if values.is_empty() { Ok(()) } else { out.emit(&self.address, Records::untimed(values)) }
    }
}

impl<F: SocketFormat> SourceReader<F::Item> for SocketReader<F> {
    fn add_splits(&mut self, splits: Vec<Split>) -> Result<()> {
        self.split = splits.into_iter().next_back().or(self.split.take());
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
        if self.split.is_none() {
            context.request_split = !self.no_more;
            return Ok(if self.no_more { ReaderStatus::Finished } else { ReaderStatus::Waiting });
        }
        let mut receiving = match std::mem::replace(&mut self.link, Link::Down) {
            Link::Waiting(until) if context.now < until => {
                self.link = Link::Waiting(until);
                return Ok(ReaderStatus::WaitUntil(until));
            }
            Link::Down | Link::Waiting(_) => {
                self.connect()?;
                return Ok(ReaderStatus::More);
            }
            Link::Up(receiving) => receiving,
        };
        if let Some(chunk) = receiving.chunk.take() {
            self.decode(&mut receiving, chunk, out)?;
            self.link = Link::Up(receiving);
            return Ok(ReaderStatus::More);
        }
        let portion = receiving.feed.poll(&*self.context.background, &self.context.waker);
        match portion {
            None => {
                self.link = Link::Up(receiving);
                return Ok(ReaderStatus::Waiting);
            }
            Some(Ok(Some(portion))) => {
                if let Portion::Chunk(chunk) = portion {
                    self.failures = 0;
                    receiving.next = 0;
                    receiving.chunk = Some(chunk);
                }
                self.link = Link::Up(receiving);
            }
            Some(Ok(None)) => self.lost(context.now, None, out)?,
            Some(Err(error)) => self.lost(context.now, Some(error), out)?,
        }
        Ok(ReaderStatus::More)
    }

    fn snapshot(&mut self) -> Result<Vec<Split>> {
        Ok(self.split.iter().cloned().collect())
    }
}
