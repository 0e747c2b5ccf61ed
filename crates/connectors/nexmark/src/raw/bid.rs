//! Bids. Order of draws: hot auction?, [auction], hot bidder?, [bidder], price, hot channel?, channel, two for the
//! filler.

use super::{Base, Cycle, FIRST_ID, filler};
use crate::pools::{COLD, Channel, HOT};
use crate::random::{Draws, below};
use crate::text::Span;
use flugs_types::Timestamp;
use std::hint::select_unpredictable;

/// The bytes of a bid beside its filler.
const SIZE: u64 = 32;
const AVERAGE_SIZE: u64 = 100;

/// A bid whose fields are computed when they are asked for.
#[derive(Clone, Copy)]
pub struct RawBid<'a> {
    pub(crate) base: Base<'a>,
    pub(crate) cycle: Cycle,
}

impl<'a> RawBid<'a> {
    /// Id of the auction: 1 time in 2 a hot one.
    #[inline(always)]
    pub fn auction(&self) -> u64 {
        auction(self.base.draws, &self.cycle)
    }

    /// Id of the person who bids: 3 times in 4 the hot one.
    #[inline(always)]
    pub fn bidder(&self) -> u64 {
        bidder(after_auction(self.base.draws), &self.cycle)
    }

    /// The price, 100 to 100 million.
    #[inline(always)]
    pub fn price(&self) -> u64 {
        self.base.generator.prices.of(price_draw(self.after_bidder()))
    }

    /// The channel by which the bid came.
    #[inline(always)]
    pub fn channel(&self) -> &'a str {
        let pools = &self.base.generator.pools;
        pools.str(self.channel_spans().name)
    }

    /// The page from which the bid came; the channel's own.
    #[inline(always)]
    pub fn url(&self) -> &'a str {
        let pools = &self.base.generator.pools;
        pools.str(self.channel_spans().url)
    }

    /// When it was made.
    #[inline(always)]
    pub fn date_time(&self) -> Timestamp {
        Timestamp::from_millis(self.base.time_ms)
    }

    /// Filler: about 68 letters.
    #[inline(always)]
    pub fn extra(&self) -> &'a str {
        let pools = &self.base.generator.pools;
        pools.str(self.extra_span())
    }

    #[inline(always)]
    fn after_bidder(&self) -> Draws {
        after_bidder(after_auction(self.base.draws))
    }

    #[inline(always)]
    pub(crate) fn channel_spans(&self) -> Channel {
        self.base.generator.pools.channel(channel(self.after_bidder()))
    }

    #[inline(always)]
    pub(crate) fn extra_span(&self) -> Span {
        extra(self.after_bidder())
    }
}

/// From the bid's first draw on.
#[inline(always)]
pub(crate) fn auction(draws: Draws, cycle: &Cycle) -> u64 {
    let (hot, cold) = (cycle.hot_auction, cycle.any_auction(draws.peek(1)));
    FIRST_ID + select_unpredictable(is_auction_hot(draws), hot, cold)
}

#[inline(always)]
pub(crate) fn after_auction(draws: Draws) -> Draws {
    draws.skip_either(is_auction_hot(draws), 1, 2)
}

/// From the draws behind the auction on.
#[inline(always)]
pub(crate) fn bidder(draws: Draws, cycle: &Cycle) -> u64 {
    let (hot, cold) = (cycle.hot_person + 1, cycle.any_person(draws.peek(1)));
    FIRST_ID + select_unpredictable(is_bidder_hot(draws), hot, cold)
}

#[inline(always)]
pub(crate) fn after_bidder(draws: Draws) -> Draws {
    draws.skip_either(is_bidder_hot(draws), 1, 2)
}

/// What the price is made of, from the draws behind the bidder on; as what follows.
#[inline(always)]
pub(crate) fn price_draw(draws: Draws) -> u64 {
    draws.peek(0)
}

/// The number of the channel.
#[inline(always)]
pub(crate) fn channel(draws: Draws) -> u64 {
    let is_hot = below(draws.peek(1), 2) > 0;
    let draw = draws.peek(2);
    select_unpredictable(is_hot, below(draw, HOT), HOT + below(draw, COLD))
}

#[inline(always)]
pub(crate) fn extra(draws: Draws) -> Span {
    filler(draws.skip(3), SIZE, AVERAGE_SIZE)
}

#[inline(always)]
fn is_auction_hot(draws: Draws) -> bool {
    below(draws.peek(0), 2) > 0
}

#[inline(always)]
fn is_bidder_hot(draws: Draws) -> bool {
    below(draws.peek(0), 4) > 0
}
