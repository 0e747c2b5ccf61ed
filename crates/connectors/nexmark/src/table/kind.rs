//! Kinds of events and their fields, by the names that they have in SQL.

use crate::generator::{AUCTION_IDS, BID_IDS, PERSON_IDS};
use arrow::datatypes::{DataType, TimeUnit};
use std::ops::Range;

/// A kind of event; its number is the `event_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Person = 0,
    Auction = 1,
    Bid = 2,
}

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Long,
    Time,
    Text,
}

impl Content {
    pub(super) fn data_type(self) -> DataType {
        match self {
            Content::Long => DataType::Int64,
            Content::Time => DataType::Timestamp(TimeUnit::Millisecond, None),
            Content::Text => DataType::Utf8View,
        }
    }
}

type Field = (&'static str, Content);

/// The places of a kind's fields.
pub(super) mod person {
    pub(in super::super) const ID: usize = 0;
    pub(in super::super) const NAME: usize = 1;
    pub(in super::super) const EMAIL: usize = 2;
    pub(in super::super) const CARD: usize = 3;
    pub(in super::super) const CITY: usize = 4;
    pub(in super::super) const STATE: usize = 5;
    pub(in super::super) const TIME: usize = 6;
    pub(in super::super) const EXTRA: usize = 7;
}

/// As for persons.
pub(super) mod auction {
    pub(in super::super) const ID: usize = 0;
    pub(in super::super) const ITEM: usize = 1;
    pub(in super::super) const DESCRIPTION: usize = 2;
    pub(in super::super) const INITIAL_BID: usize = 3;
    pub(in super::super) const RESERVE: usize = 4;
    pub(in super::super) const TIME: usize = 5;
    pub(in super::super) const EXPIRES: usize = 6;
    pub(in super::super) const SELLER: usize = 7;
    pub(in super::super) const CATEGORY: usize = 8;
    pub(in super::super) const EXTRA: usize = 9;
}

/// As for persons.
pub(super) mod bid {
    pub(in super::super) const AUCTION: usize = 0;
    pub(in super::super) const BIDDER: usize = 1;
    pub(in super::super) const PRICE: usize = 2;
    pub(in super::super) const CHANNEL: usize = 3;
    pub(in super::super) const URL: usize = 4;
    pub(in super::super) const TIME: usize = 5;
    pub(in super::super) const EXTRA: usize = 6;
}

const PERSON: &[Field] = &[
    ("id", Content::Long),
    ("name", Content::Text),
    ("emailAddress", Content::Text),
    ("creditCard", Content::Text),
    ("city", Content::Text),
    ("state", Content::Text),
    ("dateTime", Content::Time),
    ("extra", Content::Text),
];

const AUCTION: &[Field] = &[
    ("id", Content::Long),
    ("itemName", Content::Text),
    ("description", Content::Text),
    ("initialBid", Content::Long),
    ("reserve", Content::Long),
    ("dateTime", Content::Time),
    ("expires", Content::Time),
    ("seller", Content::Long),
    ("category", Content::Long),
    ("extra", Content::Text),
];

const BID: &[Field] = &[
    ("auction", Content::Long),
    ("bidder", Content::Long),
    ("price", Content::Long),
    ("channel", Content::Text),
    ("url", Content::Text),
    ("dateTime", Content::Time),
    ("extra", Content::Text),
];

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::Person, Kind::Auction, Kind::Bid];

    /// The name of its column.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Person => "person",
            Kind::Auction => "auction",
            Kind::Bid => "bid",
        }
    }

    pub(super) fn of_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    pub(super) fn fields(self) -> &'static [Field] {
        match self {
            Kind::Person => PERSON,
            Kind::Auction => AUCTION,
            Kind::Bid => BID,
        }
    }

    /// Where in each cycle of 50 its events are.
    pub(super) fn ids(self) -> Range<u64> {
        match self {
            Kind::Person => PERSON_IDS,
            Kind::Auction => AUCTION_IDS,
            Kind::Bid => BID_IDS,
        }
    }
}
