//! Bids, column by column: what a column needs of the draws before it stands in a short array that stays in the first cache.

use super::columns::{Columns, Run};
use super::kind::bid::{AUCTION, BIDDER, CHANNEL, EXTRA, PRICE, TIME, URL};
use super::texts::SharedTexts;
use crate::generator::Generator;
use crate::random::Draws;
use crate::raw::{CYCLE, Cycle, bid};

/// Adds the rows of a run.
pub(super) fn fill(run: &Run, generator: &Generator, texts: &SharedTexts, out: &mut Columns) {
    let rows = run.rows();
    if let Some(times) = out.longs(TIME, rows.clone()) {
        let mut next = generator.times_from(run.ids.start);
        times.iter_mut().for_each(|time| *time = next.next_ms());
    }
    if !out.wants(&[AUCTION, BIDDER, PRICE, CHANNEL, URL, EXTRA]) {
        return;
    }
    let cycle = Cycle::new(run.ids.start / CYCLE);
    let mut draws = [Draws::default(); CYCLE as usize];
    let draws = &mut draws[..run.len()];
    let seed = generator.seed;
    let firsts = draws.iter_mut().zip(run.ids.clone());
    match out.longs(AUCTION, rows.clone()) {
        Some(auctions) => firsts.zip(auctions).for_each(|((draws, id), auction)| {
            let first = Draws::of_event(seed, id);
            *auction = bid::auction(first, &cycle) as i64;
            *draws = bid::after_auction(first);
        }),
        None => firsts.for_each(|(draws, id)| *draws = bid::after_auction(Draws::of_event(seed, id))),
    }
    if !out.wants(&[BIDDER, PRICE, CHANNEL, URL, EXTRA]) {
        return;
    }
    match out.longs(BIDDER, rows.clone()) {
        Some(bidders) => draws.iter_mut().zip(bidders).for_each(|(draws, bidder)| {
            *bidder = bid::bidder(*draws, &cycle) as i64;
            *draws = bid::after_bidder(*draws);
        }),
        None => draws.iter_mut().for_each(|draws| *draws = bid::after_bidder(*draws)),
    }
    if let Some(prices) = out.longs(PRICE, rows.clone()) {
        let price = |draws: &Draws| generator.prices.of(bid::price_draw(*draws)) as i64;
        prices.iter_mut().zip(&*draws).for_each(|(out, draws)| *out = price(draws));
    }
    if let Some(channels) = out.views(CHANNEL, rows.clone()) {
        let view = |draws: &Draws| texts.channels[bid::channel(*draws) as usize];
        channels.iter_mut().zip(&*draws).for_each(|(out, draws)| *out = view(draws));
    }
    if let Some(urls) = out.views(URL, rows.clone()) {
        let view = |draws: &Draws| texts.urls[bid::channel(*draws) as usize];
        urls.iter_mut().zip(&*draws).for_each(|(out, draws)| *out = view(draws));
    }
    if let Some(extras) = out.views(EXTRA, rows) {
        let view = |draws: &Draws| texts.view(bid::extra(*draws));
        extras.iter_mut().zip(&*draws).for_each(|(out, draws)| *out = view(draws));
    }
}
