//! Tumbling, sliding and cumulative windows in event time.

use super::harness::{MODES, Mode, Row, Step, run, run_all, sorted};
use super::oracle::{Group, aligned, scripts};
use crate::window::*;
use flugs_types::Timestamp;
use proptest::prelude::*;
use std::time::Duration;

pub(super) fn us(n: i64) -> Duration {
    Duration::from_micros(n as u64)
}

/// The rows of a window, as an aggregate.
pub(super) struct Values;

impl crate::AggregateFunction for Values {
    type In = Row;
    type Acc = Vec<i64>;
    type Out = Vec<i64>;

    fn create(&self) -> Vec<i64> {
        Vec::new()
    }

    fn add(&self, acc: &mut Vec<i64>, row: &Row) {
        acc.push(row.1);
    }

    fn result(&self, acc: &Vec<i64>) -> Vec<i64> {
        assert!(!acc.is_empty(), "only windows with rows give a result");
        sorted(acc)
    }

    fn merge(&self, acc: &mut Vec<i64>, mut other: Vec<i64>) {
        acc.append(&mut other);
    }
}

pub(super) fn group(key: &u8, window: TimeWindow, values: Vec<i64>) -> Group {
    (*key, window.start.0, window.end.0, values)
}

pub(super) fn key(row: &Row) -> u8 {
    row.0
}

/// Both operators against the oracle, under all modes.
fn check<A: WindowAssigner<Row> + Copy>(
    assigner: A,
    windows: &dyn Fn(i64) -> Vec<(i64, i64)>,
    lateness: i64,
    script: &[Step<Row>],
) {
    let expected = aligned(script, lateness, windows);
    let sliced =
        || SlicedWindowOperator::new(key, assigner, us(lateness), Values, group).expect("windows on a grid");
    let general = || {
        let contents = Aggregated::new(Values, group);
        WindowOperator::new(
            key,
            assigner,
            WindowAssigner::<Row>::default_trigger(&assigner),
            us(lateness),
            contents,
        )
    };
    for mode in MODES {
        for given in [run(&sliced, script, mode), run(&general, script, mode)] {
            assert_eq!(sorted(&given.rows), expected.rows, "{mode:?}");
            assert_eq!(sorted(&given.late), expected.late, "{mode:?}");
            assert_eq!(given.dropped, expected.late.len() as i64, "{mode:?}");
            assert_eq!(given.left, 0, "{mode:?}");
            if lateness == 0 {
                assert_eq!(given.behind, 0, "results come before the watermark: {mode:?}");
            }
        }
    }
}

fn starts(step: i64, offset: i64) -> impl Iterator<Item = i64> {
    (-300..300).map(move |n| n * step + offset)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn tumbling(script in scripts(), size in 1i64..25, offset in 0i64..25, lateness in prop_oneof![Just(0i64), 1i64..40]) {
        let assigner = TumblingEventTimeWindows::of(us(size)).offset(us(offset));
        let windows = |t: i64| {
            starts(size, offset % size).map(|s| (s, s + size)).filter(|w| w.0 <= t && t < w.1).collect()
        };
        check(assigner, &windows, lateness, &script);
    }

    #[test]
    fn sliding(
        script in scripts(), size in 1i64..25, slide in 1i64..15, offset in 0i64..25,
        lateness in prop_oneof![Just(0i64), 1i64..40],
    ) {
        let assigner = SlidingEventTimeWindows::of(us(size), us(slide)).offset(us(offset));
        let windows = |t: i64| {
            starts(slide, offset % slide).map(|s| (s, s + size)).filter(|w| w.0 <= t && t < w.1).collect()
        };
        check(assigner, &windows, lateness, &script);
    }

    #[test]
    fn cumulative(
        script in scripts(), step in 1i64..8, steps in 1i64..6, offset in 0i64..25,
        lateness in prop_oneof![Just(0i64), 1i64..40],
    ) {
        let max = step * steps;
        let assigner = CumulativeEventTimeWindows::of(us(max), us(step)).offset(us(offset));
        let windows = |t: i64| {
            starts(max, offset % max)
                .flat_map(|s| (1..=steps).map(move |k| (s, s + k * step)))
                .filter(|w| w.0 <= t && t < w.1)
                .collect()
        };
        check(assigner, &windows, lateness, &script);
    }
}

#[test]
fn results_stand_in_the_order_of_windows() {
    let script =
        [Step::Rows(vec![((1, 1), 25), ((1, 2), 5), ((2, 3), -5), ((1, 4), 15)]), Step::Watermark(100)];
    let make = || WindowBuilder::new(key, TumblingEventTimeWindows::of(us(10))).aggregate(Values, group);
    let times: Vec<_> = run(&make, &script, Mode::Batches).rows.iter().map(|r| r.1).collect();
    assert_eq!(times, [-1, 9, 19, 29]);
}

#[test]
fn a_window_with_many_keys_is_given_in_bounded_batches() {
    let rows: Vec<_> = (0..40_000u32).map(|n| ((n, 1u64), Timestamp(5))).collect();
    type Wide = (u32, u64);
    let subject_make = || {
        WindowBuilder::new(|r: &Wide| r.0, SlidingEventTimeWindows::of(us(20), us(10)))
            .aggregate(crate::Sum::of(|r: &Wide| r.1), |k: &u32, _, n: u64| (*k, n))
    };
    let subject = super::harness::Subject {
        make: &subject_make,
        input: super::harness::Input {
            batches: |rows| vec![rows.into_iter().collect()],
            hash: |row: &Wide| flugs_types::hash_key(&row.0),
        },
        ports: &[],
    };
    let first = rows.iter().map(|&(row, t)| (row, t.0)).collect();
    let second = rows.iter().map(|&(row, _)| (row, 15)).collect();
    let script = [Step::Rows(first), Step::Rows(second), Step::Watermark(i64::MAX)];
    for mode in [Mode::Batches, Mode::Refusing, Mode::Rescaling] {
        let given = subject.run(&script, mode).unwrap();
        // Rows at 5 and at 15: one in [-10, 10), both in [0, 20), one in [10, 30).
        let expected: Vec<_> = [(9, 1), (19, 2), (29, 1)]
            .into_iter()
            .flat_map(|(time, n)| (0..40_000).map(move |key| (time, (key, n))))
            .collect();
        let rows: Vec<_> = given.rows.iter().map(|&(row, time)| (time, row)).collect();
        assert_eq!(sorted(&rows), expected, "{mode:?}");
        assert!(given.largest <= OUTPUT_ROWS, "{}", given.largest);
    }
}

#[test]
fn late_rows_count_in_the_windows_that_are_still_open() {
    let make =
        || WindowBuilder::new(key, SlidingEventTimeWindows::of(us(10), us(5))).aggregate(Values, group);
    let script = [
        Step::Rows(vec![((1, 1), 3)]),
        Step::Watermark(5),
        Step::Rows(vec![((1, 2), 4), ((1, 3), -1)]),
        Step::Watermark(20),
    ];
    let given = run_all(&make, &script);
    assert_eq!(
        sorted(&given.rows),
        [((1, -5, 5, vec![1]), 4), ((1, 0, 10, vec![1, 2]), 9)],
        "4 is late for [-5, 5) and not for [0, 10)"
    );
    assert_eq!(given.late, [(0, (1, 3), -1)]);
}

/// Results of global windows carry the last instant of time, and may be grouped again.
#[test]
fn rows_at_the_ends_of_time() {
    let script = [
        Step::Rows(vec![((1, 1), i64::MAX), ((1, 2), i64::MAX - 1), ((1, 3), -(1 << 62))]),
        Step::Watermark(i64::MAX),
    ];
    let tumbling = TumblingEventTimeWindows::of(us(10));
    let fast = || WindowBuilder::new(key, tumbling).aggregate(Values, group);
    let general =
        || WindowBuilder::new(key, tumbling).trigger(EventTimeTrigger::new()).aggregate(Values, group);
    let fast = run_all(&fast, &script);
    assert_eq!(sorted(&fast.rows), sorted(&run_all(&general, &script).rows));
    assert_eq!(fast.rows.iter().map(|(group, _)| group.3.len()).sum::<usize>(), 3);
    assert_eq!(fast.left, 0);
    let sliding = SlidingEventTimeWindows::of(us(10), us(3));
    let given = run_all(&|| WindowBuilder::new(key, sliding).aggregate(Values, group), &script);
    assert_eq!(given.left, 0);
}
