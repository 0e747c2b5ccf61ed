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
    let columns = arguments
        .iter()
        .map(|a| a.to_array_of_size(3).map(ColumnarValue::Array))
        .collect::<Result<Vec<_>>>()?;
    let of_columns = invoke(function, columns, 3, zone);
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
