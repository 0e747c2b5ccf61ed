//! Queries that keep the first rows of each group.

use super::rows::bid_row;
use crate::events::Events;
use flugs_nexmark::Bid;
use std::collections::BTreeMap;

pub(crate) fn q18(events: &Events) -> Vec<String> {
    let mut last: BTreeMap<(u64, u64), &Bid> = BTreeMap::new();
    for bid in &events.bids {
        let kept = last.entry((bid.bidder, bid.auction)).or_insert(bid);
        if kept.date_time <= bid.date_time {
            *kept = bid;
        }
    }
    last.into_values().map(bid_row).collect()
}

/// Of two bids with one price that came first is first.
pub(crate) fn q19(events: &Events) -> Vec<String> {
    let mut bids: BTreeMap<u64, Vec<&Bid>> = BTreeMap::new();
    for bid in &events.bids {
        bids.entry(bid.auction).or_default().push(bid);
    }
    let mut rows = Vec::new();
    for mut bids in bids.into_values() {
        bids.sort_by_key(|b| std::cmp::Reverse(b.price));
        rows.extend(bids.iter().take(10).zip(1..).map(|(bid, rank)| format!("{}|{rank}", bid_row(bid))));
    }
    rows
}
