//! The generator: each number once whatever happens to the readers, rows when they are due, and nothing late.

use super::super::testing::{Driver, Output, records, rows};
use super::*;
use crate::ReaderStatus::{Finished, More, WaitUntil};
use flugs_types::{Clock, ManualClock};

fn sorted(mut rows: Vec<u64>) -> Vec<u64> {
    rows.sort_unstable();
    rows
}

fn numbers(count: u64) -> GeneratorSource<u64> {
    GeneratorSource::new(Some(count), |i| i).block(7).batch_rows(16)
}

#[test]
fn each_number_is_emitted_once_at_any_parallelism() {
    for parallelism in [1, 2, 3, 16] {
        let outputs = Driver::start(&numbers(1003), parallelism).finish();
        assert_eq!(sorted(rows(&outputs)), (0..1003).collect::<Vec<_>>());
        for (output, k) in outputs.iter().zip(0..) {
            let mine: Vec<u64> = (0..1003).filter(|i| i / 7 % u64::from(parallelism) == k).collect();
            assert_eq!(rows(std::slice::from_ref(output)), mine);
            assert!(output.batches.iter().all(|(_, batch)| batch.len() <= 16));
        }
    }
}

#[test]
fn a_restore_after_any_poll_loses_and_repeats_nothing_and_brings_nothing_late() {
    let source = GeneratorSource::timed(Some(500), |i| (i, Timestamp(i as i64))).block(7).batch_rows(16);
    for polls in 0..40 {
        for (before, after) in [(1, 1), (1, 3), (3, 2), (2, 5)] {
            let mut first = Driver::start(&source, before);
            for poll in 0..polls {
                // Unevenly: the first reader is polled most.
                first.poll((poll % (before * 2)).saturating_sub(before) as usize);
            }
            let checkpoint = first.checkpoint();
            let second = Driver::restore(&source, after, &checkpoint).unwrap().finish();
            let mut all = rows(&first.outputs);
            all.extend(rows(&second));
            assert_eq!(sorted(all), (0..500).collect::<Vec<_>>(), "{polls} polls, {before} to {after}");
            for output in &second {
                assert!(rows(std::slice::from_ref(output)).is_sorted(), "lowest first");
            }
        }
    }
}

#[test]
fn one_split_speaks_for_all_of_a_reader_and_ends_last() {
    let outputs = Driver::start(&numbers(1003), 2).finish();
    let Output { batches, status, finished, .. } = &outputs[1];
    assert!(batches.iter().all(|(split, _)| split == "1/120"));
    assert_eq!(status.len(), 60);
    assert!(status.iter().all(|(split, s)| (*s == SplitStatus::Behind) == (split == "1/120")));
    assert_eq!((finished.len(), finished.last().map(String::as_str)), (60, Some("1/120")));
}

#[test]
fn times_come_with_the_rows() {
    let source = GeneratorSource::timed(Some(100), |i| (i, Timestamp(i as i64 * 10)));
    assert_eq!(source.boundedness(), Boundedness::Bounded);
    let got = records(&Driver::start(&source, 1).finish());
    assert_eq!(got, (0..100).map(|i| (i, Timestamp(i as i64 * 10))).collect::<Vec<_>>());
    let untimed = records(&Driver::start(&numbers(3), 1).finish());
    assert!(untimed.iter().all(|&(_, time)| time == Timestamp::MIN));
}

#[test]
fn full_speed_asks_for_whole_batches() {
    let source = GeneratorSource::batches(None, |range, out: &mut Records<u64>| {
        assert!(out.values.capacity() - out.values.len() >= (range.end - range.start) as usize);
        out.times.extend(range.clone().map(|i| Timestamp(i as i64)));
        out.values.extend(range);
    });
    assert_eq!(source.boundedness(), Boundedness::Unbounded);
    let mut driver = Driver::start(&source, 1);
    assert_eq!((driver.poll(0), driver.poll(0)), (More, More));
    let sizes: Vec<usize> = driver.outputs[0].batches.iter().map(|(_, b)| b.values.capacity()).collect();
    assert_eq!(sizes, [4096, 4096]);
    assert_eq!(rows(&driver.outputs), (0..8192).collect::<Vec<_>>());
}

#[test]
fn sparse_rows_fill_batches_within_bounded_work() {
    let sparse = |every: u64| {
        GeneratorSource::batches(None, move |range, out: &mut Records<u64>| {
            for i in range.filter(|i| i % every == 0) {
                out.push(i, Timestamp::MIN);
            }
        })
    };
    let mut driver = Driver::start(&sparse(10), 2);
    driver.poll(0);
    let rows = driver.outputs[0].batches[0].1.len();
    assert!((3500..=4096).contains(&rows), "{rows}");
    let mut driver = Driver::start(&sparse(1 << 40), 1);
    driver.poll(0);
    assert_eq!(driver.checkpoint().splits.len(), 120);
    assert_eq!((driver.poll(0), driver.outputs[0].batches.len()), (More, 1));
}

#[test]
fn rows_come_when_they_are_due() {
    let clock = ManualClock::new(Timestamp::from_secs(1000));
    let source = GeneratorSource::new(Some(1000), |i| i).rate(100_000.0);
    let mut driver = Driver::run(&source, 2, None, &clock).unwrap();
    assert_eq!(driver.poll(0), WaitUntil(clock.now() + Duration::from_micros(50)));
    assert_eq!(driver.poll(1), WaitUntil(clock.now() + Duration::from_micros(50)));
    assert_eq!(sorted(rows(&driver.outputs)), [0, 1]);
    clock.advance_to(clock.now() + Duration::from_micros(50));
    assert!(matches!((driver.poll(0), driver.poll(1)), (WaitUntil(_), WaitUntil(_))));
    // A row every 20 µs for each of both, and each counts from its own first number: two more in 50 µs.
    assert_eq!(sorted(rows(&driver.outputs)), (0..6).collect::<Vec<_>>());
    clock.advance_to(clock.now() + Duration::from_secs(1));
    assert_eq!((driver.poll(0), driver.poll(1)), (Finished, Finished));
    assert_eq!(sorted(rows(&driver.outputs)), (0..1000).collect::<Vec<_>>());
}

#[test]
fn a_slow_rate_waits_for_the_very_row() {
    let clock = ManualClock::default();
    let source = GeneratorSource::new(None, |i| i).rate(3.0);
    let mut driver = Driver::run(&source, 1, None, &clock).unwrap();
    // A third of a second, rounded up to whole microseconds.
    assert_eq!(driver.poll(0), WaitUntil(Timestamp(333_334)));
    clock.advance_to(Timestamp(333_333));
    assert!(matches!(driver.poll(0), WaitUntil(_)));
    assert_eq!(rows(&driver.outputs), [0]);
    clock.advance_to(Timestamp(333_334));
    assert_eq!(driver.poll(0), WaitUntil(Timestamp(666_667)));
    assert_eq!(rows(&driver.outputs), [0, 1]);
}

#[test]
fn after_a_stall_what_is_overdue_comes_in_bounded_batches() {
    let clock = ManualClock::default();
    let source = GeneratorSource::new(None, |i| i).rate(1000.0).batch_rows(100);
    let mut driver = Driver::run(&source, 1, None, &clock).unwrap();
    driver.poll(0);
    clock.advance_to(Timestamp::from_secs(1));
    let polls = (0..).take_while(|_| driver.poll(0) == More).count();
    assert_eq!(polls, 9, "a thousand rows in ten batches, and nothing is due after the tenth");
    assert_eq!(rows(&driver.outputs), (0..1001).collect::<Vec<_>>());
    assert!(driver.outputs[0].batches.iter().all(|(_, batch)| batch.len() <= 100));
}

#[test]
fn wrong_settings_and_states_are_errors() {
    let source = GeneratorSource::new(None, |i| i).rate(0.0);
    assert!(Driver::run(&source, 1, None, &ManualClock::default()).is_err());
    let mut driver = Driver::start(&numbers(10), 1);
    let mut damaged = driver.checkpoint();
    damaged.splits[0].payload.pop();
    assert!(Driver::restore(&numbers(10), 1, &damaged).is_err());
    let restored = Some([9u8].as_slice());
    assert!(numbers(10).enumerator(EnumeratorContext { parallelism: 1, restored }).is_err());
}

#[test]
fn an_empty_source_ends_at_once() {
    let outputs = Driver::start(&numbers(0), 3).finish();
    assert!(rows(&outputs).is_empty());
    assert_eq!(outputs.iter().map(|o| o.finished.len()).sum::<usize>(), 120);
}

#[test]
fn random_rows_depend_on_seed_and_number_alone() {
    let source = |seed| super::super::DataGen::new().seed(seed).count(300).rows(|draw| draw.below(1 << 40));
    let one = sorted(rows(&Driver::start(&source(1), 1).finish()));
    assert_eq!(one, sorted(rows(&Driver::start(&source(1), 4).finish())));
    assert_ne!(one, sorted(rows(&Driver::start(&source(2), 1).finish())));
}
