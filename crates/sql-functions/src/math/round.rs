//! Rounding: half up, up, down and towards zero, on every type of number.
//!
//! `DOUBLE`s are rounded as they are written: 2.345 to two digits is 2.35, whatever its binary digits say.

use crate::cast::rescale;
use crate::registry::Category;
use crate::support::{Call, Definition, Parameter, Types, planning_error};
use arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type,
};
use datafusion_common::{Result, ScalarValue};
use flugs_sql_types::LogicalType;
use std::sync::Arc;

/// What becomes of the digits that are cut off.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    /// They round the rest half away from zero.
    Round,
    /// They are dropped.
    Truncate,
}

pub(super) fn definitions() -> Vec<Definition> {
    let function = |name: &str, usage, text, body: fn(&Call<'_>) -> Result<ArrayRef>| {
        Definition::new(Category::Arithmetic, name, usage, text, body)
    };
    vec![
        function("CEIL", "CEIL(x)", "The smallest whole number that is not less.", |call| whole(call, true))
            .aliases(&["CEILING"])
            .takes(&[Parameter::Number])
            .returns_by(whole_type),
        function("FLOOR", "FLOOR(x)", "The largest whole number that is not greater.", |call| {
            whole(call, false)
        })
        .takes(&[Parameter::Number])
        .returns_by(whole_type),
        function(
            "ROUND",
            "ROUND(x[, digits])",
            "The number rounded to so many digits behind the point.",
            |call| cut(call, Mode::Round),
        )
        .takes(&[Parameter::Number])
        .optionally(&[Parameter::Int])
        .returns_by(cut_type),
        function(
            "TRUNCATE",
            "TRUNCATE(x[, digits])",
            "The number with the digits behind so many cut off.",
            |call| cut(call, Mode::Truncate),
        )
        .takes(&[Parameter::Number])
        .optionally(&[Parameter::Int])
        .returns_by(cut_type),
    ]
}

fn whole_type(types: &Types<'_>) -> Result<LogicalType> {
    Ok(match types.kind(0) {
        LogicalType::Decimal(precision, _) => LogicalType::Decimal(*precision, 0),
        other => other.clone(),
    })
}

/// A `DECIMAL` keeps the digits asked for and gets one more before the point, as in Flink. Where the digits are no constant, it
/// keeps its type.
fn cut_type(types: &Types<'_>) -> Result<LogicalType> {
    let LogicalType::Decimal(precision, scale) = *types.kind(0) else { return Ok(types.kind(0).clone()) };
    let digits = match (types.types.len(), types.constant(1)) {
        (1, _) => 0,
        (_, Some(ScalarValue::Int32(Some(digits)))) => *digits,
        (_, Some(ScalarValue::Int16(Some(digits)))) => i32::from(*digits),
        (_, Some(ScalarValue::Int8(Some(digits)))) => i32::from(*digits),
        _ => return Ok(LogicalType::Decimal(precision, scale)),
    };
    if digits >= i32::from(scale) {
        return Ok(LogicalType::Decimal(precision, scale));
    }
    let kept = digits.max(0) as u8;
    Ok(LogicalType::Decimal((1 + precision - scale + kept).min(38), kept))
}

fn map<T: ArrowPrimitiveType>(call: &Call<'_>, f: impl Fn(T::Native) -> T::Native) -> ArrayRef {
    let mapped: PrimitiveArray<T> = call.raw(0).as_primitive::<T>().unary(f);
    Arc::new(mapped.with_data_type(call.data_type().clone()))
}

fn whole(call: &Call<'_>, up: bool) -> Result<ArrayRef> {
    Ok(match call.type_of(0) {
        DataType::Float32 => map::<Float32Type>(call, if up { f32::ceil } else { f32::floor }),
        DataType::Float64 => map::<Float64Type>(call, if up { f64::ceil } else { f64::floor }),
        DataType::Decimal128(_, scale) => {
            let one = 10i128.pow((*scale).max(0) as u32);
            map::<Decimal128Type>(call, move |v| {
                let down = v.div_euclid(one);
                down + i128::from(up && down * one != v)
            })
        }
        _ => call.raw(0).clone(),
    })
}

fn cut(call: &Call<'_>, mode: Mode) -> Result<ArrayRef> {
    match call.type_of(0) {
        DataType::Int8 => each::<Int8Type>(call, |v, digits| Some(integer(i64::from(v), digits, mode) as i8)),
        DataType::Int16 => {
            each::<Int16Type>(call, |v, digits| Some(integer(i64::from(v), digits, mode) as i16))
        }
        DataType::Int32 => {
            each::<Int32Type>(call, |v, digits| Some(integer(i64::from(v), digits, mode) as i32))
        }
        DataType::Int64 => each::<Int64Type>(call, |v, digits| Some(integer(v, digits, mode))),
        DataType::Float32 => {
            each::<Float32Type>(call, |v, digits| Some(float(f64::from(v), digits, mode) as f32))
        }
        DataType::Float64 => each::<Float64Type>(call, |v, digits| Some(float(v, digits, mode))),
        DataType::Decimal128(_, scale) => {
            let from = (*scale).max(0) as u8;
            let DataType::Decimal128(precision, to) = *call.data_type() else {
                return Err(planning_error("a rounded DECIMAL is a DECIMAL"));
            };
            let to = to.max(0) as u8;
            each::<Decimal128Type>(call, |v, digits| {
                rescale(decimal(v, from, digits, mode), from, precision, to)
            })
        }
        other => Err(planning_error(format!("{other} is not a number"))),
    }
}

fn each<T: ArrowPrimitiveType>(
    call: &Call<'_>,
    value: impl Fn(T::Native, i32) -> Option<T::Native>,
) -> Result<ArrayRef> {
    let numbers = call.column_like::<T>(0, call.raw(0));
    let digits = (call.len() > 1).then(|| call.ints(1));
    call.collect::<T>(|row| {
        let digits = digits.map_or(Some(0), |d| d.get(row));
        Ok(numbers.get(row).zip(digits).and_then(|(v, d)| value(v, d)))
    })
}

/// The multiple of `unit` that is meant.
fn to_multiple(value: i128, unit: i128, mode: Mode) -> i128 {
    let rest = value % unit;
    let down = value - rest;
    if mode == Mode::Round && rest.abs() >= unit - rest.abs() { down + value.signum() * unit } else { down }
}

/// Wraps where the rounded number does not fit, as in Flink.
fn integer(value: i64, digits: i32, mode: Mode) -> i64 {
    match digits {
        0.. => value,
        -19..0 => to_multiple(i128::from(value), 10i128.pow(digits.unsigned_abs()), mode) as i64,
        // No BIGINT has so many digits.
        _ => 0,
    }
}

/// The unscaled value, still with `scale` digits behind the point, those behind `digits` being zero.
fn decimal(value: i128, scale: u8, digits: i32, mode: Mode) -> i128 {
    let cut = i64::from(scale) - i64::from(digits);
    match cut {
        ..=0 => value,
        1..=38 => to_multiple(value, 10i128.pow(cut as u32), mode),
        _ => 0,
    }
}

fn float(value: f64, digits: i32, mode: Mode) -> f64 {
    if !value.is_finite() {
        return value;
    }
    let shortest = format!("{:e}", value.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let known: u64 = mantissa.bytes().filter(u8::is_ascii_digit).fold(0, |n, d| n * 10 + u64::from(d - b'0'));
    let count = mantissa.bytes().filter(u8::is_ascii_digit).count() as i64;
    // So many of the known digits are cut off.
    let cut = count - 1 - exponent - i64::from(digits);
    if cut <= 0 {
        return value;
    }
    if cut > count {
        return 0.0;
    }
    let unit = 10i128.pow(cut as u32);
    let kept = to_multiple(i128::from(known), unit, mode) / unit;
    let rounded: f64 = format!("{kept}e{}", -i64::from(digits)).parse().unwrap_or(value);
    // There is no negative zero among decimal numbers.
    if value < 0.0 && kept != 0 { -rounded } else { rounded }
}
