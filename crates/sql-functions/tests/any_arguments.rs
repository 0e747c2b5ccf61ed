//! No function panics, whatever its arguments are, and what it gives is of the type it promised.

use arrow::array::{Array, ArrayRef, Int32Array, ListArray, StructArray, new_empty_array};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Int32Type, IntervalMonthDayNano};
use datafusion_common::ScalarValue;
use datafusion_common::config::ConfigOptions;
use datafusion_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF};
use flugs_sql_functions::{FunctionKind, FunctionRegistry};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const ROWS: usize = 3;

/// Values of many types, the extreme ones among them.
fn values(registry: &FunctionRegistry) -> Vec<ScalarValue> {
    let text = |value: &str| ScalarValue::Utf8View(Some(value.to_owned()));
    let list = |values: Option<Vec<Option<i32>>>| {
        ScalarValue::List(Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([values])))
    };
    let texts = [text("a"), ScalarValue::Utf8View(None)];
    let fields = Fields::from(vec![Field::new("a", DataType::Int32, true)]);
    let column: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let row = StructArray::try_new(fields, vec![column], None).expect("the column fits its field");
    let map = call(registry.scalar("map").expect("there are maps"), &[text("k"), 1.into()], false);
    let map = map.and_then(|m| ScalarValue::try_from_array(&m, 0).ok()).expect("maps are made");
    let ltz = |value| ScalarValue::TimestampMillisecond(Some(value), Some("+00:00".into()));
    let mut values = vec![
        ScalarValue::Null,
        true.into(),
        ScalarValue::Int8(Some(-3)),
        0.into(),
        2.into(),
        i32::MIN.into(),
        i64::MAX.into(),
        i64::MIN.into(),
        ScalarValue::Int64(None),
        f64::NAN.into(),
        1.5.into(),
        f64::MAX.into(),
        ScalarValue::Decimal128(Some(12_345), 10, 2),
        ScalarValue::Decimal128(Some(10i128.pow(38) - 1), 38, 0),
        ScalarValue::Binary(Some(vec![0xff, 0])),
        ScalarValue::Date32(Some(i32::MAX)),
        ScalarValue::Date32(Some(-1)),
        ScalarValue::Time32Millisecond(Some(86_399_999)),
        ScalarValue::TimestampMillisecond(Some(i64::MIN), None),
        ScalarValue::TimestampMillisecond(Some(1_635_640_200_000), None),
        ScalarValue::TimestampNanosecond(Some(i64::MAX), None),
        ltz(i64::MAX),
        ltz(-1),
        ScalarValue::IntervalYearMonth(Some(i32::MAX)),
        ScalarValue::IntervalMonthDayNano(Some(IntervalMonthDayNano::new(i32::MIN, i32::MIN, i64::MIN))),
        ScalarValue::IntervalMonthDayNano(Some(IntervalMonthDayNano::new(0, 1, 1))),
        list(Some(vec![Some(1), None, Some(1)])),
        list(Some(vec![])),
        list(None),
        ScalarValue::List(ScalarValue::new_list(&texts, &DataType::Utf8View, true)),
        ScalarValue::Struct(Arc::new(row)),
        map,
    ];
    let words = [
        "",
        "a",
        "é😀",
        "%",
        "(",
        "yyyy-MM-dd HH:mm:ss",
        "2020-02-30 25:00:00",
        "DAY",
        "MONTH",
        "EPOCH",
        "Europe/Berlin",
        "$.a[0]",
        "lax $..*",
        "{\"a\": [1, null]}",
        "INT",
        "DEFAULT",
        "ERROR",
        "16",
        "-1",
        "1e400",
        "http://a:1/b?c=d#e",
    ];
    values.extend(words.map(text));
    values
}

/// A call with constants, or with columns of the same values; none where it is refused.
fn call(function: &ScalarUDF, arguments: &[ScalarValue], columns: bool) -> Option<ArrayRef> {
    let given = |value: &ScalarValue| -> Option<ColumnarValue> {
        Some(match columns {
            true => ColumnarValue::Array(value.to_array_of_size(ROWS).ok()?),
            false => ColumnarValue::Scalar(value.clone()),
        })
    };
    let args: Vec<ColumnarValue> = arguments.iter().map(given).collect::<Option<_>>()?;
    let fields: Vec<FieldRef> = args.iter().map(|a| Arc::new(Field::new("a", a.data_type(), true))).collect();
    let constants: Vec<Option<&ScalarValue>> = arguments.iter().map(|a| (!columns).then_some(a)).collect();
    let args_of_type = ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &constants };
    let return_field = function.return_field_from_args(args_of_type).ok()?;
    let result = function.invoke_with_args(ScalarFunctionArgs {
        args,
        arg_fields: fields,
        number_rows: ROWS,
        return_field: return_field.clone(),
        config_options: Arc::new(ConfigOptions::default()),
    });
    let result = result.ok()?.into_array(ROWS).ok()?;
    assert_eq!(result.data_type(), return_field.data_type(), "the type of {}", function.name());
    assert_eq!(result.len(), ROWS, "the rows of {}", function.name());
    assert!(return_field.is_nullable() || result.logical_null_count() == 0, "NULL of {}", function.name());
    result
        .to_data()
        .validate_full()
        .unwrap_or_else(|e| panic!("what {} gives is broken: {e}", function.name()));
    Some(result)
}

#[test]
fn no_function_panics() {
    let registry = FunctionRegistry::builtin();
    let values = values(&registry);
    let mut seed = 1u64;
    let mut pick = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let (mut accepted, mut broken) = (0, Vec::new());
    for name in registry.names(FunctionKind::Scalar) {
        // Texts and numbers of any size may be asked for.
        if matches!(name.as_str(), "repeat" | "lpad" | "rpad" | "printf") {
            continue;
        }
        let function = registry.scalar(&name).expect("a listed function is there");
        let all_null = (0..4).map(|arity| vec![ScalarValue::Null; arity]);
        let alone = values.iter().map(|v| vec![v.clone()]);
        let mixed = (0..150).map(|_| {
            let arity = 2 + pick(3);
            (0..arity).map(|_| values[pick(values.len())].clone()).collect::<Vec<_>>()
        });
        let cases: Vec<Vec<ScalarValue>> = all_null.chain(alone).chain(mixed).collect();
        for arguments in cases {
            for columns in [false, true] {
                match catch_unwind(AssertUnwindSafe(|| call(function, &arguments, columns))) {
                    Ok(result) => accepted += usize::from(result.is_some()),
                    Err(_) => broken.push(format!("{name}({arguments:?}), columns: {columns}")),
                }
            }
        }
    }
    assert!(broken.is_empty(), "{} calls panic:\n{}", broken.len(), broken.join("\n"));
    assert!(accepted > 2_000, "only {accepted} calls were accepted");
}

#[test]
fn no_rows_give_no_rows() {
    let registry = FunctionRegistry::builtin();
    let types = [
        DataType::Utf8View,
        DataType::Int32,
        DataType::Binary,
        DataType::Timestamp(arrow::datatypes::TimeUnit::Millisecond, None),
    ];
    for name in registry.names(FunctionKind::Scalar) {
        let function = registry.scalar(&name).expect("a listed function is there");
        for arguments in types.iter().flat_map(|t| (1..4).map(move |arity| vec![t.clone(); arity])) {
            let args: Vec<ColumnarValue> =
                arguments.iter().map(|t| ColumnarValue::Array(new_empty_array(t))).collect();
            let fields: Vec<FieldRef> =
                arguments.iter().map(|t| Arc::new(Field::new("a", t.clone(), true))).collect();
            let constants = vec![None; fields.len()];
            let of_type = ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &constants };
            let Ok(return_field) = function.return_field_from_args(of_type) else { continue };
            let result = function.invoke_with_args(ScalarFunctionArgs {
                args,
                arg_fields: fields,
                number_rows: 0,
                return_field,
                config_options: Arc::new(ConfigOptions::default()),
            });
            if let Ok(result) = result {
                assert_eq!(result.into_array(0).map(|r| r.len()).ok(), Some(0), "{name}");
            }
        }
    }
}
