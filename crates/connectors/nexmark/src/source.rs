//! The events as a source.

use crate::event::Event;
use crate::generator::{AUCTION_IDS, BID_IDS, Generator, PERSON_IDS};
use crate::options::NexmarkOptions;
use crate::raw::{CYCLE, RawAuction, RawBid, RawEvent, RawPerson};
use flugs_batch::{Record, Records};
use flugs_connector::{
    Boundedness, EnumeratorContext, GeneratorSource, ReaderContext, Source, SourceReader, SplitEnumerator,
};
use flugs_types::Result;
use std::ops::Range;

/// A source of Nexmark events, or of rows made of them.
///
/// Reader `k` of `P` takes the blocks `k, k + P, k + 2P, ...` of 50 numbers, in order; a restore with another
/// parallelism reads each number exactly once. All rows carry their event times, which ascend within a reader unless
/// events are out of order by option. Positions count events of all kinds, so rows may be projected in
/// another way after a restore. Under `emit.rate`, event `i` is due `i / rate` seconds after the start.
///
/// ```
/// # use flugs_nexmark::{NexmarkOptions, NexmarkSource};
/// // Only these two columns are computed.
/// let prices = NexmarkSource::bids(&NexmarkOptions::new().events_num(1000), |bid| (bid.auction(), bid.price()))?;
/// # let _: NexmarkSource<(u64, u64)> = prices;
/// # Ok::<(), flugs_types::Error>(())
/// ```
pub struct NexmarkSource<T>(GeneratorSource<T>);

impl NexmarkSource<Event> {
    /// Whole events of all kinds.
    pub fn events(options: &NexmarkOptions) -> Result<Self> {
        Self::filled(options, |generator, range, out| generator.fill_events(range, out))
    }
}

impl<T: Record> NexmarkSource<T> {
    /// A row for each bid, made of the columns that `row` asks for.
    pub fn bids(
        options: &NexmarkOptions,
        row: impl Fn(RawBid<'_>) -> T + Send + Sync + 'static,
    ) -> Result<Self> {
        Self::filled(options, move |generator, range, out| {
            generator.fill_kind(BID_IDS, range, out, |base, cycle| RawBid { base, cycle }, &row);
        })
    }

    /// A row for each auction, made of the columns that `row` asks for.
    pub fn auctions(
        options: &NexmarkOptions,
        row: impl Fn(RawAuction<'_>) -> T + Send + Sync + 'static,
    ) -> Result<Self> {
        Self::filled(options, move |generator, range, out| {
            generator.fill_kind(AUCTION_IDS, range, out, |base, cycle| RawAuction { base, cycle }, &row);
        })
    }

    /// A row for each person, made of the columns that `row` asks for.
    pub fn persons(
        options: &NexmarkOptions,
        row: impl Fn(RawPerson<'_>) -> T + Send + Sync + 'static,
    ) -> Result<Self> {
        Self::filled(options, move |generator, range, out| {
            generator.fill_kind(PERSON_IDS, range, out, |base, cycle| RawPerson { base, cycle }, &row);
        })
    }

    /// Rows made of the events of which `row` makes something.
    pub fn select(
        options: &NexmarkOptions,
        row: impl Fn(RawEvent<'_>) -> Option<T> + Send + Sync + 'static,
    ) -> Result<Self> {
        Self::filled(options, move |generator, range, out| generator.fill_some(range, out, &row))
    }

    fn filled(
        options: &NexmarkOptions,
        fill: impl Fn(&Generator, Range<u64>, &mut Records<T>) + Send + Sync + 'static,
    ) -> Result<Self> {
        let generator = Generator::new(options)?;
        let source =
            GeneratorSource::batches(options.events_num, move |range, out| fill(&generator, range, out));
        let source = source.block(CYCLE as u32);
        Ok(NexmarkSource(if options.emit_rate > 0.0 { source.rate(options.emit_rate) } else { source }))
    }
}

impl<T: Record> Source for NexmarkSource<T> {
    type Item = T;

    fn boundedness(&self) -> Boundedness {
        self.0.boundedness()
    }

    fn enumerator(&self, context: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>> {
        self.0.enumerator(context)
    }

    fn reader(&self, context: ReaderContext) -> Result<Box<dyn SourceReader<T>>> {
        self.0.reader(context)
    }
}

#[cfg(test)]
mod tests;
