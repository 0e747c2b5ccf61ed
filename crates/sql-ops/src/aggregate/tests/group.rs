//! The operators, by example.

use crate::aggregate::{
    AggregateCall, BundleSpec, Expand, ExpandSpec, GroupAggregate, GroupAggregateSpec, LocalAggregate,
};
use crate::testing::{Compare, Driver, DriverOptions, Step, changes, fold, replay, schema, text};
use arrow::datatypes::SchemaRef;
use flugs_sql_types::AggregateKind as Kind;
use flugs_types::Timestamp;
use std::time::Duration;

fn input() -> SchemaRef {
    schema("k STRING, v BIGINT")
}

fn spec(kinds: &[(Kind, &[usize])]) -> GroupAggregateSpec {
    let call = |(i, (kind, args)): (usize, &(Kind, &[usize]))| {
        AggregateCall::new(kind.clone(), args.to_vec(), &format!("c{i}"), input().fields()).unwrap()
    };
    GroupAggregateSpec::new(input(), vec![0], kinds.iter().enumerate().map(call).collect())
}

fn count_and_sum() -> GroupAggregateSpec {
    spec(&[(Kind::Count, &[]), (Kind::Sum, &[1])])
}

fn batches(tables: &[&str]) -> Vec<Step<flugs_batch::ChangeBatch>> {
    tables.iter().map(|table| Step::Batch(changes(&input(), table))).collect()
}

fn given(spec: &GroupAggregateSpec, tables: &[&str]) -> String {
    let compare = if spec.emit_update_before { Compare::Rows } else { Compare::Keys(vec![0]) };
    let given = replay(|| GroupAggregate::new(spec.clone()), &batches(tables), &compare);
    given.iter().map(text).collect::<Vec<_>>().join("\n")
}

const CHANGES: [&str; 4] = [
    "+I | a | 1\n+I | b | 2\n+I | a | 3\n+I | NULL | 7",
    "-U | a | 3\n+U | a | 3\n+I | NULL | NULL",
    "-U | b | 2\n+U | a | 5",
    "-D | a | 1\n-D | a | 3\n-D | a | 5\n+I | b | 1",
];

#[test]
fn groups_change_as_their_rows_do() {
    assert_eq!(
        given(&count_and_sum(), &CHANGES),
        "+I | a | 2 | 4\n+I | b | 1 | 2\n+I | NULL | 1 | 7\n\
         -U | NULL | 1 | 7\n+U | NULL | 2 | 7\n\
         -D | b | 1 | 2\n-U | a | 2 | 4\n+U | a | 3 | 9\n\
         -D | a | 3 | 9\n+I | b | 1 | 1"
    );
    let upserts = GroupAggregateSpec { emit_update_before: false, ..count_and_sum() };
    assert_eq!(
        given(&upserts, &CHANGES),
        "+I | a | 2 | 4\n+I | b | 1 | 2\n+I | NULL | 1 | 7\n+U | NULL | 2 | 7\n\
         -D | b | 1 | 2\n+U | a | 3 | 9\n-D | a | 3 | 9\n+I | b | 1 | 1"
    );
}

#[test]
fn without_keys_there_is_one_group_and_without_calls_keys_are_distinct() {
    let global = GroupAggregateSpec { keys: vec![], ..count_and_sum() };
    assert_eq!(
        given(&global, &["+I | a | 1\n+I | b | 2", "-D | a | 1\n-D | b | 2"]),
        "+I | 2 | 3\n-D | 2 | 3"
    );
    let distinct = GroupAggregateSpec { calls: vec![], ..count_and_sum() };
    assert_eq!(
        given(&distinct, &["+I | a | 1\n+I | a | 2", "+I | a | 3", "-D | a | 1\n-D | a | 2", "-D | a | 3"]),
        "+I | a\n-D | a"
    );
}

#[test]
fn a_row_that_was_never_there_is_passed_over() {
    assert_eq!(given(&count_and_sum(), &["-D | a | 1", "+I | b | 1"]), "+I | b | 1 | 1");
    let appends = GroupAggregateSpec { retract: false, ..count_and_sum() };
    let mut driver = Driver::new(GroupAggregate::new(appends)).unwrap();
    assert!(
        driver.push(changes(&input(), "-D | a | 1")).unwrap_err().to_string().contains("take a row back")
    );
}

#[test]
fn results_at_the_end_come_once() {
    let at_end = GroupAggregateSpec { at_end: true, ..count_and_sum() };
    let mut driver = Driver::with(GroupAggregate::new(at_end.clone()), true, None).unwrap();
    let rows: Vec<String> = (0..10_000).map(|i| format!("+I | k{i} | {i}")).collect();
    driver.push(changes(&input(), &rows.join("\n"))).unwrap();
    driver.push(changes(&input(), "+I | k7 | 1")).unwrap();
    assert_eq!(driver.take_text(), "");
    driver.end().unwrap();
    let given = driver.take();
    assert!(given.len() > 2);
    let table = fold(&given).unwrap();
    assert_eq!((table.len(), table["k7 | 2 | 8"]), (10_000, 1));
    let nothing = GroupAggregateSpec { keys: vec![], row_over_nothing: true, ..at_end };
    for at_end in [true, false] {
        let mut driver =
            Driver::new(GroupAggregate::new(GroupAggregateSpec { at_end, ..nothing.clone() })).unwrap();
        driver.end().unwrap();
        assert_eq!(driver.take_text(), "+I | 0 | NULL");
    }
}

#[test]
fn a_bundle_is_one_change() {
    let bundle = Some(BundleSpec { rows: 4, latency: Duration::from_millis(10) });
    let bundled = GroupAggregateSpec { bundle, ..count_and_sum() };
    let mut driver = Driver::new(GroupAggregate::new(bundled)).unwrap();
    driver.push(changes(&input(), "+I | a | 1")).unwrap();
    driver.push(changes(&input(), "+I | a | 1\n+I | b | 1")).unwrap();
    assert_eq!(driver.take_text(), "");
    assert_eq!(driver.next_tick(), Some(Timestamp::from_millis(10)));
    driver.push(changes(&input(), "+I | a | 1")).unwrap();
    assert_eq!(driver.take_text(), "+I | a | 3 | 3\n+I | b | 1 | 1");
    driver.push(changes(&input(), "+I | a | 1")).unwrap();
    driver.set_time(10).unwrap();
    assert_eq!(driver.take_text(), "-U | a | 3 | 3\n+U | a | 4 | 4");
    driver.push(changes(&input(), "+I | a | 1")).unwrap();
    driver.snapshot().unwrap();
    assert_eq!(driver.take_text(), "-U | a | 4 | 4\n+U | a | 5 | 5");
    driver.push(changes(&input(), "+I | a | 1")).unwrap();
    driver.watermark(5).unwrap();
    assert_eq!(driver.take_text(), "-U | a | 5 | 5\n+U | a | 6 | 6");
}

#[test]
fn groups_expire() {
    let mut calls = count_and_sum().calls;
    calls[1] = calls[1].clone().distinct();
    let expiring = |retract_on_expiry| GroupAggregateSpec {
        calls: calls.clone(),
        ttl: Some(Duration::from_millis(100)),
        retract_on_expiry,
        ..count_and_sum()
    };
    for retracts in [false, true] {
        let mut driver = Driver::new(GroupAggregate::new(expiring(retracts))).unwrap();
        driver.push(changes(&input(), "+I | a | 1\n+I | b | 1")).unwrap();
        driver.set_time(60).unwrap();
        driver.push(changes(&input(), "+I | b | 1")).unwrap();
        assert_eq!(driver.take_text(), "+I | a | 1 | 1\n+I | b | 1 | 1\n-U | b | 1 | 1\n+U | b | 2 | 1");
        let snapshots = vec![driver.snapshot().unwrap()];
        let now = driver.now();
        let mut driver = Driver::open(
            GroupAggregate::new(expiring(retracts)),
            DriverOptions { snapshots, now, ..DriverOptions::default() },
        )
        .unwrap();
        driver.set_time(130).unwrap();
        assert_eq!(driver.take_text(), if retracts { "-D | a | 1 | 1" } else { "" });
        assert_eq!((driver.counter("numExpiredState"), driver.snapshot().unwrap().entries()), (1, 2));
        // Expired, and not yet swept away.
        let mut late = Driver::open(
            GroupAggregate::new(expiring(retracts)),
            DriverOptions {
                snapshots: vec![driver.snapshot().unwrap()],
                now: Timestamp::from_millis(100),
                ..DriverOptions::default()
            },
        )
        .unwrap();
        late.set_time(130).unwrap();
        driver.set_time(1000).unwrap();
        assert_eq!(driver.snapshot().unwrap().entries(), 0);
        assert_eq!(driver.next_tick(), None);
        driver.take();
        driver.push(changes(&input(), "+I | b | 1")).unwrap();
        assert_eq!(driver.take_text(), "+I | b | 1 | 1");
    }
}

#[test]
fn large_distinct_sets_split_and_go() {
    let mut spec = spec(&[(Kind::Count, &[1]), (Kind::Count, &[1])]);
    spec.calls[0] = spec.calls[0].clone().distinct();
    for retract in [true, false] {
        let spec = GroupAggregateSpec { retract, ..spec.clone() };
        let mut driver = Driver::new(GroupAggregate::new(spec.clone())).unwrap();
        let rows = |kind: &str| -> String {
            (0..3000)
                .map(|i| format!("{kind} | {} | {}\n", if i % 3 == 0 { "a" } else { "b" }, i % 1500))
                .collect()
        };
        driver.push(changes(&input(), &rows("+I"))).unwrap();
        assert_eq!(driver.take_text(), "+I | a | 500 | 1000\n+I | b | 1000 | 2000");
        let snapshot = driver.snapshot().unwrap();
        // Chunks of 128 at most on the average, and the two groups.
        assert!(snapshot.entries() > 10, "{}", snapshot.entries());
        let mut driver = Driver::with(GroupAggregate::new(spec), false, Some(snapshot)).unwrap();
        driver.push(changes(&input(), "+I | a | 3\n+I | a | 1")).unwrap();
        assert_eq!(driver.take_text(), "-U | a | 500 | 1000\n+U | a | 501 | 1002");
        if retract {
            driver.push(changes(&input(), "-D | a | 3\n-D | a | 1")).unwrap();
            driver.push(changes(&input(), &rows("-D"))).unwrap();
            assert!(driver.take_text().ends_with("-D | a | 500 | 1000\n-D | b | 1000 | 2000"));
            assert_eq!(driver.snapshot().unwrap().entries(), 0);
        }
    }
}

#[test]
fn two_phases_give_what_one_does() {
    let spec = count_and_sum();
    let mut local = Driver::new(LocalAggregate::new(spec.clone())).unwrap();
    let partials: Vec<Step<flugs_batch::ChangeBatch>> = CHANGES
        .iter()
        .map(|table| {
            local.push(changes(&input(), table)).unwrap();
            let given = local.take();
            Step::Batch(flugs_batch::ChangeBatch::concat(&given).unwrap())
        })
        .collect();
    let given = replay(|| GroupAggregate::merging(spec.clone()), &partials, &Compare::Rows);
    assert_eq!(
        given.iter().map(text).collect::<Vec<_>>().join("\n"),
        "+I | a | 2 | 4\n+I | b | 1 | 2\n+I | NULL | 1 | 7\n\
         -U | NULL | 1 | 7\n+U | NULL | 2 | 7\n\
         -D | b | 1 | 2\n-U | a | 2 | 4\n+U | a | 3 | 9\n\
         -D | a | 3 | 9\n+I | b | 1 | 1"
    );
    let expiring = GroupAggregateSpec { ttl: Some(Duration::from_secs(1)), ..spec.clone() };
    let mut driver = Driver::new(GroupAggregate::merging(expiring)).unwrap();
    for step in &partials {
        let Step::Batch(batch) = step else { unreachable!() };
        driver.push(batch.clone()).unwrap();
    }
    assert!(driver.take_text().ends_with("-D | a | 3 | 9\n+I | b | 1 | 1"));
    let lists = self::spec(&[(Kind::Listagg { separator: ",".into() }, &[0])]);
    assert!(LocalAggregate::check(&lists).is_err());
    assert!(LocalAggregate::check(&GroupAggregateSpec { retract: false, ..lists }).is_ok());
}

#[test]
fn grouping_sets_multiply_rows() {
    let spec = ExpandSpec {
        input: schema("a STRING NOT NULL, b BIGINT"),
        nulls: vec![vec![], vec![1], vec![0, 1]],
        ids: vec![0, 1, 3],
        id_name: "id".into(),
    };
    assert!(spec.output_schema().field(0).is_nullable());
    let rows = Step::Batch(changes(&spec.input, "-U | x | 1\n+U | x | 2"));
    let given = replay(
        || Expand::new(spec.clone()),
        &[Step::Batch(changes(&spec.input, "+I | x | 1")), rows],
        &Compare::Rows,
    );
    assert_eq!(
        given.iter().map(text).collect::<Vec<_>>().join("\n"),
        "+I | x | 1 | 0\n+I | x | NULL | 1\n+I | NULL | NULL | 3\n\
         -U | x | 1 | 0\n+U | x | 2 | 0\n-U | x | NULL | 1\n+U | x | NULL | 1\n-U | NULL | NULL | 3\n+U | NULL | NULL | 3"
    );
}
