//! Versions by event time and by arrival, and their twins.

use super::*;
use crate::join::spec::{JoinKey, JoinTime, JoinType, TemporalJoinSpec};
use crate::join::testing::{compare, concatenation, nullable};
use crate::testing::{Compare, Driver, DriverOptions, Step, changes, replay, schema, text};
use datafusion_expr::Operator as Op;
use flugs_batch::{ChangeBatch, Either};
use flugs_types::SubtaskId;
use proptest::prelude::*;
use std::time::Duration;

type Batches = Either<ChangeBatch, ChangeBatch>;

const ORDERS: &str = "id BIGINT, currency STRING, t TIMESTAMP(3)";
const RATES: &str = "currency STRING, rate BIGINT, s TIMESTAMP(3)";

fn event(join_type: JoinType) -> TemporalJoinSpec {
    let (left, right) = (schema(ORDERS), schema(RATES));
    let output = vec![0, 2, 4];
    TemporalJoinSpec {
        join_type,
        keys: vec![JoinKey { left: 1, right: 0, null_safe: false }],
        condition: None,
        time: JoinTime::Event { left: 2, right: 2 },
        schema: nullable(&concatenation(&left, &right), &output),
        output,
        ttl: None,
        late_output: true,
        left,
        right,
    }
}

fn processing(join_type: JoinType, ttl: Option<Duration>) -> TemporalJoinSpec {
    TemporalJoinSpec { time: JoinTime::Processing, ttl, ..event(join_type) }
}

fn orders(table: &str) -> Batches {
    Either::Left(changes(&schema(ORDERS), table))
}

fn rates(table: &str) -> Batches {
    Either::Right(changes(&schema(RATES), table))
}

#[test]
fn rows_meet_the_version_of_their_time_in_its_order() {
    let mut driver = Driver::new(TemporalJoin::new(event(JoinType::Left))).unwrap();
    driver
        .push(orders("+I | 1 | eur | 55\n+I | 2 | eur | 10\n+I | 3 | yen | 20\n+I | 4 | NULL | 30"))
        .unwrap();
    driver
        .push(rates("+I | eur | 100 | 0\n-U | eur | 100 | 0\n+U | eur | 110 | 50\n+I | yen | 1 | 21"))
        .unwrap();
    driver.push(rates("-D | yen | 1 | 40\n+I | NULL | 7 | 0")).unwrap();
    driver
        .push(orders("+I | 5 | yen | 39\n+I | 6 | yen | 40\n+I | 7 | usd | 41\n+I | 8 | eur | 50"))
        .unwrap();
    assert_eq!(driver.take_text(), "");
    driver.watermark(40).unwrap();
    assert_eq!(
        driver.take_text(),
        "+I | 2 | 10 | 100\n+I | 3 | 20 | NULL\n+I | 4 | 30 | NULL\n+I | 5 | 39 | 1\n+I | 6 | 40 | NULL"
    );
    // Of yen nothing is left; eur has two versions, three orders wait under two keys.
    assert_eq!(driver.snapshot().unwrap().entries(), 1 + 2);
    driver.end().unwrap();
    assert_eq!(driver.take_text(), "+I | 7 | 41 | NULL\n+I | 8 | 50 | 110\n+I | 1 | 55 | 110");
    assert_eq!(driver.snapshot().unwrap().entries(), 0);
    assert_eq!(driver.counter("numLateVersions") + driver.counter("numLateRecordsDropped"), 0);
}

#[test]
fn late_rows_meet_the_version_of_their_time_while_it_is_known() {
    let mut driver = Driver::new(TemporalJoin::new(event(JoinType::Inner))).unwrap();
    driver.push(rates("+I | eur | 100 | 0")).unwrap();
    driver.push(orders("+I | 1 | eur | 100\n+I | 2 | yen | 100")).unwrap();
    driver.watermark(90).unwrap();
    driver.push(rates("+U | eur | 120 | 80")).unwrap();
    driver.push(orders("+I | 3 | eur | 90\n+I | 4 | eur | 91\n+I | 5 | yen | 90")).unwrap();
    assert_eq!(driver.take_text(), "");
    assert_eq!(driver.counter("numLateVersions"), 1);
    assert_eq!(
        (driver.counter("numLateRecordsDropped"), driver.take_side_text()),
        (1, "+I | 5 | yen | 90".into())
    );
    driver.watermark(95).unwrap();
    assert_eq!(driver.take_text(), "+I | 3 | 90 | 120\n+I | 4 | 91 | 120");
    // The version of 0 is needed by no row behind the watermark.
    driver.push(orders("+I | 6 | eur | 70\n+I | 7 | eur | 85")).unwrap();
    assert_eq!(
        (driver.counter("numLateRecordsDropped"), driver.take_side_text()),
        (2, "+I | 6 | eur | 70".into())
    );
    driver.watermark(100).unwrap();
    assert_eq!(driver.take_text(), "+I | 7 | 85 | 120\n+I | 1 | 100 | 120");
}

#[test]
fn late_rows_of_an_outer_join_are_never_dropped() {
    let mut driver = Driver::new(TemporalJoin::new(event(JoinType::Left))).unwrap();
    driver.push(rates("+I | eur | 100 | 50")).unwrap();
    driver.watermark(90).unwrap();
    driver.push(orders("+I | 1 | eur | 40\n+I | 2 | eur | 60\n+I | 3 | NULL | 1")).unwrap();
    driver.end().unwrap();
    assert_eq!(driver.take_text(), "+I | 3 | 1 | NULL\n+I | 1 | 40 | NULL\n+I | 2 | 60 | 100");
    assert_eq!((driver.counter("numLateRecordsDropped"), driver.take_side_text()), (0, String::new()));
}

#[test]
fn a_key_may_be_deleted_and_come_again_and_its_changes_come_in_any_order() {
    let steps = [
        Step::Batch(rates("+I | eur | 3 | 30\n-D | eur | 1 | 20\n+I | eur | 1 | 10")),
        Step::Batch(orders("+I | 1 | eur | 9\n+I | 2 | eur | 10\n+I | 3 | eur | 19")),
        Step::Batch(orders("+I | 4 | eur | 20\n+I | 5 | eur | 29\n+I | 6 | eur | 30\n+I | 7 | eur | 40")),
        // At one time the last that comes holds, whatever it is.
        Step::Batch(rates("+U | eur | 4 | 40\n-D | eur | 4 | 40\n+I | eur | 5 | 40")),
        // What a -U takes back was valid from its time on all the same.
        Step::Batch(rates("-U | eur | 3 | 30\n+U | eur | 6 | 50")),
        Step::End,
    ];
    let given = replay(|| TemporalJoin::new(event(JoinType::Left)), &steps, &Compare::Rows);
    assert_eq!(
        given.iter().map(text).collect::<Vec<_>>().join("\n"),
        "+I | 1 | 9 | NULL\n+I | 2 | 10 | 1\n+I | 3 | 19 | 1\n+I | 4 | 20 | NULL\n+I | 5 | 29 | NULL\n\
         +I | 6 | 30 | 3\n+I | 7 | 40 | 5"
    );
}

#[test]
fn versions_by_event_time_expire_when_nothing_came_for_their_key() {
    let spec = TemporalJoinSpec { ttl: Some(Duration::from_millis(100)), ..event(JoinType::Left) };
    let mut driver = Driver::new(TemporalJoin::new(spec)).unwrap();
    driver.push(rates("+I | eur | 100 | 0\n+I | yen | 1 | 0")).unwrap();
    driver.set_time(90).unwrap();
    driver.push(orders("+I | 1 | eur | 1")).unwrap();
    driver.set_time(150).unwrap();
    driver.push(orders("+I | 2 | yen | 1")).unwrap();
    driver.watermark(1).unwrap();
    assert_eq!(driver.take_text(), "+I | 1 | 1 | 100\n+I | 2 | 1 | NULL");
    driver.set_time(1000).unwrap();
    assert_eq!((driver.counter("numExpiredState"), driver.state_bytes()), (2, 0));
}

#[test]
fn a_version_that_fails_the_condition_is_none() {
    let mut spec = event(JoinType::Left);
    spec.condition = Some(compare(&concatenation(&spec.left, &spec.right), 0, Op::Lt, 4));
    let steps = [
        Step::Batch(orders("+I | 1 | eur | 5\n+I | 9 | eur | 6")),
        Step::Batch(rates("+I | eur | 5 | 0\n+I | eur | 6 | 1")),
        Step::End,
    ];
    let given = replay(|| TemporalJoin::new(spec.clone()), &steps, &Compare::Rows);
    assert_eq!(given.iter().map(text).collect::<Vec<_>>(), ["+I | 1 | 5 | 6\n+I | 9 | 6 | NULL"]);
}

#[test]
fn in_processing_time_rows_meet_the_newest_version() {
    let steps = [
        Step::Batch(orders("+I | 1 | eur | 0")),
        Step::Batch(rates("+I | eur | 100 | 0\n+I | yen | 1 | 0\n+I | NULL | 2 | 0")),
        Step::Batch(orders(
            "+I | 2 | eur | 0\n+I | 3 | yen | 0\n+I | 4 | NULL | 0\n-U | 2 | eur | 0\n+U | 2 | usd | 0",
        )),
        Step::Batch(rates("-U | eur | 100 | 0\n+U | eur | 110 | 0\n-D | yen | 1 | 0")),
        Step::Batch(orders("+I | 5 | eur | 0\n+I | 6 | yen | 0")),
        Step::End,
    ];
    let run = |join_type| {
        let given = replay(|| TemporalJoin::new(processing(join_type, None)), &steps, &Compare::Rows);
        given.iter().map(text).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(run(JoinType::Inner), "+I | 2 | 0 | 100\n+I | 3 | 0 | 1\n-D | 2 | 0 | 100\n+I | 5 | 0 | 110");
    assert_eq!(
        run(JoinType::Left),
        "+I | 1 | 0 | NULL\n+I | 2 | 0 | 100\n+I | 3 | 0 | 1\n+I | 4 | 0 | NULL\n\
         -U | 2 | 0 | 100\n+U | 2 | 0 | NULL\n+I | 5 | 0 | 110\n+I | 6 | 0 | NULL"
    );
}

#[test]
fn rows_and_versions_go_with_their_keys_to_another_parallelism() {
    let mut one = Driver::new(TemporalJoin::new(event(JoinType::Left))).unwrap();
    let waiting: String = (0..60).map(|i| format!("+I | {i} | c{i} | {}\n", 10 + i % 7)).collect();
    one.push(orders(&(waiting + "+I | 60 | NULL | 12"))).unwrap();
    let versions: String = (0..60).map(|i| format!("+I | c{i} | {i} | 5\n")).collect();
    one.push(rates(&versions)).unwrap();
    let snapshot = one.snapshot().unwrap();
    let mut joined = Vec::new();
    for index in 0..3 {
        let (subtask, snapshots) = (SubtaskId::new(index, 3), vec![snapshot.clone()]);
        let options = DriverOptions { subtask, snapshots, ..DriverOptions::default() };
        let mut part = Driver::open(TemporalJoin::new(event(JoinType::Left)), options).unwrap();
        part.end().unwrap();
        joined.extend(part.take_text().lines().map(str::to_owned));
    }
    assert_eq!(joined.len(), 61);
    assert_eq!(
        joined.iter().filter(|row| row.ends_with("NULL")).collect::<Vec<_>>(),
        ["+I | 60 | 12 | NULL"]
    );
}

#[test]
fn versions_expire() {
    let spec = processing(JoinType::Left, Some(Duration::from_millis(100)));
    let mut driver = Driver::new(TemporalJoin::new(spec)).unwrap();
    driver.push(rates("+I | eur | 100 | 0\n+I | yen | 1 | 0")).unwrap();
    driver.set_time(50).unwrap();
    driver.push(rates("+U | yen | 2 | 0")).unwrap();
    driver.set_time(100).unwrap();
    driver.push(orders("+I | 1 | eur | 0\n+I | 2 | yen | 0")).unwrap();
    assert_eq!(driver.take_text(), "+I | 1 | 0 | NULL\n+I | 2 | 0 | 2");
    driver.set_time(1000).unwrap();
    assert_eq!(driver.counter("numExpiredState"), 2);
    assert_eq!(driver.state_bytes(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Each row beside the last version that is not later than it, whatever the order in which both came.
    #[test]
    fn the_twin_looks_through_all_versions(
        outer: bool,
        batches in prop::collection::vec(
            (any::<bool>(), prop::collection::vec((0..3u8, 0..80i64, any::<bool>()), 1..6), 0..40i64),
            1..16,
        ),
    ) {
        let join_type = if outer { JoinType::Left } else { JoinType::Inner };
        let (mut steps, mut now, mut lefts, mut versions) = (Vec::new(), 0, Vec::new(), Vec::new());
        for (is_left, rows, ahead) in batches {
            let mut table = String::new();
            for (key, ahead, deleted) in rows {
                let (time, number) = (now + 1 + ahead, lefts.len() + versions.len());
                if is_left {
                    lefts.push((time, key, number));
                    table += &format!("+I | {number} | c{key} | {time}\n");
                } else {
                    versions.retain(|(at, of, _)| (*at, *of) != (time, key));
                    versions.push((time, key, (!deleted).then_some(number)));
                    table += &format!("{} | c{key} | {number} | {time}\n", if deleted { "-D" } else { "+I" });
                }
            }
            steps.push(Step::Batch(if is_left { orders(&table) } else { rates(&table) }));
            now += ahead;
            steps.push(Step::Watermark(now));
        }
        steps.push(Step::End);
        let given = replay(|| TemporalJoin::new(event(join_type)), &steps, &Compare::Rows);
        let mut shown: Vec<String> =
            given.iter().flat_map(crate::testing::rows_text).collect();
        let times: Vec<i64> = shown.iter().map(|row| row.split(" | ").nth(2).unwrap().parse().unwrap()).collect();
        prop_assert!(times.is_sorted());
        let mut expected: Vec<String> = lefts
            .iter()
            .filter_map(|(time, key, number)| {
                let of = versions.iter().filter(|(at, of, _)| of == key && at <= time);
                let rate = of.max_by_key(|(at, ..)| *at).and_then(|(_, _, rate)| *rate);
                let rate = rate.map_or(outer.then(|| "NULL".to_owned()), |rate| Some(rate.to_string()))?;
                Some(format!("+I | {number} | {time} | {rate}"))
            })
            .collect();
        shown.sort();
        expected.sort();
        prop_assert_eq!(shown, expected);
    }
}
