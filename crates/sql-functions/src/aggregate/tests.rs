use super::{plan_aggregate, plan_window};
use crate::registry::FunctionRegistry;
use crate::table;
use arrow::array::{ArrayRef, AsArray, Int32Array};
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::expr::{AggregateFunction, NullTreatment, WindowFunction};
use datafusion_expr::function::WindowUDFFieldArgs;
use datafusion_expr::{Expr, WindowFunctionDefinition, col, lit};
use flugs_sql_types::{
    AggregateKind, AggregatedRow, Fraction, LogicalType, SqlType, WindowKind, from_field, to_field,
};
use std::sync::Arc;

fn fields(types: &[SqlType]) -> Vec<FieldRef> {
    types.iter().map(|t| Arc::new(to_field("x", t))).collect()
}

fn type_of(name: &str, types: &[SqlType]) -> Result<String> {
    let registry = FunctionRegistry::builtin();
    let function = registry.aggregate(name).unwrap_or_else(|| panic!("no aggregate {name}"));
    Ok(from_field(&function.return_field(&fields(types))?.as_ref().clone()).unwrap().to_string())
}

#[test]
fn results_have_the_types_of_flink() {
    use LogicalType::{Array, BigInt, Decimal, Double, Int, SmallInt, Timestamp};
    let string = || LogicalType::STRING.not_null();
    let array = |kind: LogicalType| Array(Box::new(kind.not_null())).not_null();
    let cases: [(&str, &[SqlType], &str); 24] = [
        ("count", &[], "BIGINT NOT NULL"),
        ("COUNT", &[Int.nullable(), string()], "BIGINT NOT NULL"),
        ("sum", &[SmallInt.not_null()], "SMALLINT"),
        ("sum", &[Decimal(10, 2).not_null()], "DECIMAL(38, 2)"),
        ("$sum0", &[Int.not_null()], "INT NOT NULL"),
        ("avg", &[Int.not_null()], "INT"),
        ("avg", &[Decimal(10, 2).not_null()], "DECIMAL(38, 6)"),
        ("max", &[Timestamp(3).not_null()], "TIMESTAMP(3)"),
        ("variance", &[BigInt.not_null()], "BIGINT"),
        ("stddev_pop", &[Double.not_null()], "DOUBLE"),
        ("collect", &[string()], "MULTISET<STRING NOT NULL>"),
        ("listagg", &[string()], "STRING"),
        ("listagg", &[string(), string()], "STRING"),
        ("first_value", &[Int.not_null()], "INT"),
        ("array_agg", &[Int.nullable()], "ARRAY<INT>"),
        ("percentile", &[Int.not_null(), Double.not_null()], "DOUBLE"),
        ("percentile", &[Int.not_null(), array(Double), Int.not_null()], "ARRAY<DOUBLE>"),
        ("json_objectagg", &[string(), Int.nullable()], "STRING"),
        ("json_arrayagg_null_on_null", &[Int.nullable()], "STRING"),
        ("bitmap_build_agg", &[Int.nullable()], "BYTES"),
        ("bitmap_or_cardinality_agg", &[LogicalType::BYTES.nullable()], "BIGINT"),
        ("grouping", &[Int.nullable()], "BIGINT NOT NULL"),
        ("group_id", &[], "BIGINT NOT NULL"),
        ("single_value", &[Int.not_null()], "INT"),
    ];
    for (name, types, expected) in cases {
        assert_eq!(type_of(name, types).unwrap(), expected, "{name}");
    }
    for (name, types) in [
        ("sum", vec![string()]),
        ("sum", vec![]),
        ("listagg", vec![Int.nullable()]),
        ("listagg", vec![string(), Int.nullable()]),
        ("percentile", vec![Int.nullable()]),
        ("max", vec![array(Int)]),
        ("json_objectagg", vec![Int.nullable(), Int.nullable()]),
    ] {
        let error = type_of(name, &types).unwrap_err().to_string();
        assert!(error.contains("called as") || error.contains("does not take"), "{error}");
    }
}

#[test]
fn strings_are_seen_in_one_type() {
    let registry = FunctionRegistry::builtin();
    let seen =
        registry.aggregate("listagg").unwrap().coerce_types(&[DataType::Utf8, DataType::Int32]).unwrap();
    assert_eq!(seen, [DataType::Utf8View, DataType::Int32]);
    let count = registry.aggregate("count").unwrap();
    assert_eq!(count.default_value(&DataType::Int64).unwrap(), ScalarValue::Int64(Some(0)));
    assert!(!count.is_nullable() && registry.aggregate("sum").unwrap().is_nullable());
}

fn planned(
    name: &str,
    args: Vec<Expr>,
    distinct: bool,
    nulls: Option<NullTreatment>,
) -> Result<(AggregateKind, Vec<Expr>)> {
    let registry = FunctionRegistry::builtin();
    let function = registry.aggregate(name).unwrap().clone();
    let call = AggregateFunction::new_udf(function, args, distinct, None, vec![], nulls);
    let planned = plan_aggregate(&call)?;
    Ok((planned.kind, planned.arguments))
}

#[test]
fn calls_become_kinds_and_columns() {
    let plan = |name: &str, args: Vec<Expr>| planned(name, args, false, None).unwrap();
    assert_eq!(plan("count", vec![lit(1i64)]), (AggregateKind::Count, vec![]));
    assert_eq!(plan("count", vec![col("a")]), (AggregateKind::Count, vec![col("a")]));
    let distinct = planned("count", vec![lit(1i64)], true, None).unwrap();
    assert_eq!(distinct, (AggregateKind::Count, vec![lit(1i64)]));
    let listagg = |separator: &str| (AggregateKind::Listagg { separator: separator.into() }, vec![col("s")]);
    assert_eq!(plan("listagg", vec![col("s")]), listagg(","));
    assert_eq!(plan("listagg", vec![col("s"), lit(" - ")]), listagg(" - "));
    assert!(planned("listagg", vec![col("s"), col("s")], false, None).is_err());
    let fraction = |value| Fraction::new(value).unwrap();
    let half = AggregateKind::Percentile { fractions: vec![fraction(0.5)], array: false };
    assert_eq!(plan("percentile", vec![col("a"), lit(0.5), col("a")]), (half, vec![col("a"), col("a")]));
    let several =
        ScalarValue::List(ScalarValue::new_list(&[0.0.into(), 1.0.into()], &DataType::Float64, true));
    let both = AggregateKind::Percentile { fractions: vec![fraction(0.0), fraction(1.0)], array: true };
    assert_eq!(plan("percentile", vec![col("a"), Expr::Literal(several, None)]), (both, vec![col("a")]));
    assert!(planned("percentile", vec![col("a"), lit(1.5)], false, None).is_err());
    assert!(planned("percentile", vec![col("a"), col("a")], false, None).is_err());
    let json = plan("json_objectagg_absent_on_null", vec![col("s"), col("a")]);
    assert_eq!(json, (AggregateKind::JsonObjectAgg { absent_on_null: true }, vec![col("s"), col("a")]));
    assert!(planned("grouping", vec![col("a")], false, None).is_err());
}

#[test]
fn nulls_are_passed_over_as_the_call_says() {
    let first = |nulls| planned("first_value", vec![col("a")], false, nulls).unwrap().0;
    assert_eq!(first(None), AggregateKind::FirstValue { ignore_nulls: true });
    assert_eq!(first(Some(NullTreatment::RespectNulls)), AggregateKind::FirstValue { ignore_nulls: false });
    let array = |nulls| planned("array_agg", vec![col("a")], false, nulls).unwrap().0;
    assert_eq!(array(None), AggregateKind::ArrayAgg { ignore_nulls: false });
    assert_eq!(array(Some(NullTreatment::IgnoreNulls)), AggregateKind::ArrayAgg { ignore_nulls: true });
}

fn window(name: &str, args: Vec<Expr>) -> Result<(WindowKind, Vec<Expr>)> {
    let registry = FunctionRegistry::builtin();
    let function = match registry.window(name) {
        Some(function) => WindowFunctionDefinition::WindowUDF(function.clone()),
        None => WindowFunctionDefinition::AggregateUDF(registry.aggregate(name).unwrap().clone()),
    };
    let planned = plan_window(&WindowFunction::new(function, args))?;
    Ok((planned.kind, planned.arguments))
}

#[test]
fn window_calls_become_kinds_and_columns() {
    assert_eq!(window("row_number", vec![]).unwrap(), (WindowKind::RowNumber, vec![]));
    assert_eq!(window("ntile", vec![lit(4)]).unwrap(), (WindowKind::Ntile { buckets: 4 }, vec![]));
    assert_eq!(window("lag", vec![col("a")]).unwrap(), (WindowKind::Lag { offset: 1 }, vec![col("a")]));
    let lead = window("lead", vec![col("a"), lit(2i64), lit(0)]).unwrap();
    assert_eq!(lead, (WindowKind::Lead { offset: 2 }, vec![col("a"), lit(0)]));
    let nth = window("nth_value", vec![col("a"), lit(3)]).unwrap();
    assert_eq!(nth, (WindowKind::NthValue { n: 3 }, vec![col("a")]));
    let sum = window("sum", vec![col("a")]).unwrap();
    assert_eq!(sum, (WindowKind::Aggregate(AggregateKind::Sum), vec![col("a")]));
    assert!(window("ntile", vec![lit(0)]).is_err());
    assert!(window("lag", vec![col("a"), col("a")]).is_err());
}

#[test]
fn window_functions_have_types() {
    let registry = FunctionRegistry::builtin();
    let of = |name: &str, types: &[SqlType]| -> Result<String> {
        let field = registry.window(name).unwrap().field(WindowUDFFieldArgs::new(&fields(types), "x"))?;
        Ok(from_field(&field).unwrap().to_string())
    };
    let int = || LogicalType::Int.not_null();
    let cases: [(&str, &[SqlType], &str); 7] = [
        ("rank", &[], "BIGINT NOT NULL"),
        ("percent_rank", &[], "DOUBLE NOT NULL"),
        ("ntile", &[int()], "BIGINT NOT NULL"),
        ("lag", &[int()], "INT"),
        ("lag", &[int(), int()], "INT"),
        ("lead", &[int(), int(), int()], "INT NOT NULL"),
        ("nth_value", &[LogicalType::STRING.not_null(), int()], "STRING"),
    ];
    for (name, types, expected) in cases {
        assert_eq!(of(name, types).unwrap(), expected, "{name}");
    }
    assert!(of("lag", &[]).is_err() && of("ntile", &[LogicalType::STRING.not_null()]).is_err());
    let widened =
        registry.window("lag").unwrap().coerce_types(&[DataType::Int32, DataType::Int32, DataType::Int64]);
    assert_eq!(widened.unwrap(), [DataType::Int64, DataType::Int32, DataType::Int64]);
}

/// A sum.
struct Balance;

impl table::AggregateFunction for Balance {
    type Row = i32;
    type Accumulator = i64;
    type Value = i64;

    fn create(&self) -> i64 {
        0
    }

    fn accumulate(&self, sum: &mut i64, value: i32) -> flugs_types::Result<()> {
        *sum += i64::from(value);
        Ok(())
    }

    fn value(&self, sum: &i64) -> i64 {
        *sum
    }
}

#[test]
fn users_write_aggregates() {
    let function = Arc::new(table::aggregate("balance", Balance));
    let call = AggregateFunction::new_udf(function.clone(), vec![col("a")], false, None, vec![], None);
    let planned = plan_aggregate(&call).unwrap();
    let AggregateKind::User(user) = &planned.kind else { panic!("{:?}", planned.kind) };
    assert_eq!(planned.kind.result_type(&[]).unwrap(), LogicalType::BigInt.not_null());
    assert_eq!(format!("{user:?}"), "balance(INT NOT NULL) BIGINT NOT NULL i64");
    let user = user.get();
    let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(7), None, Some(5)]));
    let row = |row, accumulator| AggregatedRow { row, accumulator, retracted: false };
    let mut accumulators = vec![Vec::new(); 3];
    user.accumulate(&mut accumulators, &[values], &[row(0, 0), row(1, 1), row(2, 0)]).unwrap();
    // Of a row with NULL nothing is known.
    assert!(accumulators[1].is_empty());
    let values = user.values(&mut accumulators.iter().map(Vec::as_slice)).unwrap();
    assert_eq!(values.as_primitive::<Int64Type>().values(), &[12, 0, 0]);
    // What it cannot do, it says.
    assert!(!user.retracts() && !user.merges());
    let other = accumulators[0].clone();
    assert!(user.merge(&mut accumulators[1], &other).unwrap_err().to_string().contains("no `merge`"));
    let of = |given: DataType| {
        let field: FieldRef = Arc::new(Field::new("x", given, true));
        function.return_field(&[field]).map(|field| field.data_type().clone())
    };
    assert_eq!(of(DataType::Int8).unwrap(), DataType::Int64);
    let refused = of(DataType::Utf8View).unwrap_err().to_string();
    assert!(refused.contains("balance takes (INT), not STRING"), "{refused}");
}
