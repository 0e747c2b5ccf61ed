//! Queries that count by day.

use super::Clock;
use crate::events::Events;
use flugs_nexmark::Bid;
use std::collections::{BTreeMap, HashSet};

fn groups<K: Ord>(events: &Events, key: impl Fn(&Bid) -> K) -> BTreeMap<K, Vec<&Bid>> {
    let mut groups: BTreeMap<K, Vec<&Bid>> = BTreeMap::new();
    for bid in &events.bids {
        groups.entry(key(bid)).or_default().push(bid);
    }
    groups
}

fn date(bid: &Bid) -> String {
    Clock::of(bid.date_time).date()
}

/// All bids, and those of the three ranks of price.
fn ranks<'a>(bids: &[&'a Bid]) -> [Vec<&'a Bid>; 4] {
    let of =
        |prices: std::ops::Range<u64>| bids.iter().copied().filter(|b| prices.contains(&b.price)).collect();
    [of(0..u64::MAX), of(0..10_000), of(10_000..1_000_000), of(1_000_000..u64::MAX)]
}

/// Counts of bids, bidders and auctions.
fn counts(bids: &[&Bid]) -> String {
    let ranks = ranks(bids);
    let distinct =
        |of: fn(&Bid) -> u64| ranks.each_ref().map(|b| b.iter().map(|b| of(b)).collect::<HashSet<_>>().len());
    let all = [ranks.each_ref().map(Vec::len), distinct(|b| b.bidder), distinct(|b| b.auction)];
    all.concat().iter().map(usize::to_string).collect::<Vec<_>>().join("|")
}

pub(crate) fn q15(events: &Events) -> Vec<String> {
    groups(events, date).iter().map(|(day, bids)| format!("{day}|{}", counts(bids))).collect()
}

pub(crate) fn q16(events: &Events) -> Vec<String> {
    let groups = groups(events, |b| (b.channel.to_string(), date(b)));
    let row = |((channel, day), bids): (&(String, String), &Vec<&Bid>)| {
        let minute = bids.iter().map(|b| Clock::of(b.date_time).hour_minute()).max().unwrap_or_default();
        format!("{channel}|{day}|{minute}|{}", counts(bids))
    };
    groups.iter().map(row).collect()
}

pub(crate) fn q17(events: &Events) -> Vec<String> {
    let groups = groups(events, |b| (b.auction, date(b)));
    let row = |((auction, day), bids): (&(u64, String), &Vec<&Bid>)| {
        let [all, low, middle, high] = ranks(bids).map(|b| b.len() as u64);
        let prices = || bids.iter().map(|b| b.price);
        let (min, max, sum) =
            (prices().min().unwrap_or(0), prices().max().unwrap_or(0), prices().sum::<u64>());
        format!("{auction}|{day}|{all}|{low}|{middle}|{high}|{min}|{max}|{}|{sum}", sum / all)
    };
    groups.iter().map(row).collect()
}
