//! Queries over windows of event time. No event is late: each waits for by less than the watermark's 4 s.

use super::ms;
use crate::events::Events;
use std::collections::{BTreeMap, BTreeSet};

/// Starts of the windows of this size and slide that hold a time; all in milliseconds.
fn windows(time: i64, size: i64, slide: i64) -> impl Iterator<Item = i64> {
    let last = time - time.rem_euclid(slide);
    (0..size / slide).map(move |back| last - back * slide)
}

pub(crate) fn q5(events: &Events) -> Vec<String> {
    let mut counts: BTreeMap<i64, BTreeMap<u64, u64>> = BTreeMap::new();
    for bid in &events.bids {
        for start in windows(ms(bid.date_time), 10_000, 2_000) {
            *counts.entry(start).or_default().entry(bid.auction).or_default() += 1;
        }
    }
    let mut rows = Vec::new();
    for counts in counts.values() {
        let most = counts.values().max().copied().unwrap_or(0);
        rows.extend(counts.iter().filter(|(_, n)| **n >= most).map(|(auction, n)| format!("{auction}|{n}")));
    }
    rows
}

pub(crate) fn q7(events: &Events) -> Vec<String> {
    let mut highest: BTreeMap<i64, u64> = BTreeMap::new();
    for bid in &events.bids {
        for start in windows(ms(bid.date_time), 10_000, 10_000) {
            let price = highest.entry(start).or_default();
            *price = bid.price.max(*price);
        }
    }
    let mut rows = Vec::new();
    for (start, price) in highest {
        for b in events.bids.iter().filter(|b| b.price == price) {
            if (start..=start + 10_000).contains(&ms(b.date_time)) {
                rows.push(format!("{}|{}|{}|{}|{}", b.auction, b.price, b.bidder, ms(b.date_time), b.extra));
            }
        }
    }
    rows
}

pub(crate) fn q8(events: &Events) -> Vec<String> {
    let window = |time| windows(ms(time), 10_000, 10_000).next().unwrap_or(0);
    let sellers: BTreeSet<(u64, i64)> =
        events.auctions.iter().map(|a| (a.seller, window(a.date_time))).collect();
    let persons: BTreeSet<(u64, &str, i64)> =
        events.persons.iter().map(|p| (p.id, p.name.as_str(), window(p.date_time))).collect();
    let registered = persons.into_iter().filter(|(id, _, start)| sellers.contains(&(*id, *start)));
    registered.map(|(id, name, start)| format!("{id}|{name}|{start}")).collect()
}

pub(crate) fn q11(events: &Events) -> Vec<String> {
    let mut times: BTreeMap<u64, BTreeMap<i64, u64>> = BTreeMap::new();
    for bid in &events.bids {
        *times.entry(bid.bidder).or_default().entry(ms(bid.date_time)).or_default() += 1;
    }
    let mut rows = Vec::new();
    for (bidder, times) in times {
        let mut session: Option<(i64, i64, u64)> = None;
        for (time, count) in times {
            session = match session {
                Some((start, end, before)) if time <= end => Some((start, time + 10_000, before + count)),
                ended => {
                    rows.extend(ended.map(|(start, end, count)| format!("{bidder}|{count}|{start}|{end}")));
                    Some((time, time + 10_000, count))
                }
            };
        }
        rows.extend(session.map(|(start, end, count)| format!("{bidder}|{count}|{start}|{end}")));
    }
    rows
}
