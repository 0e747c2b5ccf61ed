//! The events that the queries run over.

use flugs_nexmark::{Auction, Bid, Event, Generator, NexmarkOptions, Person};

/// Which events a test runs over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stream {
    pub(crate) events: u64,
    /// Events a second of event time; at most 1000, so that no two events have one time.
    pub(crate) rate: u64,
    /// Events come out of order within groups of so many.
    pub(crate) group: u64,
    pub(crate) base_time_ms: i64,
}

/// 2015-07-15 00:00:00.
const BASE_MS: i64 = 1_436_918_400_000;

/// 30 s.
pub(crate) const IN_ORDER: Stream = Stream { events: 30_000, rate: 1000, group: 1, base_time_ms: BASE_MS };
/// 30 s; times go back by up to a second, which the watermark waits for.
pub(crate) const DISORDERED: Stream = Stream { group: 1000, ..IN_ORDER };
/// 7 minutes: sessions end, and there are several minutes.
pub(crate) const SLOW: Stream = Stream { events: 21_000, rate: 50, ..IN_ORDER };
/// From 20:00 to 4:20 of the next day.
pub(crate) const DAYS: Stream =
    Stream { events: 30_000, rate: 1, group: 1, base_time_ms: BASE_MS + 20 * 3_600_000 };
/// Few.
pub(crate) const SHORT: Stream = Stream { events: 5_000, ..IN_ORDER };

/// Events of a stream in the order in which they come.
pub(crate) struct Events {
    pub(crate) persons: Vec<Person>,
    pub(crate) auctions: Vec<Auction>,
    pub(crate) bids: Vec<Bid>,
}

impl Events {
    pub(crate) fn of(stream: Stream) -> Self {
        let options = NexmarkOptions::new()
            .events_rate(stream.rate)
            .out_of_order_group(stream.group)
            .base_time_ms(stream.base_time_ms);
        let generator = Generator::new(&options).expect("options are right");
        let mut events = Events { persons: Vec::new(), auctions: Vec::new(), bids: Vec::new() };
        for index in 0..stream.events {
            match generator.event(index) {
                Event::Person(person) => events.persons.push(person),
                Event::Auction(auction) => events.auctions.push(auction),
                Event::Bid(bid) => events.bids.push(bid),
            }
        }
        events
    }
}
