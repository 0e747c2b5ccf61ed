//! Exact arithmetic: `+ - * / %` where one side is a `DECIMAL` and no side is approximate.
//!
//! With types (p1, s1) and (p2, s2), integers being `DECIMAL`s of 3, 5, 10 and 19 digits, the result has, as in Flink,
//!
//! | operator | digits behind the point | digits |
//! | --- | --- | --- |
//! | `+ -` | max(s1, s2) | max(s1, s2) + max(p1 - s1, p2 - s2) + 1 |
//! | `*` | s1 + s2 | p1 + p2 + 1 |
//! | `/` | max(6, s1 + p2 + 1) | p1 - s1 + s2 + scale |
//! | `%` | max(s1, s2) | min(p1 - s1, p2 - s2) + scale; the right side's type where neither has a fraction |
//!
//! Of more than 38 digits those behind the point are given up first, down to min(scale, 6). Results are rounded half up; one
//! that does not fit is NULL; a division by zero is an error.

mod exact;

#[cfg(test)]
mod tests;

use crate::registry::Category;
use crate::support::{Call, Definition, Parameter, Types, int_digits, planning_error, to_datafusion};
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Decimal128Type};
use datafusion_common::Result;
use datafusion_expr::{Operator, ScalarUDF};
use exact::Shape;
use flugs_sql_types::{LogicalType, SqlType, from_arrow};

/// The most digits of a `DECIMAL`.
const DIGITS_MAX: u8 = 38;
/// As many digits behind the point are kept where there are too many digits.
const KEPT_SCALE: u8 = 6;

/// The function that is planned for `left op right`, and the type it has; none where the operator or the types are others than
/// those of exact arithmetic, so that DataFusion's own operator is right.
pub fn decimal_binary(op: Operator, left: &SqlType, right: &SqlType) -> Option<(ScalarUDF, SqlType)> {
    let shapes = (Shape::of(&left.kind)?, Shape::of(&right.kind)?);
    let any_decimal = [left, right].iter().any(|t| matches!(t.kind, LogicalType::Decimal(..)));
    if !any_decimal {
        return None;
    }
    let (kind, capped) = result_type(op, shapes.0, shapes.1)?;
    let sql_type = SqlType { kind, nullable: left.nullable || right.nullable || capped };
    Some((function(op)?, sql_type))
}

fn function(op: Operator) -> Option<ScalarUDF> {
    let define = |name, usage, body: fn(&Call<'_>) -> Result<ArrayRef>, rule, capped| {
        Definition::new(Category::Arithmetic, name, usage, "Exact arithmetic.", body)
            .takes(&[EXACT, EXACT])
            .returns_by(rule)
            .nullable_by(capped)
            .into_udf()
    };
    macro_rules! function {
        ($op:ident, $name:literal, $usage:literal, $body:expr) => {
            define(
                $name,
                $usage,
                $body,
                |t| Ok(typed(Operator::$op, t)?.0),
                |t| typed(Operator::$op, t).is_ok_and(|t| t.1),
            )
        };
    }
    Some(match op {
        Operator::Plus => function!(Plus, "DECIMAL_ADD", "a + b", |call| exact::add(call, 1)),
        Operator::Minus => function!(Minus, "DECIMAL_SUBTRACT", "a - b", |call| exact::add(call, -1)),
        Operator::Multiply => function!(Multiply, "DECIMAL_MULTIPLY", "a * b", exact::multiply),
        Operator::Divide => function!(Divide, "DECIMAL_DIVIDE", "a / b", exact::divide),
        Operator::Modulo => function!(Modulo, "DECIMAL_REMAINDER", "a % b", exact::remainder),
        _ => return None,
    })
}

/// Integers are widened to `DECIMAL`s.
const EXACT: Parameter = Parameter::Other("an integer or DECIMAL", |given| match given {
    DataType::Decimal128(..) => Some(given.clone()),
    DataType::Null => Some(DataType::Decimal128(1, 0)),
    given => Some(DataType::Decimal128(int_digits(given)?, 0)),
});

fn typed(op: Operator, types: &Types<'_>) -> Result<(LogicalType, bool)> {
    let (left, right) = (types.kind(0), types.kind(1));
    let shapes = Shape::of(left).zip(Shape::of(right));
    let result = shapes.and_then(|(left, right)| result_type(op, left, right));
    result.ok_or_else(|| planning_error(format!("{} is not defined for {left} and {right}", types.name)))
}

/// The type, and whether digits were given up for it.
fn result_type(op: Operator, l: Shape, r: Shape) -> Option<(LogicalType, bool)> {
    let (scale, whole) = match op {
        Operator::Plus | Operator::Minus => (l.scale.max(r.scale), l.whole().max(r.whole()) + 1),
        Operator::Multiply => (l.scale + r.scale, l.whole() + r.whole() + 1),
        Operator::Divide => (KEPT_SCALE.max(l.scale + r.precision + 1), l.whole() + r.scale),
        Operator::Modulo if l.scale == 0 && r.scale == 0 => (0, r.precision),
        Operator::Modulo => (l.scale.max(r.scale), l.whole().min(r.whole())),
        _ => return None,
    };
    let (precision, scale, capped) = cap(whole, scale);
    Some((LogicalType::Decimal(precision, scale), capped))
}

fn cap(whole: u8, scale: u8) -> (u8, u8, bool) {
    if whole + scale <= DIGITS_MAX {
        return ((whole + scale).max(1), scale, false);
    }
    let scale = DIGITS_MAX.saturating_sub(whole).max(scale.min(KEPT_SCALE));
    (DIGITS_MAX, scale, true)
}

/// The shape of an argument of a call.
fn shape_of(call: &Call<'_>, i: usize) -> Result<Shape> {
    let kind = from_arrow(call.type_of(i)).map_err(to_datafusion)?;
    Shape::of(&kind).ok_or_else(|| planning_error(format!("{kind} is no exact number")))
}

/// The shape of a call's result.
fn result_shape(call: &Call<'_>) -> Result<Shape> {
    let kind = from_arrow(call.data_type()).map_err(to_datafusion)?;
    Shape::of(&kind).ok_or_else(|| planning_error(format!("{kind} is no exact number")))
}

/// A result row by row; `value` gives none for what does not fit.
fn collect(call: &Call<'_>, mut value: impl FnMut(i128, i128) -> Result<Option<i128>>) -> Result<ArrayRef> {
    let (left, right) = (call.decimals(0), call.decimals(1));
    call.collect::<Decimal128Type>(|row| match (left.get(row), right.get(row)) {
        (Some(left), Some(right)) => value(left, right),
        _ => Ok(None),
    })
}
