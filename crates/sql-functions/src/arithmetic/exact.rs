//! The loops of exact arithmetic. Where the types show that nothing can overflow, they run on 128 bits without checks.

use super::{DIGITS_MAX, collect, result_shape, shape_of};
use crate::support::{Call, data_error, int_digits};
use arrow::array::ArrayRef;
use arrow::datatypes::{Decimal128Type, i256};
use datafusion_common::Result;
use flugs_sql_types::LogicalType;

/// How many digits a number has, and how many of them are behind the point.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) precision: u8,
    pub(super) scale: u8,
}

impl Shape {
    /// The shape of an exact number's type.
    pub(super) fn of(kind: &LogicalType) -> Option<Shape> {
        match kind {
            LogicalType::Decimal(precision, scale) => Some(Shape { precision: *precision, scale: *scale }),
            kind => Some(Shape { precision: int_digits(&kind.to_arrow())?, scale: 0 }),
        }
    }

    /// Digits before the point.
    pub(super) fn whole(self) -> u8 {
        self.precision.saturating_sub(self.scale)
    }

    /// The number in this shape; none where it has too many digits.
    fn fit(self, value: i256) -> Option<i128> {
        let value = value.to_i128()?;
        (value.unsigned_abs() < 10u128.pow(u32::from(self.precision))).then_some(value)
    }
}

/// `10^exponent`, for exponents up to 76.
fn power(exponent: u8) -> i256 {
    let half = i256::from_i128(10i128.pow(u32::from(exponent.min(DIGITS_MAX))));
    half.wrapping_mul(i256::from_i128(10i128.pow(u32::from(exponent.saturating_sub(DIGITS_MAX)))))
}

fn divide_half_up(value: i256, divisor: i256) -> i256 {
    let (quotient, rest) = (value.wrapping_div(divisor), value.wrapping_rem(divisor));
    let (rest, size) = (rest.wrapping_abs(), divisor.wrapping_abs());
    if rest < size.wrapping_sub(rest) {
        return quotient;
    }
    let away = if (value < i256::ZERO) == (divisor < i256::ZERO) { i256::ONE } else { i256::MINUS_ONE };
    quotient.wrapping_add(away)
}

/// `left + sign * right`.
pub(super) fn add(call: &Call<'_>, sign: i128) -> Result<ArrayRef> {
    let (l, r, result) = (shape_of(call, 0)?, shape_of(call, 1)?, result_shape(call)?);
    let scale = l.scale.max(r.scale);
    let (up_left, up_right) = (power(scale - l.scale), power(scale - r.scale));
    if l.whole().max(r.whole()) + 1 + scale <= DIGITS_MAX {
        let (left, right) = (call.decimals(0), call.decimals(1));
        let (a, b) = (up_left.as_i128(), up_right.as_i128() * sign);
        let sum = |row| left.any(row).wrapping_mul(a).wrapping_add(right.any(row).wrapping_mul(b));
        return Ok(call.map_all::<Decimal128Type>(sum));
    }
    let (up_right, down) = (up_right.wrapping_mul(i256::from_i128(sign)), power(scale - result.scale));
    collect(call, |left, right| {
        let left = i256::from_i128(left).wrapping_mul(up_left);
        let sum = left.wrapping_add(i256::from_i128(right).wrapping_mul(up_right));
        Ok(result.fit(divide_half_up(sum, down)))
    })
}

pub(super) fn multiply(call: &Call<'_>) -> Result<ArrayRef> {
    let (l, r, result) = (shape_of(call, 0)?, shape_of(call, 1)?, result_shape(call)?);
    if l.precision + r.precision < DIGITS_MAX {
        let (left, right) = (call.decimals(0), call.decimals(1));
        return Ok(call.map_all::<Decimal128Type>(|row| left.any(row).wrapping_mul(right.any(row))));
    }
    let down = power(l.scale + r.scale - result.scale);
    collect(call, |left, right| {
        let product = i256::from_i128(left).wrapping_mul(i256::from_i128(right));
        Ok(result.fit(divide_half_up(product, down)))
    })
}

fn by_zero() -> datafusion_common::DataFusionError {
    data_error("division by zero")
}

pub(super) fn divide(call: &Call<'_>) -> Result<ArrayRef> {
    let (l, r, result) = (shape_of(call, 0)?, shape_of(call, 1)?, result_shape(call)?);
    // Never negative: the scale of a quotient is that of the left side at least, or 6 and all digits are before the point.
    let up = i16::from(result.scale) - i16::from(l.scale) + i16::from(r.scale);
    collect(call, |left, right| {
        if right == 0 {
            return Err(by_zero());
        }
        let (left, right) = (i256::from_i128(left), i256::from_i128(right));
        if up < 0 {
            let divisor = right.checked_mul(power(up.unsigned_abs() as u8));
            return Ok(divisor.and_then(|divisor| result.fit(divide_half_up(left, divisor))));
        }
        Ok(quotient(left, right, up as u8).and_then(|q| result.fit(q)))
    })
}

/// `left * 10^up / right`, rounded half up; none where it has more than 76 digits.
fn quotient(left: i256, right: i256, up: u8) -> Option<i256> {
    // 10^38 in both factors is less than 2^255.
    if up <= DIGITS_MAX {
        return Some(divide_half_up(left.wrapping_mul(power(up)), right));
    }
    // Digit by digit: the rest stays small.
    let first = left.wrapping_mul(power(DIGITS_MAX));
    let (mut whole, mut rest) = (first.wrapping_div(right), first.wrapping_rem(right));
    let ten = i256::from_i128(10);
    for _ in DIGITS_MAX..up {
        let next = rest.wrapping_mul(ten);
        whole = whole.checked_mul(ten)?.checked_add(next.wrapping_div(right))?;
        rest = next.wrapping_rem(right);
    }
    let (rest, size) = (rest.wrapping_abs(), right.wrapping_abs());
    let away = if (left < i256::ZERO) == (right < i256::ZERO) { i256::ONE } else { i256::MINUS_ONE };
    Some(if rest < size.wrapping_sub(rest) { whole } else { whole.wrapping_add(away) })
}

/// The remainder has the sign of the left side.
pub(super) fn remainder(call: &Call<'_>) -> Result<ArrayRef> {
    let (l, r, result) = (shape_of(call, 0)?, shape_of(call, 1)?, result_shape(call)?);
    let scale = l.scale.max(r.scale);
    let (up_left, up_right, down) =
        (power(scale - l.scale), power(scale - r.scale), power(scale - result.scale));
    collect(call, |left, right| {
        if right == 0 {
            return Err(by_zero());
        }
        let (left, right) =
            (i256::from_i128(left).wrapping_mul(up_left), i256::from_i128(right).wrapping_mul(up_right));
        Ok(result.fit(divide_half_up(left.wrapping_rem(right), down)))
    })
}
