//! `CAST` and `TRY_CAST`: Flink's conversions between all types.
//!
//! | from \ to | what happens |
//! | --- | --- |
//! | number to integer | the fraction is cut off; too large `DOUBLE`s give the nearest `INT` or `BIGINT`, integers wrap |
//! | number to `DECIMAL` | rounded half up; NULL where there are too many digits |
//! | text to anything | a text that means nothing fails `CAST` and gives NULL in `TRY_CAST` |
//! | anything to `CHAR(n)`, `VARCHAR(n)` | cut to `n` characters; `CHAR` is filled up with spaces |
//! | `TIMESTAMP` to `TIMESTAMP_LTZ` and back | by the session's time zone: of local times that a change of the clock leaves out the gap is added, of those that come twice the first is meant |
//! | arrays, maps, rows | element by element |
//!
//! What differs from Flink: a `DOUBLE` is written with as few digits as tell it apart, where older Java runtimes sometimes write
//! more; intervals are also read from texts, and may become numbers (months, or milliseconds).

mod convert;
mod datetime;
mod decimal_text;
mod double_text;
mod nested;
mod numbers;
mod parse;
mod rules;
mod text;

#[cfg(test)]
mod tests;

pub(crate) use datetime::{interval_of_milliseconds, milliseconds};
pub(crate) use decimal_text::{parse_decimal, write_decimal};
pub(crate) use double_text::{parse_double, write_double};
pub(crate) use numbers::rescale;
pub use rules::{Implicit, can_cast, implicit_cast};

use crate::support::{planning_error, to_datafusion};
use crate::temporal::Zone;
use arrow::array::{Array, ArrayRef, StringArray, StringBuilder};
use arrow::datatypes::{DataType, Field, FieldRef};
use convert::Conversion;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, Volatility,
};
use flugs_sql_types::{LogicalType, SqlType, from_field, to_field};
use std::sync::Arc;

/// The function that `CAST(x AS target)` or `TRY_CAST(x AS target)` is planned as. Whether `target` is nullable does not matter:
/// the result is where `x` is, or where the conversion may give NULL.
pub fn cast_function(target: SqlType, try_cast: bool) -> ScalarUDF {
    // Casts to and from TIMESTAMP_LTZ depend on the session, which is fixed for a query.
    let signature = Signature::new(TypeSignature::UserDefined, Volatility::Stable);
    ScalarUDF::new_from_impl(Cast { target: target.kind, try_cast, signature })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Cast {
    target: LogicalType,
    try_cast: bool,
    signature: Signature,
}

impl Cast {
    fn shown(&self, argument: impl std::fmt::Display) -> String {
        format!("{}({argument} AS {})", self.name(), self.target)
    }
}

impl ScalarUDFImpl for Cast {
    fn name(&self) -> &str {
        if self.try_cast { "TRY_CAST" } else { "CAST" }
    }

    // Two casts of one column to different types are different columns.
    fn display_name(&self, args: &[Expr]) -> Result<String> {
        Ok(args.first().map(|a| self.shown(a)).unwrap_or_default())
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(args.first().map(|a| self.shown(a.schema_name())).unwrap_or_default())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        Ok(given.to_vec())
    }

    fn return_type(&self, _given: &[DataType]) -> Result<DataType> {
        Ok(self.target.to_arrow())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let [argument] = args.arg_fields else {
            return Err(planning_error("CAST takes one value"));
        };
        let from = from_field(argument).map_err(to_datafusion)?;
        if !can_cast(&from.kind, &self.target) {
            let hint = rules::instead(&from.kind, &self.target);
            return Err(planning_error(format!("cannot cast {} to {}{hint}", from.kind, self.target)));
        }
        let may_fail =
            self.try_cast || from.kind == LogicalType::Null || rules::may_give_null(&from.kind, &self.target);
        let sql_type = SqlType { kind: self.target.clone(), nullable: from.nullable || may_fail };
        Ok(Arc::new(to_field(self.name(), &sql_type)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let from = args
            .arg_fields
            .first()
            .map_or_else(|| Field::new("", DataType::Null, true), |f| f.as_ref().clone());
        let zone = args.config_options.execution.time_zone.as_deref().unwrap_or("UTC");
        let value = args.args.first().ok_or_else(|| planning_error("CAST takes one value"))?;
        let from = from_field(&from.with_data_type(value.data_type())).map_err(to_datafusion)?;
        let zone = Zone::parse(zone).map_err(to_datafusion)?;
        let conversion = Conversion { zone, try_cast: self.try_cast };
        match value {
            ColumnarValue::Array(array) => {
                Ok(ColumnarValue::Array(conversion.run(array, &from.kind, &self.target)?))
            }
            ColumnarValue::Scalar(scalar) => {
                let array = conversion.run(&scalar.to_array_of_size(1)?, &from.kind, &self.target)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?))
            }
        }
    }
}

/// A column as text, as `CAST(x AS STRING)` writes it, with bytes in hexadecimal digits; NULL stays NULL. For showing results.
pub fn to_display_string(array: &ArrayRef, field: &Field, zone: &Zone) -> flugs_types::Result<StringArray> {
    let kind = from_field(field)?.kind;
    let mut cells = text::Cells::new(array, &kind, *zone, text::Bytes::Hexadecimal)?;
    let mut builder = StringBuilder::new();
    let nulls = array.logical_nulls();
    let mut cell = String::new();
    for row in 0..array.len() {
        if nulls.as_ref().is_some_and(|n| n.is_null(row)) {
            builder.append_null();
            continue;
        }
        cell.clear();
        cells.write(row, &mut cell);
        builder.append_value(&cell);
    }
    Ok(builder.finish())
}
