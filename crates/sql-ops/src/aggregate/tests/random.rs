//! Random changelogs against a twin that computes each table anew.

use crate::aggregate::{AggregateCall, GroupAggregate, GroupAggregateSpec, LocalAggregate};
use crate::testing::{Compare, Driver, Step, changes, fold, replay, schema};
use flugs_batch::{Batch, ChangeBatch};
use flugs_sql_types::AggregateKind as Kind;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, PartialEq)]
struct Row {
    key: u8,
    value: Option<i64>,
    text: Option<String>,
    chosen: bool,
}

impl Row {
    fn line(&self, kind: &str) -> String {
        let or_null = |v: Option<String>| v.unwrap_or_else(|| "NULL".into());
        let value = or_null(self.value.map(|v| v.to_string()));
        format!("{kind} | {} | {value} | {} | {}", self.key, or_null(self.text.clone()), self.chosen)
    }
}

fn row() -> impl Strategy<Value = Row> {
    let text = prop_oneof!["[ab]", "[a-c]{25}"];
    (0..4u8, proptest::option::of(-3..4i64), proptest::option::of(text), any::<bool>())
        .prop_map(|(key, value, text, chosen)| Row { key, value, text, chosen })
}

/// An insertion; or, by the number, a deletion or an update of a row that is there.
type Change = (u8, prop::sample::Index, Row);

/// The changelog as text, and the rows that are left in order of arrival.
fn play(batches: &[Vec<Change>], retract: bool) -> (Vec<String>, Vec<Row>) {
    let mut rows: Vec<Row> = Vec::new();
    let remove = |rows: &mut Vec<Row>, at: usize| -> Row {
        let row = rows[at].clone();
        // The oldest of equal ones goes.
        rows.remove(rows.iter().position(|r| *r == row).unwrap())
    };
    let mut tables = Vec::new();
    for batch in batches {
        let mut lines = Vec::new();
        for (what, which, row) in batch {
            match what {
                0 if retract && !rows.is_empty() => {
                    let at = which.index(rows.len());
                    lines.push(remove(&mut rows, at).line("-D"));
                }
                1 if retract && !rows.is_empty() => {
                    let at = which.index(rows.len());
                    lines.push(remove(&mut rows, at).line("-U"));
                    lines.push(row.line("+U"));
                    rows.push(row.clone());
                }
                _ => {
                    lines.push(row.line("+I"));
                    rows.push(row.clone());
                }
            }
        }
        tables.push(lines.join("\n"));
    }
    (tables, rows)
}

/// The results of the calls in [`calls`], of each group.
fn twin(rows: &[Row]) -> BTreeMap<String, i64> {
    let mut groups: BTreeMap<u8, Vec<&Row>> = BTreeMap::new();
    rows.iter().for_each(|row| groups.entry(row.key).or_default().push(row));
    let show = |value: Option<i64>| value.map_or("NULL".to_owned(), |v| v.to_string());
    let line = |(key, rows): (u8, Vec<&Row>)| {
        let values: Vec<i64> = rows.iter().filter_map(|r| r.value).collect();
        let texts: Vec<&str> = rows.iter().filter_map(|r| r.text.as_deref()).collect();
        let chosen: BTreeSet<i64> = rows.iter().filter(|r| r.chosen).filter_map(|r| r.value).collect();
        let sum: Option<i64> = (!values.is_empty()).then(|| values.iter().sum());
        let columns = [
            rows.len().to_string(),
            values.len().to_string(),
            show(sum),
            show(sum.map(|sum| sum / values.len() as i64)),
            show(values.iter().min().copied()),
            show(values.iter().max().copied()),
            texts.iter().max().map_or("NULL".into(), |t| (*t).to_owned()),
            values.iter().collect::<BTreeSet<_>>().len().to_string(),
            show((!chosen.is_empty()).then(|| chosen.iter().sum())),
            rows.iter().filter(|r| r.chosen).count().to_string(),
        ];
        (format!("{key} | {}", columns.join(" | ")), 1)
    };
    groups.into_iter().map(line).collect()
}

fn spec(retract: bool) -> GroupAggregateSpec {
    let input = schema("k TINYINT, v BIGINT, t STRING, f BOOLEAN");
    let call =
        |kind: Kind, args: &[usize]| AggregateCall::new(kind, args.to_vec(), "c", input.fields()).unwrap();
    let calls = vec![
        call(Kind::Count, &[]),
        call(Kind::Count, &[1]),
        call(Kind::Sum, &[1]),
        call(Kind::Avg, &[1]),
        call(Kind::Min, &[1]),
        call(Kind::Max, &[1]),
        call(Kind::Max, &[2]),
        call(Kind::Count, &[1]).distinct(),
        call(Kind::Sum, &[1]).distinct().filtered(3),
        call(Kind::Count, &[]).filtered(3),
    ];
    GroupAggregateSpec { retract, ..GroupAggregateSpec::new(input, vec![0], calls) }
}

fn batches() -> impl Strategy<Value = Vec<Vec<Change>>> {
    let change = (0..4u8, any::<prop::sample::Index>(), row());
    proptest::collection::vec(proptest::collection::vec(change, 1..12), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn groups_are_what_the_whole_table_gives(batches in batches(), retract: bool, upserts: bool) {
        let (tables, rows) = play(&batches, retract);
        let spec = GroupAggregateSpec { emit_update_before: !upserts, ..spec(retract) };
        let steps: Vec<Step<ChangeBatch>> =
            tables.iter().map(|table| Step::Batch(changes(&spec.input, table))).collect();
        let compare = if upserts { Compare::Keys(vec![0]) } else { Compare::Rows };
        let given = replay(|| GroupAggregate::new(spec.clone()), &steps, &compare);
        let folded = match upserts {
            true => crate::testing::fold_by_key(&given, &[0]).unwrap(),
            false => fold(&given).unwrap(),
        };
        prop_assert_eq!(folded, twin(&rows));
    }

    #[test]
    fn two_phases_too(batches in batches(), retract: bool, aside in proptest::collection::vec(proptest::bool::ANY, 4)) {
        let (tables, rows) = play(&batches, retract);
        let spec = spec(retract);
        let mut locals: Vec<_> = (0..2).map(|_| Driver::new(LocalAggregate::new(spec.clone())).unwrap()).collect();
        let mut merging = Driver::new(GroupAggregate::merging(spec.clone())).unwrap();
        let mut given = Vec::new();
        for (i, table) in tables.iter().enumerate() {
            let batch = changes(&spec.input, table);
            let between = LocalAggregate::output_schema(&spec);
            // A phase that steps aside hands on rows, perhaps in one batch with states.
            let mut given_on = vec![crate::phases::passed(&batch.slice(0, 0), &between).unwrap()];
            match aside[i % 4] {
                true => given_on.push(crate::phases::passed(&batch, &between).unwrap()),
                false => {
                    let half = batch.len() / 2;
                    given_on.push(crate::phases::passed(&batch.slice(0, half), &between).unwrap());
                    locals[i % 2].push(batch.slice(half, batch.len() - half)).unwrap();
                    given_on.extend(locals[i % 2].take());
                }
            }
            merging.push(ChangeBatch::concat(&given_on).unwrap()).unwrap();
            given.extend(merging.take());
        }
        prop_assert_eq!(fold(&given).unwrap(), twin(&rows));
    }

    #[test]
    fn lists_keep_the_order_of_arrival(batches in batches(), retract: bool) {
        let (tables, _) = play(&batches, retract);
        let input = spec(retract).input;
        let call = |kind: Kind| AggregateCall::new(kind, vec![2], "c", input.fields()).unwrap();
        let calls = vec![
            call(Kind::Listagg { separator: ",".into() }),
            call(Kind::FirstValue { ignore_nulls: true }),
            call(Kind::LastValue { ignore_nulls: true }),
        ];
        let spec = GroupAggregateSpec { retract, ..GroupAggregateSpec::new(input, vec![0], calls) };
        let steps: Vec<Step<ChangeBatch>> =
            tables.iter().map(|table| Step::Batch(changes(&spec.input, table))).collect();
        let given = replay(|| GroupAggregate::new(spec.clone()), &steps, &Compare::Rows);
        prop_assert_eq!(fold(&given).unwrap(), lists(&tables));
    }
}

/// All texts, the first and the last of each group; what is taken back is the oldest equal text.
fn lists(tables: &[String]) -> BTreeMap<String, i64> {
    let mut groups: BTreeMap<String, (i64, Vec<String>)> = BTreeMap::new();
    for line in tables.iter().flat_map(|table| table.lines()) {
        let cells: Vec<&str> = line.split(" | ").collect();
        let (rows, texts) = groups.entry(cells[1].to_owned()).or_default();
        let added = matches!(cells[0], "+I" | "+U");
        *rows += if added { 1 } else { -1 };
        match cells[3] {
            "NULL" => {}
            text if added => texts.push(text.to_owned()),
            text => drop(texts.remove(texts.iter().position(|t| t == text).unwrap())),
        }
        // A group whose last row goes is forgotten.
        if *rows == 0 {
            groups.remove(cells[1]);
        }
    }
    let null = "NULL".to_owned();
    let line = |(key, (_, texts)): (String, (i64, Vec<String>))| {
        let (first, last) = (texts.first().unwrap_or(&null), texts.last().unwrap_or(&null));
        let all = if texts.is_empty() { null.clone() } else { texts.join(",") };
        (format!("{key} | {all} | {first} | {last}"), 1)
    };
    groups.into_iter().map(line).collect()
}
