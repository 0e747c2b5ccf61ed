//! Maps, filters and flat maps in every way of replaying, and what an explosion does.

use super::*;
use crate::OutputTag;
use crate::collector::batch_rows;
use flugs_testkit::{Case, HarnessBuilder, OperatorHarness};
use flugs_types::{Error, Timestamp};

fn at<T>(rows: impl IntoIterator<Item = (i64, T)>) -> Records<T> {
    rows.into_iter().map(|(time, value)| (value, Timestamp(time))).collect()
}

#[test]
fn map_keeps_the_times() {
    let out = Case::new(|| Map::new(|x: i64| format!("<{x}>")))
        .batch(at([(1, 10), (2, 20)]))
        .batch(at([(3, 30)]))
        .watermark(Timestamp(5))
        .end()
        .run();
    assert_eq!(out[0], ["1 \"<10>\"", "2 \"<20>\"", "3 \"<30>\""]);
}

#[test]
fn a_failing_map_fails_the_job() {
    let mut harness = OperatorHarness::new(TryMap::new(|x: i64| match x {
        0 => Err(Error::user("zero")),
        x => Ok(100 / x),
    }))
    .unwrap();
    harness.push(at([(1, 5)])).unwrap();
    assert_eq!(harness.output().values, [20]);
    let error = harness.push(at([(1, 5), (2, 0)])).unwrap_err();
    assert_eq!(error.message(), "zero");
    assert_eq!(error.place(), Some("operator 'operator', subtask 1/1"));
}

#[test]
fn filter_keeps_rows_with_their_times() {
    let rows: Vec<(i64, String)> = (0..20).map(|i| (i, format!("{i}"))).collect();
    let out = Case::new(|| Filter::new(|x: &String| x.contains('1')))
        .batch(at(rows))
        .batch(at([(7, "x".to_owned())]))
        .run();
    let expected = [1, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19].map(|i| format!("{i} \"{i}\""));
    assert_eq!(out[0], expected);
}

#[test]
fn flat_map_makes_any_number_of_rows() {
    let out = Case::new(|| {
        FlatMap::operator(|line: &'static str, out: &mut Collector<'_, &'static str>| {
            line.split_whitespace().for_each(|word| out.collect(word));
        })
    })
    .batch(at([(1, "to be or"), (2, ""), (3, "not")]))
    .run();
    assert_eq!(out[0], ["1 \"to\"", "1 \"be\"", "1 \"or\"", "3 \"not\""]);
}

#[test]
fn an_explosion_leaves_in_bounded_batches_and_stops_for_a_full_output() {
    let explode = || {
        FlatMap::operator(|n: u64, out: &mut Collector<'_, u64>| -> Result<()> {
            (0..n).for_each(|i| out.collect(i));
            Ok(())
        })
    };
    let mut harness = HarnessBuilder::new().refusing().open(explode()).unwrap();
    harness.push(at([(0, 100_000), (1, 3), (2, 100_000)])).unwrap();
    assert!(harness.largest_batch() <= batch_rows::<u64>());
    let rows = harness.output();
    let expected: Vec<u64> = (0..100_000).chain(0..3).chain(0..100_000).collect();
    assert_eq!(rows.values, expected);
    assert_eq!(rows.times[100_000], Timestamp(1));
    assert_eq!(harness.counter("numRecordsIn").get(), 3);
    assert_eq!(harness.counter("numRecordsOut").get(), 200_003);
}

#[test]
fn side_outputs_are_typed() {
    const ODD: OutputTag<String> = OutputTag::new(1);
    let split = || {
        FlatMap::operator(|x: i64, out: &mut Collector<'_, i64>| match x % 2 {
            0 => out.collect(x),
            _ => out.side(ODD, format!("odd {x}")),
        })
    };
    let out = Case::new(split).side::<String>(1).batch(at([(1, 1), (2, 2), (3, 3)])).run();
    assert_eq!(out[0], ["2 2", "1: 1 \"odd 1\"", "1: 3 \"odd 3\""]);

    let mut unread = OperatorHarness::new(split()).unwrap();
    unread.push(at([(1, 1)])).unwrap();
    assert!(unread.output().is_empty());

    let mixed = FlatMap::operator(|_: i64, out: &mut Collector<'_, i64>| {
        out.side(OutputTag::<i64>::new(0), 1);
        out.side(OutputTag::<String>::new(0), String::new());
    });
    let error = OperatorHarness::new(mixed).unwrap().push(at([(1, 1)])).unwrap_err();
    assert_eq!(error.kind(), flugs_types::ErrorKind::Job);
}
