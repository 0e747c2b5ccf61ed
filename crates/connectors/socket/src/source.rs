//! The socket source and its one split.

use crate::reader::SocketReader;
use flugs_connector::{
    Boundedness, EnumeratorAction, EnumeratorContext, EnumeratorEvent, Outstanding, ReaderContext, Source,
    SourceReader, Split, SplitEnumerator,
};
use flugs_formats::InputFormat;
use flugs_types::{Error, Result, Timestamp};
use std::time::Duration;

pub(crate) const RECORD_BYTES_MAX: usize = 1 << 20;
const VERSION: u8 = 1;

/// Reads records from a TCP server, as a client.
///
/// One reader connects, whatever the parallelism. The source ends when the server closes the connection, and a
/// connection that cannot be made or breaks fails the job; [`reconnect`](Self::reconnect) tries again in both
/// cases. Records are not replayed after a failure: delivery is at most once.
#[derive(Debug, Clone)]
pub struct SocketSource<F> {
    address: String,
    format: F,
    retries: Retries,
    record_bytes_max: usize,
}

/// How often and when to connect again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Retries {
    /// In a row, without a byte received between; none for no bound.
    pub(crate) max: Option<u32>,
    pub(crate) first_after: Duration,
}

impl Retries {
    /// The wait before a retry doubles up to this.
    const AFTER_MAX: Duration = Duration::from_secs(60);

    /// How long to wait before retry number `n`, counted from 0; none if that is one too many.
    pub(crate) fn after(self, n: u32) -> Option<Duration> {
        if self.max.is_some_and(|max| n >= max) {
            return None;
        }
        let after = self.first_after.saturating_mul(1u32.checked_shl(n).unwrap_or(u32::MAX));
        Some(after.min(Self::AFTER_MAX.max(self.first_after)))
    }
}

impl<F: InputFormat> SocketSource<F> {
    /// Reads what the server at `address` (`host:port`) sends, as `format`.
    pub fn new(address: impl Into<String>, format: F) -> Self {
        SocketSource {
            address: address.into(),
            format,
            retries: Retries { max: Some(0), first_after: Duration::ZERO },
            record_bytes_max: RECORD_BYTES_MAX,
        }
    }

    /// Connects again when a connection cannot be made, breaks or ends: up to `retries` times without
    /// a byte received between, the first time after `first_after`, then twice as long each time, up to a minute.
    /// What the server sends meanwhile is lost.
    #[must_use]
    pub fn reconnect(mut self, retries: u32, first_after: Duration) -> Self {
        self.retries = Retries { max: Some(retries), first_after };
        self
    }

    /// As [`reconnect`](Self::reconnect), without a bound: the source never ends.
    #[must_use]
    pub fn reconnect_forever(mut self, first_after: Duration) -> Self {
        self.retries = Retries { max: None, first_after };
        self
    }

    /// Longer records are malformed. Default: 1 MiB. It bounds the memory that a record can take.
    #[must_use]
    pub fn max_record_bytes(mut self, bytes: usize) -> Self {
        self.record_bytes_max = bytes.clamp(1, 1 << 30);
        self
    }
}

impl<F: InputFormat> Source for SocketSource<F> {
    type Item = F::Item;

    fn boundedness(&self) -> Boundedness {
        Boundedness::Unbounded
    }

    fn enumerator(&self, context: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>> {
        Ok(Box::new(SocketEnumerator::new(self.address.clone(), context)?))
    }

    fn reader(&self, context: ReaderContext) -> Result<Box<dyn SourceReader<F::Item>>> {
        let reader = SocketReader::new(
            self.format.clone(),
            self.address.clone(),
            self.retries,
            self.record_bytes_max,
            context,
        );
        Ok(Box::new(reader))
    }
}

/// Gives the one split to the first reader that asks.
pub(crate) struct SocketEnumerator {
    address: String,
    given: bool,
}

impl SocketEnumerator {
    pub(crate) fn new(address: String, context: EnumeratorContext<'_>) -> Result<Self> {
        let given = match context.restored {
            None => false,
            Some([VERSION, given]) => *given != 0,
            Some(_) => return Err(Error::state("the state of a socket source in the checkpoint is damaged")),
        };
        Ok(SocketEnumerator { address, given })
    }

    fn outstanding(&self) -> Outstanding {
        if self.given { Outstanding::Nothing } else { Outstanding::InOrder }
    }
}

impl SplitEnumerator for SocketEnumerator {
    fn step(&mut self, _now: Timestamp, event: EnumeratorEvent) -> Result<Vec<EnumeratorAction>> {
        Ok(match event {
            EnumeratorEvent::Start => vec![EnumeratorAction::Outstanding(self.outstanding())],
            EnumeratorEvent::SplitRequested { reader } if self.given => {
                vec![EnumeratorAction::NoMoreSplits { reader }]
            }
            EnumeratorEvent::SplitRequested { reader } => {
                self.given = true;
                let split = Split { id: self.address.clone(), payload: vec![VERSION] };
                vec![
                    EnumeratorAction::Assign { reader, splits: vec![split] },
                    EnumeratorAction::Outstanding(self.outstanding()),
                    EnumeratorAction::NoMoreSplits { reader },
                ]
            }
            EnumeratorEvent::Discovered(_) | EnumeratorEvent::Woken => Vec::new(),
        })
    }

    fn snapshot(&self) -> Result<Vec<u8>> {
        Ok(vec![VERSION, u8::from(self.given)])
    }
}
