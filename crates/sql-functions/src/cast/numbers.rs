//! Numbers and booleans as other numbers.
//!
//! Integers wrap and floating-point numbers saturate, as Java's conversions do; `DECIMAL` rounds half up.

use super::convert::Conversion;
use super::decimal_text::parse_decimal;
use crate::support::data_error;
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Float64Array, Int64Array, PrimitiveArray,
};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type,
};
use datafusion_common::Result;
use flugs_sql_types::LogicalType;
use std::sync::Arc;

/// The largest power of ten that a `DOUBLE` holds exactly, and the largest integer below which it holds all.
const EXACT_POWER: u32 = 22;
const EXACT_INT: u128 = 1 << 53;

/// A column of numbers in the widest type of its kind.
enum Numbers {
    Integers(Int64Array),
    Floats(Float64Array),
    Decimals(Decimal128Array, u8),
}

impl Numbers {
    fn of(array: &ArrayRef) -> Result<Numbers> {
        Ok(match array.data_type() {
            DataType::Decimal128(_, scale) => {
                Numbers::Decimals(array.as_primitive().clone(), (*scale).max(0) as u8)
            }
            DataType::Float32 | DataType::Float64 => {
                Numbers::Floats(arrow::compute::cast(array, &DataType::Float64)?.as_primitive().clone())
            }
            _ => Numbers::Integers(arrow::compute::cast(array, &DataType::Int64)?.as_primitive().clone()),
        })
    }
}

/// A column of numbers or booleans as numbers or booleans.
pub(super) fn convert(conversion: &Conversion, array: &ArrayRef, to: &LogicalType) -> Result<ArrayRef> {
    let numbers = Numbers::of(array)?;
    Ok(match to {
        LogicalType::Boolean => Arc::new(truth(&numbers)),
        LogicalType::TinyInt => integers::<Int8Type>(&numbers, |v| v as i8, |v| v as i32 as i8),
        LogicalType::SmallInt => integers::<Int16Type>(&numbers, |v| v as i16, |v| v as i32 as i16),
        LogicalType::Int => integers::<Int32Type>(&numbers, |v| v as i32, |v| v as i32),
        LogicalType::BigInt => integers::<Int64Type>(&numbers, |v| v, |v| v as i64),
        LogicalType::Float => floats::<Float32Type>(&numbers, |v| v as f32, |v| v as f32),
        LogicalType::Double => floats::<Float64Type>(&numbers, |v| v as f64, |v| v),
        LogicalType::Decimal(precision, scale) => decimals(conversion, &numbers, *precision, *scale, to)?,
        other => return Err(data_error(format!("a number cannot become {other}"))),
    })
}

fn truth(numbers: &Numbers) -> BooleanArray {
    match numbers {
        Numbers::Integers(array) => BooleanArray::from_unary(array, |v| v != 0),
        Numbers::Floats(array) => BooleanArray::from_unary(array, |v| v != 0.0),
        Numbers::Decimals(array, _) => BooleanArray::from_unary(array, |v| v != 0),
    }
}

fn integers<T: ArrowPrimitiveType>(
    numbers: &Numbers,
    of_integer: fn(i64) -> T::Native,
    of_float: fn(f64) -> T::Native,
) -> ArrayRef {
    let array: PrimitiveArray<T> = match numbers {
        Numbers::Integers(array) => array.unary(of_integer),
        Numbers::Floats(array) => array.unary(of_float),
        Numbers::Decimals(array, scale) => {
            let one = 10i128.pow(u32::from(*scale));
            array.unary(|v| of_integer((v / one) as i64))
        }
    };
    Arc::new(array)
}

fn floats<T: ArrowPrimitiveType>(
    numbers: &Numbers,
    of_integer: fn(i64) -> T::Native,
    of_float: fn(f64) -> T::Native,
) -> ArrayRef {
    let array: PrimitiveArray<T> = match numbers {
        Numbers::Integers(array) => array.unary(of_integer),
        Numbers::Floats(array) => array.unary(of_float),
        Numbers::Decimals(array, scale) => array.unary(|v| of_float(decimal_to_double(v, *scale))),
    };
    Arc::new(array)
}

/// The nearest `DOUBLE`.
pub(crate) fn decimal_to_double(unscaled: i128, scale: u8) -> f64 {
    if unscaled.unsigned_abs() <= EXACT_INT && u32::from(scale) <= EXACT_POWER {
        return unscaled as f64 / 10f64.powi(i32::from(scale));
    }
    // Dividing would round twice.
    format!("{unscaled}e-{scale}").parse().unwrap_or(f64::NAN)
}

fn decimals(
    conversion: &Conversion,
    numbers: &Numbers,
    precision: u8,
    scale: u8,
    to: &LogicalType,
) -> Result<ArrayRef> {
    let array: Decimal128Array = match numbers {
        Numbers::Integers(array) => {
            array.unary_opt::<_, Decimal128Type>(|v| rescale(i128::from(v), 0, precision, scale))
        }
        Numbers::Decimals(array, from) => array.unary_opt(|v| rescale(v, *from, precision, scale)),
        Numbers::Floats(array) => {
            let value = |v: Option<f64>| match v {
                Some(v) if !v.is_finite() => conversion.settle(Err("it is not finite"), v, to),
                // What is written is converted, not the binary fraction behind it: 1.005 is 1.01 in two digits.
                Some(v) => Ok(parse_decimal(&format!("{v:e}"), precision, scale).ok()),
                None => Ok(None),
            };
            array.iter().map(value).collect::<Result<_>>()?
        }
    };
    Ok(Arc::new(array.with_data_type(DataType::Decimal128(precision, scale as i8))))
}

/// The unscaled value with `to` digits behind the point instead of `from`, rounded half up; none where it has more than
/// `precision` digits.
pub(crate) fn rescale(unscaled: i128, from: u8, precision: u8, to: u8) -> Option<i128> {
    let value = if to >= from {
        unscaled.checked_mul(10i128.checked_pow(u32::from(to - from))?)?
    } else {
        divide_half_up(unscaled, 10i128.pow(u32::from(from - to)))
    };
    (value.unsigned_abs() < 10u128.pow(u32::from(precision))).then_some(value)
}

/// The quotient by a positive divisor, rounded half away from zero.
pub(crate) fn divide_half_up(value: i128, divisor: i128) -> i128 {
    let (quotient, rest) = (value / divisor, value % divisor);
    // Half of 10^38 and more does not fit twice into an i128.
    if rest.unsigned_abs() >= divisor.unsigned_abs() - rest.unsigned_abs() {
        quotient + value.signum()
    } else {
        quotient
    }
}
