//! The reader: decodes what the background receives, and connects again.

use crate::connection::{Connection, Portion};
use crate::source::Retries;
use flugs_batch::Records;
use flugs_connector::{
    Malformed, PollContext, ReaderContext, ReaderStatus, SourceOutput, SourceReader, Split,
};
use flugs_formats::{Chunk, Decode, Feed, InputFormat, RAW_BYTES_MAX};
use flugs_types::{Error, Result, Timestamp};

/// A poll decodes at most so many records: no more come with one read of a socket, so this bounds empty ones.
const ROWS_MAX: usize = 4096;

pub(crate) struct SocketReader<F: InputFormat> {
    format: F,
    address: String,
    retries: Retries,
    record_bytes_max: usize,
    context: ReaderContext,
    split: Option<Split>,
    no_more: bool,
    link: Link<F>,
    /// Tries since the last byte was received.
    failures: u32,
}

/// Where the reader is with its connection.
enum Link<F: InputFormat> {
    /// To be made at once.
    Down,
    /// To be made at this time.
    Waiting(Timestamp),
    Up(Box<Receiving<F>>),
}

struct Receiving<F: InputFormat> {
    feed: Feed<Connection>,
    decoder: Option<F::Decoder>,
    chunk: Option<Chunk>,
    /// The next record of the chunk.
    next: usize,
    /// The number of the next line of this connection, counted from 1.
    line: u64,
}

impl<F: InputFormat> SocketReader<F> {
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

    fn connect(&mut self) {
        let connection = Connection::new(self.address.clone(), self.format.framing(), self.record_bytes_max);
        let feed = Feed::new(connection);
        self.link = Link::Up(Box::new(Receiving { feed, decoder: None, chunk: None, next: 0, line: 1 }));
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
        receiving: &mut Receiving<F>,
        chunk: Chunk,
        out: &mut dyn SourceOutput<F::Item>,
    ) -> Result<()> {
        let end = chunk.len().min(receiving.next + ROWS_MAX);
        let mut values = Vec::with_capacity(end - receiving.next);
        for i in receiving.next..end {
            let record = chunk.record(i);
            match self.decode_record(&mut receiving.decoder, record, chunk.record_bytes(i)) {
                Ok(Some(value)) => values.push(value),
                Ok(None) => {}
                Err(error) => out.malformed(Malformed {
                    split: self.address.clone(),
                    position: format!("line {}, byte {} of the connection", receiving.line, chunk.offset(i)),
                    error,
                    raw: record[..record.len().min(RAW_BYTES_MAX)].to_vec(),
                })?,
            }
            receiving.line += chunk.lines(i);
        }
        if end < chunk.len() {
            receiving.next = end;
            receiving.chunk = Some(chunk);
        }
        if values.is_empty() { Ok(()) } else { out.emit(&self.address, Records::untimed(values)) }
    }

    /// The value of a record; none for a header or a blank.
    fn decode_record(
        &self,
        decoder: &mut Option<F::Decoder>,
        record: &[u8],
        bytes: u64,
    ) -> Result<Option<F::Item>, String> {
        if bytes > self.record_bytes_max as u64 {
            let max = self.record_bytes_max;
            return Err(format!(
                "a record of {bytes} bytes, but at most {max} are taken; raise `max_record_bytes`"
            ));
        }
        let decoder = match decoder {
            Some(decoder) => decoder,
            None => {
                let header = self.format.has_header().then_some(record);
                let made =
                    self.format.decoder(header).map_err(|e| format!("the header cannot be used: {e}"))?;
                let decoder = decoder.insert(made);
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

impl<F: InputFormat> SourceReader<F::Item> for SocketReader<F> {
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
                self.connect();
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
