use super::*;
use crate::testing::{Compare, Driver, Folded, Step, changes, fold, fold_by_key, replay, schema, text};
use arrow::datatypes::SchemaRef;
use flugs_batch::ChangeBatch;
use flugs_table::ChangelogMode;
use flugs_task::Operator;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

fn input() -> SchemaRef {
    schema("v BIGINT, k STRING NOT NULL, t STRING")
}

fn steps(tables: &[String]) -> Vec<Step<ChangeBatch>> {
    tables.iter().map(|table| Step::Batch(changes(&input(), table))).collect()
}

fn shown<O: Operator<In = ChangeBatch, Out = ChangeBatch>>(
    make: impl Fn() -> O,
    tables: &[&str],
    compare: &Compare,
) -> String {
    let tables: Vec<String> = tables.iter().map(|t| (*t).to_owned()).collect();
    replay(make, &steps(&tables), compare).iter().map(text).collect::<Vec<_>>().join("\n")
}

fn normalize(emit_update_before: bool) -> ChangelogNormalizeSpec {
    ChangelogNormalizeSpec {
        schema: input(),
        keys: vec![1],
        emit_update_before,
        ttl: None,
        retract_on_expiry: false,
    }
}

#[test]
fn changes_by_key_become_whole_changes() {
    let tables = [
        "+I | 1 | a | x\n+U | 2 | b | NULL\n+U | 3 | a | y",
        "+U | 3 | a | y\n-D | NULL | b | NULL\n-D | NULL | c | NULL",
        "+U | 4 | a | y\n+I | 5 | d | z\n-D | NULL | d | NULL",
    ];
    assert_eq!(
        shown(|| ChangelogNormalize::new(normalize(true)), &tables, &Compare::Rows),
        "+I | 3 | a | y\n+I | 2 | b | NULL\n-D | 2 | b | NULL\n-U | 3 | a | y\n+U | 4 | a | y"
    );
    assert_eq!(
        shown(|| ChangelogNormalize::new(normalize(false)), &tables, &Compare::Keys(vec![1])),
        "+I | 3 | a | y\n+I | 2 | b | NULL\n-D | 2 | b | NULL\n+U | 4 | a | y"
    );
}

#[test]
fn normalized_rows_expire() {
    for retracts in [false, true] {
        let spec = ChangelogNormalizeSpec {
            ttl: Some(Duration::from_millis(100)),
            retract_on_expiry: retracts,
            ..normalize(true)
        };
        let mut driver = Driver::new(ChangelogNormalize::new(spec)).unwrap();
        driver.push(changes(&input(), "+I | 1 | a | x\n+I | 1 | b | x")).unwrap();
        driver.set_time(60).unwrap();
        driver.push(changes(&input(), "+I | 1 | b | x")).unwrap();
        driver.take();
        driver.set_time(125).unwrap();
        assert_eq!(driver.take_text(), if retracts { "-D | 1 | a | x" } else { "" });
        driver.set_time(500).unwrap();
        assert_eq!(driver.take_text(), if retracts { "-D | 1 | b | x" } else { "" });
        assert_eq!((driver.counter("numExpiredState"), driver.next_tick()), (2, None));
        driver.push(changes(&input(), "+I | 1 | a | x")).unwrap();
        assert_eq!(driver.take_text(), "+I | 1 | a | x");
    }
}

#[test]
fn updates_before_are_left_out() {
    let table = ["+I | 1 | a | x\n-U | 1 | a | x\n+U | 2 | a | x", "-D | 2 | a | x"];
    assert_eq!(
        shown(|| DropUpdateBefore, &table, &Compare::Keys(vec![1])),
        "+I | 1 | a | x\n+U | 2 | a | x\n-D | 2 | a | x"
    );
}

fn materialize(upsert_key: Option<Vec<usize>>) -> SinkMaterializeSpec {
    SinkMaterializeSpec { schema: input(), keys: vec![1], upsert_key, ttl: None }
}

#[test]
fn a_sink_sees_the_newest_row_of_its_key() {
    // Rows change by v; k is the sink's key.
    let tables = [
        "+I | 1 | a | x",
        "+I | 2 | a | y",
        "-D | 1 | a | x",
        "+I | 3 | a | z",
        "-U | 3 | a | z\n+U | 3 | b | z",
        "-D | 2 | a | y",
    ];
    for key in [Some(vec![0]), None] {
        assert_eq!(
            shown(|| SinkMaterialize::new(materialize(key.clone())), &tables, &Compare::Keys(vec![1])),
            "+I | 1 | a | x\n+U | 2 | a | y\n+U | 3 | a | z\n+U | 2 | a | y\n+I | 3 | b | z\n-D | 2 | a | y"
        );
    }
    let replaced = ["+I | 1 | a | x", "+U | 1 | a | y", "-D | 1 | a | q"];
    assert_eq!(
        shown(|| SinkMaterialize::new(materialize(Some(vec![0]))), &replaced, &Compare::Keys(vec![1])),
        "+I | 1 | a | x\n+U | 1 | a | y\n-D | 1 | a | y"
    );
    let mut driver = Driver::new(SinkMaterialize::new(SinkMaterializeSpec {
        ttl: Some(Duration::from_millis(10)),
        ..materialize(None)
    }))
    .unwrap();
    driver.push(changes(&input(), "+I | 1 | a | x")).unwrap();
    driver.set_time(50).unwrap();
    assert_eq!((driver.snapshot().unwrap().entries(), driver.next_tick()), (0, None));
}

#[test]
fn wrong_changelogs_are_found() {
    let check = |mode, table: &str| {
        let spec = InputCheckerSpec { place: "here".into(), schema: input(), mode, keys: vec![1] };
        Driver::new(InputChecker::new(spec))
            .unwrap()
            .push(changes(&input(), table))
            .map_err(|e| e.to_string())
    };
    use ChangelogMode::{Append, Retract, Upsert};
    assert_eq!(check(Retract, "+I | 1 | a | x\n-U | 1 | a | x\n+U | 2 | a | x\n-D | 2 | a | x"), Ok(()));
    assert_eq!(check(Upsert, "+I | 1 | a | x\n+U | 2 | a | x\n-D | NULL | a | NULL"), Ok(()));
    assert!(
        check(Append, "-D | 1 | a | x")
            .unwrap_err()
            .contains("-D in mode Append (at operator 'operator', subtask 1/1, here)")
    );
    assert!(check(Upsert, "-U | 1 | a | x\n+U | 1 | a | x").is_err());
    assert!(check(Retract, "-D | 1 | a | x").unwrap_err().contains("is not there"));
    assert!(
        check(Retract, "+I | 1 | a | x\n-U | 1 | a | x\n+I | 1 | a | x")
            .unwrap_err()
            .contains("before no +U")
    );
    let nullable = schema("v BIGINT, k STRING, t STRING");
    let spec = InputCheckerSpec { place: "here".into(), schema: input(), mode: Append, keys: vec![] };
    let mut driver = Driver::new(InputChecker::new(spec)).unwrap();
    assert!(
        driver
            .push(changes(&nullable, "+I | 1 | NULL | x"))
            .unwrap_err()
            .to_string()
            .contains("'k' holds a NULL")
    );
    assert!(driver.push(changes(&schema("v INT, k STRING, t STRING"), "+I | 1 | a | x")).is_err());
}

/// `+I`/`+U` or `-D` of a key.
fn upserts() -> impl Strategy<Value = Vec<Vec<(bool, u8, i64)>>> {
    proptest::collection::vec(proptest::collection::vec((any::<bool>(), 0..4u8, 0..3i64), 1..8), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_normalized_table_is_the_last_row_of_each_key(batches in upserts(), before: bool) {
        let mut rows: BTreeMap<u8, i64> = BTreeMap::new();
        let mut line = |(stays, key, value): &(bool, u8, i64)| {
            if *stays { rows.insert(*key, *value) } else { rows.remove(key) };
            let kind = if *stays { "+U" } else { "-D" };
            format!("{kind} | {value} | {key} | t")
        };
        let tables: Vec<String> =
            batches.iter().map(|batch| batch.iter().map(&mut line).collect::<Vec<_>>().join("\n")).collect();
        let compare = if before { Compare::Rows } else { Compare::Keys(vec![1]) };
        let given = replay(|| ChangelogNormalize::new(normalize(before)), &steps(&tables), &compare);
        let folded = if before { fold(&given) } else { fold_by_key(&given, &[1]) };
        let expected: Folded = rows.iter().map(|(key, value)| (format!("{value} | {key} | t"), 1)).collect();
        prop_assert_eq!(folded.unwrap(), expected);
    }

    #[test]
    fn a_materialized_sink_has_the_newest_of_the_rows_that_are_left(batches in upserts()) {
        // By arrival; a row is told apart by its value.
        let mut rows: Vec<(u8, i64)> = Vec::new();
        let mut tables = Vec::new();
        for batch in &batches {
            let mut lines = Vec::new();
            for (comes, key, value) in batch {
                match rows.iter().rposition(|row| row == &(*key, *value)) {
                    None if *comes => rows.push((*key, *value)),
                    Some(at) if !comes => drop(rows.remove(at)),
                    _ => continue,
                }
                lines.push(format!("{} | {value} | {key} | t", if *comes { "+I" } else { "-D" }));
            }
            tables.push(lines.join("\n"));
        }
        for upsert_key in [None, Some(vec![0])] {
            let make = || SinkMaterialize::new(materialize(upsert_key.clone()));
            let given = replay(make, &steps(&tables), &Compare::Keys(vec![1]));
            let newest: BTreeMap<u8, i64> = rows.iter().copied().collect();
            let expected: Folded = newest.iter().map(|(key, value)| (format!("{value} | {key} | t"), 1)).collect();
            prop_assert_eq!(fold_by_key(&given, &[1]).unwrap(), expected);
        }
    }
}

fn settle() -> Settle {
    let hold = Duration::from_millis(5);
    Settle::new(SettleSpec { schema: schema(TIMED), keys: vec![1], time: 0, hold })
}

const TIMED: &str = "t TIMESTAMP(3), k STRING, v INT";

fn timed(table: &str) -> ChangeBatch {
    changes(&schema(TIMED), table)
}

#[test]
fn changes_settle_when_their_time_is_over() {
    let steps = [
        Step::Batch(timed("+I | 10 | a | 1\n+I | 10 | a | 1\n+I | 7 | b | 2\n+I | 11 | b | 3")),
        // A row of 7 may be taken back until 11.
        Step::Watermark(10),
        Step::Batch(timed("-U | 7 | b | 2\n+U | 8 | b | 4\n-D | 10 | a | 1")),
        Step::Watermark(13),
        Step::Batch(timed("-D | 11 | b | 3")),
        Step::End,
    ];
    let given = replay(settle, &steps, &Compare::Rows);
    let lines: Vec<String> = given.iter().map(text).filter(|text| !text.is_empty()).collect();
    assert_eq!(lines, ["+I | 8 | b | 4", "+I | 10 | a | 1"]);
}

#[test]
fn what_comes_too_late_to_take_back_is_counted() {
    let mut driver = Driver::new(settle()).unwrap();
    driver.watermark(20).unwrap();
    driver.push(timed("+I | 15 | a | 1\n-U | 16 | a | 2\n+U | 16 | a | 3\n+I | 17 | a | 4")).unwrap();
    // An insert is for the operator behind to be found late.
    assert_eq!(driver.take_text(), "+I | 15 | a | 1");
    assert_eq!(driver.counter("numLateRecordsDropped"), 2);
    driver.watermark(21).unwrap();
    assert_eq!(driver.take_text(), "+I | 17 | a | 4");
}
