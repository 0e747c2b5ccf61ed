//! What Flink 2.3 gives for the same casts, in a session at Berlin.
//!
//! A case begins with a text and names the types it is cast to one after the other; `TRY` makes a `TRY_CAST`.

use super::{Implicit, cast_function, implicit_cast, to_display_string};
use crate::temporal::Zone;
use arrow::array::{Array, ArrayRef, AsArray, ListArray, StringViewArray};
use arrow::datatypes::{Field, FieldRef, Int32Type};
use datafusion_common::Result;
use datafusion_common::config::ConfigOptions;
use datafusion_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs};
use flugs_sql_types::{LogicalType, RowField, to_field};
use std::sync::Arc;

fn kind(name: &str) -> LogicalType {
    let (word, digits) = name.split_once('(').unwrap_or((name, ""));
    let digits: Vec<u32> =
        digits.trim_end_matches(')').split(',').filter_map(|d| d.trim().parse().ok()).collect();
    let digit = |i: usize, default: u32| digits.get(i).copied().unwrap_or(default);
    match word {
        "BOOLEAN" => LogicalType::Boolean,
        "TINYINT" => LogicalType::TinyInt,
        "SMALLINT" => LogicalType::SmallInt,
        "INT" => LogicalType::Int,
        "BIGINT" => LogicalType::BigInt,
        "FLOAT" => LogicalType::Float,
        "DOUBLE" => LogicalType::Double,
        "DECIMAL" => LogicalType::Decimal(digit(0, 10) as u8, digit(1, 0) as u8),
        "STRING" => LogicalType::STRING,
        "CHAR" => LogicalType::Char(digit(0, 1)),
        "VARCHAR" => LogicalType::VarChar(digit(0, 1)),
        "BYTES" => LogicalType::BYTES,
        "BINARY" => LogicalType::Binary(digit(0, 1)),
        "VARBINARY" => LogicalType::VarBinary(digit(0, 1)),
        "DATE" => LogicalType::Date,
        "TIME" => LogicalType::Time(digit(0, 0) as u8),
        "TIMESTAMP" => LogicalType::Timestamp(digit(0, 6) as u8),
        "TIMESTAMP_LTZ" => LogicalType::TimestampLtz(digit(0, 6) as u8),
        "MONTHS" => LogicalType::IntervalYearMonth,
        "SECONDS" => LogicalType::IntervalDaySecond,
        other => panic!("no type {other}"),
    }
}

/// Casts a column as a plan would.
fn cast(array: &ArrayRef, field: &FieldRef, to: LogicalType, try_cast: bool) -> Result<(ArrayRef, FieldRef)> {
    let function = cast_function(to.nullable(), try_cast);
    let args = ReturnFieldArgs { arg_fields: std::slice::from_ref(field), scalar_arguments: &[None] };
    let return_field = function.return_field_from_args(args)?;
    let mut options = ConfigOptions::default();
    options.execution.time_zone = Some("Europe/Berlin".to_owned());
    let args = ScalarFunctionArgs {
        args: vec![ColumnarValue::Array(array.clone())],
        arg_fields: vec![field.clone()],
        number_rows: array.len(),
        return_field: return_field.clone(),
        config_options: Arc::new(options),
    };
    Ok((function.invoke_with_args(args)?.into_array(array.len())?, return_field))
}

fn chain(text: &str, types: &[&str]) -> Result<String> {
    let mut array: ArrayRef = Arc::new(StringViewArray::from(vec![Some(text), None]));
    let mut field: FieldRef = Arc::new(to_field("v", &LogicalType::STRING.nullable()));
    for name in types {
        let (name, try_cast) = name.strip_prefix("TRY ").map_or((*name, false), |name| (name, true));
        (array, field) = cast(&array, &field, kind(name), try_cast)?;
    }
    let texts = to_display_string(&array, &field, &Zone::UTC).expect("a type of SQL");
    assert!(texts.is_null(1), "NULL stays NULL");
    Ok(if texts.is_null(0) { "NULL".to_owned() } else { texts.value(0).to_owned() })
}

fn check(cases: &[(&str, &[&str], &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(text, types, expected)| {
            let given = chain(text, types).unwrap_or_else(|e| format!("error: {e}"));
            let right = match expected.strip_prefix("error: ") {
                Some(message) => given.starts_with("error: ") && given.contains(message),
                None => given == *expected,
            };
            (!right).then(|| format!("'{text}' as {types:?}\n    gives    {given}\n    expected {expected}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn where_flink_differs() {
    check(&[
        ("-0.0", &["DOUBLE", "STRING"], "-0.0"),
        ("2.0E23", &["DOUBLE", "STRING"], "2.0E23"),
        ("-Infinity", &["FLOAT"], "-Infinity"),
        ("NaN", &["DOUBLE", "DECIMAL(5, 2)"], "error: cannot cast 'NaN' to DECIMAL(5, 2)"),
        ("0.1", &["FLOAT", "DOUBLE"], "0.10000000149011612"),
        ("+1-02", &["MONTHS", "INT"], "14"),
        ("-1 02:03:04.567", &["SECONDS", "BIGINT"], "-93784567"),
        ("90061001", &["BIGINT", "SECONDS", "STRING"], "+1 01:01:01.001"),
        ("-14", &["INT", "MONTHS", "STRING"], "-1-02"),
        ("1-13", &["TRY MONTHS"], "NULL"),
    ]);
}

#[test]
fn bytes_and_lengths() {
    check(&[
        ("hello", &["BYTES"], "x'68656c6c6f'"),
        ("hello", &["BINARY(3)"], "x'68656c'"),
        ("hello", &["BINARY(7)"], "x'68656c6c6f0000'"),
        ("hello", &["VARBINARY(3)"], "x'68656c'"),
        ("hello", &["BYTES", "STRING"], "hello"),
        ("abc", &["CHAR(5)"], "abc  "),
        ("12", &["INT", "CHAR(4)"], "12  "),
        ("abc", &["CHAR(5)", "VARCHAR(4)"], "abc "),
        ("hello", &["BYTES", "INT"], "error: cannot cast BYTES to INT"),
        ("1", &["INT", "TIMESTAMP(3)"], "error: write TO_TIMESTAMP_LTZ"),
    ]);
}

fn ints_as_text(rows: &[Option<&[Option<&str>]>]) -> (ArrayRef, FieldRef) {
    let mut builder = arrow::array::ListBuilder::new(arrow::array::StringViewBuilder::new());
    for row in rows {
        for text in row.unwrap_or_default() {
            builder.values().append_option(*text);
        }
        builder.append(row.is_some());
    }
    let kind = LogicalType::Array(Box::new(LogicalType::STRING.nullable()));
    (Arc::new(builder.finish()), Arc::new(to_field("v", &kind.nullable())))
}

#[test]
fn arrays_maps_and_rows_are_cast_element_by_element() {
    let ints = LogicalType::Array(Box::new(LogicalType::Int.nullable()));
    let (array, field) = ints_as_text(&[Some(&[Some("1"), None]), None, Some(&[Some("x")]), Some(&[])]);
    assert!(
        cast(&array, &field, ints.clone(), false).unwrap_err().to_string().contains("cannot cast 'x' to INT")
    );
    let (tried, _) = cast(&array, &field, ints.clone(), true).unwrap();
    let expected = ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1), None]),
        None,
        None,
        Some(vec![]),
    ]);
    assert_eq!(tried.as_list::<i32>(), &expected);
    // A slice has elements before and behind it.
    let (sliced, _) = cast(&array.slice(3, 1), &field, ints, false).unwrap();
    assert_eq!(sliced.as_list::<i32>().value(0).len(), 0);
    let (texts, _) = cast(&array, &field, LogicalType::STRING, false).unwrap();
    let texts: Vec<Option<&str>> = texts.as_string_view().iter().collect();
    assert_eq!(texts, [Some("[1, NULL]"), None, Some("[x]"), Some("[]")]);
}

#[test]
fn nested_values_are_shown_as_flink_shows_them() {
    let row = LogicalType::Row(vec![
        RowField::new("a", LogicalType::Int.nullable()),
        RowField::new("b", LogicalType::STRING.nullable()),
        RowField::new("c", LogicalType::Boolean.nullable()),
    ]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(arrow::array::Int32Array::from(vec![Some(1), None])),
        Arc::new(StringViewArray::from(vec!["x", "y"])),
        Arc::new(arrow::array::BooleanArray::from(vec![true, false])),
    ];
    let arrow::datatypes::DataType::Struct(fields) = row.to_arrow() else { panic!("a row is a struct") };
    let array: ArrayRef = Arc::new(arrow::array::StructArray::new(fields, columns, None));
    let field = to_field("v", &row.nullable());
    let texts = to_display_string(&array, &field, &Zone::UTC).unwrap();
    assert_eq!((texts.value(0), texts.value(1)), ("(1, x, TRUE)", "(NULL, y, FALSE)"));
    let map =
        crate::support::testing::evaluate("STR_TO_MAP", &[crate::support::testing::text("a=1,b")]).unwrap();
    let array = map.to_array().unwrap();
    let texts =
        to_display_string(&array, &Field::new("v", array.data_type().clone(), true), &Zone::UTC).unwrap();
    assert_eq!(texts.value(0), "{a=1, b=NULL}");
}

#[test]
fn inserting_converts_what_loses_nothing() {
    use LogicalType::*;
    for (from, to, expected) in [
        (Int, Int, Some("same")),
        (VarChar(3), LogicalType::STRING, Some("same")),
        (Char(3), VarChar(1), Some("same")),
        (LogicalType::STRING, Char(3), None),
        (TinyInt, BigInt, Some("cast")),
        (BigInt, Int, None),
        (Int, Double, Some("cast")),
        (Double, Float, None),
        (Double, Decimal(10, 2), Some("cast")),
        (Decimal(24, 3), Decimal(23, 3), Some("cast")),
        (Timestamp(3), TimestampLtz(3), Some("cast")),
        (TimestampLtz(3), Timestamp(3), Some("cast")),
        (Timestamp(1), Timestamp(3), Some("same")),
        (Timestamp(3), Timestamp(1), Some("cast")),
        (Timestamp(3), Date, Some("cast")),
        (Date, Timestamp(3), None),
        (LogicalType::STRING, Int, None),
        (Int, LogicalType::STRING, None),
        (Array(Box::new(Int.nullable())), Array(Box::new(BigInt.nullable())), Some("cast")),
        (Array(Box::new(BigInt.nullable())), Array(Box::new(Int.nullable())), None),
        (Null, Int, Some("cast")),
    ] {
        let given = implicit_cast(&from, &to).map(|i| if i == Implicit::Same { "same" } else { "cast" });
        assert_eq!(given, expected, "{from} to {to}");
    }
}

#[test]
fn casts_to_different_types_are_different_columns() {
    use datafusion_expr::col;
    let name = |kind: LogicalType| {
        cast_function(kind.nullable(), false).call(vec![col("a")]).schema_name().to_string()
    };
    assert_eq!(name(LogicalType::Int), "CAST(a AS INT)");
    assert_ne!(name(LogicalType::Int), name(LogicalType::BigInt));
}

#[test]
fn numbers() {
    check(&[
        ("300", &["INT", "TINYINT"], "44"),
        ("-129", &["INT", "TINYINT"], "127"),
        ("4294967296", &["BIGINT", "BIGINT", "INT"], "0"),
        ("1e10", &["DOUBLE", "DOUBLE", "INT"], "2147483647"),
        ("1e30", &["DOUBLE", "DOUBLE", "BIGINT"], "9223372036854775807"),
        ("1e10", &["DOUBLE", "DOUBLE", "SMALLINT"], "-1"),
        ("300.7", &["DECIMAL(4,1)", "DOUBLE", "TINYINT"], "44"),
        ("-1.9", &["DECIMAL(2,1)", "DOUBLE", "INT"], "-1"),
        ("3.5", &["DECIMAL(2,1)", "FLOAT", "BIGINT"], "3"),
        ("NaN", &["DOUBLE", "INT"], "0"),
        ("12.99", &["DECIMAL(4,2)", "INT"], "12"),
        ("-12.99", &["DECIMAL(4,2)", "INT"], "-12"),
        ("99999999999.5", &["DECIMAL(12,1)", "INT"], "1215752191"),
        ("300.5", &["DECIMAL(4,1)", "TINYINT"], "44"),
        ("12.345", &["DECIMAL(5,3)", "DECIMAL(5,2)"], "12.35"),
        ("12.344", &["DECIMAL(5,3)", "DECIMAL(5,2)"], "12.34"),
        ("-12.345", &["DECIMAL(5,3)", "DECIMAL(5,2)"], "-12.35"),
        ("1234.5", &["DECIMAL(5,1)", "TRY DECIMAL(5,2)"], "NULL"),
        ("12345", &["INT", "DECIMAL(7,2)"], "12345.00"),
        ("1.005", &["DECIMAL(4,3)", "DOUBLE", "DECIMAL(5,2)"], "1.01"),
        ("12345.678", &["DECIMAL(8,3)", "DOUBLE", "DECIMAL(7,2)"], "12345.68"),
        ("0.1", &["DECIMAL(2,1)", "DOUBLE", "FLOAT"], "0.1"),
        ("1", &["INT", "BOOLEAN"], "TRUE"),
        ("0", &["INT", "BOOLEAN"], "FALSE"),
        ("0.5", &["DECIMAL(2,1)", "DOUBLE", "BOOLEAN"], "TRUE"),
        ("0.0", &["DECIMAL(2,1)", "BOOLEAN"], "FALSE"),
        ("true", &["BOOLEAN", "INT"], "1"),
        ("false", &["BOOLEAN", "DOUBLE"], "0.0"),
        ("true", &["BOOLEAN", "DECIMAL(5,2)"], "1.00"),
        ("1.5", &["DECIMAL(2,1)", "DECIMAL(3,1)", "FLOAT"], "1.5"),
        ("1.5", &["DECIMAL(2,1)", "BOOLEAN"], "TRUE"),
        ("5", &["INT", "TINYINT", "DECIMAL(2,1)"], "5.0"),
        ("2.0", &["DECIMAL(2,1)", "DOUBLE", "BOOLEAN"], "TRUE"),
    ]);
}

#[test]
fn texts_to_numbers() {
    check(&[
        ("12.345", &["DECIMAL(5,2)"], "12.35"),
        (" 12.3 ", &["DECIMAL(5,2)"], "12.30"),
        ("1e2", &["DECIMAL(5,2)"], "100.00"),
        ("abc", &["TRY DECIMAL(5,2)"], "NULL"),
        (" 12 ", &["INT"], "12"),
        ("+12", &["INT"], "12"),
        ("12.7", &["INT"], "12"),
        ("-12.7", &["BIGINT"], "-12"),
        (".5", &["INT"], "0"),
        ("12.", &["INT"], "12"),
        ("-2147483648", &["INT"], "-2147483648"),
        ("abc", &["TRY INT"], "NULL"),
        ("1.5", &["DOUBLE"], "1.5"),
        (" 1.5e3 ", &["DOUBLE"], "1500.0"),
        ("NaN", &["DOUBLE"], "NaN"),
        ("Infinity", &["DOUBLE"], "Infinity"),
        ("1d", &["DOUBLE"], "1.0"),
        ("1e400", &["DOUBLE"], "Infinity"),
        ("true", &["BOOLEAN"], "TRUE"),
        ("T", &["BOOLEAN"], "TRUE"),
        ("yes", &["BOOLEAN"], "TRUE"),
        ("y", &["BOOLEAN"], "TRUE"),
        ("1", &["BOOLEAN"], "TRUE"),
        ("FALSE", &["BOOLEAN"], "FALSE"),
        ("no", &["BOOLEAN"], "FALSE"),
        ("n", &["BOOLEAN"], "FALSE"),
        ("0", &["BOOLEAN"], "FALSE"),
        ("-0", &["INT"], "0"),
        ("00012", &["INT"], "12"),
        (".", &["INT"], "0"),
        ("+.", &["INT"], "0"),
        ("-.5", &["INT"], "0"),
    ]);
}

#[test]
fn to_texts() {
    check(&[
        ("true", &["BOOLEAN", "STRING"], "TRUE"),
        ("false", &["BOOLEAN", "CHAR(3)"], "FAL"),
        ("true", &["BOOLEAN", "VARCHAR(2)"], "TR"),
        ("123", &["INT", "STRING"], "123"),
        ("123", &["INT", "VARCHAR(2)"], "12"),
        ("abcdef", &["CHAR(3)"], "abc"),
        ("abcdef", &["VARCHAR(3)"], "abc"),
        ("世界人", &["VARCHAR(2)"], "世界"),
        ("12.30", &["DECIMAL(4,2)", "STRING"], "12.30"),
        ("12.3", &["DECIMAL(3,1)", "DECIMAL(10,4)", "STRING"], "12.3000"),
        ("0.00", &["DECIMAL(3,2)", "STRING"], "0.00"),
        ("0.0000001", &["DECIMAL(8,7)", "DECIMAL(10,9)", "STRING"], "0.000000100"),
        ("-0.5", &["DECIMAL(2,1)", "STRING"], "-0.5"),
        ("1e10", &["DOUBLE", "DOUBLE", "STRING"], "1.0E10"),
        ("1e7", &["DOUBLE", "DOUBLE", "STRING"], "1.0E7"),
        ("1234567.5", &["DECIMAL(8,1)", "DOUBLE", "STRING"], "1234567.5"),
        ("0.001", &["DECIMAL(4,3)", "DOUBLE", "STRING"], "0.001"),
        ("0.0001", &["DECIMAL(5,4)", "DOUBLE", "STRING"], "1.0E-4"),
        ("100", &["INT", "DOUBLE", "STRING"], "100.0"),
        ("1.0E-5", &["DOUBLE", "DOUBLE", "STRING"], "1.0E-5"),
        ("2e-3", &["DOUBLE", "DOUBLE", "STRING"], "0.002"),
        ("1.7976931348623157E308", &["DOUBLE", "STRING"], "1.7976931348623157E308"),
        ("NaN", &["DOUBLE", "STRING"], "NaN"),
        ("Infinity", &["DOUBLE", "STRING"], "Infinity"),
        ("0.1", &["DECIMAL(2,1)", "FLOAT", "STRING"], "0.1"),
        ("1e10", &["DOUBLE", "FLOAT", "STRING"], "1.0E10"),
        ("16777216", &["INT", "FLOAT", "STRING"], "1.6777216E7"),
        ("3.4028235E38", &["DOUBLE", "FLOAT", "STRING"], "3.4028235E38"),
        ("1.0E-3", &["DOUBLE", "FLOAT", "STRING"], "0.001"),
        ("2020-02-29", &["DATE", "STRING"], "2020-02-29"),
        ("12:34:56", &["TIME(0)", "STRING"], "12:34:56"),
        ("12:34:56.789", &["TIME(3)", "STRING"], "12:34:56.789"),
        ("2020-01-01 00:00:00", &["TIMESTAMP(0)", "STRING"], "2020-01-01 00:00:00"),
        ("2020-01-01 00:00:00", &["TIMESTAMP(0)", "TIMESTAMP(3)", "STRING"], "2020-01-01 00:00:00.000"),
        (
            "2020-01-01 00:00:00.123456",
            &["TIMESTAMP(6)", "TIMESTAMP(6)", "STRING"],
            "2020-01-01 00:00:00.123456",
        ),
        (
            "2020-01-01 00:00:00.123456",
            &["TIMESTAMP(6)", "TIMESTAMP(3)", "STRING"],
            "2020-01-01 00:00:00.123",
        ),
        ("2020-01-01 00:00:00.1239", &["TIMESTAMP(4)", "TIMESTAMP(3)", "STRING"], "2020-01-01 00:00:00.123"),
        (
            "2020-01-01 00:00:00.123456789",
            &["TIMESTAMP(9)", "TIMESTAMP(9)", "STRING"],
            "2020-01-01 00:00:00.123456789",
        ),
        (
            "2020-01-01 00:00:00.100",
            &["TIMESTAMP(3)", "TIMESTAMP(9)", "STRING"],
            "2020-01-01 00:00:00.100000000",
        ),
        ("2020-01-01 00:00:00", &["TIMESTAMP(0)", "VARCHAR(10)"], "2020-01-01"),
        ("2020-01-05 10:11:12", &["TIMESTAMP_LTZ(3)", "STRING"], "2020-01-05 10:11:12.000"),
        ("2020-01-05 10:11:12.1234567", &["TIMESTAMP_LTZ(6)", "STRING"], "2020-01-05 10:11:12.123456"),
        ("2021-03-28 02:30:00", &["TIMESTAMP(0)", "TIMESTAMP_LTZ(3)", "STRING"], "2021-03-28 03:30:00.000"),
        ("2021-10-31 02:30:00", &["TIMESTAMP(0)", "TIMESTAMP_LTZ(3)", "STRING"], "2021-10-31 02:30:00.000"),
        ("1969-12-31 23:59:59.9", &["TIMESTAMP(1)", "TIMESTAMP(3)", "STRING"], "1969-12-31 23:59:59.900"),
    ]);
}

#[test]
fn dates_and_times() {
    check(&[
        ("2020-01-01 00:00:00", &["TIMESTAMP(0)", "DATE"], "2020-01-01"),
        ("2020-01-01 12:34:56.789", &["TIMESTAMP(3)", "TIME"], "12:34:56"),
        ("2020-01-01 12:34:56.789", &["TIMESTAMP(3)", "TIME(3)"], "12:34:56.789"),
        ("2020-01-01", &["DATE", "TIMESTAMP(3)"], "2020-01-01 00:00:00.000"),
        ("12:34:56", &["TIME(0)", "TIMESTAMP(3)"], "1970-01-01 12:34:56.000"),
        ("2020-1-5", &["DATE"], "2020-01-05"),
        ("2020-01-05", &["DATE"], "2020-01-05"),
        ("2020-01-05 10:11:12", &["DATE"], "2020-01-05"),
        ("2020", &["DATE"], "2020-01-01"),
        ("2020-03", &["DATE"], "2020-03-01"),
        ("abc", &["TRY DATE"], "NULL"),
        (" 2020-01-05 ", &["DATE"], "2020-01-05"),
        ("0001-01-01", &["DATE"], "0001-01-01"),
        ("12:34:56", &["TIME"], "12:34:56"),
        ("12:34", &["TIME"], "12:34:00"),
        ("1:2:3", &["TIME"], "01:02:03"),
        ("12", &["TIME"], "12:00:00"),
        ("12:34:56.789", &["TIME(3)"], "12:34:56.789"),
        ("12:34:56.7891", &["TIME(3)"], "12:34:56.789"),
        ("2020-01-05 10:11:12", &["TIMESTAMP"], "2020-01-05 10:11:12.000000"),
        ("2020-01-05 10:11:12.123456789", &["TIMESTAMP(9)"], "2020-01-05 10:11:12.123456789"),
        ("2020-01-05 10:11:12.9999", &["TIMESTAMP(3)"], "2020-01-05 10:11:12.999"),
        ("2020-01-05", &["TIMESTAMP(3)"], "2020-01-05 00:00:00.000"),
        ("2020-1-5 1:2:3", &["TIMESTAMP(3)"], "2020-01-05 01:02:03.000"),
        ("2020-01-05 10:11:12.", &["TIMESTAMP(3)"], "2020-01-05 10:11:12.000"),
        ("2020-01-05 10:11:12.1", &["TIMESTAMP(0)"], "2020-01-05 10:11:12"),
        ("2020-01-05 10:11:12", &["TIMESTAMP_LTZ(3)"], "2020-01-05 09:11:12.000"),
        ("2020-01-05", &["TIMESTAMP_LTZ(3)"], "2020-01-04 23:00:00.000"),
        ("2021-03-28 02:30:00", &["TIMESTAMP(0)", "TIMESTAMP_LTZ(3)"], "2021-03-28 01:30:00.000"),
        ("2021-10-31 02:30:00", &["TIMESTAMP(0)", "TIMESTAMP_LTZ(3)"], "2021-10-31 00:30:00.000"),
        (
            "2021-07-01 12:00:00",
            &["TIMESTAMP(0)", "TIMESTAMP_LTZ(3)", "TIMESTAMP(3)"],
            "2021-07-01 12:00:00.000",
        ),
        ("2021-07-01 23:30:00", &["TIMESTAMP(0)", "TIMESTAMP_LTZ(3)", "DATE"], "2021-07-01"),
        ("2021-07-01 23:30:00", &["TIMESTAMP(0)", "TIMESTAMP_LTZ(3)", "TIME"], "23:30:00"),
        ("2021-07-01", &["DATE", "TIMESTAMP_LTZ(3)"], "2021-06-30 22:00:00.000"),
        ("12:34:56", &["TIME(0)", "TIMESTAMP_LTZ(3)"], "1970-01-01 11:34:56.000"),
        ("12:34:56", &["TIME(0)", "TIME(3)"], "12:34:56.000"),
        ("12:34:56.789", &["TIME(3)", "TIME(0)"], "12:34:56"),
        ("2020-01-01 00:00:00.9999", &["TIMESTAMP(4)", "TIMESTAMP(0)"], "2020-01-01 00:00:00"),
        ("1969-12-31 23:59:59.9999", &["TIMESTAMP(4)", "TIMESTAMP(3)"], "1969-12-31 23:59:59.999"),
        ("2021-02-30 00:00:00", &["TIMESTAMP(3)"], "2021-02-28 00:00:00.000"),
        ("2021-02-31", &["TIMESTAMP(3)"], "2021-02-28 00:00:00.000"),
        ("2021-04-31", &["TIMESTAMP(3)"], "2021-04-30 00:00:00.000"),
        ("2021-02-03 24:00:00", &["TIMESTAMP(3)"], "2021-02-04 00:00:00.000"),
        ("2020-1", &["DATE"], "2020-01-01"),
        ("99-01-05", &["DATE"], "0099-01-05"),
        (" 12:34:56", &["TIME"], "12:34:56"),
        ("12:34:56 ", &["TIME"], "12:34:56"),
        ("12:34:56.", &["TIME"], "12:34:56"),
        ("12:34:56.78912", &["TIME(3)"], "12:34:56.789"),
    ]);
}

#[test]
fn failing_casts() {
    check(&[
        ("1234.5", &["DECIMAL(5,1)", "DECIMAL(5,2)"], "NULL"),
        ("123456", &["INT", "DECIMAL(5,0)"], "NULL"),
        ("1e20", &["DOUBLE", "DOUBLE", "DECIMAL(10,2)"], "NULL"),
        ("1234.5", &["DECIMAL(5,2)"], "error: cannot cast"),
        ("abc", &["DECIMAL(5,2)"], "error: cannot cast"),
        ("", &["INT"], "error: cannot cast"),
        ("12.x", &["INT"], "error: cannot cast"),
        ("1e2", &["INT"], "error: cannot cast"),
        ("2147483648", &["INT"], "error: cannot cast"),
        ("128", &["TINYINT"], "error: cannot cast"),
        ("9223372036854775808", &["BIGINT"], "error: cannot cast"),
        ("0x10", &["INT"], "error: cannot cast"),
        ("inf", &["DOUBLE"], "error: cannot cast"),
        ("abc", &["DOUBLE"], "error: cannot cast"),
        ("on", &["BOOLEAN"], "error: cannot cast"),
        (" true ", &["BOOLEAN"], "error: cannot cast"),
        ("abc", &["BOOLEAN"], "error: cannot cast"),
        ("", &["BOOLEAN"], "error: cannot cast"),
        ("2020-13-05", &["DATE"], "error: cannot cast"),
        ("2020-02-30", &["DATE"], "error: cannot cast"),
        ("abc", &["DATE"], "error: cannot cast"),
        ("-0001-01-01", &["DATE"], "error: cannot cast"),
        ("20200105", &["DATE"], "error: cannot cast"),
        ("2020-01-05T10:11:12", &["DATE"], "error: cannot cast"),
        ("25:00:00", &["TIME"], "error: cannot cast"),
        ("2020-01-05 12:34:56", &["TIME"], "error: cannot cast"),
        ("abc", &["TIME"], "error: cannot cast"),
        ("2020-01-05T10:11:12", &["TIMESTAMP(3)"], "error: cannot cast"),
        ("2020-01-05 10:11", &["TIMESTAMP(3)"], "error: cannot cast"),
        ("2020-01-05 10", &["TIMESTAMP(3)"], "error: cannot cast"),
        ("2020-01-05 10:11:12Z", &["TIMESTAMP(3)"], "error: cannot cast"),
        ("2020-01-05 25:11:12", &["TIMESTAMP(3)"], "error: cannot cast"),
        ("abc", &["TIMESTAMP(3)"], "error: cannot cast"),
        ("10:11:12", &["TIMESTAMP(3)"], "error: cannot cast"),
        ("2020-01-05 10:11:12Z", &["TIMESTAMP_LTZ(3)"], "error: cannot cast"),
        ("2020-01-05 10:11:12+01:00", &["TIMESTAMP_LTZ(3)"], "error: cannot cast"),
        ("1", &["INT", "TIMESTAMP(3)"], "error: cannot cast"),
        ("1970-01-01 00:00:01", &["TIMESTAMP(0)", "BIGINT"], "error: cannot cast"),
        ("2020-01-01", &["DATE", "INT"], "error: cannot cast"),
        ("1", &["INT", "DATE"], "error: cannot cast"),
        ("2020-01-01", &["DATE", "TIME"], "error: cannot cast"),
        ("12345-01-01", &["DATE", "STRING"], "error: cannot cast"),
        ("12", &["INT", "TINYINT", "DECIMAL(2,1)"], "NULL"),
        ("９", &["INT"], "error: cannot cast"),
        ("1_000", &["INT"], "error: cannot cast"),
        ("--1", &["INT"], "error: cannot cast"),
        ("-", &["INT"], "error: cannot cast"),
        ("1.2.3", &["INT"], "error: cannot cast"),
        ("2020-01-01", &["DATE", "BOOLEAN"], "error: cannot cast"),
        ("true", &["BOOLEAN", "DATE"], "error: cannot cast"),
        ("12:34:56", &["TIME(0)", "DATE"], "error: cannot cast"),
        (" 2020-01-05 10:11:12 ", &["TIMESTAMP(3)"], "error: cannot cast"),
        ("12021-02-03 00:00:00", &["TIMESTAMP(3)"], "error: cannot cast"),
        ("21-02-03 00:00:00", &["TIMESTAMP(3)"], "error: cannot cast"),
        ("0000-01-01 00:00:00", &["TIMESTAMP(3)"], "error: cannot cast"),
        ("2021-02-03  01:00:00", &["TIMESTAMP(3)"], "error: cannot cast"),
        ("2021-02-03 ", &["TIMESTAMP(3)"], "error: cannot cast"),
        ("2020-01-05 10:11:12.1234567891", &["TIMESTAMP(9)"], "error: cannot cast"),
        ("0000-01-01", &["DATE"], "error: cannot cast"),
        ("2020-01-05x", &["DATE"], "error: cannot cast"),
        ("2020-01-05-06", &["DATE"], "error: cannot cast"),
        ("2020-", &["DATE"], "error: cannot cast"),
        ("2020-00-01", &["DATE"], "error: cannot cast"),
        ("12:60:00", &["TIME"], "error: cannot cast"),
        ("12:34.5", &["TIME"], "error: cannot cast"),
        ("123:4:5", &["TIME"], "error: cannot cast"),
        ("24:00:00", &["TIME"], "error: cannot cast"),
        ("-1:00", &["TIME"], "error: cannot cast"),
        ("+", &["INT"], "error: cannot cast"),
        ("1 2", &["INT"], "error: cannot cast"),
    ]);
}
