//! Queries that look at one bid at a time.

use super::{Clock, ms};
use crate::events::Events;
use flugs_nexmark::Bid;

/// 0.908 * price in thousandths.
fn euros(price: u64) -> u64 {
    908 * price
}

fn thousandths(value: u64) -> String {
    format!("{}.{:03}", value / 1000, value % 1000)
}

fn each(events: &Events, row: impl Fn(&Bid) -> String) -> Vec<String> {
    events.bids.iter().map(row).collect()
}

/// All columns of the view `bid`.
pub(crate) fn bid_rows(events: &Events) -> Vec<String> {
    each(events, bid_row)
}

pub(super) fn bid_row(b: &Bid) -> String {
    format!("{}|{}|{}|{}|{}|{}|{}", b.auction, b.bidder, b.price, b.channel, b.url, ms(b.date_time), b.extra)
}

pub(crate) fn q0(events: &Events) -> Vec<String> {
    each(events, |b| format!("{}|{}|{}|{}|{}", b.auction, b.bidder, b.price, ms(b.date_time), b.extra))
}

pub(crate) fn q1(events: &Events) -> Vec<String> {
    each(events, |b| {
        format!("{}|{}|{}|{}|{}", b.auction, b.bidder, thousandths(euros(b.price)), ms(b.date_time), b.extra)
    })
}

pub(crate) fn q2(events: &Events) -> Vec<String> {
    let bids = events.bids.iter().filter(|b| b.auction % 123 == 0);
    bids.map(|b| format!("{}|{}", b.auction, b.price)).collect()
}

/// Folder of the partition, then a line of CSV.
pub(crate) fn q10(events: &Events) -> Vec<String> {
    each(events, |b| {
        let clock = Clock::of(b.date_time);
        let hour_minute = clock.hour_minute().replace(':', "%3A");
        let (second, milli) = (ms(b.date_time) % 60_000 / 1000, ms(b.date_time) % 1000);
        let fraction = format!(".{milli:03}");
        let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
        let time = format!("{} {}:{second:02}{fraction}", clock.date(), clock.hour_minute());
        let date = clock.date();
        format!("dt={date}/hm={hour_minute}|{},{},{},{}", b.auction, b.bidder, b.price, csv(&time, &b.extra))
    })
}

/// The last two columns. Quotes stand around texts with spaces, and, as Flink's writer has it, around all of more than 24 characters.
fn csv(time: &str, extra: &str) -> String {
    let quoted = |text: &str| match text.contains(' ') || text.len() > 24 {
        true => format!("\"{text}\""),
        false => text.to_owned(),
    };
    format!("{},{}", quoted(time), quoted(extra))
}

/// The side input has the keys up to 2500, each with itself as the value.
pub(crate) fn q13(events: &Events) -> Vec<String> {
    let joined = events.bids.iter().filter(|b| b.auction % 10_000 <= 2500);
    joined
        .map(|b| format!("{}|{}|{}|{}|{}", b.auction, b.bidder, b.price, ms(b.date_time), b.auction % 10_000))
        .collect()
}

pub(crate) fn q14(events: &Events) -> Vec<String> {
    let is_wanted = |b: &&Bid| (1_000_000_001..50_000_000_000).contains(&euros(b.price));
    let row = |b: &Bid| {
        let kind = match Clock::of(b.date_time).hour() {
            8..=18 => "dayTime",
            0..=6 | 20.. => "nightTime",
            _ => "otherTime",
        };
        let letters = b.extra.chars().filter(|c| *c == 'c').count();
        let price = thousandths(euros(b.price));
        format!("{}|{}|{price}|{kind}|{}|{}|{letters}", b.auction, b.bidder, ms(b.date_time), b.extra)
    };
    events.bids.iter().filter(is_wanted).map(row).collect()
}

pub(crate) fn q21(events: &Events) -> Vec<String> {
    let row = |b: &Bid| {
        let id = match b.channel.to_lowercase().as_str() {
            "apple" => "0",
            "google" => "1",
            "facebook" => "2",
            "baidu" => "3",
            _ => b.url.split('&').find_map(|part| part.strip_prefix("channel_id="))?,
        };
        Some(format!("{}|{}|{}|{}|{id}", b.auction, b.bidder, b.price, b.channel))
    };
    events.bids.iter().filter_map(row).collect()
}

pub(crate) fn q22(events: &Events) -> Vec<String> {
    each(events, |b| {
        let parts: Vec<&str> = b.url.split('/').collect();
        let part = |n: usize| *parts.get(n).unwrap_or(&"NULL");
        format!("{}|{}|{}|{}|{}|{}|{}", b.auction, b.bidder, b.price, b.channel, part(3), part(4), part(5))
    })
}
