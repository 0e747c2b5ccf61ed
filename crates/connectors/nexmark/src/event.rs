//! Whole events.

use crate::raw::{RawAuction, RawBid, RawEvent, RawPerson};
use crate::text::{Pool, Span, Text};
use flugs_batch::CompactString;
use flugs_derive::Data;
use flugs_types::Timestamp;

/// Somebody registers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Data)]
#[data(crate = "flugs_batch")]
pub struct Person {
    /// Counts up from 1000.
    pub id: u64,
    /// First and last name.
    pub name: CompactString,
    /// The email address.
    pub email_address: CompactString,
    /// Four groups of four digits.
    pub credit_card: CompactString,
    /// One of ten cities.
    pub city: CompactString,
    /// One of six states.
    pub state: CompactString,
    /// When the person registered.
    pub date_time: Timestamp,
    /// Filler.
    pub extra: Text,
}

/// An auction opens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Data)]
#[data(crate = "flugs_batch")]
pub struct Auction {
    /// Counts up from 1000.
    pub id: u64,
    /// What is sold.
    pub item_name: CompactString,
    /// More about it.
    pub description: CompactString,
    /// The lowest bid that is taken.
    pub initial_bid: u64,
    /// Below this price the seller keeps it.
    pub reserve: u64,
    /// When it opened.
    pub date_time: Timestamp,
    /// When it closes.
    pub expires: Timestamp,
    /// Id of the person who sells; it may not be registered yet.
    pub seller: u64,
    /// 10 to 14.
    pub category: u64,
    /// Filler.
    pub extra: Text,
}

/// A bid is made.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Data)]
#[data(crate = "flugs_batch")]
pub struct Bid {
    /// Id of the auction; it may not be open yet.
    pub auction: u64,
    /// Id of the person who bids; it may not be registered yet.
    pub bidder: u64,
    /// The price offered.
    pub price: u64,
    /// The channel by which the bid came.
    pub channel: CompactString,
    /// The page from which it came.
    pub url: Text,
    /// When it was made.
    pub date_time: Timestamp,
    /// Filler.
    pub extra: Text,
}

/// An event of the auction house.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Data)]
#[data(crate = "flugs_batch")]
pub enum Event {
    /// Somebody registers.
    Person(Person),
    /// An auction opens.
    Auction(Auction),
    /// A bid is made.
    Bid(Bid),
}

impl Event {
    /// When it happened.
    pub fn date_time(&self) -> Timestamp {
        match self {
            Event::Person(person) => person.date_time,
            Event::Auction(auction) => auction.date_time,
            Event::Bid(bid) => bid.date_time,
        }
    }

    pub(crate) fn new(raw: RawEvent<'_>, pool: &Pool) -> Self {
        let text = |span| pool.text(span);
        match raw {
            RawEvent::Person(raw) => Event::Person(Person::new(raw, text)),
            RawEvent::Auction(raw) => Event::Auction(Auction::new(raw, text)),
            RawEvent::Bid(raw) => Event::Bid(Bid::new(raw, text)),
        }
    }
}

impl Person {
    fn new(raw: RawPerson<'_>, text: impl Fn(Span) -> Text) -> Self {
        let details = raw.details();
        Person {
            id: raw.id(),
            name: raw.name().into(),
            email_address: details.email_address().into(),
            credit_card: (&*details.credit_card()).into(),
            city: details.city().into(),
            state: details.state().into(),
            date_time: raw.date_time(),
            extra: text(details.extra_span()),
        }
    }
}

impl Auction {
    fn new(raw: RawAuction<'_>, text: impl Fn(Span) -> Text) -> Self {
        let texts = raw.texts();
        Auction {
            id: raw.id(),
            item_name: texts.item_name().into(),
            description: texts.description().into(),
            initial_bid: raw.initial_bid(),
            reserve: texts.reserve(),
            date_time: raw.date_time(),
            expires: raw.expires(),
            seller: raw.seller(),
            category: raw.category(),
            extra: text(texts.extra_span()),
        }
    }
}

impl Bid {
    fn new(raw: RawBid<'_>, text: impl Fn(Span) -> Text) -> Self {
        Bid {
            auction: raw.auction(),
            bidder: raw.bidder(),
            price: raw.price(),
            channel: raw.channel().into(),
            url: text(raw.channel_spans().url),
            date_time: raw.date_time(),
            extra: text(raw.extra_span()),
        }
    }
}

/// All fields, with texts of its own.
impl From<RawPerson<'_>> for Person {
    fn from(raw: RawPerson<'_>) -> Self {
        Person::new(raw, |span| Text::new(raw.base.generator.pools.str(span)))
    }
}

/// All fields, with texts of its own.
impl From<RawAuction<'_>> for Auction {
    fn from(raw: RawAuction<'_>) -> Self {
        Auction::new(raw, |span| Text::new(raw.base.generator.pools.str(span)))
    }
}

/// All fields, with texts of its own.
impl From<RawBid<'_>> for Bid {
    fn from(raw: RawBid<'_>) -> Self {
        Bid::new(raw, |span| Text::new(raw.base.generator.pools.str(span)))
    }
}
