//! Expected values are Flink's documentation's, or follow from it by hand.

use crate::registry::FunctionRegistry;
use crate::support::testing::{evaluate, type_of};
use arrow::array::{Array, ArrayRef, AsArray, Int32Array, ListArray, RecordBatch, StructArray};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Int32Type};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs};
use flugs_sql_types::{LogicalType, RowField, SqlType, from_field};
use proptest::prelude::*;
use std::sync::Arc;

const NONE: Option<i32> = None;

fn int(value: i32) -> ScalarValue {
    ScalarValue::Int32(Some(value))
}

fn text(value: &str) -> ScalarValue {
    ScalarValue::Utf8View(Some(value.to_owned()))
}

fn yes(value: bool) -> ScalarValue {
    ScalarValue::Boolean(Some(value))
}

fn ints(values: &[Option<i32>]) -> ScalarValue {
    ScalarValue::List(Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([Some(values.to_vec())])))
}

fn some(values: &[i32]) -> ScalarValue {
    ints(&values.iter().map(|v| Some(*v)).collect::<Vec<_>>())
}

fn no_ints() -> ScalarValue {
    ScalarValue::List(Arc::new(ListArray::from_iter_primitive::<Int32Type, Vec<Option<i32>>, _>([None])))
}

fn texts(values: &[Option<&str>]) -> ScalarValue {
    let values: Vec<ScalarValue> =
        values.iter().map(|v| ScalarValue::Utf8View(v.map(str::to_owned))).collect();
    ScalarValue::List(ScalarValue::new_list(&values, &DataType::Utf8View, true))
}

fn call(name: &str, arguments: &[ScalarValue]) -> ScalarValue {
    evaluate(name, arguments).unwrap_or_else(|e| panic!("{name}({arguments:?}): {e}"))
}

/// A value as text: `[1, NULL]`, `{a: 1}`.
fn shown(value: &ScalarValue) -> String {
    let array = value.to_array_of_size(1).unwrap();
    show(&array, 0)
}

fn show(array: &ArrayRef, row: usize) -> String {
    if array.is_null(row) {
        return "NULL".to_owned();
    }
    let all = |array: &ArrayRef| (0..array.len()).map(|i| show(array, i)).collect::<Vec<_>>();
    match array.data_type() {
        DataType::List(_) => format!("[{}]", all(&array.as_list::<i32>().value(row)).join(", ")),
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let entry = |(key, value): (String, String)| format!("{key}: {value}");
            let entries: Vec<String> =
                all(entries.column(0)).into_iter().zip(all(entries.column(1))).map(entry).collect();
            format!("{{{}}}", entries.join(", "))
        }
        DataType::Struct(_) => {
            let values: Vec<String> = array.as_struct().columns().iter().map(|c| show(c, row)).collect();
            format!("({})", values.join(", "))
        }
        _ => ScalarValue::try_from_array(array, row).unwrap().to_string(),
    }
}

#[test]
fn arrays_and_their_elements() {
    let map = call("map", &[text("a"), int(1), text("b"), ScalarValue::Null]);
    let cases: Vec<(&str, Vec<ScalarValue>, &str)> = vec![
        ("cardinality", vec![some(&[1, 2, 3])], "3"),
        ("cardinality", vec![some(&[])], "0"),
        ("cardinality", vec![no_ints()], "NULL"),
        ("cardinality", vec![map.clone()], "2"),
        ("cardinality", vec![ScalarValue::Null], "NULL"),
        ("element", vec![some(&[7])], "7"),
        ("element", vec![some(&[])], "NULL"),
        ("element", vec![no_ints()], "NULL"),
        ("item", vec![some(&[7, 8]), int(1)], "7"),
        ("item", vec![some(&[7, 8]), ScalarValue::Int64(Some(2))], "8"),
        ("item", vec![some(&[7, 8]), int(3)], "NULL"),
        ("item", vec![some(&[7, 8]), ScalarValue::Int32(None)], "NULL"),
        ("item", vec![no_ints(), int(1)], "NULL"),
        ("item", vec![map.clone(), text("a")], "1"),
        ("item", vec![map.clone(), text("b")], "NULL"),
        ("item", vec![map.clone(), text("c")], "NULL"),
        ("item", vec![map, ScalarValue::Null], "NULL"),
        ("array_append", vec![some(&[1]), int(2)], "[1, 2]"),
        ("array_append", vec![some(&[1]), ScalarValue::Int32(None)], "[1, NULL]"),
        ("array_append", vec![some(&[]), int(2)], "[2]"),
        ("array_append", vec![no_ints(), int(2)], "NULL"),
        ("array_append", vec![some(&[1]), ScalarValue::Int64(Some(2))], "[1, 2]"),
        ("array_prepend", vec![some(&[1]), int(2)], "[2, 1]"),
        ("array_contains", vec![some(&[1, 2]), int(2)], "true"),
        ("array_contains", vec![some(&[1, 2]), int(3)], "false"),
        ("array_contains", vec![ints(&[Some(1), NONE]), ScalarValue::Int32(None)], "true"),
        ("array_contains", vec![some(&[1]), ScalarValue::Null], "false"),
        ("array_contains", vec![no_ints(), int(3)], "NULL"),
        ("array_position", vec![some(&[5, 6, 5]), int(5)], "1"),
        ("array_position", vec![some(&[5, 6, 5]), int(7)], "0"),
        ("array_position", vec![ints(&[NONE]), ScalarValue::Int32(None)], "NULL"),
        ("array_remove", vec![ints(&[Some(1), NONE, Some(2), Some(1)]), int(1)], "[NULL, 2]"),
        ("array_remove", vec![ints(&[Some(1), NONE]), ScalarValue::Int32(None)], "[1]"),
        ("array_remove", vec![no_ints(), int(1)], "NULL"),
        ("array_reverse", vec![ints(&[Some(1), NONE, Some(2)])], "[2, NULL, 1]"),
        ("array_reverse", vec![no_ints()], "NULL"),
    ];
    for (name, arguments, expected) in cases {
        assert_eq!(shown(&call(name, &arguments)), expected, "{name}({arguments:?})");
    }
    assert!(evaluate("element", &[some(&[1, 2])]).is_err());
    assert!(evaluate("array_append", &[some(&[1]), text("a")]).is_err());
    assert!(evaluate("item", &[some(&[1]), text("a")]).is_err());
}

#[test]
fn arrays_are_cut_and_joined() {
    let five = || some(&[1, 2, 3, 4, 5]);
    let slices = [
        (vec![2, 3], "[2, 3]"),
        (vec![0, 2], "[1, 2]"),
        (vec![-2, -1], "[4, 5]"),
        (vec![-9, 2], "[1, 2]"),
        (vec![4], "[4, 5]"),
        (vec![4, 9], "[4, 5]"),
        (vec![3, 2], "[]"),
        (vec![7, 9], "[]"),
        (vec![1, 0], "[1]"),
        (vec![1, -6], "[1]"),
        (vec![1, -7], "[]"),
    ];
    for (bounds, expected) in slices {
        let arguments: Vec<ScalarValue> =
            std::iter::once(five()).chain(bounds.iter().map(|b| int(*b))).collect();
        assert_eq!(shown(&call("array_slice", &arguments)), expected, "{bounds:?}");
    }
    assert_eq!(shown(&call("array_slice", &[five(), ScalarValue::Int32(None)])), "NULL");
    assert_eq!(shown(&call("array_slice", &[some(&[]), int(1), int(2)])), "[]");
    let concat = |arrays: &[ScalarValue]| shown(&call("array_concat", arrays));
    assert_eq!(concat(&[some(&[1, 2]), some(&[]), ints(&[NONE, Some(2)])]), "[1, 2, NULL, 2]");
    assert_eq!(concat(&[some(&[1]), no_ints()]), "NULL");
    let join = |arguments: &[ScalarValue]| shown(&call("array_join", arguments));
    let given = texts(&[Some("a"), None, Some(""), Some("b")]);
    assert_eq!(join(&[given.clone(), text(", ")]), "a, , b");
    assert_eq!(join(&[given.clone(), text("-"), text("?")]), "a-?--b");
    assert_eq!(join(&[given, text("-"), ScalarValue::Utf8View(None)]), "NULL");
    assert_eq!(join(&[texts(&[]), text("-")]), "");
    let split = |a: &str, b: &str| shown(&call("split", &[text(a), text(b)]));
    assert_eq!(split("a,b,,c", ","), "[a, b, , c]");
    assert_eq!(split(",a,", ","), "[, a, ]");
    assert_eq!(split("abc", "|"), "[abc]");
    assert_eq!(split("añ😀", ""), "[a, ñ, 😀]");
    assert_eq!(split("", ","), "[]");
    assert_eq!(shown(&call("split", &[text("a"), ScalarValue::Utf8View(None)])), "NULL");
}

#[test]
fn arrays_as_sets() {
    let left = || ints(&[Some(3), NONE, Some(1), Some(3), NONE]);
    let right = || ints(&[Some(1), Some(2), NONE]);
    let cases = [
        ("array_distinct", vec![left()], "[3, NULL, 1]"),
        ("array_union", vec![left(), right()], "[3, NULL, 1, 2]"),
        ("array_except", vec![left(), right()], "[3]"),
        ("array_except", vec![left(), some(&[])], "[3, NULL, 1]"),
        ("array_intersect", vec![left(), right()], "[NULL, 1]"),
        ("array_intersect", vec![left(), some(&[9])], "[]"),
        ("array_union", vec![left(), no_ints()], "NULL"),
        ("array_except", vec![no_ints(), left()], "NULL"),
    ];
    for (name, arguments, expected) in cases {
        assert_eq!(shown(&call(name, &arguments)), expected, "{name}");
    }
    let floats: Vec<ScalarValue> = [0.0, -0.0, f64::NAN, f64::NAN, 1.0].map(ScalarValue::from).into();
    let floats = ScalarValue::List(ScalarValue::new_list(&floats, &DataType::Float64, true));
    assert_eq!(shown(&call("array_distinct", &[floats])), "[0, NaN, 1]");
    // Nested elements are equal element by element.
    let nested = call("array", &[some(&[1, 2]), some(&[1, 2]), some(&[2])]);
    assert_eq!(shown(&call("array_distinct", &[nested])), "[[1, 2], [2]]");
}

#[test]
fn arrays_in_order() {
    let given = || ints(&[Some(2), NONE, Some(3), Some(1)]);
    let cases = [
        (vec![given()], "[NULL, 1, 2, 3]"),
        (vec![given(), yes(true)], "[NULL, 1, 2, 3]"),
        (vec![given(), yes(false)], "[3, 2, 1, NULL]"),
        (vec![given(), yes(false), yes(true)], "[NULL, 3, 2, 1]"),
        (vec![given(), yes(true), yes(false)], "[1, 2, 3, NULL]"),
        (vec![given(), ScalarValue::Boolean(None)], "NULL"),
        (vec![no_ints()], "NULL"),
        (vec![some(&[])], "[]"),
    ];
    for (arguments, expected) in cases {
        assert_eq!(shown(&call("array_sort", &arguments)), expected, "{arguments:?}");
    }
    assert_eq!(shown(&call("array_sort", &[texts(&[Some("b"), Some("ab"), Some("B")])])), "[B, ab, b]");
    for (name, value, expected) in [
        ("array_max", given(), "3"),
        ("array_min", given(), "1"),
        ("array_max", ints(&[NONE]), "NULL"),
        ("array_min", some(&[]), "NULL"),
        ("array_max", no_ints(), "NULL"),
    ] {
        assert_eq!(shown(&call(name, &[value])), expected, "{name}");
    }
}

#[test]
fn maps_and_their_parts() {
    let one = || call("map", &[text("a"), int(1), text("b"), int(2)]);
    let two = || call("map", &[text("b"), ScalarValue::Null, text("c"), int(3)]);
    assert_eq!(shown(&one()), "{a: 1, b: 2}");
    assert_eq!(shown(&call("map", &[text("a"), int(1), text("a"), int(2)])), "{a: 2}");
    let cases = [
        ("map_keys", vec![one()], "[a, b]"),
        ("map_values", vec![two()], "[NULL, 3]"),
        ("map_entries", vec![one()], "[(a, 1), (b, 2)]"),
        ("map_union", vec![one()], "{a: 1, b: 2}"),
        ("map_union", vec![one(), one(), two()], "{a: 1, b: NULL, c: 3}"),
        ("map_from_arrays", vec![texts(&[Some("x"), Some("y")]), some(&[1, 2])], "{x: 1, y: 2}"),
        ("map_from_arrays", vec![texts(&[]), some(&[])], "{}"),
        ("map_from_arrays", vec![texts(&[]), no_ints()], "NULL"),
        ("map_keys", vec![ScalarValue::Null], "NULL"),
    ];
    for (name, arguments, expected) in cases {
        assert_eq!(shown(&call(name, &arguments)), expected, "{name}");
    }
    let typed_null = ScalarValue::try_from(&one().data_type()).unwrap();
    assert_eq!(shown(&call("map_union", &[one(), typed_null])), "NULL");
    assert!(evaluate("map_from_arrays", &[texts(&[Some("x")]), some(&[])]).is_err());
    assert!(evaluate("map_from_arrays", &[texts(&[None]), some(&[1])]).is_err());
    assert!(evaluate("map", &[text("a"), int(1), text("b")]).is_err());
    assert!(evaluate("map", &[ScalarValue::Utf8View(None), int(1)]).is_err());
}

#[test]
fn many_keys_are_found() {
    let pairs: Vec<ScalarValue> = (0..200).flat_map(|i| [int(i % 60), int(i)]).collect();
    let map = call("map", &pairs);
    assert_eq!(call("cardinality", std::slice::from_ref(&map)), int(60));
    for (key, value) in [(0, 180), (19, 199), (20, 140), (59, 179)] {
        assert_eq!(call("item", &[map.clone(), int(key)]), int(value));
    }
}

#[test]
fn values_are_made_of_values() {
    assert_eq!(
        shown(&call("array", &[int(1), ScalarValue::Null, ScalarValue::Int64(Some(3))])),
        "[1, NULL, 3]"
    );
    assert_eq!(shown(&call("row", &[int(1), text("a"), ScalarValue::Null])), "(1, a, NULL)");
    assert!(evaluate("array", &[int(1), text("a")]).is_err());
    let int_type = || LogicalType::Int.not_null();
    let of = |name: &str, types: &[SqlType]| type_of(name, types).unwrap().to_string();
    assert_eq!(of("array", &[int_type(), LogicalType::BigInt.not_null()]), "ARRAY<BIGINT NOT NULL> NOT NULL");
    assert_eq!(of("array", &[int_type(), LogicalType::Int.nullable()]), "ARRAY<INT> NOT NULL");
    assert_eq!(
        of("map", &[int_type(), LogicalType::STRING.nullable()]),
        "MAP<INT NOT NULL, STRING> NOT NULL"
    );
    assert_eq!(
        of("row", &[int_type(), LogicalType::Date.nullable()]),
        "ROW<`EXPR$0` INT NOT NULL, `EXPR$1` DATE> NOT NULL"
    );
}

#[test]
fn types_say_where_null_may_be() {
    let array =
        |element: SqlType, nullable: bool| SqlType { kind: LogicalType::Array(Box::new(element)), nullable };
    let int = || LogicalType::Int.not_null();
    let maybe = || LogicalType::Int.nullable();
    let string = || LogicalType::STRING.not_null();
    let map = SqlType { kind: LogicalType::Map(Box::new(string()), Box::new(maybe())), nullable: false };
    let cases: Vec<(&str, Vec<SqlType>, &str)> = vec![
        ("cardinality", vec![array(int(), true)], "INT"),
        ("item", vec![array(int(), false), int()], "INT"),
        ("item", vec![map.clone(), string()], "INT"),
        ("element", vec![array(int(), false)], "INT"),
        ("array_append", vec![array(int(), false), int()], "ARRAY<INT NOT NULL> NOT NULL"),
        ("array_append", vec![array(int(), true), maybe()], "ARRAY<INT>"),
        ("array_contains", vec![array(int(), false), maybe()], "BOOLEAN NOT NULL"),
        ("array_position", vec![array(int(), false), maybe()], "INT"),
        ("array_union", vec![array(int(), false), array(maybe(), false)], "ARRAY<INT> NOT NULL"),
        ("array_max", vec![array(int(), false)], "INT"),
        ("map_keys", vec![map.clone()], "ARRAY<STRING NOT NULL> NOT NULL"),
        ("map_entries", vec![map], "ARRAY<ROW<`key` STRING NOT NULL, `value` INT> NOT NULL> NOT NULL"),
        ("map_from_arrays", vec![array(string(), true), array(maybe(), false)], "MAP<STRING NOT NULL, INT>"),
        ("split", vec![string(), string()], "ARRAY<STRING> NOT NULL"),
    ];
    for (name, types, expected) in cases {
        assert_eq!(type_of(name, &types).unwrap().to_string(), expected, "{name}");
    }
}

/// A call whose type depends on constants, over columns of one row and constants.
fn planned(name: &str, arguments: Vec<ColumnarValue>, rows: usize) -> Result<(SqlType, ArrayRef)> {
    let registry = FunctionRegistry::builtin();
    let function = registry.scalar(name).unwrap();
    let fields: Vec<FieldRef> =
        arguments.iter().map(|a| Arc::new(Field::new("a", a.data_type(), true))).collect();
    let constants: Vec<Option<ScalarValue>> = arguments
        .iter()
        .map(|a| match a {
            ColumnarValue::Scalar(value) => Some(value.clone()),
            ColumnarValue::Array(_) => None,
        })
        .collect();
    let constants: Vec<Option<&ScalarValue>> = constants.iter().map(Option::as_ref).collect();
    let return_field = function
        .return_field_from_args(ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &constants })?;
    let result = function.invoke_with_args(ScalarFunctionArgs {
        args: arguments,
        arg_fields: fields,
        number_rows: rows,
        return_field: return_field.clone(),
        config_options: Arc::new(ConfigOptions::default()),
    })?;
    let result = result.into_array(rows)?;
    assert_eq!(result.data_type(), return_field.data_type(), "{name}");
    Ok((from_field(&return_field).unwrap(), result))
}

#[test]
fn fields_of_rows() {
    let fields =
        Fields::from(vec![Field::new("a", DataType::Int32, false), Field::new("b", DataType::Int32, true)]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(vec![1, 2, 3])),
        Arc::new(Int32Array::from(vec![Some(4), None, Some(6)])),
    ];
    let nulls = vec![true, true, false].into();
    let rows: ArrayRef = Arc::new(StructArray::try_new(fields, columns, Some(nulls)).unwrap());
    let (sql_type, field) =
        planned("get_field", vec![ColumnarValue::Array(rows.clone()), text("a").into()], 3).unwrap();
    assert_eq!(sql_type.to_string(), "INT");
    assert_eq!(field.as_primitive(), &Int32Array::from(vec![Some(1), Some(2), None]));
    let error =
        planned("get_field", vec![ColumnarValue::Array(rows.clone()), text("c").into()], 3).unwrap_err();
    assert!(error.to_string().contains("no field `c`, only a, b"), "{error}");

    let (sql_type, object) =
        planned("object_of", vec![text("p.C").into(), text("x").into(), int(1).into()], 1).unwrap();
    assert_eq!(sql_type.kind, LogicalType::Row(vec![RowField::new("x", LogicalType::Int.nullable())]));
    assert_eq!(show(&object, 0), "(1)");
    let update = vec![ColumnarValue::Array(rows.clone()), text("b").into(), int(9).into()];
    let (_, updated) = planned("object_update", update, 3).unwrap();
    assert_eq!((show(&updated, 0), show(&updated, 2)), ("(1, 9)".to_owned(), "NULL".to_owned()));
    let wrong = vec![ColumnarValue::Array(rows), text("b").into(), text("9").into()];
    assert!(planned("object_update", wrong, 3).is_err());
    assert!(planned("item", vec![some(&[1]).into(), int(0).into()], 1).is_err());
}

#[test]
fn constants_and_columns_mix() {
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1), Some(2)]),
        None,
        Some(vec![]),
        Some(vec![None, Some(2)]),
    ]));
    // A part of a longer column.
    let lists = lists.slice(1, 3);
    let elements: ArrayRef = Arc::new(Int32Array::from(vec![Some(2), None, Some(2)]));
    let (_, found) =
        planned("array_contains", vec![ColumnarValue::Array(lists.clone()), int(2).into()], 3).unwrap();
    assert_eq!((0..3).map(|i| show(&found, i)).collect::<Vec<_>>(), ["NULL", "false", "true"]);
    let (_, removed) =
        planned("array_remove", vec![ColumnarValue::Array(lists), ColumnarValue::Array(elements)], 3)
            .unwrap();
    assert_eq!((0..3).map(|i| show(&removed, i)).collect::<Vec<_>>(), ["NULL", "[]", "[NULL]"]);
}

#[test]
fn no_rows_give_no_rows() {
    let schema = Arc::new(arrow::datatypes::Schema::new(vec![Field::new("a", ints(&[]).data_type(), true)]));
    let empty = RecordBatch::new_empty(schema).column(0).clone();
    for name in ["array_distinct", "array_sort", "array_reverse", "array_max", "cardinality", "array_concat"]
    {
        let (_, result) = planned(name, vec![ColumnarValue::Array(empty.clone())], 0).unwrap();
        assert_eq!(result.len(), 0, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn sets_are_what_loops_say(a in prop::collection::vec(prop::option::of(0..6i32), 0..8),
                               b in prop::collection::vec(prop::option::of(0..6i32), 0..8)) {
        let unique = |values: &mut dyn Iterator<Item = Option<i32>>| {
            let mut seen = Vec::new();
            values.for_each(|v| if !seen.contains(&v) { seen.push(v) });
            seen
        };
        let (x, y) = (ints(&a), ints(&b));
        prop_assert_eq!(call("array_union", &[x.clone(), y.clone()]), ints(&unique(&mut a.iter().chain(&b).copied())));
        let except = unique(&mut a.iter().copied().filter(|v| !b.contains(v)));
        prop_assert_eq!(call("array_except", &[x.clone(), y.clone()]), ints(&except));
        let both = unique(&mut a.iter().copied().filter(|v| b.contains(v)));
        prop_assert_eq!(call("array_intersect", &[x.clone(), y]), ints(&both));
        let mut sorted = a.clone();
        sorted.sort();
        prop_assert_eq!(call("array_sort", &[x]), ints(&sorted));
    }
}
