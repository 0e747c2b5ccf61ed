//! Expected values are Flink's documentation's, or follow from it by hand.

use crate::registry::FunctionRegistry;
use crate::support::testing::evaluate;
use arrow::array::{Array, ArrayRef, AsArray, Float32Array, Int32Array, StructArray};
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs};
use proptest::prelude::*;
use std::sync::Arc;

fn text(value: &str) -> ScalarValue {
    ScalarValue::Utf8View(Some(value.to_owned()))
}

fn null() -> ScalarValue {
    ScalarValue::Utf8View(None)
}

fn texts(values: &[&str]) -> Vec<ScalarValue> {
    values.iter().map(|v| text(v)).collect()
}

fn call(name: &str, arguments: &[ScalarValue]) -> ScalarValue {
    evaluate(name, arguments).unwrap_or_else(|e| panic!("{name}({arguments:?}): {e}"))
}

/// A call as a plan has it: types follow from constants, and fields say where values are from.
fn planned(name: &str, arguments: &[(ScalarValue, FieldRef)]) -> Result<(ScalarValue, FieldRef)> {
    let registry = FunctionRegistry::builtin();
    let function = registry.scalar(name).unwrap_or_else(|| panic!("no function {name}"));
    let fields: Vec<FieldRef> = arguments.iter().map(|(_, field)| field.clone()).collect();
    let constants: Vec<Option<&ScalarValue>> = arguments.iter().map(|(value, _)| Some(value)).collect();
    let return_field = function
        .return_field_from_args(ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &constants })?;
    let result = function.invoke_with_args(ScalarFunctionArgs {
        args: arguments.iter().map(|(value, _)| ColumnarValue::Scalar(value.clone())).collect(),
        arg_fields: fields,
        number_rows: 1,
        return_field: return_field.clone(),
        config_options: Arc::new(ConfigOptions::default()),
    })?;
    let result = result.into_array(1)?;
    assert_eq!(result.data_type(), return_field.data_type());
    Ok((ScalarValue::try_from_array(&result, 0)?, return_field))
}

fn plain(value: ScalarValue) -> (ScalarValue, FieldRef) {
    let field = Arc::new(Field::new("a", value.data_type(), true));
    (value, field)
}

fn planned_value(name: &str, arguments: Vec<ScalarValue>) -> Result<ScalarValue> {
    planned(name, &arguments.into_iter().map(plain).collect::<Vec<_>>()).map(|(value, _)| value)
}

#[test]
fn texts_are_json_or_not() {
    let cases = [
        ("1", [true, true, false, false]),
        ("[]", [true, false, true, false]),
        (" {} ", [true, false, false, true]),
        ("\"abc\"", [true, true, false, false]),
        ("null", [true, true, false, false]),
        ("abc", [false; 4]),
        ("", [false; 4]),
        ("{} {}", [false; 4]),
    ];
    for (value, expected) in cases {
        for (kind, expected) in ["value", "scalar", "array", "object"].into_iter().zip(expected) {
            let result = call(&format!("is_json_{kind}"), &[text(value)]);
            assert_eq!(result, ScalarValue::Boolean(Some(expected)), "{value} IS JSON {kind}");
        }
    }
    assert_eq!(call("is_json_value", &[null()]), ScalarValue::Boolean(Some(false)));
}

#[test]
fn paths_exist_or_not() {
    let a = r#"{"a": true}"#;
    let cases = [
        (vec![a, "$.a"], Some(true)),
        (vec![a, "$.b"], Some(false)),
        (vec![r#"{"a": [{ "b": 1 }]}"#, "$.a[0].b"], Some(true)),
        (vec![a, "strict $.b", "TRUE"], Some(true)),
        (vec![a, "strict $.b", "FALSE"], Some(false)),
        (vec![a, "strict $.b", "UNKNOWN"], None),
        (vec![a, "lax $.b", "TRUE"], Some(false)),
        (vec![a, "$"], Some(true)),
        (vec![r#"{"a": null}"#, "$.a"], Some(false)),
        (vec!["no json", "$.a", "TRUE"], Some(true)),
        (vec!["no json", "lax $.a", "TRUE"], Some(false)),
        (vec!["null", "lax $", "TRUE"], Some(true)),
        (vec![r#"{"a": []}"#, "$.a[*].b"], Some(true)),
    ];
    for (arguments, expected) in cases {
        assert_eq!(call("json_exists", &texts(&arguments)), ScalarValue::Boolean(expected), "{arguments:?}");
    }
    assert_eq!(call("json_exists", &[null(), text("$")]), ScalarValue::Boolean(None));
    assert!(evaluate("json_exists", &texts(&[a, "strict $.b", "ERROR"])).is_err());
    let error = planned_value("json_exists", texts(&[a, "a.b"])).unwrap_err().to_string();
    assert!(error.contains("'a.b' is no path into JSON"), "{error}");
}

/// A document and paths with what they lead to, as `JSON_QUERY` shows it in an array.
#[test]
fn paths_lead_to_values() {
    let store = r#"{"store": {"book": [
        {"title": "A", "price": 8.95, "tags": ["x", "y"]},
        {"title": "B", "price": 12.99, "isbn": "1"},
        {"title": "C", "price": 8.99, "isbn": "2"}],
        "bike": {"price": 19.95}}, "a b": {"c.d": 1}}"#;
    let cases = [
        ("$.store.book[0].title", "[\"A\"]"),
        ("$.store.book[-1].title", "[\"C\"]"),
        ("$['store']['bike']['price']", "[19.95]"),
        ("$.['a b'].[\"c.d\"]", "[1]"),
        ("$.store.book[*].title", "[[\"A\",\"B\",\"C\"]]"),
        ("$.store.book[0,2].title", "[[\"A\",\"C\"]]"),
        ("$.store.book[1:].title", "[[\"B\",\"C\"]]"),
        ("$.store.book[:-1].title", "[[\"A\",\"B\"]]"),
        ("$.store.book[0]['title','price']", "[[\"A\",8.95]]"),
        ("$..price", "[[8.95,12.99,8.99,19.95]]"),
        ("$.store.*.price", "[[19.95]]"),
        ("$.store.book[*].isbn", "[[\"1\",\"2\"]]"),
        ("$.store.book[?(@.isbn)].title", "[[\"B\",\"C\"]]"),
        ("$.store.book[?(@.price < 9 && @.isbn == '2')].title", "[[\"C\"]]"),
        ("$.store.book[?(!(@.price <= 9.0) || @.title == \"A\")].title", "[[\"A\",\"B\"]]"),
        ("$.store.book[?(@.tags[1] == 'y')].title", "[[\"A\"]]"),
        ("lax $.store.nothing", "NULL"),
        ("lax $.store.book[9]", "NULL"),
        ("lax $.store.bike[0].x", "NULL"),
        ("lax $.nothing[*].b", "[[]]"),
    ];
    for (path, expected) in cases {
        let result = call("json_query", &texts(&[store, path, "STRING", "UNCONDITIONAL", "NULL", "ERROR"]));
        let expected = if expected == "NULL" { null() } else { text(expected) };
        assert_eq!(result, expected, "{path}");
    }
    for missing in
        ["$.store.nothing", "$.store.nothing.b", "$.store.book[9]", "$.store.bike[0]", "$.nothing[*].b"]
    {
        let arguments = texts(&[store, missing, "STRING", "WITHOUT", "NULL", "ERROR"]);
        assert!(evaluate("json_query", &arguments).is_err(), "{missing}");
    }
    for wrong in ["", "store", "$.", "$[", "$['a]", "$[?(@.a ==)]", "$.a]", "$[1:2:3]", "lax", "$[?(1)]"] {
        assert!(evaluate("json_query", &texts(&[store, wrong])).is_err(), "{wrong}");
    }
}

#[test]
fn scalars_are_taken_out() {
    let value = |arguments: Vec<ScalarValue>| planned_value("json_value", arguments);
    let a = r#"{"a": true, "n": 12, "d": 0.998, "s": "x\ty", "o": {}, "z": null}"#;
    let cases: Vec<(Vec<ScalarValue>, ScalarValue)> = vec![
        (texts(&[a, "$.a"]), text("true")),
        (texts(&[a, "$.n"]), text("12")),
        (texts(&[a, "$.s"]), text("x\ty")),
        (texts(&[a, "$.a", "BOOLEAN"]), ScalarValue::Boolean(Some(true))),
        (texts(&[a, "$.n", "INT"]), ScalarValue::Int32(Some(12))),
        (texts(&[a, "$.n", "INTEGER NOT NULL"]), ScalarValue::Int32(Some(12))),
        (texts(&[a, "$.n", "BIGINT"]), ScalarValue::Int64(Some(12))),
        (texts(&[a, "$.d", "DOUBLE"]), ScalarValue::Float64(Some(0.998))),
        (texts(&[a, "$.n", "DOUBLE"]), ScalarValue::Float64(Some(12.0))),
        (texts(&[a, "$.s", "INT"]), ScalarValue::Int32(None)),
        (texts(&[a, "$.d", "INT"]), ScalarValue::Int32(None)),
        (texts(&[a, "$.z"]), null()),
        (texts(&[a, "$.o"]), null()),
        (texts(&[a, "$.missing"]), null()),
        (texts(&["no json", "$.a"]), null()),
        (vec![null(), text("$.a")], null()),
        (vec![text(a), null()], null()),
    ];
    for (arguments, expected) in cases {
        assert_eq!(value(arguments.clone()).unwrap(), expected, "{arguments:?}");
    }
    let with = |path: &str, kind: &str, empty: (&str, ScalarValue), error: (&str, ScalarValue)| {
        value(vec![text(a), text(path), text(kind), text(empty.0), empty.1, text(error.0), error.1])
    };
    let no = || ("NULL", ScalarValue::Null);
    let default = |value: ScalarValue| ("DEFAULT", value);
    let no_bool = || ScalarValue::Boolean(Some(false));
    assert_eq!(with("lax $.b", "STRING", default(no_bool()), no()).unwrap(), text("false"));
    assert_eq!(with("strict $.b", "STRING", no(), default(no_bool())).unwrap(), text("false"));
    assert_eq!(
        with("lax $.o", "STRING", default(text("empty")), default(text("error"))).unwrap(),
        text("empty")
    );
    assert_eq!(
        with("strict $.o", "STRING", default(text("empty")), default(text("error"))).unwrap(),
        text("error")
    );
    let seven = || default(ScalarValue::Int64(Some(7)));
    assert_eq!(with("lax $.b", "INT", seven(), no()).unwrap(), ScalarValue::Int32(Some(7)));
    assert_eq!(with("$.s", "INT", no(), seven()).unwrap(), ScalarValue::Int32(Some(7)));
    assert!(with("lax $.b", "STRING", ("ERROR", ScalarValue::Null), no()).is_err());
    assert!(with("strict $.b", "STRING", no(), ("ERROR", ScalarValue::Null)).is_err());
    assert!(value(texts(&[a, "$.a", "DATE"])).is_err());
}

#[test]
fn arrays_and_objects_are_taken_out() {
    let query = |arguments: &[&str]| planned_value("json_query", texts(arguments)).unwrap();
    assert_eq!(query(&[r#"{ "a": { "b": 1 } }"#, "$.a"]), text("{\"b\":1}"));
    assert_eq!(query(&["[1, 2]", "$"]), text("[1,2]"));
    let names = r#"{"a":[{"c":"c1"},{"c":"c2"}]}"#;
    assert_eq!(query(&[names, "lax $.a[*].c"]), text("[\"c1\",\"c2\"]"));
    let wrapped = |json: &str, wrapper: &str| query(&[json, "$", "STRING", wrapper, "NULL", "NULL"]);
    assert_eq!(wrapped("{}", "CONDITIONAL"), text("[{}]"));
    assert_eq!(wrapped("[1, 2]", "CONDITIONAL"), text("[1,2]"));
    assert_eq!(wrapped("[1, 2]", "UNCONDITIONAL"), text("[[1,2]]"));
    assert_eq!(wrapped("1", "WITHOUT"), null());
    assert_eq!(wrapped("1", "CONDITIONAL"), text("[1]"));
    let or = |path: &str, empty: &str, error: &str| query(&["{}", path, "STRING", "WITHOUT", empty, error]);
    assert_eq!(or("lax $.invalid", "EMPTY OBJECT", "NULL"), text("{}"));
    assert_eq!(or("strict $.invalid", "NULL", "EMPTY ARRAY"), text("[]"));
    assert_eq!(call("json_query", &[null(), text("$")]), null());
    assert!(
        evaluate("json_query", &texts(&["{}", "lax $.x", "STRING", "WITHOUT", "ERROR", "NULL"])).is_err()
    );

    let array = |json: &str, path: &str, error: &str| {
        planned_value("json_query", texts(&[json, path, "ARRAY<STRING>", "WITHOUT", "NULL", error]))
    };
    let ScalarValue::List(list) = array(r#"{"a":["x", 1.50, null, {"b": 1}]}"#, "$.a", "NULL").unwrap()
    else {
        panic!("it is an array")
    };
    let elements: Vec<Option<&str>> = list.values().as_string_view().iter().collect();
    assert_eq!(elements, [Some("x"), Some("1.50"), None, Some("{\"b\":1}")]);
    let ScalarValue::List(list) = array("{}", "$", "EMPTY ARRAY").unwrap() else { panic!("it is an array") };
    assert!(list.is_valid(0) && list.values().is_empty());
    assert!(array("{}", "$", "NULL").unwrap().is_null());
    assert!(array("{}", "$", "EMPTY OBJECT").is_err());
}

#[test]
fn values_become_json() {
    let list =
        |values: &[ScalarValue], of: DataType| ScalarValue::List(ScalarValue::new_list(values, &of, true));
    let millis =
        |value: i64, zone: Option<&str>| ScalarValue::TimestampMillisecond(Some(value), zone.map(Into::into));
    let cases = vec![
        (ScalarValue::Int32(None), null()),
        (ScalarValue::Int32(Some(-1)), text("-1")),
        (ScalarValue::Boolean(Some(true)), text("true")),
        (text("Hello, \"World\"!\n"), text("\"Hello, \\\"World\\\"!\\n\"")),
        (ScalarValue::Float64(Some(1.0)), text("1.0")),
        (ScalarValue::Float64(Some(f64::NAN)), text("\"NaN\"")),
        (ScalarValue::Decimal128(Some(150), 5, 2), text("1.50")),
        (ScalarValue::Binary(Some(vec![0xff, 0])), text("\"/wA=\"")),
        (ScalarValue::Date32(Some(-1)), text("\"1969-12-31\"")),
        (ScalarValue::Time32Millisecond(Some(47_655_500)), text("\"13:14:15.500\"")),
        (millis(644_333_862_001, None), text("\"1990-06-02T13:37:42.001\"")),
        (millis(0, Some("+00:00")), text("\"1970-01-01T00:00:00Z\"")),
        (list(&[1.into(), ScalarValue::Int32(None)], DataType::Int32), text("[1,null]")),
    ];
    for (value, expected) in cases {
        assert_eq!(call("json_string", std::slice::from_ref(&value)), expected, "{value}");
    }
    let fields =
        Fields::from(vec![Field::new("b", DataType::Int32, true), Field::new("a", DataType::Float32, true)]);
    let columns: Vec<ArrayRef> =
        vec![Arc::new(Int32Array::from(vec![1])), Arc::new(Float32Array::from(vec![0.1]))];
    let row = ScalarValue::Struct(Arc::new(StructArray::try_new(fields, columns, None).unwrap()));
    assert_eq!(call("json_string", &[row]), text("{\"a\":0.1,\"b\":1}"));
    let map = call("map", &[text("k"), ScalarValue::Int32(Some(1))]);
    assert_eq!(call("json_string", &[map]), text("{\"k\":1}"));
    let no_names = call("map", &[ScalarValue::Int32(Some(1)), ScalarValue::Int32(Some(1))]);
    assert!(evaluate("json_string", &[no_names]).is_err());
    assert!(evaluate("json_string", &[ScalarValue::IntervalYearMonth(Some(1))]).is_err());
}

#[test]
fn documents_are_put_together() {
    assert_eq!(call("json_object_null_on_null", &[]), text("{}"));
    let pairs = texts(&["K2", "V2", "K1", "V1"]);
    assert_eq!(call("json_object_null_on_null", &pairs), text("{\"K1\":\"V1\",\"K2\":\"V2\"}"));
    let with_null = [text("K1"), ScalarValue::Int32(None)];
    assert_eq!(call("json_object", &with_null), text("{\"K1\":null}"));
    assert_eq!(call("json_object_absent_on_null", &with_null), text("{}"));
    assert_eq!(call("json_array", &[]), text("[]"));
    assert_eq!(call("json_array", &[ScalarValue::Int32(Some(1)), text("2")]), text("[1,\"2\"]"));
    assert_eq!(call("json_array_null_on_null", &[null()]), text("[null]"));
    assert_eq!(call("json_array_absent_on_null", &[null()]), text("[]"));
    assert!(evaluate("json_object", &[text("a")]).is_err());
    assert!(evaluate("json_object", &[ScalarValue::Int32(Some(1)), text("a")]).is_err());
    assert!(evaluate("json_object", &[null(), text("a")]).is_err());
}

#[test]
fn documents_nest_as_they_are() {
    let inner = planned("json_object_null_on_null", &[plain(text("K2")), plain(text("V"))]).unwrap();
    let (outer, _) = planned("json_object_null_on_null", &[plain(text("K1")), inner.clone()]).unwrap();
    assert_eq!(outer, text("{\"K1\":{\"K2\":\"V\"}}"));
    let (array, _) = planned("json_array_absent_on_null", &[inner.clone(), plain(inner.0)]).unwrap();
    assert_eq!(array, text("[{\"K2\":\"V\"},\"{\\\"K2\\\":\\\"V\\\"}\"]"));
    let document = planned("json", &[plain(text(" {\"b\": [1, 2], \"a\": 1e2} "))]).unwrap();
    assert_eq!(document.0, text("{\"a\":1E+2,\"b\":[1,2]}"));
    assert_eq!(planned("json_array", &[document]).unwrap().0, text("[{\"a\":1E+2,\"b\":[1,2]}]"));
    assert_eq!(call("json", &[text("  ")]), null());
    assert!(evaluate("json", &[text("{")]).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_text_and_no_path_panics(json in "\\PC{0,20}", path in "[$@.\\[\\]'\"*?()a-c0-9,:<=!&| -]{0,16}") {
        let _ = evaluate("is_json_value", &[text(&json)]);
        let path = format!("${path}");
        let _ = evaluate("json_query", &texts(&[r#"{"a": [1, {"b": "c"}], "c": null}"#, &path]));
        let _ = evaluate("json_exists", &texts(&[&json, &path]));
    }

    #[test]
    fn strings_read_back(value in "\\PC{0,20}") {
        let written = call("json_string", &[text(&value)]);
        let ScalarValue::Utf8View(Some(written)) = written else { panic!("{written}") };
        prop_assert_eq!(call("json_value", &texts(&[&format!("[{written}]"), "$[0]"])), text(&value));
    }
}
