//! What each function gives.

use crate::aggregate::{AggState, AggregateCall, Aggregator, AggregatorOptions, States};
use crate::row::SortOptions;
use crate::testing::{changes, rows_text, schema};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};
use flugs_batch::{Batch, ChangeBatch, Data};
use flugs_sql_types::{AggregateKind as Kind, Fraction};
use flugs_types::Result;
use std::sync::Arc;

fn calls(input: &SchemaRef, kinds: &[(Kind, &[usize])]) -> Vec<AggregateCall> {
    let call = |(i, (kind, args)): (usize, &(Kind, &[usize]))| {
        AggregateCall::new(kind.clone(), args.to_vec(), &format!("c{i}"), input.fields()).unwrap()
    };
    kinds.iter().enumerate().map(call).collect()
}

fn shown(aggregator: &Aggregator, states: &States) -> Result<String> {
    let fields: Vec<_> = aggregator.results().cloned().collect();
    let columns: Vec<ArrayRef> = aggregator.values(states)?;
    let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    Ok(rows_text(&ChangeBatch::inserts(rows))[0].trim_start_matches("+I | ").to_owned())
}

/// One group's results: at once, and as two parts that are merged.
fn results(calls: &[AggregateCall], retract: bool, input: &SchemaRef, table: &str) -> Result<String> {
    let options = AggregatorOptions { retract, reserved: 0 };
    let aggregator = Aggregator::new(calls, input.fields(), options)?;
    let batch = changes(input, table);
    let mut states = aggregator.states();
    states.push_new();
    aggregator.update(&batch, &vec![0; batch.len()], &mut states)?;
    let result = shown(&aggregator, &states)?;
    if aggregator.can_merge() {
        let mut merged = aggregator.states();
        merged.push_new();
        for row in 0..batch.len() {
            let mut part = aggregator.states();
            part.push_new();
            aggregator.update(&batch.slice(row, 1), &[0], &mut part)?;
            let mut state = AggState::from_bytes(&part.take(0).to_bytes()).unwrap();
            let mut source = aggregator.states();
            source.load(&mut state);
            aggregator.merge(&mut source, &[0], &mut merged)?;
        }
        assert_eq!(shown(&aggregator, &merged)?, result, "merged (left) against at once, {calls:?}");
    }
    Ok(result)
}

fn one(kind: Kind, column: &str, values: &[&str]) -> String {
    let input = schema(&format!("v {column}"));
    let table: Vec<String> = values.iter().map(|v| format!("+I | {v}")).collect();
    let calls = calls(&input, &[(kind, &[0])]);
    let result = results(&calls, false, &input, &table.join("\n")).unwrap();
    assert_eq!(
        results(&calls, true, &input, &table.join("\n")).unwrap(),
        result,
        "with rows to be taken back"
    );
    result
}

#[test]
fn counts_and_sums() {
    let ints: &[&str] = &["1", "NULL", "-4"];
    assert_eq!(one(Kind::Count, "INT", ints), "2");
    assert_eq!(one(Kind::Sum, "INT", ints), "-3");
    assert_eq!(one(Kind::Sum, "INT", &["NULL"]), "NULL");
    assert_eq!(one(Kind::Sum0, "INT", &["NULL"]), "0");
    assert_eq!(one(Kind::Sum, "INT", &["2147483647", "1"]), "-2147483648");
    assert_eq!(one(Kind::Sum, "TINYINT", &["127", "3"]), "-126");
    assert_eq!(one(Kind::Sum, "BIGINT", &["9223372036854775807", "1"]), "-9223372036854775808");
    assert_eq!(one(Kind::Sum, "DOUBLE", &["0.5", "NULL", "0.25"]), "0.75");
    assert_eq!(one(Kind::Sum, "FLOAT", &["16777216", "1"]), "16777216.0");
    assert_eq!(one(Kind::Sum, "DECIMAL(10, 2)", &["1.25", "2.50"]), "3.75");
    let nines = "9".repeat(38);
    assert_eq!(one(Kind::Sum, "DECIMAL(38, 0)", &[&nines, "1"]), "NULL");
    assert_eq!(one(Kind::Sum, "DECIMAL(38, 0)", &[&nines, "1", "-1"]), nines);
}

#[test]
fn averages_and_variances() {
    assert_eq!(one(Kind::Avg, "INT", &["1", "2", "NULL"]), "1");
    assert_eq!(one(Kind::Avg, "INT", &["-1", "-2"]), "-1");
    assert_eq!(one(Kind::Avg, "DOUBLE", &["1", "2"]), "1.5");
    assert_eq!(one(Kind::Avg, "FLOAT", &["1", "2"]), "1.5");
    assert_eq!(one(Kind::Avg, "DECIMAL(10, 2)", &["1.00", "2.00", "2.00"]), "1.666667");
    assert_eq!(one(Kind::Avg, "DECIMAL(10, 2)", &["NULL"]), "NULL");
    assert_eq!(one(Kind::VarPop, "INT", &["2", "4", "4", "4", "5", "5", "7", "9"]), "4");
    assert_eq!(one(Kind::StddevPop, "DOUBLE", &["2", "4", "4", "4", "5", "5", "7", "9"]), "2.0");
    assert_eq!(one(Kind::VarSamp, "INT", &["1", "3"]), "2");
    assert_eq!(one(Kind::StddevSamp, "INT", &["1"]), "NULL");
    assert_eq!(one(Kind::VarPop, "INT", &["1"]), "0");
}

/// What Flink 2.3 gives.
#[test]
fn variances_have_the_type_of_an_average() {
    assert_eq!(one(Kind::StddevPop, "INT", &["10", "25", "31"]), "8");
    assert_eq!(one(Kind::VarPop, "INT", &["100000", "200000", "50000"]), "2147483647");
    assert_eq!(one(Kind::VarPop, "BIGINT", &["100000", "200000", "50000"]), "3888888888");
    assert_eq!(one(Kind::VarPop, "SMALLINT", &["10000", "2000", "5000"]), "9912");
    assert_eq!(one(Kind::VarPop, "TINYINT", &["100", "20", "50"]), "64");
    assert_eq!(one(Kind::StddevPop, "FLOAT", &["10", "25", "31"]), "8.83176");
    assert_eq!(one(Kind::VarPop, "DECIMAL(3, 2)", &["3.50", "7.25", "1.00"]), "6.597222");
    assert_eq!(one(Kind::StddevSamp, "DECIMAL(3, 2)", &["3.50", "7.25", "1.00"]), "3.145764");
}

#[test]
fn least_and_greatest() {
    let both = |column: &str, values: &[&str]| {
        format!("{} {}", one(Kind::Min, column, values), one(Kind::Max, column, values))
    };
    assert_eq!(both("INT", &["3", "NULL", "-1"]), "-1 3");
    assert_eq!(both("BIGINT", &["NULL"]), "NULL NULL");
    assert_eq!(both("DOUBLE", &["1", "NaN", "-inf"]), "-inf NaN");
    assert_eq!(both("FLOAT", &["1.5", "-1.5"]), "-1.5 1.5");
    assert_eq!(both("DECIMAL(20, 1)", &["-1.5", "1.5"]), "-1.5 1.5");
    assert_eq!(both("STRING", &["b", "", "a text that is not inline"]), " b");
    assert_eq!(both("BOOLEAN", &["true", "false"]), "false true");
    assert_eq!(both("DATE", &["2024-02-29", "1969-12-31"]), "1969-12-31 2024-02-29");
    assert_eq!(both("TIME", &["5", "3"]), "3 5");
    assert_eq!(both("TIMESTAMP(3)", &["5", "-3"]), "-3 5");
    assert_eq!(both("TIMESTAMP_LTZ(9)", &["5", "-3"]), "-3 5");
}

#[test]
fn rows_that_are_kept() {
    let first = |ignore_nulls| Kind::FirstValue { ignore_nulls };
    let last = |ignore_nulls| Kind::LastValue { ignore_nulls };
    let values: &[&str] = &["NULL", "a", "b", "NULL"];
    assert_eq!(one(first(true), "STRING", values), "a");
    assert_eq!(one(first(false), "STRING", values), "NULL");
    assert_eq!(one(last(true), "STRING", values), "b");
    assert_eq!(one(last(false), "STRING", values), "NULL");
    assert_eq!(one(first(true), "STRING", &["NULL"]), "NULL");
    assert_eq!(one(Kind::Listagg { separator: ", ".into() }, "STRING", values), "a, b");
    assert_eq!(one(Kind::Listagg { separator: ", ".into() }, "STRING", &["NULL"]), "NULL");
    assert_eq!(one(Kind::ArrayAgg { ignore_nulls: false }, "STRING", values), "[NULL, a, b, NULL]");
    assert_eq!(one(Kind::ArrayAgg { ignore_nulls: true }, "INT", &["3", "NULL", "1"]), "[3, 1]");
    assert_eq!(one(Kind::ArrayAgg { ignore_nulls: true }, "INT", &["NULL"]), "NULL");
    assert_eq!(one(Kind::Collect, "STRING", &["b", "a", "NULL", "b"]), "{a: 1, b: 2}");
    assert_eq!(one(Kind::Collect, "STRING", &["NULL"]), "{}");
    let absent_on_null = true;
    assert_eq!(one(Kind::JsonArrayAgg { absent_on_null }, "STRING", &["a\"", "NULL"]), "[\"a\\\"\"]");
    assert_eq!(one(Kind::JsonArrayAgg { absent_on_null: false }, "INT", &["1", "NULL"]), "[1,null]");
    assert_eq!(one(Kind::SingleValue, "INT", &["7"]), "7");
    let input = schema("v INT");
    let twice = results(&calls(&input, &[(Kind::SingleValue, &[0])]), false, &input, "+I | 1\n+I | 1");
    assert!(twice.unwrap_err().to_string().contains("more than one row"));
}

#[test]
fn percentiles() {
    let of = |fractions: &[f64], array| Kind::Percentile {
        fractions: fractions.iter().map(|f| Fraction::new(*f).unwrap()).collect(),
        array,
    };
    assert_eq!(one(of(&[0.5], false), "INT", &["4", "1", "NULL", "2", "3"]), "2.5");
    assert_eq!(one(of(&[0.5], false), "INT", &["NULL"]), "NULL");
    assert_eq!(one(of(&[0.0, 0.25, 1.0], true), "DOUBLE", &["1", "2", "4"]), "[1.0, 1.5, 4.0]");
    assert_eq!(one(of(&[0.5], true), "DOUBLE", &["NULL"]), "NULL");
    let input = schema("v INT, n INT");
    let calls = calls(&input, &[(of(&[0.5], false), &[0, 1])]);
    assert_eq!(results(&calls, false, &input, "+I | 1 | 1\n+I | 5 | 3\n+I | 9 | 0").unwrap(), "5.0");
    assert!(results(&calls, false, &input, "+I | 1 | -1").is_err());
}

#[test]
fn json_objects() {
    let input = schema("k STRING, v DOUBLE");
    let object = |absent_on_null| calls(&input, &[(Kind::JsonObjectAgg { absent_on_null }, &[0, 1])]);
    let table = "+I | a | 1.5\n+I | b | NULL\n+I | c | NaN";
    assert_eq!(results(&object(false), false, &input, table).unwrap(), r#"{"a":1.5,"b":null,"c":"NaN"}"#);
    assert_eq!(results(&object(true), false, &input, "+I | b | NULL").unwrap(), "{}");
    assert!(results(&object(false), false, &input, "+I | a | 1\n+I | a | 2").is_err());
    assert!(results(&object(false), false, &input, "+I | NULL | 1").is_err());
}

#[test]
fn distinct_filters_and_order() {
    let input = schema("a INT, b STRING, f BOOLEAN, g BOOLEAN");
    let mut all = calls(
        &input,
        &[
            (Kind::Count, &[0]),
            (Kind::Count, &[0]),
            (Kind::Sum, &[0]),
            (Kind::Count, &[0, 1]),
            (Kind::Count, &[]),
            (Kind::Count, &[0]),
            (Kind::Listagg { separator: "-".into() }, &[1]),
        ],
    );
    all[0] = all[0].clone().distinct();
    all[1] = all[1].clone().distinct().filtered(2);
    all[2] = all[2].clone().distinct().filtered(3);
    all[3] = all[3].clone().distinct();
    all[4] = all[4].clone().filtered(2);
    all[5] = all[5].clone().filtered(3);
    all[6] = all[6].clone().distinct();
    let table = "+I | 1 | x | true | NULL\n+I | 1 | x | true | true\n+I | 2 | NULL | false | true\n\
                 +I | 1 | y | NULL | true\n+I | NULL | y | true | true";
    for retract in [false, true] {
        assert_eq!(
            results(&all, retract, &input, table).unwrap(),
            "2 | 1 | 3 | 2 | 3 | 3 | x-y",
            "{retract}"
        );
    }
    let taken_back = format!("{table}\n-D | 1 | x | true | true\n-U | 2 | NULL | false | true");
    assert_eq!(results(&all, true, &input, &taken_back).unwrap(), "1 | 1 | 1 | 2 | 2 | 1 | x-y");
    let mut ordered = calls(
        &input,
        &[(Kind::Listagg { separator: ",".into() }, &[1]), (Kind::FirstValue { ignore_nulls: true }, &[1])],
    );
    let descending = SortOptions { descending: true, nulls_first: false };
    ordered.iter_mut().for_each(|call| call.order_by = vec![(0, descending)]);
    let table = "+I | 1 | a | NULL | NULL\n+I | 3 | b | NULL | NULL\n+I | 3 | c | NULL | NULL\n+I | NULL | d | NULL | NULL";
    assert_eq!(results(&ordered, false, &input, table).unwrap(), "b,c,a,d | b");
    assert_eq!(
        results(&ordered, true, &input, &format!("{table}\n-D | 3 | b | NULL | NULL")).unwrap(),
        "c,a,d | c"
    );
}

#[test]
fn rows_are_taken_back_from_among_many() {
    let input = schema("v INT, o INT");
    let mut all = calls(
        &input,
        &[(Kind::ArrayAgg { ignore_nulls: true }, &[0]), (Kind::ArrayAgg { ignore_nulls: true }, &[0])],
    );
    all[1].order_by = vec![(1, SortOptions::default())];
    let row = |kind: &str, i: i32| format!("{kind} | {} | {}", i % 50, i % 2);
    let mut table: Vec<String> = (0..200).map(|i| row("+I", i)).collect();
    // What is left are the last two rows, and one that comes when the index is there.
    table.extend((0..198).rev().map(|i| row("-D", i)));
    table.insert(300, row("+I", 49));
    let result = results(&all, true, &input, &table.join("\n")).unwrap();
    assert_eq!(result, "[48, 49, 49] | [48, 49, 49]");
}

#[test]
fn accumulators_are_shared_and_small() {
    let input = schema("v BIGINT NOT NULL");
    let all = calls(&input, &[(Kind::Count, &[]), (Kind::Count, &[0]), (Kind::Sum, &[0]), (Kind::Avg, &[0])]);
    let aggregator = Aggregator::new(&all, input.fields(), AggregatorOptions::default()).unwrap();
    let state = aggregator.new_state();
    assert_eq!(state.words().len(), 3);
    assert_eq!((size_of::<AggState>(), state.heap_bytes()), (40, 0));
    // Two sequences: three words, and nothing of variable size.
    assert_eq!(state.to_bytes(), [&[3, 0, 0, 0][..], &[0; 24], &[0; 4]].concat());
    let unsupported = calls(&schema("v INT"), &[(Kind::BitmapBuild, &[0])]);
    let refused = Aggregator::new(&unsupported, schema("v INT").fields(), AggregatorOptions::default());
    assert!(refused.unwrap_err().to_string().contains("BITMAP_BUILD_AGG"));
}
