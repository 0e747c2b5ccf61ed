//! Auctions. Order of draws: hot seller?, [seller], category, initial bid, expiry, the letters of the name and of the
//! description, reserve, two for the filler.

use super::{AUCTIONS, AUCTIONS_IN_FLIGHT, Base, CYCLE, Cycle, FIRST_ID, PERSONS, filler};
use crate::generator::Generator;
use crate::random::{Draws, Letters, below};
use crate::text::Span;
use flugs_types::Timestamp;
use std::hint::select_unpredictable;

const FIRST_CATEGORY: u64 = 10;
const CATEGORIES: u64 = 5;
/// How many events it takes until an auction's hundred successors have opened.
const LIFE_EVENTS: u64 = AUCTIONS_IN_FLIGHT * CYCLE / AUCTIONS;
/// The bytes of an auction beside its texts.
const SIZE: u64 = 48;
const AVERAGE_SIZE: u64 = 500;

/// An auction whose fields are computed when they are asked for.
#[derive(Clone, Copy)]
pub struct RawAuction<'a> {
    pub(crate) base: Base<'a>,
    pub(crate) cycle: Cycle,
}

impl<'a> RawAuction<'a> {
    /// Id of the auction; ids count up from 1000.
    #[inline(always)]
    pub fn id(&self) -> u64 {
        FIRST_ID + self.cycle.number * AUCTIONS + self.base.id % CYCLE - PERSONS
    }

    /// Id of the person who sells: 3 times in 4 the hot one.
    #[inline(always)]
    pub fn seller(&self) -> u64 {
        let draws = self.base.draws;
        let (hot, cold) = (self.cycle.hot_person, self.cycle.any_person(draws.peek(1)));
        FIRST_ID + select_unpredictable(self.is_seller_hot(), hot, cold)
    }

    /// 10 to 14.
    #[inline(always)]
    pub fn category(&self) -> u64 {
        FIRST_CATEGORY + below(self.after_seller().peek(0), CATEGORIES)
    }

    /// The lowest bid that is taken.
    #[inline(always)]
    pub fn initial_bid(&self) -> u64 {
        self.base.generator.prices.of(self.after_seller().peek(1))
    }

    /// When it opened.
    #[inline(always)]
    pub fn date_time(&self) -> Timestamp {
        Timestamp::from_millis(self.base.time_ms)
    }

    /// When it closes.
    #[inline(always)]
    pub fn expires(&self) -> Timestamp {
        let Base { generator, id, time_ms, .. } = self.base;
        let life_ms = generator.time_ms(id + LIFE_EVENTS) - time_ms;
        // At most 3,332,000 ms, at one event a second.
        let after = below(self.after_seller().peek(2), (life_ms * 2).max(1) as u64);
        Timestamp::from_millis(time_ms + 1 + after as i64)
    }

    /// What takes a loop over letters: the texts, and what comes after them.
    #[inline]
    pub fn texts(&self) -> AuctionTexts<'a> {
        let mut draws = self.after_seller().skip(3);
        let (mut item_name, mut description) = (Letters::new(), Letters::new());
        draws.word(&mut item_name, 20, b' ');
        draws.word(&mut description, 100, b' ');
        AuctionTexts {
            generator: self.base.generator,
            item_name,
            description,
            draws,
            initial_bid: self.initial_bid(),
        }
    }

    #[inline(always)]
    fn is_seller_hot(&self) -> bool {
        below(self.base.draws.peek(0), 4) > 0
    }

    #[inline(always)]
    fn after_seller(&self) -> Draws {
        self.base.draws.skip_either(self.is_seller_hot(), 1, 2)
    }
}

/// The texts of an auction, and what comes after them.
#[derive(Clone)]
pub struct AuctionTexts<'a> {
    generator: &'a Generator,
    item_name: Letters<19>,
    description: Letters<99>,
    /// Behind the texts.
    draws: Draws,
    initial_bid: u64,
}

impl<'a> AuctionTexts<'a> {
    /// What is sold: up to 19 letters and blanks.
    #[inline]
    pub fn item_name(&self) -> &str {
        &self.item_name
    }

    /// Up to 99 letters and blanks.
    #[inline]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Below this price the seller keeps it: the initial bid and a price more.
    #[inline(always)]
    pub fn reserve(&self) -> u64 {
        self.initial_bid + self.generator.prices.of(self.draws.peek(0))
    }

    /// Filler: brings the auction to about 500 bytes.
    #[inline]
    pub fn extra(&self) -> &'a str {
        let pools = &self.generator.pools;
        pools.str(self.extra_span())
    }

    #[inline]
    pub(crate) fn extra_span(&self) -> Span {
        let size = SIZE + (self.item_name.len() + self.description.len()) as u64;
        filler(self.draws.skip(1), size, AVERAGE_SIZE)
    }
}
