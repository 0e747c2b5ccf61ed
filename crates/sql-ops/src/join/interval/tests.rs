//! Bounds, lateness and state of interval joins, and nested loops as their twin.

use super::*;
use crate::join::JoinKey;
use crate::join::testing::{compare, concatenation};
use crate::testing::{Compare, Driver, DriverOptions, Folded, Step, changes, fold, replay, schema, text};
use arrow::datatypes::Schema;
use datafusion_expr::Operator as Op;
use flugs_types::SubtaskId;
use proptest::prelude::*;

type Batches = Either<ChangeBatch, ChangeBatch>;

/// `left.t - right.s` lies between the bounds, which are milliseconds; perhaps `v < w` too.
fn spec(join_type: JoinType, lower: i64, upper: i64, conditional: bool) -> IntervalJoinSpec {
    let (left, right) =
        (schema("k BIGINT, t TIMESTAMP(3), v BIGINT"), schema("j BIGINT, s TIMESTAMP(3), w BIGINT"));
    let all = concatenation(&left, &right);
    let width = if join_type.is_left_only() { 3 } else { 6 };
    IntervalJoinSpec {
        join_type,
        keys: vec![JoinKey { left: 0, right: 0, null_safe: false }],
        condition: conditional.then(|| compare(&all, 2, Op::Lt, 5)),
        time: JoinTime::Event { left: 1, right: 1 },
        lower: lower * 1000,
        upper: upper * 1000,
        output: (0..width).collect(),
        schema: Arc::new(Schema::new(all.fields()[..width].to_vec())),
        late_output: true,
        left,
        right,
    }
}

fn left(spec: &IntervalJoinSpec, table: &str) -> Batches {
    Either::Left(changes(&spec.left, table))
}

fn right(spec: &IntervalJoinSpec, table: &str) -> Batches {
    Either::Right(changes(&spec.right, table))
}

#[test]
fn bounds_are_included() {
    let spec = spec(JoinType::Inner, -2, 3, false);
    let mut driver = Driver::new(IntervalJoin::new(spec.clone())).unwrap();
    driver.push(left(&spec, "+I | 1 | 10 | 0")).unwrap();
    let rights = "+I | 1 | 6 | 0\n+I | 1 | 7 | 0\n+I | 2 | 10 | 0\n+I | NULL | 10 | 0\n+I | 1 | 12 | 0\n+I | 1 | 13 | 0";
    driver.push(right(&spec, rights)).unwrap();
    assert_eq!(driver.take_text(), "+I | 1 | 10 | 0 | 1 | 7 | 0\n+I | 1 | 10 | 0 | 1 | 12 | 0");
    assert!(Driver::new(IntervalJoin::new(super::tests::spec(JoinType::Inner, 1, 0, false))).is_err());
}

#[test]
fn unmet_rows_come_when_nothing_can_meet_them_and_before_the_watermark_passes_them() {
    let spec = spec(JoinType::Full, -20, 10, false);
    let mut driver = Driver::new(IntervalJoin::new(spec.clone())).unwrap();
    driver.push(left(&spec, "+I | 1 | 100 | 0\n+I | NULL | 100 | 1\n+I | 2 | 101 | 2")).unwrap();
    assert_eq!(driver.take_text(), "+I | NULL | 100 | 1 | NULL | NULL | NULL");
    driver.push(right(&spec, "+I | 3 | 100 | 3\n+I | 2 | 121 | 4")).unwrap();
    assert_eq!(driver.take_text(), "+I | 2 | 101 | 2 | 2 | 121 | 4");
    // A right row at 120 could still meet the left row at 100.
    driver.watermark(119).unwrap();
    assert_eq!(driver.take_text(), "+I | NULL | NULL | NULL | 3 | 100 | 3");
    driver.watermark(122).unwrap();
    assert_eq!(driver.take_text(), "+I | 1 | 100 | 0 | NULL | NULL | NULL");
    assert!(driver.watermarks().iter().all(|watermark| *watermark < Timestamp::from_millis(101)));
    driver.end().unwrap();
    assert_eq!(driver.take_text(), "");
    assert_eq!(driver.watermarks().last(), Some(&Timestamp::MAX));
    assert_eq!(driver.snapshot().unwrap().entries(), 0);
}

#[test]
fn late_rows_meet_what_is_kept_and_are_counted_where_they_meet_nothing() {
    let spec = spec(JoinType::Inner, -5, 5, false);
    let mut driver = Driver::new(IntervalJoin::new(spec.clone())).unwrap();
    driver.push(left(&spec, "+I | 1 | 100 | 0")).unwrap();
    driver.watermark(104).unwrap();
    driver.push(right(&spec, "+I | 1 | 96 | 1\n+I | 1 | 94 | 2\n+I | NULL | 5 | 3")).unwrap();
    assert_eq!(driver.take_text(), "+I | 1 | 100 | 0 | 1 | 96 | 1");
    assert_eq!(driver.counter("numLateRecordsDropped"), 1);
    driver.push(left(&spec, "+I | 7 | 50 | 4")).unwrap();
    assert_eq!(driver.take_side_text(), "+I | 7 | 50 | 4");
    assert_eq!(driver.counter("numLateRecordsDropped"), 2);
    let null = driver.push(left(&spec, "+I | 7 | NULL | 4")).unwrap_err();
    assert_eq!(null.kind(), flugs_types::ErrorKind::Data);
}

#[test]
fn in_processing_time_rows_meet_by_the_time_at_which_they_come() {
    let spec = IntervalJoinSpec { time: JoinTime::Processing, ..spec(JoinType::Left, -1000, 1000, false) };
    let mut driver = Driver::new(IntervalJoin::new(spec.clone())).unwrap();
    driver.push(left(&spec, "+I | 1 | 0 | 1\n+I | 2 | 0 | 2")).unwrap();
    driver.set_time(1000).unwrap();
    driver.push(right(&spec, "+I | 1 | 0 | 3")).unwrap();
    assert_eq!(driver.take_text(), "+I | 1 | 0 | 1 | 1 | 0 | 3");
    driver.set_time(3000).unwrap();
    assert_eq!(driver.take_text(), "+I | 2 | 0 | 2 | NULL | NULL | NULL");
    driver.push(right(&spec, "+I | 2 | 0 | 4")).unwrap();
    driver.push(left(&spec, "+I | 3 | 0 | 5")).unwrap();
    driver.end().unwrap();
    assert_eq!(driver.take_text(), "+I | 3 | 0 | 5 | NULL | NULL | NULL");
    assert_eq!(driver.snapshot().unwrap().entries(), 0);
}

#[test]
fn a_snapshot_of_another_interval_opens() {
    let before = spec(JoinType::Left, -100_000, 100_000, false);
    let mut driver = Driver::new(IntervalJoin::new(before.clone())).unwrap();
    let rows: String = (0..50).map(|i| format!("+I | 1 | {} | 0\n", i * 1000)).collect();
    driver.push(left(&before, &rows)).unwrap();
    let snapshot = driver.snapshot().unwrap();
    let after = spec(JoinType::Left, -1000, 1000, false);
    let mut driver = Driver::with(IntervalJoin::new(after.clone()), false, Some(snapshot)).unwrap();
    driver.push(right(&after, "+I | 1 | 7500 | 9")).unwrap();
    assert_eq!(driver.take_text(), "+I | 1 | 7000 | 0 | 1 | 7500 | 9\n+I | 1 | 8000 | 0 | 1 | 7500 | 9");
}

#[test]
fn rows_go_with_their_keys_to_another_parallelism() {
    let spec = spec(JoinType::Left, -50, 50, false);
    let mut one = Driver::new(IntervalJoin::new(spec.clone())).unwrap();
    let rows: String = (0..60).map(|i| format!("+I | {i} | {} | 0\n", i % 7)).collect();
    one.push(left(&spec, &rows)).unwrap();
    let snapshot = one.snapshot().unwrap();
    let mut unmet = 0;
    for index in 0..3 {
        let (subtask, snapshots) = (SubtaskId::new(index, 3), vec![snapshot.clone()]);
        let options = DriverOptions { subtask, snapshots, ..DriverOptions::default() };
        let mut part = Driver::open(IntervalJoin::new(spec.clone()), options).unwrap();
        part.end().unwrap();
        unmet += part.take_text().lines().count();
    }
    assert_eq!(unmet, 60);
}

type Row = (Option<i64>, i64, Option<i64>);

fn twin(spec: &IntervalJoinSpec, conditional: bool, left: &[Row], right: &[Row]) -> Folded {
    let matches = |l: &Row, r: &Row| {
        let near = (spec.lower..=spec.upper).contains(&((l.1 - r.1) * 1000));
        let condition = !conditional || l.2.zip(r.2).is_some_and(|(v, w)| v < w);
        l.0.is_some() && l.0 == r.0 && near && condition
    };
    let mut folded = Folded::new();
    let mut add = |l: Option<&Row>, r: Option<&Row>| {
        let cells = |row: Option<&Row>| row.map_or([None; 3], |(k, t, v)| [*k, Some(*t), *v]);
        let all = [cells(l), cells(r)].concat();
        let shown: Vec<String> = all[..spec.output.len()]
            .iter()
            .map(|cell| cell.map_or("NULL".to_owned(), |cell| cell.to_string()))
            .collect();
        *folded.entry(shown.join(" | ")).or_default() += 1;
    };
    let t = spec.join_type;
    for l in left {
        let of: Vec<&Row> = right.iter().filter(|r| matches(l, r)).collect();
        match t {
            JoinType::LeftSemi if !of.is_empty() => add(Some(l), None),
            JoinType::LeftAnti if of.is_empty() => add(Some(l), None),
            t if t.is_left_only() => {}
            t if of.is_empty() && t.pads_left() => add(Some(l), None),
            _ => of.iter().for_each(|r| add(Some(l), Some(r))),
        }
    }
    let lonely = right.iter().filter(|r| t.pads_right() && !left.iter().any(|l| matches(l, r)));
    lonely.for_each(|r| add(None, Some(r)));
    folded
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_join_gives_what_nested_loops_give(
        join_type in prop::sample::select(vec![
            JoinType::Inner, JoinType::Left, JoinType::Right, JoinType::Full, JoinType::LeftSemi, JoinType::LeftAnti,
        ]),
        (lower, span) in (-60..60i64, 0..90i64),
        conditional: bool,
        batches in prop::collection::vec(
            (any::<bool>(), prop::collection::vec((prop::option::weighted(0.9, 0..3i64), 0..60i64, prop::option::weighted(0.9, 0..4i64)), 1..8), 0..40i64),
            1..14,
        ),
    ) {
        let spec = spec(join_type, lower, lower + span, conditional);
        let (mut lefts, mut rights, mut now) = (Vec::new(), Vec::new(), 0);
        let mut steps = Vec::new();
        for (is_left, rows, ahead) in batches {
            let rows: Vec<Row> = rows.into_iter().map(|(k, t, v)| (k, now + t, v)).collect();
            let cell = |v: &Option<i64>| v.map_or("NULL".to_owned(), |v| v.to_string());
            let table: String =
                rows.iter().map(|(k, t, v)| format!("+I | {} | {t} | {}\n", cell(k), cell(v))).collect();
            steps.push(Step::Batch(if is_left { left(&spec, &table) } else { right(&spec, &table) }));
            if is_left { &mut lefts } else { &mut rights }.extend(rows);
            now += ahead;
            steps.push(Step::Watermark(now));
        }
        steps.push(Step::End);
        let given = replay(|| IntervalJoin::new(spec.clone()), &steps, &Compare::Rows);
        let shown: Vec<String> = given.iter().map(text).collect();
        prop_assert_eq!(fold(&given), Ok(twin(&spec, conditional, &lefts, &rights)), "{:?}", shown);
        prop_assert!(given.iter().all(ChangeBatch::is_insert_only));
    }
}
