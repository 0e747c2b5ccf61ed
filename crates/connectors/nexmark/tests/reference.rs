//! Compares events with those that the Java generator of the reference measurements made: all fields of literal events,
//! and checksums over many more.

use flugs_batch::Data;
use flugs_nexmark::{Event, Generator, NexmarkOptions};

/// An event as the Java generator prints it: its kind and its fields, times in milliseconds.
fn line(event: &Event) -> String {
    match event {
        Event::Person(p) => {
            let (id, time) = (p.id, p.date_time.as_millis());
            let (name, email, card, city, state) =
                (&p.name, &p.email_address, &p.credit_card, &p.city, &p.state);
            format!("0|{id}|{name}|{email}|{card}|{city}|{state}|{time}|{}", p.extra)
        }
        Event::Auction(a) => {
            let (id, initial, reserve, seller, category) =
                (a.id, a.initial_bid, a.reserve, a.seller, a.category);
            let (from, to) = (a.date_time.as_millis(), a.expires.as_millis());
            let (name, text) = (&a.item_name, &a.description);
            format!("1|{id}|{name}|{text}|{initial}|{reserve}|{from}|{to}|{seller}|{category}|{}", a.extra)
        }
        Event::Bid(b) => {
            let (auction, bidder, price, time) = (b.auction, b.bidder, b.price, b.date_time.as_millis());
            format!("2|{auction}|{bidder}|{price}|{}|{}|{time}|{}", b.channel, b.url, b.extra)
        }
    }
}

fn generator(seed: i64, rate: u64, base_ms: i64, group: u64) -> Generator {
    let options =
        NexmarkOptions::new().seed(seed).events_rate(rate).base_time_ms(base_ms).out_of_order_group(group);
    Generator::new(&options).expect("the options are possible")
}

#[test]
fn literal_events() {
    for (seed, rate, base_ms, group, from, want) in [
        (1, 100_000, 1_436_918_400_000, 1, 0, include_str!("reference/seed1-from0.txt")),
        (
            -9,
            7,
            -5000,
            30,
            1_000_030,
            include_str!("reference/seed-9-rate7-base-5000-group30-from1000030.txt"),
        ),
        (
            123_456_789_012,
            10_000_000,
            1_700_000_000_000,
            1,
            400_000_000_000,
            include_str!("reference/seed123456789012-rate10000000-base1700000000000-from400000000000.txt"),
        ),
    ] {
        let generator = generator(seed, rate, base_ms, group);
        for (want, index) in want.lines().zip(from..) {
            let event = generator.event(index);
            assert_eq!(line(&event), want, "event {index} of seed {seed}");
            assert_eq!(Event::from_bytes(&event.to_bytes()).unwrap(), event);
        }
    }
}

/// FNV-1a over the lines with their line ends.
fn checksum(generator: &Generator, from: u64, to: u64) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for index in from..to {
        for byte in line(&generator.event(index)).bytes().chain([b'\n']) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    hash
}

#[test]
fn checksums_of_many_events() {
    for (seed, rate, base_ms, group, from, to, want) in [
        (1, 100_000, 1_436_918_400_000, 1, 0, 50_000, 0x1233_8049_fe79_b079),
        (1, 100_000, 1_436_918_400_000, 1, 5_000_000, 5_030_000, 0xb06d_e3c7_9f60_3458),
        (-9, 7, -5000, 30, 0, 20_000, 0xa80b_dac9_f3e7_0f00),
        (42, 1_000_000, 0, 1000, 123_456_000, 123_486_000, 0xa110_2fc8_c7c5_3b5b),
        (i64::MIN, 1, 1_436_918_400_000, 1, 0, 20_000, 0x9d65_240e_3479_2060),
        (7, 999, 1_436_918_400_000, 50, 98_765_432_100, 98_765_452_100, 0xa122_2660_77c9_2a48),
        (
            123_456_789_012,
            10_000_000,
            1_700_000_000_000,
            1,
            400_000_000_000,
            400_000_020_000,
            0xc957_3a7f_27fe_c77f,
        ),
    ] {
        let generator = generator(seed, rate, base_ms, group);
        assert_eq!(
            checksum(&generator, from, to),
            want,
            "seed {seed}, rate {rate}, group {group}, from {from}"
        );
    }
}

/// For a look at far more events: `cargo test --release -- --ignored` takes seconds, a debug build minutes.
#[test]
#[ignore = "millions of events: for release builds"]
fn checksums_of_millions_of_events() {
    for (seed, rate, base_ms, group, from, to, want) in [
        (1, 100_000, 1_436_918_400_000, 1, 0, 3_000_000, 0x8520_4df7_5d32_3524),
        (2, 10_000, 1_436_918_400_000, 1, 0, 1_000_000, 0x20e8_da50_0786_ea96),
        (3, 333, -77, 100, 50_000_000, 51_000_000, 0xb70b_aabf_7b29_ef17),
        (-77, 1_000_000, 1_436_918_400_000, 7, 0, 1_000_000, 0x20bc_6b19_1638_e14e),
        (i64::MAX, 50_000, 1_436_918_400_000, 49, 70_000_000_000, 70_001_000_000, 0x2afd_a0ef_4574_0453),
    ] {
        let generator = generator(seed, rate, base_ms, group);
        assert_eq!(
            checksum(&generator, from, to),
            want,
            "seed {seed}, rate {rate}, group {group}, from {from}"
        );
    }
}
