use super::*;
use crate::aggregate::AggregateCall;
use crate::bounded::{AggregatePhase, HashAggregate, HashAggregateSpec};
use crate::row::SortOptions;
use crate::testing::schema;
use flugs_batch::Batch;
use flugs_sql_types::AggregateKind;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const SCHEMA: &str = "k STRING, v BIGINT, s STRING NOT NULL, f BOOLEAN";

fn spec(keys: Vec<usize>, phase: AggregatePhase, spill: SpillSpec) -> HashAggregateSpec {
    let input = schema(SCHEMA);
    let call = |kind, args, name| AggregateCall::new(kind, args, name, input.fields()).unwrap();
    let separator = AggregateKind::Listagg { separator: ",".into() };
    let calls = vec![
        call(AggregateKind::Count, vec![], "rows"),
        call(AggregateKind::Sum, vec![1], "sum").filtered(3),
        call(AggregateKind::Max, vec![1], "max"),
        call(AggregateKind::Count, vec![1], "different").distinct(),
        call(separator, vec![2], "list").ordered_by(vec![(2, SortOptions::default())]),
    ];
    HashAggregateSpec { input, keys, calls, phase, row_over_nothing: true, spill }
}

type Row = (Option<String>, Option<i64>, String, Option<bool>);

fn line((k, v, s, f): &Row) -> String {
    format!("{} | {} | {s} | {}", text_of(k.clone()), text_of(*v), text_of(*f))
}

fn expected(rows: &[Row], by_key: bool) -> Vec<String> {
    let mut groups: BTreeMap<Option<String>, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        groups.entry(row.0.clone().filter(|_| by_key)).or_default().push(row);
    }
    if !by_key {
        groups.entry(None).or_default();
    }
    let result = |(key, rows): (Option<String>, Vec<&Row>)| {
        let summed: Vec<i64> =
            rows.iter().filter(|row| row.3 == Some(true)).filter_map(|row| row.1).collect();
        let sum = (!summed.is_empty()).then(|| summed.iter().sum::<i64>());
        let values: BTreeSet<i64> = rows.iter().filter_map(|row| row.1).collect();
        let mut list: Vec<&str> = rows.iter().map(|row| row.2.as_str()).collect();
        list.sort_unstable();
        let list = (!list.is_empty()).then(|| list.join(","));
        let key = if by_key { format!("{} | ", text_of(key)) } else { String::new() };
        format!(
            "+I | {key}{} | {} | {} | {} | {}",
            rows.len(),
            text_of(sum),
            text_of(values.last()),
            values.len(),
            text_of(list)
        )
    };
    sorted(groups.into_iter().map(result).collect())
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (
        prop::option::of("[a-f]{1,2}"),
        prop::option::of(-5i64..5),
        "[a-c]",
        prop::option::of(any::<bool>()),
    );
    prop::collection::vec(row, 0..500)
}

/// In two phases: the second over what two subtasks of the first gave.
fn in_two_phases(rows: &[Row], keys: &[usize]) -> Vec<String> {
    let lines: Vec<String> = rows.iter().map(line).collect();
    let mut partials = Vec::new();
    for half in lines.chunks(lines.len() / 2 + 1) {
        let partial = HashAggregate::new(spec(keys.to_vec(), AggregatePhase::Partial, tiny()));
        let mut driver = Driver::with(partial, true, None).unwrap();
        batches(&schema(SCHEMA), half, 40).into_iter().for_each(|batch| driver.push(batch).unwrap());
        driver.end().unwrap();
        partials.extend(driver.take());
    }
    given(|| HashAggregate::new(spec(keys.to_vec(), AggregatePhase::Final, tiny())), &partials)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn groups_are_those_of_a_map(rows in rows(), size in 1usize..120) {
        let lines: Vec<String> = rows.iter().map(line).collect();
        let batches = batches(&schema(SCHEMA), &lines, size);
        for (keys, by_key) in [(vec![0], true), (vec![], false)] {
            let large = given(
                || HashAggregate::new(spec(keys.clone(), AggregatePhase::Complete, SpillSpec::default())),
                &batches,
            );
            prop_assert_eq!(&sorted(large), &expected(&rows, by_key));
            let small = given(
                || HashAggregate::new(spec(keys.clone(), AggregatePhase::Complete, tiny())),
                &batches,
            );
            prop_assert_eq!(&sorted(small), &expected(&rows, by_key));
            prop_assert_eq!(&sorted(in_two_phases(&rows, &keys)), &expected(&rows, by_key));
        }
    }
}

#[test]
fn many_groups_and_one_huge_one() {
    let row = |n: i64| -> Row {
        let key = if n % 2 == 0 { "huge".to_owned() } else { format!("key {n}") };
        (Some(key), Some(n), "s".to_owned(), Some(true))
    };
    let rows: Vec<Row> = (0..12_000).map(row).collect();
    let lines: Vec<String> = rows.iter().map(line).collect();
    let mut few = spec(vec![0], AggregatePhase::Complete, tiny());
    few.calls.truncate(3);
    let mut driver = Driver::new(HashAggregate::new(few)).unwrap();
    batches(&schema(SCHEMA), &lines, 1000).into_iter().for_each(|batch| driver.push(batch).unwrap());
    driver.end().unwrap();
    let given: Vec<String> = driver.take().iter().flat_map(rows_text).collect();
    assert_eq!(given.len(), 6001);
    assert!(given.contains(&"+I | huge | 6000 | 35994000 | 11998".to_owned()));
    assert!(given.contains(&"+I | key 77 | 1 | 77 | 77".to_owned()));
}

#[test]
fn nothing_gives_one_row_where_asked_and_distinct_rows_have_no_calls() {
    let mut without = spec(vec![], AggregatePhase::Complete, tiny());
    assert_eq!(given(|| HashAggregate::new(without.clone()), &[]), ["+I | 0 | NULL | NULL | 0 | NULL"]);
    without.row_over_nothing = false;
    assert!(given(|| HashAggregate::new(without.clone()), &[]).is_empty());
    assert!(given(|| HashAggregate::new(spec(vec![0], AggregatePhase::Complete, tiny())), &[]).is_empty());
    let mut distinct = spec(vec![3, 0], AggregatePhase::Complete, tiny());
    distinct.calls.clear();
    let rows: Vec<String> = (0..900)
        .map(|n| format!("k{} | 1 | s | {}", n % 150, text_of((n % 3 > 0).then_some(true))))
        .collect();
    let given = given(|| HashAggregate::new(distinct.clone()), &batches(&schema(SCHEMA), &rows, 77));
    assert_eq!(given.iter().collect::<BTreeSet<_>>().len(), 150);
    assert_eq!(given.len(), 150);
}

/// Where keys do not repeat the first phase lets rows pass; where they do it sums them up.
#[test]
fn a_first_phase_steps_aside() {
    let count = |phase| {
        let mut spec = spec(vec![0], phase, SpillSpec::default());
        spec.calls.truncate(1);
        spec
    };
    let first = |keys: i64, adapts: bool| {
        let spec = count(AggregatePhase::Partial);
        let operator = if adapts { HashAggregate::adapting(spec) } else { HashAggregate::new(spec) };
        let mut driver = Driver::new(operator).unwrap();
        let lines: Vec<String> = (0..40_000).map(|n| format!("k{} | 1 | s | true", n % keys)).collect();
        batches(&schema(SCHEMA), &lines, 1000).into_iter().for_each(|batch| driver.push(batch).unwrap());
        driver.end().unwrap();
        driver.take()
    };
    let rows = |given: &[ChangeBatch]| given.iter().map(Batch::len).sum::<usize>();
    for (keys, adapts, sent) in [(10, true, 10), (20_000, false, 20_000), (20_000, true, 40_000)] {
        let between = first(keys, adapts);
        assert_eq!(rows(&between), sent, "{keys} {adapts}");
        let given = given(|| HashAggregate::new(count(AggregatePhase::Final)), &between);
        let each = 40_000 / keys;
        assert_eq!(given.len() as i64, keys);
        assert!(given.iter().all(|row| row.ends_with(&format!(" | {each}"))), "{given:?}");
    }
}
