//! What texts mean as numbers and booleans.

use super::convert::Reason;
use super::{parse_decimal, parse_double};

type Parsed<T> = Result<T, Reason>;

/// `true`, `t`, `yes`, `y`, `1` and their opposites in any case, nothing around them.
pub(super) fn boolean(text: &str) -> Parsed<bool> {
    let is = |words: [&str; 5]| words.iter().any(|w| w.eq_ignore_ascii_case(text));
    match () {
        () if is(["true", "t", "yes", "y", "1"]) => Ok(true),
        () if is(["false", "f", "no", "n", "0"]) => Ok(false),
        () => Err("it is neither true nor false"),
    }
}

/// Digits with a sign before them, spaces around them and a fraction behind them, which is cut off.
pub(super) fn integer(text: &str) -> Parsed<i64> {
    let text = text.trim_matches(' ');
    let (negative, digits) = match text.as_bytes() {
        [] => return Err("it is empty"),
        [b'-'] | [b'+'] => return Err("it is a sign alone"),
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    let whole = digits.iter().position(|b| *b == b'.').unwrap_or(digits.len());
    let fraction = digits.get(whole + 1..).unwrap_or_default();
    if !digits[..whole].iter().chain(fraction).all(u8::is_ascii_digit) {
        return Err("it is not a number");
    }
    let mut value: i64 = 0;
    for digit in &digits[..whole] {
        // Counted downwards: there is one more negative number.
        value = value
            .checked_mul(10)
            .and_then(|v| v.checked_sub(i64::from(digit - b'0')))
            .ok_or("too large a number")?;
    }
    if negative { Ok(value) } else { value.checked_neg().ok_or("too large a number") }
}

/// A number as Java's `Double.parseDouble` reads it.
pub(super) fn double(text: &str) -> Parsed<f64> {
    parse_double(text).ok_or("it is not a number")
}

/// A number as Java's `Float.parseFloat` reads it.
pub(super) fn float(text: &str) -> Parsed<f32> {
    let trimmed = super::double_text::plain(text).ok_or("it is not a number")?;
    // Parsed as what it is to become: over a DOUBLE it would be rounded twice.
    match trimmed {
        Some(digits) => digits.parse().map_err(|_| "it is not a number"),
        None => double(text).map(|d| d as f32),
    }
}

/// A number, rounded half up to `scale` digits behind the point.
pub(super) fn decimal(text: &str, precision: u8, scale: u8) -> Parsed<i128> {
    parse_decimal(text.trim_matches(' '), precision, scale)
}
