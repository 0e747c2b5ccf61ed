//! Functions that the processor or its mathematical library knows.

use crate::registry::Category;
use crate::support::{Call, Definition, Parameter, data_error, planning_error};
use arrow::array::{ArrayRef, PrimitiveArray};
use arrow::datatypes::{
    ArrowNativeTypeOp, ArrowPrimitiveType, DataType, Decimal128Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type,
};
use datafusion_common::Result;
use flugs_sql_types::LogicalType;
use std::f64::consts::{E, PI};
use std::sync::Arc;

type OfOne = fn(f64) -> f64;
type OfTwo = fn(f64, f64) -> f64;
/// Name, usage, text, and the function.
type Function<F> = (&'static str, &'static str, &'static str, F);

const OF_DOUBLE: [Function<OfOne>; 17] = [
    ("SQRT", "SQRT(x)", "The square root; NaN for a negative number.", f64::sqrt),
    ("EXP", "EXP(x)", "e raised to the power of x.", f64::exp),
    ("SIN", "SIN(x)", "The sine.", f64::sin),
    ("SINH", "SINH(x)", "The hyperbolic sine.", f64::sinh),
    ("COS", "COS(x)", "The cosine.", f64::cos),
    ("COSH", "COSH(x)", "The hyperbolic cosine.", f64::cosh),
    ("TAN", "TAN(x)", "The tangent.", f64::tan),
    ("TANH", "TANH(x)", "The hyperbolic tangent.", f64::tanh),
    ("COT", "COT(x)", "The cotangent.", |x| 1.0 / x.tan()),
    ("ASIN", "ASIN(x)", "The arc sine.", f64::asin),
    ("ACOS", "ACOS(x)", "The arc cosine.", f64::acos),
    ("ATAN", "ATAN(x)", "The arc tangent.", f64::atan),
    ("DEGREES", "DEGREES(x)", "An angle in radians in degrees.", f64::to_degrees),
    ("RADIANS", "RADIANS(x)", "An angle in degrees in radians.", f64::to_radians),
    ("LN", "LN(x)", "The natural logarithm.", f64::ln),
    ("LOG10", "LOG10(x)", "The logarithm to base 10.", f64::log10),
    // As Java computes it; `f64::log2` may differ in the last digit.
    ("LOG2", "LOG2(x)", "The logarithm to base 2.", |x| x.ln() / 2f64.ln()),
];

pub(super) fn definitions() -> Vec<Definition> {
    let mut all = Vec::new();
    for (name, usage, text, function) in OF_DOUBLE {
        let body = move |call: &Call<'_>| {
            let x = call.doubles(0);
            Ok(call.map_all::<Float64Type>(|row| function(x.any(row))))
        };
        let definition = Definition::new(Category::Arithmetic, name, usage, text, body);
        all.push(definition.takes(&[Parameter::Double]).returns(LogicalType::Double));
    }
    let of_two: [Function<OfTwo>; 2] = [
        ("POWER", "POWER(x, y)", "x raised to the power of y.", f64::powf),
        ("ATAN2", "ATAN2(y, x)", "The angle of the point (x, y).", f64::atan2),
    ];
    for (name, usage, text, function) in of_two {
        let body = move |call: &Call<'_>| {
            let (x, y) = (call.doubles(0), call.doubles(1));
            Ok(call.map_all::<Float64Type>(|row| function(x.any(row), y.any(row))))
        };
        let definition = Definition::new(Category::Arithmetic, name, usage, text, body);
        all.push(definition.takes(&[Parameter::Double; 2]).returns(LogicalType::Double));
    }
    for (name, usage, text, value) in [("PI", "PI()", "The number pi.", PI), ("E", "E()", "The number e.", E)]
    {
        let body = move |call: &Call<'_>| Ok(call.map_all::<Float64Type>(|_| value));
        all.push(Definition::new(Category::Arithmetic, name, usage, text, body).returns(LogicalType::Double));
    }
    all.push(
        Definition::new(Category::Arithmetic, "ABS", "ABS(x)", "The number without its sign.", abs)
            .takes(&[Parameter::Number])
            .returns_argument(0),
    );
    all.push(
        Definition::new(
            Category::Arithmetic,
            "SIGN",
            "SIGN(x)",
            "-1, 0 or 1 in the type of the number.",
            sign,
        )
        .takes(&[Parameter::Number])
        .returns_argument(0),
    );
    all.push(
        Definition::new(
            Category::Arithmetic,
            "MOD",
            "MOD(x, y)",
            "The remainder of x divided by y, with the sign of x; an error where y is zero.",
            modulo,
        )
        .takes(&[EXACT, EXACT])
        .coerced_by(alike)
        .returns_by(|types| {
            Ok(match (types.kind(0), types.kind(1)) {
                (LogicalType::Decimal(p1, s1), LogicalType::Decimal(p2, s2)) => {
                    let scale = s1.max(s2);
                    LogicalType::Decimal(((p1 - s1).min(p2 - s2) + scale).clamp(1, 38), *scale)
                }
                (_, right) => right.clone(),
            })
        }),
    );
    all
}

const EXACT: Parameter = Parameter::Other("an integer or DECIMAL", |given| match given {
    DataType::Float32 | DataType::Float64 => None,
    given => Parameter::Number.accept(given),
});

/// Where one side is a `DECIMAL`, both are; integers stay as they are.
fn alike(types: &[DataType]) -> Result<Vec<DataType>> {
    if !types.iter().any(|t| matches!(t, DataType::Decimal128(..))) {
        return Ok(types.to_vec());
    }
    let digits =
        |t: &DataType| crate::support::int_digits(t).map_or(t.clone(), |p| DataType::Decimal128(p, 0));
    Ok(types.iter().map(digits).collect())
}

/// A column of the same type.
fn map<T: ArrowPrimitiveType>(call: &Call<'_>, f: impl Fn(T::Native) -> T::Native) -> ArrayRef {
    let array: &PrimitiveArray<T> = arrow::array::AsArray::as_primitive(call.raw(0));
    let mapped: PrimitiveArray<T> = array.unary(f);
    Arc::new(mapped.with_data_type(call.data_type().clone()))
}

fn not_a_number(call: &Call<'_>) -> datafusion_common::DataFusionError {
    planning_error(format!("{} is not a number", call.type_of(0)))
}

fn abs(call: &Call<'_>) -> Result<ArrayRef> {
    Ok(match call.type_of(0) {
        DataType::Int8 => map::<Int8Type>(call, i8::wrapping_abs),
        DataType::Int16 => map::<Int16Type>(call, i16::wrapping_abs),
        DataType::Int32 => map::<Int32Type>(call, i32::wrapping_abs),
        DataType::Int64 => map::<Int64Type>(call, i64::wrapping_abs),
        DataType::Float32 => map::<Float32Type>(call, f32::abs),
        DataType::Float64 => map::<Float64Type>(call, f64::abs),
        DataType::Decimal128(..) => map::<Decimal128Type>(call, i128::wrapping_abs),
        _ => return Err(not_a_number(call)),
    })
}

fn sign(call: &Call<'_>) -> Result<ArrayRef> {
    Ok(match call.type_of(0) {
        DataType::Int8 => map::<Int8Type>(call, i8::signum),
        DataType::Int16 => map::<Int16Type>(call, i16::signum),
        DataType::Int32 => map::<Int32Type>(call, i32::signum),
        DataType::Int64 => map::<Int64Type>(call, i64::signum),
        // Unlike Rust's, Java's sign of zero is zero.
        DataType::Float32 => map::<Float32Type>(call, |x| if x == 0.0 { x } else { x.signum() }),
        DataType::Float64 => map::<Float64Type>(call, |x| if x == 0.0 { x } else { x.signum() }),
        DataType::Decimal128(_, scale) => {
            let one = 10i128.pow((*scale).max(0) as u32);
            let fits = matches!(call.data_type(), DataType::Decimal128(p, s) if *p > s.unsigned_abs());
            if !fits {
                // One itself has no place before the point: DECIMAL(2, 2) ends at 0.99.
                return call
                    .collect::<Decimal128Type>(|row| Ok(call.decimals(0).get(row).filter(|v| *v == 0)));
            }
            map::<Decimal128Type>(call, move |v| v.signum() * one)
        }
        _ => return Err(not_a_number(call)),
    })
}

fn modulo(call: &Call<'_>) -> Result<ArrayRef> {
    if let (DataType::Decimal128(_, s1), DataType::Decimal128(_, s2)) = (call.type_of(0), call.type_of(1)) {
        return decimal_modulo(call, *s1, *s2);
    }
    match call.data_type() {
        DataType::Int8 => integer_modulo::<Int8Type>(call, |v| v as i8),
        DataType::Int16 => integer_modulo::<Int16Type>(call, |v| v as i16),
        DataType::Int32 => integer_modulo::<Int32Type>(call, |v| v as i32),
        _ => integer_modulo::<Int64Type>(call, |v| v),
    }
}

/// The remainder is smaller than the divisor, so it fits into the divisor's type.
fn integer_modulo<T: ArrowPrimitiveType>(call: &Call<'_>, narrow: fn(i64) -> T::Native) -> Result<ArrayRef> {
    let wide = |i: usize| arrow::compute::cast(call.raw(i), &DataType::Int64);
    let (left, right) = (wide(0)?, wide(1)?);
    let left = call.column_like::<Int64Type>(0, &left);
    let right = call.column_like::<Int64Type>(1, &right);
    if let Some(Some(divisor)) = right.constant()
        && divisor != 0
    {
        return Ok(call.map_all::<T>(|row| narrow(left.any(row).wrapping_rem(divisor))));
    }
    call.collect::<T>(|row| match (left.get(row), right.get(row)) {
        (Some(_), Some(0)) => Err(data_error("division by zero")),
        (Some(left), Some(right)) => Ok(Some(narrow(left.wrapping_rem(right)))),
        _ => Ok(None),
    })
}

fn decimal_modulo(call: &Call<'_>, s1: i8, s2: i8) -> Result<ArrayRef> {
    use arrow::datatypes::i256;
    let scale = s1.max(s2);
    let power = |digits: i8| i256::from_i128(10i128.pow(digits.max(0) as u32));
    let (up_left, up_right) = (power(scale - s1), power(scale - s2));
    let (left, right) = (call.decimals(0), call.decimals(1));
    call.collect::<Decimal128Type>(|row| match (left.get(row), right.get(row)) {
        (Some(_), Some(0)) => Err(data_error("division by zero")),
        (Some(left), Some(right)) => {
            let left = i256::from_i128(left).mul_wrapping(up_left);
            Ok(left.mod_wrapping(i256::from_i128(right).mul_wrapping(up_right)).to_i128())
        }
        _ => Ok(None),
    })
}
