//! Functions evaluated on values, as the planner would have them evaluated.

use crate::registry::FunctionRegistry;
use arrow::array::ArrayRef;
use arrow::datatypes::{Field, FieldRef};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF};
use flugs_sql_types::{SqlType, from_field};
use std::sync::Arc;

/// What a function gives for one row of constants; types are checked and widened as in a plan. The zone is UTC.
pub(crate) fn evaluate(name: &str, arguments: &[ScalarValue]) -> Result<ScalarValue> {
    let registry = FunctionRegistry::builtin();
    let function = registry.scalar(name).unwrap_or_else(|| panic!("no function {name}")).clone();
    evaluate_udf(&function, arguments, "UTC")
}

/// What a function object gives for one row of constants in a session of this time zone. The same row as columns must give
/// the same.
pub(crate) fn evaluate_udf(
    function: &ScalarUDF,
    arguments: &[ScalarValue],
    zone: &str,
) -> Result<ScalarValue> {
    let constants: Vec<ColumnarValue> = arguments.iter().cloned().map(ColumnarValue::Scalar).collect();
    let of_constants = invoke(function, constants, 1, zone);
    let columns = |constants_from: usize| {
        let argument = |(i, a): (usize, &ScalarValue)| match i {
            i if i >= constants_from => Ok(ColumnarValue::Scalar(a.clone())),
            _ => a.to_array_of_size(3).map(ColumnarValue::Array),
        };
        invoke(function, arguments.iter().enumerate().map(argument).collect::<Result<Vec<_>>>()?, 3, zone)
    };
    let mut of_columns = columns(arguments.len());
    // The type may depend on a constant.
    if let (Ok(one), Ok(other)) = (&of_constants, &of_columns)
        && one.data_type() != other.data_type()
    {
        of_columns = columns(1);
    }
    match (of_constants, of_columns) {
        (Ok(constant), Ok(column)) => {
            let constant = ScalarValue::try_from_array(&constant.into_array(1)?, 0)?;
            let column = column.into_array(3)?;
            if function.signature().volatility == datafusion_expr::Volatility::Immutable {
                for row in 0..3 {
                    assert_eq!(
                        ScalarValue::try_from_array(&column, row)?,
                        constant,
                        "columns give what constants give"
                    );
                }
            }
            Ok(constant)
        }
        (Err(error), Err(_)) => Err(error),
        (constant, column) => panic!("constants give {constant:?}, columns {column:?}"),
    }
}

/// What a function gives for columns, all of the same length.
pub(crate) fn evaluate_columns(name: &str, columns: &[ArrayRef]) -> Result<ArrayRef> {
    let registry = FunctionRegistry::builtin();
    let function = registry.scalar(name).unwrap_or_else(|| panic!("no function {name}")).clone();
    let rows = columns.first().map_or(1, |c| c.len());
    invoke(&function, columns.iter().cloned().map(ColumnarValue::Array).collect(), rows, "UTC")?
        .into_array(rows)
}

/// The type of a call with arguments of these types.
pub(crate) fn type_of(name: &str, arguments: &[SqlType]) -> Result<SqlType> {
    let registry = FunctionRegistry::builtin();
    let function = registry.scalar(name).unwrap_or_else(|| panic!("no function {name}")).clone();
    let fields: Vec<FieldRef> =
        arguments.iter().map(|t| Arc::new(flugs_sql_types::to_field("a", t))).collect();
    let constants = vec![None; fields.len()];
    let field = function
        .return_field_from_args(ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &constants })?;
    Ok(from_field(&field).expect("a result has an SQL type"))
}

fn invoke(function: &ScalarUDF, args: Vec<ColumnarValue>, rows: usize, zone: &str) -> Result<ColumnarValue> {
    let field = |a: &ColumnarValue| Arc::new(Field::new("a", a.data_type(), true));
    let arg_fields: Vec<FieldRef> = args.iter().map(field).collect();
    let constant = |a: &ColumnarValue| match a {
        ColumnarValue::Scalar(value) => Some(value.clone()),
        ColumnarValue::Array(_) => None,
    };
    let constants: Vec<Option<ScalarValue>> = args.iter().map(constant).collect();
    let scalar_arguments: Vec<Option<&ScalarValue>> = constants.iter().map(Option::as_ref).collect();
    let return_field = function.return_field_from_args(ReturnFieldArgs {
        arg_fields: &arg_fields,
        scalar_arguments: &scalar_arguments,
    })?;
    let mut options = ConfigOptions::default();
    options.execution.time_zone = Some(zone.to_owned());
    let config_options = Arc::new(options);
    function.invoke_with_args(ScalarFunctionArgs {
        args,
        arg_fields,
        number_rows: rows,
        return_field,
        config_options,
    })
}

/// A `STRING`.
pub(crate) fn text(value: &str) -> ScalarValue {
    ScalarValue::Utf8View(Some(value.to_owned()))
}

/// The text that a function gives; none for NULL.
pub(crate) fn texts_of(name: &str, arguments: &[ScalarValue]) -> Option<String> {
    match evaluate(name, arguments).unwrap_or_else(|e| panic!("{name}({arguments:?}): {e}")) {
        ScalarValue::Utf8View(text) => text,
        other => panic!("{name} gives {other:?}"),
    }
}

/// A `NULL` without a type.
pub(crate) const NULL: ScalarValue = ScalarValue::Null;

/// An `INT`.
pub(crate) fn int(value: i32) -> ScalarValue {
    ScalarValue::Int32(Some(value))
}

/// A `TINYINT`.
pub(crate) fn tiny(value: i8) -> ScalarValue {
    ScalarValue::Int8(Some(value))
}

/// A `BIGINT`.
pub(crate) fn big(value: i64) -> ScalarValue {
    ScalarValue::Int64(Some(value))
}

/// A `DOUBLE`.
pub(crate) fn double(value: f64) -> ScalarValue {
    ScalarValue::Float64(Some(value))
}

/// A `FLOAT`.
pub(crate) fn float(value: f32) -> ScalarValue {
    ScalarValue::Float32(Some(value))
}

/// A `BOOLEAN`.
pub(crate) fn boolean(value: bool) -> ScalarValue {
    ScalarValue::Boolean(Some(value))
}

/// `BYTES`.
pub(crate) fn bytes(value: &[u8]) -> ScalarValue {
    ScalarValue::Binary(Some(value.to_vec()))
}

/// A `DECIMAL` of an unscaled value.
pub(crate) fn decimal(unscaled: i128, precision: u8, scale: i8) -> ScalarValue {
    ScalarValue::Decimal128(Some(unscaled), precision, scale)
}

/// A value as the shell shows it; an error as `error: ` and what it says.
pub(crate) fn shown(value: Result<ScalarValue>) -> String {
    let array = match value.and_then(|v| v.to_array()) {
        Ok(array) => array,
        Err(error) => return format!("error: {error}"),
    };
    let field = Field::new("v", array.data_type().clone(), true);
    let texts =
        crate::cast::to_display_string(&array, &field, &crate::temporal::Zone::UTC).expect("a type of SQL");
    if arrow::array::Array::is_null(&texts, 0) { "NULL".to_owned() } else { texts.value(0).to_owned() }
}

/// Checks what calls give: a name, arguments and the result as [`shown`]; of an error, what it says somewhere.
pub(crate) fn check(cases: &[(&str, Vec<ScalarValue>, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(name, arguments, expected)| {
            let given = shown(evaluate(name, arguments));
            let right = match expected.strip_prefix("error: ") {
                Some(message) => given.starts_with("error: ") && given.contains(message),
                None => given == *expected,
            };
            (!right).then(|| format!("{name}({arguments:?})\n    gives    {given}\n    expected {expected}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
