use super::*;
use crate::support::testing::evaluate_udf;
use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array, StringViewArray};
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion_common::ScalarValue;
use datafusion_expr::ReturnFieldArgs;
use flugs_sql_types::{LogicalType, SqlType, from_field};
use flugs_types::{Error, ErrorKind, Result, Timestamp};
use std::sync::Arc;

fn text(value: &str) -> ScalarValue {
    ScalarValue::Utf8View(Some(value.to_owned()))
}

fn type_of(function: &datafusion_expr::ScalarUDF, arguments: &[SqlType]) -> SqlType {
    let fields: Vec<FieldRef> =
        arguments.iter().map(|t| Arc::new(flugs_sql_types::to_field("a", t))).collect();
    let constants = vec![None; fields.len()];
    let args = ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &constants };
    from_field(&function.return_field_from_args(args).unwrap()).unwrap()
}

#[test]
fn closures_are_scalar_functions() {
    let repeat = scalar("repeat_it", |s: &str, n: i64| s.repeat(n.clamp(0, 100) as usize));
    // Integers are widened to the parameter's type.
    let result = evaluate_udf(&repeat, &[text("ab"), ScalarValue::Int16(Some(2))], "UTC").unwrap();
    assert_eq!(result, text("abab"));
    assert_eq!(
        evaluate_udf(&repeat, &[text("ab"), ScalarValue::Null], "UTC").unwrap(),
        ScalarValue::Utf8View(None)
    );
    assert!(evaluate_udf(&repeat, &[text("ab")], "UTC").is_err());
    assert!(evaluate_udf(&repeat, &[text("ab"), text("2")], "UTC").is_err());
    let of = |a: LogicalType, b: LogicalType| type_of(&repeat, &[a.not_null(), b.nullable()]).to_string();
    assert_eq!(of(LogicalType::STRING, LogicalType::Int), "STRING");
    assert_eq!(
        type_of(&repeat, &[LogicalType::STRING.not_null(), LogicalType::Int.not_null()]).to_string(),
        "STRING NOT NULL"
    );
}

#[test]
fn closures_may_know_null() {
    let or_zero = scalar("or_zero", |n: Option<i64>| n.unwrap_or(0));
    assert_eq!(
        evaluate_udf(&or_zero, &[ScalarValue::Int64(None)], "UTC").unwrap(),
        ScalarValue::Int64(Some(0))
    );
    assert_eq!(type_of(&or_zero, &[LogicalType::BigInt.nullable()]).to_string(), "BIGINT NOT NULL");
    let half = scalar("half", |n: i64| (n % 2 == 0).then_some(n / 2));
    assert_eq!(evaluate_udf(&half, &[ScalarValue::Int64(Some(3))], "UTC").unwrap(), ScalarValue::Int64(None));
    assert_eq!(type_of(&half, &[LogicalType::BigInt.not_null()]).to_string(), "BIGINT");
    let answer = scalar("answer", || 42i32);
    assert_eq!(evaluate_udf(&answer, &[], "UTC").unwrap(), ScalarValue::Int32(Some(42)));
}

#[test]
fn closures_have_many_types() {
    let all = scalar("all", |a: bool, b: f64, c: &[u8], d: Timestamp, e: Option<&str>| {
        format!("{a} {b} {c:?} {} {e:?}", d.0)
    });
    let arguments = [
        ScalarValue::Boolean(Some(true)),
        ScalarValue::Int32(Some(2)),
        ScalarValue::Binary(Some(vec![7])),
        ScalarValue::TimestampMillisecond(Some(3), Some("+00:00".into())),
        ScalarValue::Utf8View(None),
    ];
    assert_eq!(evaluate_udf(&all, &arguments, "UTC").unwrap(), text("true 2 [7] 3000 None"));
    let later = scalar("later", |t: Timestamp| Timestamp(t.0 + 1));
    let at = ScalarValue::TimestampMicrosecond(Some(1), Some("+00:00".into()));
    let expected = ScalarValue::TimestampMicrosecond(Some(2), Some("+00:00".into()));
    assert_eq!(evaluate_udf(&later, &[at], "UTC").unwrap(), expected);
}

#[test]
fn failing_closures_are_errors_of_the_user() {
    let parse = scalar("parse", |s: &str| s.parse::<i64>());
    assert_eq!(evaluate_udf(&parse, &[text("12")], "UTC").unwrap(), ScalarValue::Int64(Some(12)));
    let error = evaluate_udf(&parse, &[text("x")], "UTC").unwrap_err().to_string();
    assert!(error.contains("user function failed: invalid digit") && error.contains("at parse"), "{error}");
    let panics = scalar("panics", |n: i64| 10 / n);
    let error = evaluate_udf(&panics, &[ScalarValue::Int64(Some(0))], "UTC").unwrap_err().to_string();
    assert!(error.contains("divide by zero"), "{error}");
}

#[test]
fn closures_are_table_functions() {
    let words = table("words", ["word", "length"], |s: &str, least: Option<i64>| {
        let least = least.unwrap_or(0);
        let longer = |word: &&str| word.len() as i64 >= least;
        s.split(' ').filter(longer).map(|w| (w.to_owned(), w.len() as i64)).collect::<Vec<_>>()
    });
    let columns = words.columns(&[LogicalType::STRING.nullable(), LogicalType::Int.nullable()]).unwrap();
    let shown: Vec<String> = columns.iter().map(|c| format!("{} {}", c.name, c.sql_type)).collect();
    assert_eq!(shown, ["word STRING NOT NULL", "length BIGINT NOT NULL"]);
    assert!(words.columns(&[LogicalType::Int.nullable()]).is_err());
    let refused = words.coerce(&[DataType::Utf8View, DataType::Boolean]).unwrap_err();
    assert_eq!(refused.to_string(), "job error: words takes (STRING, BIGINT), not BOOLEAN for BIGINT");
    assert_eq!(
        words.coerce(&[DataType::Utf8, DataType::Int8]).unwrap(),
        [DataType::Utf8View, DataType::Int64]
    );

    let texts: ArrayRef =
        Arc::new(StringViewArray::from(vec![Some("a bc def"), None, Some(""), Some("x yz")]));
    let least: ArrayRef = Arc::new(Int64Array::from(vec![Some(2), None, Some(1), None]));
    let TableRows { rows, of } = words.eval(&[texts.clone(), least.clone()], 0..4).unwrap();
    assert_eq!(of, [0, 0, 3, 3]);
    let found: Vec<&str> = rows.column(0).as_string_view().iter().flatten().collect();
    assert_eq!(found, ["bc", "def", "x", "yz"]);
    assert_eq!(rows.column(1).as_primitive::<Int64Type>().values(), &[2, 3, 1, 2]);
    // A part of the rows gives a part of the result.
    assert_eq!(words.eval(&[texts, least], 1..3).unwrap().of, Vec::<u32>::new());
}

#[test]
fn table_functions_may_fail_and_give_one_column() {
    let upto = table("upto", ["n"], |n: i64| {
        assert!(n < 10, "too many");
        0..n
    });
    let input: ArrayRef = Arc::new(Int64Array::from(vec![2, 0, 11]));
    assert_eq!(upto.eval(std::slice::from_ref(&input), 0..2).unwrap().of, [0, 0]);
    let error = upto.eval(std::slice::from_ref(&input), 2..3).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::User);
    let misnamed = table("misnamed", ["a", "b"], |n: i64| [n]);
    assert!(misnamed.columns(&[LogicalType::BigInt.not_null()]).is_err());
    let nullable = table("nullable", ["a"], |n: i64| [Some(n), None]);
    assert_eq!(
        nullable.columns(&[LogicalType::BigInt.not_null()]).unwrap()[0].sql_type.to_string(),
        "BIGINT"
    );
    assert_eq!(nullable.eval(&[input], 0..1).unwrap().rows.column(0).null_count(), 1);
}

#[test]
fn rows_say_where_they_belong() {
    let schema = flugs_sql_types::to_schema([("a", &LogicalType::Int.nullable())]);
    let rows = |n: i32| {
        let column: ArrayRef = Arc::new(Int32Array::from_iter_values(0..n));
        arrow::array::RecordBatch::try_new(schema.clone(), vec![column]).unwrap()
    };
    assert!(TableRows::new(rows(2), vec![4, 4], 4..5).is_ok());
    assert!(TableRows::new(rows(2), vec![4], 4..5).is_err());
    assert!(TableRows::new(rows(2), vec![5, 4], 4..6).is_err());
    assert!(TableRows::new(rows(1), vec![6], 4..6).is_err());
}

/// The longest text and its length.
#[derive(Debug)]
struct Pair;

impl DynamicScalar for Pair {
    fn name(&self) -> &str {
        "pair"
    }

    fn result_type(&self, arguments: &[SqlType]) -> Result<SqlType> {
        match arguments {
            [a, _] => Ok(LogicalType::Array(Box::new(a.clone())).not_null()),
            _ => Err(Error::job("pair takes two values")),
        }
    }

    fn eval(&self, arguments: &[ScalarValue]) -> Result<ScalarValue> {
        if arguments[0] == ScalarValue::Int32(Some(13)) {
            return Ok(ScalarValue::Int32(Some(13)));
        }
        let list = ScalarValue::new_list(arguments, &DataType::Int32, false);
        Ok(ScalarValue::List(list))
    }
}

#[test]
fn dynamic_functions_have_any_types() {
    let pair = dynamic_scalar(Arc::new(Pair));
    let int = LogicalType::Int.not_null();
    assert_eq!(type_of(&pair, &[int.clone(), int.clone()]).to_string(), "ARRAY<INT NOT NULL> NOT NULL");
    let field = Arc::new(flugs_sql_types::to_field("a", &int));
    let call = |n: i32| {
        let fields: Vec<FieldRef> = vec![field.clone(), field.clone()];
        let return_field = pair
            .return_field_from_args(ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &[None, None] })
            .unwrap();
        pair.invoke_with_args(datafusion_expr::ScalarFunctionArgs {
            args: vec![ScalarValue::Int32(Some(n)).into(), ScalarValue::Int32(Some(2)).into()],
            arg_fields: fields,
            number_rows: 1,
            return_field,
            config_options: Arc::default(),
        })
    };
    let value = call(1).unwrap().into_array(1).unwrap();
    assert_eq!(value.as_list::<i32>().value(0).as_ref(), &Int32Array::from(vec![1, 2]) as &dyn Array);
    let error = call(13).unwrap_err().to_string();
    assert!(error.contains("pair promised values of"), "{error}");
    let one: FieldRef = Arc::new(Field::new("a", DataType::Int32, false));
    let fields = [one];
    assert!(
        pair.return_field_from_args(ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &[None] })
            .is_err()
    );
}
