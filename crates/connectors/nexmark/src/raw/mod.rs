//! Events whose fields are computed when they are asked for.
//!
//! A field is a function of the event's number, and of how many draws come before its own: that number depends
//! on earlier draws (a hot auction takes one, a cold one two; a letter takes two and a gap one). Fields are pure
//! functions without a cache. Once inlined, what two fields have in common is computed once, and what
//! nobody asks for is not computed at all. What a draw decides is selected, not branched on. Only texts need a loop over letters, and are asked for explicitly.

mod auction;
pub(crate) mod bid;
mod person;

pub use auction::{AuctionTexts, RawAuction};
pub use bid::RawBid;
pub use person::{PersonDetails, RawPerson};

use crate::generator::Generator;
use crate::pools::LETTERS;
use crate::random::{Draws, below};
use crate::text::Span;
use flugs_types::Timestamp;

/// Every so many ids of events: a person, some auctions, and bids.
pub(crate) const CYCLE: u64 = 50;
pub(crate) const PERSONS: u64 = 1;
pub(crate) const AUCTIONS: u64 = 3;

/// The first id of persons and of auctions.
const FIRST_ID: u64 = 1000;
/// So many persons are hot together, and so many auctions.
const HOT_BATCH: u64 = 100;
const ACTIVE_PERSONS: u64 = 1000;
pub(crate) const AUCTIONS_IN_FLIGHT: u64 = 100;
/// So many ids that do not exist yet can be drawn.
const LEAD: u64 = 10;

/// An event whose fields are computed when they are asked for.
#[derive(Clone, Copy)]
pub enum RawEvent<'a> {
    /// Somebody registers.
    Person(RawPerson<'a>),
    /// An auction opens.
    Auction(RawAuction<'a>),
    /// A bid is made.
    Bid(RawBid<'a>),
}

impl RawEvent<'_> {
    /// When it happened.
    #[inline(always)]
    pub fn date_time(&self) -> Timestamp {
        match self {
            RawEvent::Person(person) => person.date_time(),
            RawEvent::Auction(auction) => auction.date_time(),
            RawEvent::Bid(bid) => bid.date_time(),
        }
    }
}

/// What raw events of all kinds know.
#[derive(Clone, Copy)]
pub(crate) struct Base<'a> {
    pub(crate) generator: &'a Generator,
    pub(crate) id: u64,
    pub(crate) draws: Draws,
    pub(crate) time_ms: i64,
}

/// What the 50 events of a cycle have in common.
#[derive(Clone, Copy)]
pub(crate) struct Cycle {
    number: u64,
    hot_person: u64,
    first_active_person: u64,
    /// How many persons can be drawn.
    persons: u64,
    hot_auction: u64,
    first_auction: u64,
    auctions: u64,
}

impl Cycle {
    #[inline(always)]
    pub(crate) fn new(number: u64) -> Self {
        let started = number + 1;
        let active = started.min(ACTIVE_PERSONS);
        let last_auction = number * AUCTIONS + AUCTIONS - 1;
        let first_auction = last_auction.saturating_sub(AUCTIONS_IN_FLIGHT);
        Cycle {
            number,
            hot_person: number / HOT_BATCH * HOT_BATCH,
            first_active_person: started - active,
            persons: active + LEAD,
            hot_auction: last_auction / HOT_BATCH * HOT_BATCH,
            first_auction,
            auctions: last_auction - first_auction + 1 + LEAD,
        }
    }

    #[inline(always)]
    fn any_person(&self, draw: u64) -> u64 {
        self.first_active_person + below(draw, self.persons)
    }

    #[inline(always)]
    fn any_auction(&self, draw: u64) -> u64 {
        self.first_auction + below(draw, self.auctions)
    }
}

/// The filler that brings an event of `size` bytes to about `average`, from the next two draws.
#[inline(always)]
fn filler(draws: Draws, size: u64, average: u64) -> Span {
    let Some(want) = average.checked_sub(size) else { return Span::EMPTY };
    let delta = (want as f64 * 0.2).round() as u64;
    let (len, used) = match delta {
        0 => (want, 0),
        _ => (want - delta + below(draws.peek(0), 2 * delta), 1),
    };
    let start = below(draws.peek(used), LETTERS - len);
    Span { start: start as u32, len: len as u32 }
}
