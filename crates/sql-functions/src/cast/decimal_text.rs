//! Exact decimal numbers as texts.

use super::convert::Reason;
use std::fmt::{Result, Write};

/// The unscaled value of a number like `-12.5e3`, rounded half up to `scale` digits behind the point; an error where it is no
/// number or has more than `precision` digits.
pub(crate) fn parse_decimal(text: &str, precision: u8, scale: u8) -> std::result::Result<i128, Reason> {
    let (negative, digits, exponent) = parts(text).ok_or("it is not a number")?;
    let unscaled =
        scaled(&digits, exponent.saturating_add(i64::from(scale)), precision).ok_or("too large a number")?;
    Ok(if negative { -unscaled } else { unscaled })
}

/// Sign, digits without leading zeros, and the power of ten to multiply them by.
fn parts(text: &str) -> Option<(bool, Vec<u8>, i64)> {
    let (negative, rest) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    let mark = rest.iter().position(|b| matches!(b, b'e' | b'E')).unwrap_or(rest.len());
    let exponent = match rest.get(mark + 1..) {
        // An exponent that is too large for 64 bits is as good as the largest: all digits are lost or too many.
        Some(exponent) => parse_exponent(exponent)?,
        None => 0,
    };
    let (mantissa, mut digits, mut behind, mut any) = (&rest[..mark], Vec::new(), None, false);
    for &byte in mantissa {
        match byte {
            b'.' if behind.is_none() => behind = Some(0i64),
            b'0'..=b'9' => {
                any = true;
                if byte != b'0' || !digits.is_empty() {
                    digits.push(byte - b'0');
                }
                behind = behind.map(|n| n + 1);
            }
            _ => return None,
        }
    }
    any.then_some((negative, digits, exponent.saturating_sub(behind.unwrap_or(0))))
}

fn parse_exponent(bytes: &[u8]) -> Option<i64> {
    let (negative, digits) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0i64, |v, d| v.saturating_mul(10).saturating_add(i64::from(d - b'0')));
    Some(if negative { -value } else { value })
}

/// `digits * 10^exponent`, rounded half up; none where that has more than `precision` digits.
fn scaled(digits: &[u8], exponent: i64, precision: u8) -> Option<i128> {
    if digits.is_empty() {
        return Some(0);
    }
    let length = exponent.saturating_add(digits.len() as i64);
    if length < 0 {
        return Some(0);
    }
    if length > i64::from(precision) {
        return None;
    }
    let kept = (length as usize).min(digits.len());
    let mut value = digits[..kept].iter().fold(0i128, |v, d| v * 10 + i128::from(*d));
    value *= 10i128.pow((length as usize - kept) as u32);
    if digits.get(kept).is_some_and(|d| *d >= 5) {
        value += 1;
    }
    (value < 10i128.pow(u32::from(precision))).then_some(value)
}

/// Writes a decimal number with exactly `scale` digits behind the point.
pub(crate) fn write_decimal(unscaled: i128, scale: u8, out: &mut impl Write) -> Result {
    // 39 digits of an i128, a point and a zero before it.
    let mut buffer = [b'0'; 48];
    let mut at = buffer.len();
    let mut rest = unscaled.unsigned_abs();
    let scale = usize::from(scale);
    let mut written = 0;
    while rest > 0 || written <= scale {
        at -= 1;
        if written == scale && scale > 0 {
            buffer[at] = b'.';
            at -= 1;
        }
        buffer[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        written += 1;
    }
    if unscaled < 0 {
        at -= 1;
        buffer[at] = b'-';
    }
    out.write_str(std::str::from_utf8(&buffer[at..]).map_err(|_| std::fmt::Error)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_exactly() {
        for (text, precision, scale, expected) in [
            ("12.345", 5, 2, Ok(1235)),
            ("12.344", 5, 2, Ok(1234)),
            ("-12.345", 5, 2, Ok(-1235)),
            ("1e2", 5, 2, Ok(10000)),
            ("1E+2", 5, 0, Ok(100)),
            (".5", 1, 0, Ok(1)),
            ("0.04", 3, 1, Ok(0)),
            ("0.05", 3, 1, Ok(1)),
            ("5e-1", 1, 0, Ok(1)),
            ("49e-2", 1, 0, Ok(0)),
            ("999.5", 3, 0, Err("too large a number")),
            ("1234.5", 5, 2, Err("too large a number")),
            ("1e999999999999999999999", 5, 2, Err("too large a number")),
            ("1e-999999999999999999999", 5, 2, Ok(0)),
            ("99999999999999999999999999999999999999", 38, 0, Ok(10i128.pow(38) - 1)),
            ("", 5, 2, Err("it is not a number")),
            (".", 5, 2, Err("it is not a number")),
            ("1.2.3", 5, 2, Err("it is not a number")),
            ("1e", 5, 2, Err("it is not a number")),
            ("abc", 5, 2, Err("it is not a number")),
        ] {
            assert_eq!(parse_decimal(text, precision, scale), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_written_with_all_their_digits() {
        for (unscaled, scale, expected) in [
            (0, 0, "0"),
            (0, 2, "0.00"),
            (-5, 1, "-0.5"),
            (123, 0, "123"),
            (100, 9, "0.000000100"),
            (i128::MIN, 38, "-1.70141183460469231731687303715884105728"),
            (-1, 38, "-0.00000000000000000000000000000000000001"),
        ] {
            let mut text = String::new();
            write_decimal(unscaled, scale, &mut text).unwrap();
            assert_eq!(text, expected);
        }
    }
}
