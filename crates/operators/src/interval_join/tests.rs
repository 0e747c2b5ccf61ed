//! Bounds, lateness and state of interval joins, and nested loops as their twin.

use super::*;
use flugs_testkit::{Case, HarnessBuilder, OperatorHarness, Route};
use proptest::prelude::*;

type Row = (u64, u32);
type Batches = Either<Records<Row>, Records<Row>>;

fn rows(rows: &[(i64, u64, u32)]) -> Records<Row> {
    rows.iter().map(|(time, key, x)| ((*key, *x), Timestamp(*time))).collect()
}

fn join(interval: Interval) -> impl Operator<In = Batches, Out = Records<(u32, u32)>> {
    let key = |row: &Row| row.0;
    IntervalJoin::new(key, key, interval, JoinRows(|left: &Row, right: &Row| (left.1, right.1)))
}

fn route(batch: &Batches) -> Route {
    let (Either::Left(rows) | Either::Right(rows)) = batch;
    Route::Key(hash_key(&rows.values[0].0))
}

#[test]
fn bounds_are_included_or_not() {
    let run = |interval| {
        let out = Case::new(move || join(interval))
            .route(route)
            .batch(Either::Left(rows(&[(10, 1, 0)])))
            .batch(Either::Right(rows(&[(7, 1, 7), (8, 1, 8), (10, 2, 99), (13, 1, 13), (14, 1, 14)])))
            .end()
            .run();
        out[0].clone()
    };
    let interval = Interval::micros(-2, 3);
    assert_eq!(run(interval), ["10 (0, 8)", "13 (0, 13)"]);
    assert_eq!(run(interval.lower_exclusive()), ["13 (0, 13)"]);
    assert_eq!(run(interval.upper_exclusive()), ["10 (0, 8)"]);
    assert_eq!(run(Interval::micros(4, 4)), ["14 (0, 14)"]);
}

#[test]
fn late_rows_go_to_side_outputs() {
    let out = Case::new(|| join(Interval::seconds(-1, 1)))
        .route(route)
        .side::<Row>(0)
        .side::<Row>(1)
        .batch(Either::Left(rows(&[(10, 1, 0)])))
        .watermark(Timestamp(20))
        .batch(Either::Right(rows(&[(19, 1, 1), (20, 1, 2)])))
        .batch(Either::Left(rows(&[(5, 1, 3), (21, 1, 4)])))
        .end()
        .run();
    assert_eq!(out[1], ["20 (0, 2)", "21 (4, 2)", "0: 5 (1, 3)", "1: 19 (1, 1)"]);
}

#[test]
fn a_row_without_a_time_is_refused() {
    let mut harness = OperatorHarness::new(join(Interval::micros(0, 0))).unwrap();
    let error = harness.push_left([((1, 1), Timestamp::MIN)]).unwrap_err();
    assert_eq!(error.kind(), flugs_types::ErrorKind::Job);
    assert!(OperatorHarness::new(join(Interval::micros(1, 0))).is_err());
}

#[test]
fn what_nobody_can_meet_is_not_kept() {
    let mut harness = OperatorHarness::new(join(Interval::millis(-5, 10))).unwrap();
    let many = |step: i64| (0..1000).map(move |i| ((i as u64 % 10, 0), Timestamp(i * step)));
    harness.push_left(many(100)).unwrap();
    harness.push_right(many(100)).unwrap();
    harness.output();
    let full = harness.stored_entries().unwrap();
    harness.watermark(Timestamp::from_millis(90)).unwrap();
    assert!(harness.stored_entries().unwrap() < full / 2);
    harness.watermark(Timestamp::from_millis(1000)).unwrap();
    assert_eq!(harness.stored_entries().unwrap(), 0);
    // A left row before all right rows to come, and the other way round.
    let mut ahead = OperatorHarness::new(join(Interval::millis(-10, -5))).unwrap();
    ahead.watermark(Timestamp::from_millis(100)).unwrap();
    ahead.push_left([((1, 1), Timestamp::from_millis(104))]).unwrap();
    assert_eq!(ahead.stored_entries().unwrap(), 0);
    ahead.push_left([((1, 1), Timestamp::from_millis(105))]).unwrap();
    assert_eq!(ahead.stored_entries().unwrap(), 1);
    ahead.watermark(Timestamp::MAX).unwrap();
    assert_eq!(ahead.stored_entries().unwrap(), 0);
}

#[test]
fn state_survives_another_interval() {
    let mut old = OperatorHarness::new(join(Interval::millis(-1, 1))).unwrap();
    old.push_left((0..50).map(|i| ((1, i), Timestamp::from_millis(i64::from(i))))).unwrap();
    let snapshot = old.snapshot().unwrap();
    let mut new = HarnessBuilder::new().restore([snapshot]).open(join(Interval::millis(-7, 7))).unwrap();
    new.push_right([((1, 100), Timestamp::from_millis(20))]).unwrap();
    let met: Vec<u32> = new.output().values.iter().map(|(left, _)| *left).collect();
    assert_eq!(met, (13..=27).collect::<Vec<u32>>());
}

#[derive(Debug, Clone)]
enum Act {
    Left(i64, u64),
    Right(i64, u64),
    Watermark(i64),
}

fn act() -> impl Strategy<Value = Act> {
    let time = -3000..9000i64;
    prop_oneof![
        3 => (time.clone(), 0..3u64).prop_map(|(time, key)| Act::Left(time, key)),
        3 => (time.clone(), 0..3u64).prop_map(|(time, key)| Act::Right(time, key)),
        1 => time.prop_map(Act::Watermark),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn joins_as_nested_loops_do(
        acts in prop::collection::vec(act(), 0..50),
        lower in -3000..3000i64,
        span in prop_oneof![Just(0i64), 0..4000i64],
    ) {
        let interval = Interval::micros(lower, lower + span);
        let mut case = Case::new(move || join(interval)).route(route).side::<Row>(0).side::<Row>(1);
        let mut watermark = i64::MIN;
        let (mut lefts, mut rights) = (Vec::<(i64, u64, u32)>::new(), Vec::<(i64, u64, u32)>::new());
        let (mut expected, mut late) = (vec![Vec::new()], [Vec::new(), Vec::new()]);
        let close = |expected: &mut Vec<Vec<String>>, late: &mut [Vec<String>; 2]| {
            let [first, second] = late;
            let segment = expected.last_mut().unwrap();
            segment.append(first);
            segment.append(second);
            expected.push(Vec::new());
        };
        for (id, act) in acts.into_iter().enumerate() {
            let id = id as u32;
            let segment = expected.last_mut().unwrap();
            match act {
                Act::Left(time, key) => {
                    case = case.batch(Either::Left(rows(&[(time, key, id)])));
                    if time < watermark {
                        late[0].push(format!("0: {time} ({key}, {id})"));
                        continue;
                    }
                    lefts.push((time, key, id));
                    let mut met: Vec<_> = rights.iter()
                        .filter(|r| r.1 == key && r.0 >= time + lower && r.0 <= time + lower + span).collect();
                    met.sort_by_key(|r| r.0);
                    segment.extend(met.iter().map(|r| format!("{} ({id}, {})", time.max(r.0), r.2)));
                }
                Act::Right(time, key) => {
                    case = case.batch(Either::Right(rows(&[(time, key, id)])));
                    if time < watermark {
                        late[1].push(format!("1: {time} ({key}, {id})"));
                        continue;
                    }
                    rights.push((time, key, id));
                    let mut met: Vec<_> = lefts.iter()
                        .filter(|l| l.1 == key && time >= l.0 + lower && time <= l.0 + lower + span).collect();
                    met.sort_by_key(|l| l.0);
                    segment.extend(met.iter().map(|l| format!("{} ({}, {id})", time.max(l.0), l.2)));
                }
                Act::Watermark(to) => {
                    watermark = watermark.max(to);
                    case = case.watermark(Timestamp(watermark));
                    close(&mut expected, &mut late);
                }
            }
        }
        close(&mut expected, &mut late);
        expected.pop();
        prop_assert_eq!(case.run(), expected);
    }
}
