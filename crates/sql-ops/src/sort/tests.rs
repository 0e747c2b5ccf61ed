use super::{Limit, LimitSpec, SortLimit, SortLimitSpec, SortTime, StreamSort, StreamSortSpec};
use super::{TemporalSort, TemporalSortSpec};
use crate::row::SortOptions;
use crate::testing::{
    Compare, Driver, DriverOptions, Folded, Step, changes, fold, replay, rows_text, schema,
};
use flugs_batch::ChangeBatch;
use flugs_types::SubtaskId;
use proptest::prelude::*;

const INPUT: &str = "t TIMESTAMP(3), v INT, s STRING";
const DESCENDING: SortOptions = SortOptions { descending: true, nulls_first: false };

fn batch(table: &str) -> ChangeBatch {
    changes(&schema(INPUT), table)
}

fn lines(batches: &[ChangeBatch]) -> Vec<String> {
    batches.iter().flat_map(rows_text).collect()
}

fn temporal(time: SortTime) -> TemporalSortSpec {
    TemporalSortSpec { input: schema(INPUT), time, order: vec![(1, DESCENDING)], late_output: true }
}

#[test]
fn rows_wait_for_their_time() {
    let make = || TemporalSort::new(temporal(SortTime::Event { column: 0 }));
    let steps = [
        Step::Batch(batch(
            "+I | 5 | 1 | a\n+I | -3 | 1 | b\n+I | 5 | 2 | c\n+I | 5 | 1 | d\n+I | 5 | NULL | e",
        )),
        Step::Watermark(4),
        Step::Batch(batch("+I | 4 | 1 | late\n+I | 6 | 1 | f\n+I | 5 | 1 | g")),
        Step::Watermark(5),
        Step::End,
    ];
    let given = replay(make, &steps, &Compare::Rows);
    let expected =
        ["-3 | 1 | b", "5 | 2 | c", "5 | 1 | a", "5 | 1 | d", "5 | 1 | g", "5 | NULL | e", "6 | 1 | f"];
    assert_eq!(lines(&given), expected.map(|row| format!("+I | {row}")));
    let mut driver = Driver::new(make()).unwrap();
    driver.watermark(4).unwrap();
    driver.push(batch("+I | 4 | 1 | late\n+I | 6 | 1 | f")).unwrap();
    assert_eq!(
        (driver.counter("numLateRecordsDropped"), driver.take_side_text()),
        (1, "+I | 4 | 1 | late".into())
    );
    assert!(driver.push(batch("+I | NULL | 1 | a")).unwrap_err().to_string().contains("'t' is NULL"));
}

#[test]
fn rows_of_a_batch_are_sorted_by_processing_time() {
    let mut driver = Driver::new(TemporalSort::new(temporal(SortTime::Processing))).unwrap();
    driver.push(batch("+I | 5 | 1 | a\n+I | 6 | 3 | b\n+I | 7 | 1 | c")).unwrap();
    driver.push(batch("+I | 5 | 7 | d")).unwrap();
    assert_eq!(driver.take_text(), "+I | 6 | 3 | b\n+I | 5 | 1 | a\n+I | 7 | 1 | c\n+I | 5 | 7 | d");
}

#[test]
fn a_sort_has_one_subtask() {
    let options = || DriverOptions { subtask: SubtaskId::new(0, 2), ..DriverOptions::default() };
    assert!(Driver::open(TemporalSort::new(temporal(SortTime::Processing)), options()).is_err());
    assert!(Driver::open(Limit::new(limit(false, 0, Some(1))), options()).is_err());
    assert!(Driver::open(SortLimit::new(sort_limit(false, 0, Some(1))), options()).is_err());
    assert!(Driver::open(StreamSort::new(stream(0, None)), options()).is_err());
}

fn limit(retract: bool, offset: u64, fetch: Option<u64>) -> LimitSpec {
    LimitSpec { input: schema(INPUT), retract, offset, fetch, emit_update_before: true }
}

fn sort_limit(retract: bool, offset: u64, fetch: Option<u64>) -> SortLimitSpec {
    let order = vec![(1, DESCENDING)];
    SortLimitSpec { input: schema(INPUT), retract, order, offset, fetch, emit_update_before: true }
}

fn stream(offset: u64, fetch: Option<u64>) -> StreamSortSpec {
    StreamSortSpec { input: schema(INPUT), order: vec![(1, DESCENDING)], offset, fetch }
}

#[test]
fn the_first_rows_that_come_pass() {
    let steps = [
        Step::Batch(batch("+I | 1 | 1 | a\n+I | 1 | 1 | b")),
        Step::Batch(batch("+I | 1 | 1 | c\n+I | 1 | 1 | d\n+I | 1 | 1 | e")),
        Step::Batch(batch("+I | 1 | 1 | f")),
    ];
    let given = replay(|| Limit::new(limit(false, 1, Some(3))), &steps, &Compare::Rows);
    assert_eq!(lines(&given), ["+I | 1 | 1 | b", "+I | 1 | 1 | c", "+I | 1 | 1 | d"]);
    assert_eq!(
        lines(&replay(|| Limit::new(limit(false, 5, None)), &steps, &Compare::Rows)),
        ["+I | 1 | 1 | f"]
    );
    for retract in [false, true] {
        assert!(replay(|| Limit::new(limit(retract, 1, Some(0))), &steps, &Compare::Rows).is_empty());
    }
    let mut driver = Driver::new(Limit::new(limit(true, 0, Some(2)))).unwrap();
    driver.push(batch("+I | 1 | 1 | a\n+I | 1 | 1 | b\n+I | 1 | 1 | c")).unwrap();
    assert_eq!(driver.take_text(), "+I | 1 | 1 | a\n+I | 1 | 1 | b");
    driver.push(batch("-D | 1 | 1 | a")).unwrap();
    assert_eq!(driver.take_text(), "-D | 1 | 1 | a\n+I | 1 | 1 | c");
}

#[test]
fn a_bounded_input_is_sorted_at_its_end() {
    let steps = [
        Step::Batch(batch("+I | 1 | 1 | a\n+I | 2 | NULL | n\n-D | 3 | 3 | c\n+I | 1 | 1 | a")),
        Step::Batch(batch("+I | 3 | 3 | c\n+I | 3 | 2 | b\n-U | 1 | 1 | a\n+U | 1 | 4 | a\n+I | 9 | 1 | z")),
        Step::End,
    ];
    let given = replay(|| StreamSort::new(stream(0, None)), &steps, &Compare::Rows);
    assert_eq!(
        lines(&given),
        ["+I | 1 | 4 | a", "+I | 3 | 2 | b", "+I | 1 | 1 | a", "+I | 9 | 1 | z", "+I | 2 | NULL | n"]
    );
    let given = replay(|| StreamSort::new(stream(1, Some(2))), &steps, &Compare::Rows);
    assert_eq!(lines(&given), ["+I | 3 | 2 | b", "+I | 1 | 1 | a"]);
}

#[test]
fn many_equal_rows_come_out_in_several_batches() {
    let rows = "+I | 1 | 1 | a\n".repeat(10_000);
    let mut driver = Driver::with(StreamSort::new(stream(1000, None)), true, None).unwrap();
    driver.push(batch(&rows)).unwrap();
    driver.end().unwrap();
    let given = driver.take();
    assert_eq!(given.iter().map(flugs_batch::Batch::len).collect::<Vec<_>>(), [4096, 4096, 808]);
}

type Op = (i64, Option<i64>, u8, bool);

/// Changes of a table as text, and the table in order of arrival.
fn changelog(ops: &[Op], retract: bool, table: &mut Vec<(i64, Option<i64>, u8)>) -> String {
    let mut lines = Vec::new();
    let text = |row: &(i64, Option<i64>, u8)| {
        format!("{} | {} | s{}", row.0, row.1.map_or("NULL".into(), |v| v.to_string()), row.2)
    };
    for (t, v, s, delete) in ops {
        let of = table.iter().position(|row| row.0 == *t);
        match of.filter(|_| *delete && retract) {
            Some(at) => lines.push(format!("-D | {}", text(&table.remove(at)))),
            None => {
                table.push((*t, *v, *s));
                lines.push(format!("+I | {}", text(&(*t, *v, *s))));
            }
        }
    }
    lines.join("\n")
}

fn ops() -> impl Strategy<Value = Vec<Vec<Op>>> {
    let op = (-3..4i64, prop::option::weighted(0.9, 0..4i64), 0..2u8, prop::bool::weighted(0.4));
    prop::collection::vec(prop::collection::vec(op, 0..8), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_first_rows_are_those_of_a_table_sorted_anew(batches in ops(), retract: bool, offset in 0..3u64, fetch in prop::option::of(0..4u64)) {
        let (mut table, mut steps) = (Vec::new(), Vec::new());
        for ops in &batches {
            steps.push(Step::Batch(batch(&changelog(ops, retract, &mut table))));
        }
        table.sort_by_key(|row| (row.1.is_none(), row.1.map(|v| -v)));
        let fetch_rows = fetch.map_or(usize::MAX, |n| n as usize);
        let mut expected = Folded::new();
        for row in table.iter().skip(offset as usize).take(fetch_rows) {
            let line = format!("{} | {} | s{}", row.0, row.1.map_or("NULL".into(), |v| v.to_string()), row.2);
            *expected.entry(line).or_default() += 1;
        }
        let given = replay(|| SortLimit::new(sort_limit(retract, offset, fetch)), &steps, &Compare::Rows);
        prop_assert_eq!(fold(&given), Ok(expected));
        steps.push(Step::End);
        let sorted: Vec<Option<i64>> = table.iter().map(|row| row.1).skip(offset as usize).take(fetch_rows).collect();
        let given = replay(|| StreamSort::new(stream(offset, fetch)), &steps, &Compare::Rows);
        let values: Vec<Option<i64>> = lines(&given).iter().map(|line| line.split(" | ").nth(2).unwrap().parse().ok()).collect();
        prop_assert_eq!(values, sorted);
    }

    #[test]
    fn rows_come_by_time(batches in ops()) {
        let mut steps = Vec::new();
        let mut expected: Vec<(i64, bool, Option<i64>, usize)> = Vec::new();
        let mut watermark = i64::MIN;
        let mut arrivals = Vec::new();
        for (round, ops) in batches.iter().enumerate() {
            for op in ops.iter().filter(|op| op.0 > watermark) {
                expected.push((op.0, op.1.is_none(), op.1.map(|v| -v), arrivals.len()));
                arrivals.push(*op);
            }
            steps.push(Step::Batch(batch(&changelog(ops, false, &mut Vec::new()))));
            watermark = round as i64 - 3;
            steps.push(Step::Watermark(watermark));
        }
        steps.push(Step::End);
        expected.sort_unstable();
        let expected: Vec<String> = expected
            .iter()
            .map(|(.., at)| &arrivals[*at])
            .map(|op| format!("+I | {} | {} | s{}", op.0, op.1.map_or("NULL".into(), |v| v.to_string()), op.2))
            .collect();
        let given = replay(|| TemporalSort::new(temporal(SortTime::Event { column: 0 })), &steps, &Compare::Rows);
        prop_assert_eq!(lines(&given), expected);
    }
}
