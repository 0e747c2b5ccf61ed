use super::{Frame, FrameBound, FrameUnit, OverAggregate, OverCall, OverMode, OverSpec};
use crate::row::SortOptions;
use crate::testing::{
    Compare, Driver, DriverOptions, Folded, Step, changes, fold, replay, rows_text, schema,
};
use flugs_batch::ChangeBatch;
use flugs_sql_types::{AggregateKind, WindowKind};
use flugs_types::SubtaskId;
use proptest::prelude::*;
use std::time::Duration;

const INPUT: &str = "k INT, t TIMESTAMP(3), v BIGINT, n BIGINT";
const EVENT: OverMode = OverMode::EventTime { column: 1 };
const SUM: WindowKind = WindowKind::Aggregate(AggregateKind::Sum);

fn batch(table: &str) -> ChangeBatch {
    changes(&schema(INPUT), table)
}

fn rows(start: FrameBound) -> Frame {
    Frame { unit: FrameUnit::Rows, start, end: FrameBound::CurrentRow }
}

fn range(start: FrameBound) -> Frame {
    Frame { unit: FrameUnit::Range, ..rows(start) }
}

fn call(function: WindowKind, arguments: &[usize], frame: Frame) -> OverCall {
    OverCall { function, arguments: arguments.to_vec(), distinct: false, filter: None, frame }
}

/// Ordered by `v`, where that is not by time.
fn spec(mode: OverMode, calls: &[OverCall]) -> OverSpec {
    let by_time = matches!(mode, EVENT | OverMode::ProcessingTime);
    let result = |(i, call): (usize, &OverCall)| match call.function {
        WindowKind::CumeDist | WindowKind::PercentRank => format!(", r{i} DOUBLE NOT NULL"),
        WindowKind::RowNumber | WindowKind::Rank | WindowKind::DenseRank | WindowKind::Ntile { .. } => {
            format!(", r{i} BIGINT NOT NULL")
        }
        WindowKind::Aggregate(AggregateKind::Count) => format!(", r{i} BIGINT NOT NULL"),
        _ => format!(", r{i} BIGINT"),
    };
    let results: String = calls.iter().enumerate().map(result).collect();
    OverSpec {
        input: schema(INPUT),
        keys: vec![0],
        mode,
        order: if by_time { vec![] } else { vec![(2, SortOptions::default())] },
        calls: calls.to_vec(),
        output: schema(&format!("{INPUT}{results}")),
        emit_update_before: true,
        ttl: None,
        retract_on_expiry: false,
        late_output: true,
    }
}

fn lines(batches: &[ChangeBatch]) -> Vec<String> {
    batches.iter().flat_map(rows_text).collect()
}

#[test]
fn sums_over_rows_by_event_time() {
    let calls = [
        call(SUM, &[3], rows(FrameBound::Preceding(1))),
        call(SUM, &[3], range(FrameBound::UnboundedPreceding)),
        call(SUM, &[3], range(FrameBound::Preceding(2000))),
        call(WindowKind::Lag { offset: 2 }, &[3], Frame::DEFAULT),
    ];
    let steps = [
        Step::Batch(batch(
            "+I | 1 | 5 | 0 | 10\n+I | 1 | 3 | 0 | 1\n+I | NULL | 3 | 0 | 7\n+I | 1 | 5 | 0 | 20",
        )),
        Step::Watermark(4),
        Step::Batch(batch("+I | 1 | 4 | 0 | 99\n+I | 1 | -6 | 0 | 99\n+I | 1 | 8 | 0 | 100")),
        Step::End,
    ];
    let make = || OverAggregate::new(spec(EVENT, &calls));
    let given = lines(&replay(make, &steps, &Compare::Rows));
    assert_eq!(
        given,
        [
            "+I | NULL | 3 | 0 | 7 | 7 | 7 | 7 | NULL",
            "+I | 1 | 3 | 0 | 1 | 1 | 1 | 1 | NULL",
            "+I | 1 | 5 | 0 | 10 | 11 | 31 | 31 | NULL",
            "+I | 1 | 5 | 0 | 20 | 30 | 31 | 31 | 1",
            "+I | 1 | 8 | 0 | 100 | 120 | 131 | 100 | 10",
        ]
    );
    let mut driver = Driver::new(make()).unwrap();
    driver.watermark(4).unwrap();
    driver.push(batch("+I | 1 | 4 | 0 | 99\n+I | 1 | 5 | 0 | 1")).unwrap();
    assert_eq!(
        (driver.counter("numLateRecordsDropped"), driver.take_side_text()),
        (1, "+I | 1 | 4 | 0 | 99".into())
    );
}

#[test]
fn rows_come_out_at_once_by_processing_time() {
    let calls = [
        call(SUM, &[3], range(FrameBound::Preceding(10_000))),
        call(WindowKind::RowNumber, &[], Frame::DEFAULT),
    ];
    let mut driver = Driver::new(OverAggregate::new(spec(OverMode::ProcessingTime, &calls))).unwrap();
    driver.push(batch("+I | 1 | 9 | 0 | 1\n+I | 2 | 0 | 0 | 5\n+I | 1 | 0 | 0 | 2")).unwrap();
    assert_eq!(
        driver.take_text(),
        "+I | 1 | 9 | 0 | 1 | 3 | 1\n+I | 1 | 0 | 0 | 2 | 3 | 2\n+I | 2 | 0 | 0 | 5 | 5 | 1"
    );
    driver.set_time(10).unwrap();
    driver.push(batch("+I | 1 | 0 | 0 | 4")).unwrap();
    driver.set_time(11).unwrap();
    driver.push(batch("+I | 1 | 0 | 0 | 8")).unwrap();
    assert_eq!(driver.take_text(), "+I | 1 | 0 | 0 | 4 | 7 | 3\n+I | 1 | 0 | 0 | 8 | 12 | 4");
}

#[test]
fn what_frames_have_left_is_not_kept() {
    for mode in [EVENT, OverMode::ProcessingTime] {
        let calls = [call(SUM, &[3], range(FrameBound::Preceding(10_000)))];
        let mut driver = Driver::new(OverAggregate::new(spec(mode, &calls))).unwrap();
        driver.push(batch("+I | 1 | 0 | 0 | 1\n+I | 2 | 5 | 0 | 5")).unwrap();
        driver.watermark(5).unwrap();
        assert_eq!(driver.snapshot().unwrap().entries(), 3, "two partitions, and how far time had come");
        driver.set_time(12).unwrap();
        driver.watermark(12).unwrap();
        let left = if mode == EVENT { 2 } else { 1 };
        assert_eq!(driver.snapshot().unwrap().entries(), left);
        driver.watermark(100).unwrap();
        assert_eq!((driver.snapshot().unwrap().entries(), driver.next_tick()), (1, None));
    }
}

#[test]
fn partitions_expire() {
    for (mode, retract) in [(EVENT, false), (OverMode::Changing, false), (OverMode::Changing, true)] {
        let mut expiring = spec(mode, &[call(SUM, &[3], Frame::DEFAULT)]);
        (expiring.ttl, expiring.retract_on_expiry) = (Some(Duration::from_millis(100)), retract);
        let mut driver = Driver::new(OverAggregate::new(expiring)).unwrap();
        driver.push(batch("+I | 1 | 5 | 0 | 1")).unwrap();
        if mode == EVENT {
            // A row that waits does not expire.
            driver.set_time(1000).unwrap();
        }
        driver.watermark(5).unwrap();
        assert_eq!(driver.take_text(), "+I | 1 | 5 | 0 | 1 | 1");
        driver.set_time(2000).unwrap();
        assert_eq!(driver.take_text(), if retract { "-D | 1 | 5 | 0 | 1 | 1" } else { "" });
        driver.push(batch("+I | 1 | 6 | 0 | 2")).unwrap();
        driver.watermark(6).unwrap();
        assert_eq!(driver.take_text(), "+I | 1 | 6 | 0 | 2 | 2");
        assert_eq!(driver.counter("numExpiredState"), 1);
    }
}

#[test]
fn a_partition_whose_time_is_over_is_gone_before_it_is_swept_away() {
    let modes = [
        (OverMode::ProcessingTime, false, "+I | 1 | 6 | 2 | 2 | 1"),
        (OverMode::Changing, false, "+I | 1 | 6 | 2 | 2 | 1"),
        (OverMode::Changing, true, "-D | 1 | 5 | 1 | 1 | 1\n+I | 1 | 6 | 2 | 2 | 1"),
    ];
    for (mode, retract, expected) in modes {
        let mut expiring = spec(mode, &[call(WindowKind::RowNumber, &[], Frame::DEFAULT)]);
        (expiring.ttl, expiring.retract_on_expiry) = (Some(Duration::from_millis(100)), retract);
        let mut driver = Driver::new(OverAggregate::new(expiring)).unwrap();
        driver.push(batch("+I | 1 | 5 | 1 | 1")).unwrap();
        driver.set_time(90).unwrap();
        driver.take();
        // The next round is at 115.
        driver.set_time(110).unwrap();
        assert_eq!(driver.counter("numExpiredState"), 0);
        driver.push(batch("+I | 1 | 6 | 2 | 2")).unwrap();
        assert_eq!((driver.take_text().as_str(), driver.counter("numExpiredState")), (expected, 1));
    }
}

#[test]
fn results_are_updated_as_rows_come_and_go() {
    let calls = [call(SUM, &[3], Frame::DEFAULT), call(WindowKind::Lead { offset: 1 }, &[3], Frame::DEFAULT)];
    let mut over = spec(OverMode::Changing, &calls);
    let batches = [
        "+I | 1 | 0 | 5 | 1\n+I | 1 | 0 | 7 | 2",
        "+I | 1 | 0 | 6 | 4",
        "-U | 1 | 0 | 6 | 4\n+U | 1 | 0 | 6 | 4",
        "-U | 1 | 0 | 6 | 4\n+U | 1 | 0 | 6 | 8",
        "-D | 1 | 0 | 7 | 2\n-D | 1 | 0 | 6 | 8\n-D | 1 | 0 | 9 | 9",
        "-D | 1 | 0 | 5 | 1",
    ];
    let run = |over: OverSpec| {
        let mut driver = Driver::new(OverAggregate::new(over)).unwrap();
        let given: Vec<String> = batches
            .map(|table| {
                driver.push(batch(table)).unwrap();
                driver.take_text()
            })
            .to_vec();
        assert_eq!(driver.snapshot().unwrap().entries(), 0);
        given
    };
    let given = run(over.clone());
    assert_eq!(given[0], "+I | 1 | 0 | 5 | 1 | 1 | 2\n+I | 1 | 0 | 7 | 2 | 3 | NULL");
    assert_eq!(
        given[1],
        "-U | 1 | 0 | 5 | 1 | 1 | 2\n+U | 1 | 0 | 5 | 1 | 1 | 4\n+I | 1 | 0 | 6 | 4 | 5 | 2\n\
         -U | 1 | 0 | 7 | 2 | 3 | NULL\n+U | 1 | 0 | 7 | 2 | 7 | NULL"
    );
    assert_eq!(given[2], "");
    assert_eq!(
        given[3],
        "-D | 1 | 0 | 6 | 4 | 5 | 2\n-U | 1 | 0 | 5 | 1 | 1 | 4\n+U | 1 | 0 | 5 | 1 | 1 | 8\n\
         +I | 1 | 0 | 6 | 8 | 9 | 2\n-U | 1 | 0 | 7 | 2 | 7 | NULL\n+U | 1 | 0 | 7 | 2 | 11 | NULL"
    );
    assert_eq!(given[5], "-D | 1 | 0 | 5 | 1 | 1 | NULL");
    over.emit_update_before = false;
    assert!(run(over).iter().all(|text| !text.contains("-U")));
}

#[test]
fn functions_of_places() {
    let calls = [
        call(WindowKind::RowNumber, &[], Frame::DEFAULT),
        call(WindowKind::Rank, &[], Frame::DEFAULT),
        call(WindowKind::DenseRank, &[], Frame::DEFAULT),
        call(WindowKind::PercentRank, &[], Frame::DEFAULT),
        call(WindowKind::CumeDist, &[], Frame::DEFAULT),
        call(WindowKind::Ntile { buckets: 3 }, &[], Frame::DEFAULT),
        call(WindowKind::NthValue { n: 2 }, &[3], rows(FrameBound::Preceding(1))),
        call(WindowKind::Lag { offset: 2 }, &[3, 2], Frame::DEFAULT),
    ];
    let steps = [
        Step::Batch(batch("+I | 1 | 0 | 7 | 2\n+I | 1 | 0 | 5 | 1\n+I | 1 | 0 | 7 | 3\n+I | 1 | 0 | 9 | 4")),
        Step::Batch(batch(
            "+I | 1 | 0 | 9 | 5\n-D | 1 | 0 | 9 | 4\n+I | 2 | 0 | 1 | 1\n+I | 1 | 0 | NULL | 0",
        )),
        Step::End,
    ];
    let given =
        lines(&replay(|| OverAggregate::new(spec(OverMode::Bounded, &calls)), &steps, &Compare::Rows));
    assert_eq!(
        given,
        [
            "+I | 1 | 0 | NULL | 0 | 1 | 1 | 1 | 0.0 | 0.2 | 1 | NULL | NULL",
            "+I | 1 | 0 | 5 | 1 | 2 | 2 | 2 | 0.25 | 0.4 | 1 | 1 | 5",
            "+I | 1 | 0 | 7 | 2 | 3 | 3 | 3 | 0.5 | 0.8 | 2 | 2 | 0",
            "+I | 1 | 0 | 7 | 3 | 4 | 3 | 3 | 0.5 | 0.8 | 2 | 3 | 1",
            "+I | 1 | 0 | 9 | 5 | 5 | 5 | 4 | 1.0 | 1.0 | 3 | 5 | 2",
            "+I | 2 | 0 | 1 | 1 | 1 | 1 | 1 | 0.0 | 1.0 | 1 | NULL | 1",
        ]
    );
}

#[test]
fn distinct_and_filtered_calls_share_a_frame() {
    let mut over = spec(
        EVENT,
        &[
            call(WindowKind::Aggregate(AggregateKind::Count), &[3], rows(FrameBound::Preceding(2))),
            call(WindowKind::Aggregate(AggregateKind::Count), &[3], rows(FrameBound::Preceding(2))),
        ],
    );
    over.calls[0].distinct = true;
    let mut driver = Driver::new(OverAggregate::new(over)).unwrap();
    driver.push(batch("+I | 1 | 1 | 0 | 1\n+I | 1 | 2 | 0 | 1\n+I | 1 | 3 | 0 | NULL\n+I | 1 | 4 | 0 | 2\n+I | 1 | 5 | 0 | 2")).unwrap();
    driver.watermark(9).unwrap();
    let text = driver.take_text();
    let counts: Vec<&str> = text.lines().map(|line| &line[line.len() - 5..]).collect();
    assert_eq!(counts, ["1 | 1", "1 | 2", "1 | 2", "2 | 2", "1 | 2"]);
}

#[test]
fn frames_that_look_ahead_are_refused_by_time() {
    let ahead = Frame { unit: FrameUnit::Rows, start: FrameBound::CurrentRow, end: FrameBound::Following(1) };
    for wrong in [call(SUM, &[3], ahead), call(WindowKind::Lead { offset: 1 }, &[3], Frame::DEFAULT)] {
        for mode in [EVENT, OverMode::ProcessingTime] {
            assert!(Driver::new(OverAggregate::new(spec(mode, std::slice::from_ref(&wrong)))).is_err());
        }
        assert!(Driver::new(OverAggregate::new(spec(OverMode::Changing, &[wrong]))).is_ok());
    }
    let mut text = spec(OverMode::Changing, &[call(SUM, &[3], range(FrameBound::Preceding(1)))]);
    text.order.push((3, SortOptions::default()));
    assert!(Driver::new(OverAggregate::new(text)).is_err());
}

#[test]
fn many_rows_of_one_partition_come_in_several_batches() {
    let calls = [
        call(SUM, &[3], rows(FrameBound::UnboundedPreceding)),
        call(SUM, &[3], range(FrameBound::Preceding(0))),
    ];
    let table: Vec<String> = (0..10_000).map(|i| format!("+I | 1 | {} | {i} | 1", i / 3)).collect();
    let mut driver = Driver::with(OverAggregate::new(spec(EVENT, &calls)), true, None).unwrap();
    driver.push(batch(&table.join("\n"))).unwrap();
    driver.end().unwrap();
    let given = driver.take();
    assert_eq!(given.iter().map(flugs_batch::Batch::len).collect::<Vec<_>>(), [4098, 4098, 1804]);
    for (i, line) in lines(&given).iter().enumerate() {
        let peers = if i == 9999 { 1 } else { 3 };
        assert!(line.ends_with(&format!("| {i} | 1 | {} | {peers}", i + 1)), "{line}");
    }
}

#[test]
fn partitions_go_to_the_subtasks_of_their_keys() {
    let calls = [call(SUM, &[3], rows(FrameBound::UnboundedPreceding))];
    let make = || OverAggregate::new(spec(EVENT, &calls));
    let mut one = Driver::new(make()).unwrap();
    let table = |n: i64| (0..40).map(|k| format!("+I | {k} | {n} | 0 | {n}")).collect::<Vec<_>>().join("\n");
    one.push(batch(&table(1))).unwrap();
    one.watermark(1).unwrap();
    one.push(batch(&table(2))).unwrap();
    let snapshot = one.snapshot().unwrap();
    let mut given = Vec::new();
    for index in 0..3 {
        let (subtask, snapshots) = (SubtaskId::new(index, 3), vec![snapshot.clone()]);
        let mut part =
            Driver::open(make(), DriverOptions { subtask, snapshots, ..DriverOptions::default() }).unwrap();
        part.end().unwrap();
        given.extend(lines(&part.take()));
    }
    given.sort_unstable();
    let mut expected: Vec<String> = (0..40).map(|k| format!("+I | {k} | 2 | 0 | 2 | 3")).collect();
    expected.sort_unstable();
    assert_eq!(given, expected);
}

/// Key, time, value and number.
type Row = (Option<i64>, i64, Option<i64>, Option<i64>);

fn text(row: &Row) -> String {
    let null = |x: Option<i64>| x.map_or("NULL".to_owned(), |x| x.to_string());
    format!("{} | {} | {} | {}", null(row.0), row.1, null(row.2), null(row.3))
}

/// Where a row stands in the order: equal numbers are peers. And its distance, `None` of NULL.
type Place = (i64, Option<i64>);

/// Whether row `j` is in the frame of row `i`, by the words of the standard.
fn in_frame(frame: Frame, places: &[Place], i: usize, j: usize, nulls_first: bool) -> bool {
    let steps = j as i64 - i as i64;
    let peers = places[j].0 - places[i].0;
    let apart = match (places[i].1, places[j].1) {
        (Some(of), Some(other)) => Some(other - of),
        // NULLs are beyond all distances, on their side.
        (Some(_), None) => Some(if nulls_first { i64::MIN } else { i64::MAX }),
        (None, _) => None,
    };
    let (by_rows, distance) = (frame.unit == FrameUnit::Rows, |n: u64| n as i64);
    let after_start = match frame.start {
        FrameBound::UnboundedPreceding => true,
        FrameBound::Preceding(n) if by_rows => steps >= -distance(n),
        FrameBound::Following(n) if by_rows => steps >= distance(n),
        FrameBound::Preceding(n) => apart.map_or(peers >= 0, |apart| apart >= -distance(n)),
        FrameBound::Following(n) => apart.map_or(peers >= 0, |apart| apart >= distance(n)),
        _ => {
            if by_rows {
                steps >= 0
            } else {
                peers >= 0
            }
        }
    };
    let before_end = match frame.end {
        FrameBound::UnboundedFollowing => true,
        FrameBound::Preceding(n) if by_rows => steps <= -distance(n),
        FrameBound::Following(n) if by_rows => steps <= distance(n),
        FrameBound::Preceding(n) => apart.map_or(peers <= 0, |apart| apart <= -distance(n)),
        FrameBound::Following(n) => apart.map_or(peers <= 0, |apart| apart <= distance(n)),
        _ => {
            if by_rows {
                steps <= 0
            } else {
                peers <= 0
            }
        }
    };
    after_start && before_end
}

/// Each row with COUNT(*), SUM(n), MAX(n) and FIRST_VALUE(n) over the frame, RANK, and LAG(n).
fn naive(table: &[Row], frame: Frame, place: impl Fn(&Row) -> Place, nulls_first: bool) -> Folded {
    let mut folded = Folded::new();
    let mut keys: Vec<Option<i64>> = table.iter().map(|row| row.0).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let mut rows: Vec<&Row> = table.iter().filter(|row| row.0 == key).collect();
        rows.sort_by_key(|row| place(row).0);
        let places: Vec<Place> = rows.iter().map(|row| place(row)).collect();
        for (i, row) in rows.iter().enumerate() {
            let within: Vec<&Row> = (0..rows.len())
                .filter(|j| in_frame(frame, &places, i, *j, nulls_first))
                .map(|j| rows[j])
                .collect();
            let numbers: Vec<i64> = within.iter().filter_map(|row| row.3).collect();
            let null = |x: Option<i64>| x.map_or("NULL".to_owned(), |x| x.to_string());
            let line = format!(
                "{} | {} | {} | {} | {} | {} | {}",
                text(row),
                within.len(),
                null((!numbers.is_empty()).then(|| numbers.iter().sum())),
                null(numbers.iter().max().copied()),
                null(within.first().and_then(|row| row.3)),
                places.iter().filter(|other| other.0 < places[i].0).count() + 1,
                null(if i == 0 { None } else { rows[i - 1].3 }),
            );
            *folded.entry(line).or_default() += 1;
        }
    }
    folded
}

fn calls(frame: Frame) -> [OverCall; 6] {
    [
        call(WindowKind::Aggregate(AggregateKind::Count), &[], frame),
        call(SUM, &[3], frame),
        call(WindowKind::Aggregate(AggregateKind::Max), &[3], frame),
        call(WindowKind::Aggregate(AggregateKind::FirstValue { ignore_nulls: false }), &[3], frame),
        call(WindowKind::Rank, &[], frame),
        call(WindowKind::Lag { offset: 1 }, &[3], frame),
    ]
}

fn table() -> impl Strategy<Value = Vec<Vec<(Row, bool)>>> {
    let row = (
        prop::option::of(0..2i64),
        -4..6i64,
        prop::option::weighted(0.8, -3..4i64),
        prop::option::weighted(0.9, -5..9i64),
    );
    prop::collection::vec(prop::collection::vec((row, prop::bool::weighted(0.35)), 0..9), 1..5)
}

fn bound(least: FrameBound, most: FrameBound) -> impl Strategy<Value = FrameBound> {
    let (least, most) = (side(least), side(most));
    prop::sample::select((-3..=3).filter(|n| (least..=most).contains(n)).collect::<Vec<i64>>()).prop_map(
        |n| match n {
            -3 => FrameBound::UnboundedPreceding,
            ..0 => FrameBound::Preceding(n.unsigned_abs()),
            0 => FrameBound::CurrentRow,
            3 => FrameBound::UnboundedFollowing,
            n => FrameBound::Following(n as u64),
        },
    )
}

fn side(bound: FrameBound) -> i64 {
    match bound {
        FrameBound::UnboundedPreceding => -3,
        FrameBound::Preceding(n) => -(n as i64),
        FrameBound::CurrentRow => 0,
        FrameBound::Following(n) => n as i64,
        FrameBound::UnboundedFollowing => 3,
    }
}

fn unit() -> impl Strategy<Value = FrameUnit> {
    prop::sample::select(vec![FrameUnit::Rows, FrameUnit::Range])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn frames_by_time_are_those_of_the_standard(
        batches in table(), unit in unit(),
        start in bound(FrameBound::UnboundedPreceding, FrameBound::CurrentRow),
        end in bound(FrameBound::Preceding(2), FrameBound::CurrentRow),
    ) {
        // Times are milliseconds, distances microseconds.
        let scaled = |bound| match bound {
            FrameBound::Preceding(n) if unit == FrameUnit::Range => FrameBound::Preceding(n * 1000),
            bound => bound,
        };
        let frame = Frame { unit, start: scaled(start), end: scaled(end) };
        let (mut all, mut steps, mut watermark) = (Vec::new(), Vec::new(), i64::MIN);
        for (round, rows) in batches.iter().enumerate() {
            let lines: Vec<String> = rows.iter().map(|(row, _)| format!("+I | {}", text(row))).collect();
            all.extend(rows.iter().map(|(row, _)| *row).filter(|row| row.1 > watermark));
            steps.push(Step::Batch(batch(&lines.join("\n"))));
            watermark = round as i64 * 2 - 3;
            steps.push(Step::Watermark(watermark));
        }
        steps.push(Step::End);
        let given = replay(|| OverAggregate::new(spec(EVENT, &calls(frame))), &steps, &Compare::Rows);
        let expected = naive(&all, frame, |row| (row.1, Some(row.1 * 1000)), false);
        prop_assert_eq!(fold(&given), Ok(expected));
    }

    #[test]
    fn frames_of_changing_rows_are_those_of_the_standard(
        batches in table(), unit in unit(), descending: bool, nulls_first: bool,
        start in bound(FrameBound::UnboundedPreceding, FrameBound::Following(2)),
        end in bound(FrameBound::Preceding(2), FrameBound::UnboundedFollowing),
    ) {
        let frame = Frame { unit, start, end };
        let place = |row: &Row| {
            let value = row.2.map(|v| if descending { -v } else { v });
            (value.unwrap_or(if nulls_first { -100 } else { 100 }), value)
        };
        let mut over = spec(OverMode::Changing, &calls(frame));
        over.order[0].1 = SortOptions { descending, nulls_first };
        let mut driver = Driver::new(OverAggregate::new(over.clone())).unwrap();
        let (mut all, mut steps, mut given) = (Vec::<Row>::new(), Vec::new(), Vec::new());
        for rows in &batches {
            let mut lines = Vec::new();
            for (row, delete) in rows {
                match all.iter().position(|other| other.0 == row.0).filter(|_| *delete) {
                    Some(at) => lines.push(format!("-D | {}", text(&all.remove(at)))),
                    None => {
                        all.push(*row);
                        lines.push(format!("+I | {}", text(row)));
                    }
                }
            }
            let batch = batch(&lines.join("\n"));
            driver.push(batch.clone()).unwrap();
            given.extend(driver.take());
            prop_assert_eq!(fold(&given), Ok(naive(&all, frame, place, nulls_first)));
            steps.push(Step::Batch(batch));
        }
        replay(|| OverAggregate::new(over.clone()), &steps, &Compare::Rows);
        steps.push(Step::End);
        over.mode = OverMode::Bounded;
        let given = replay(|| OverAggregate::new(over.clone()), &steps, &Compare::Rows);
        prop_assert_eq!(fold(&given), Ok(naive(&all, frame, place, nulls_first)));
    }
}
