//! Queries that join auctions with persons or bids.

use super::ms;
use crate::events::Events;
use flugs_nexmark::{Auction, Bid};
use std::collections::{BTreeMap, HashMap};

pub(crate) fn q3(events: &Events) -> Vec<String> {
    let mut rows = Vec::new();
    for a in events.auctions.iter().filter(|a| a.category == 10) {
        for p in events.persons.iter().filter(|p| p.id == a.seller) {
            if ["OR", "ID", "CA"].contains(&p.state.as_str()) {
                rows.push(format!("{}|{}|{}|{}", p.name, p.city, p.state, a.id));
            }
        }
    }
    rows
}

pub(crate) fn q20(events: &Events) -> Vec<String> {
    let auctions: HashMap<u64, &Auction> = events.auctions.iter().map(|a| (a.id, a)).collect();
    let row = |b: &Bid| {
        let a = auctions.get(&b.auction).filter(|a| a.category == 10)?;
        let bid = super::rows::bid_row(b);
        let (opened, expires) = (ms(a.date_time), ms(a.expires));
        Some(format!(
            "{bid}|{}|{}|{}|{}|{opened}|{expires}|{}|{}|{}",
            a.item_name, a.description, a.initial_bid, a.reserve, a.seller, a.category, a.extra
        ))
    };
    events.bids.iter().filter_map(row).collect()
}

/// Auctions with the highest bid made while they were open. Two highest bids of one price would make several results right:
/// these events have none.
fn winners(events: &Events) -> Vec<(&Auction, &Bid)> {
    let mut bids: HashMap<u64, Vec<&Bid>> = HashMap::new();
    for bid in &events.bids {
        bids.entry(bid.auction).or_default().push(bid);
    }
    let mut winners = Vec::new();
    for auction in &events.auctions {
        let open = auction.date_time..=auction.expires;
        let of_auction = bids.get(&auction.id).into_iter().flatten();
        let made: Vec<&&Bid> = of_auction.filter(|b| open.contains(&b.date_time)).collect();
        let Some(highest) = made.iter().map(|b| b.price).max() else { continue };
        let highest: Vec<&&&Bid> = made.iter().filter(|b| b.price == highest).collect();
        assert_eq!(highest.len(), 1, "auction {} has two highest bids", auction.id);
        winners.push((auction, **highest[0]));
    }
    winners
}

pub(crate) fn q4(events: &Events) -> Vec<String> {
    let mut finals: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (auction, bid) in winners(events) {
        finals.entry(auction.category).or_default().push(bid.price);
    }
    let average = |prices: &[u64]| prices.iter().sum::<u64>() / prices.len() as u64;
    finals.iter().map(|(category, prices)| format!("{category}|{}", average(prices))).collect()
}

pub(crate) fn q6(events: &Events) -> Vec<String> {
    let mut sold: BTreeMap<u64, Vec<&Bid>> = BTreeMap::new();
    for (auction, bid) in winners(events) {
        sold.entry(auction.seller).or_default().push(bid);
    }
    let mut rows = Vec::new();
    for (seller, mut bids) in sold {
        bids.sort_by_key(|b| b.date_time);
        for last in 0..bids.len() {
            let frame = &bids[last.saturating_sub(10)..=last];
            let sum: u64 = frame.iter().map(|b| b.price).sum();
            rows.push(format!("{seller}|{}", sum / frame.len() as u64));
        }
    }
    rows
}

pub(crate) fn q9(events: &Events) -> Vec<String> {
    let row = |(a, b): (&Auction, &Bid)| {
        let (opened, expires) = (ms(a.date_time), ms(a.expires));
        let bid = format!("{}|{}|{}|{}|{}", b.auction, b.bidder, b.price, ms(b.date_time), b.extra);
        format!(
            "{}|{}|{}|{}|{}|{opened}|{expires}|{}|{}|{}|{bid}",
            a.id, a.item_name, a.description, a.initial_bid, a.reserve, a.seller, a.category, a.extra
        )
    };
    winners(events).into_iter().map(row).collect()
}
