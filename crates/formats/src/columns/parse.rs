//! Text as values, as Flink's formats read it.

use super::text::{DateTime, days_of_civil};

/// A date as Java's `ISO_LOCAL_DATE`: days since 1970-01-01.
pub(super) fn date(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => (1, text),
    };
    let (rest, day) = digits.rsplit_once('-')?;
    let (year, month) = rest.rsplit_once('-')?;
    if year.len() < 4 || (year.len() > 4 && digits.len() == text.len()) {
        return None;
    }
    days_of_civil(sign * i64::from(number(year, 9)?), two(month)?, two(day)?)
}

/// Only digits, so many at most.
fn number(text: &str, max: usize) -> Option<u32> {
    let is_number = !text.is_empty() && text.len() <= max && text.bytes().all(|b| b.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

fn two(text: &str) -> Option<u32> {
    if text.len() == 2 { number(text, 2) } else { None }
}

/// A time of day: `10:00`, `10:00:00` or `10:00:00.123456789`.
pub(super) fn time(text: &str) -> Option<DateTime> {
    let (clock, fraction) = match text.split_once('.') {
        Some((clock, fraction)) => (clock, fraction),
        None => (text, ""),
    };
    let mut parts = clock.split(':');
    let (hour, minute) = (two(parts.next()?)?, two(parts.next()?)?);
    let second = match parts.next() {
        Some(second) => two(second)?,
        None => 0,
    };
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let nanos = match fraction {
        "" => 0,
        _ => number(fraction, 9)? * 10u32.pow(9 - fraction.len() as u32),
    };
    Some(DateTime { days: 0, seconds: hour * 3600 + minute * 60 + second, nanos })
}

/// A date and a time of day with this between them.
pub(super) fn date_time(text: &str, separator: char) -> Option<DateTime> {
    let (before, behind) = text.split_once(separator)?;
    Some(DateTime { days: date(before)?, ..time(behind)? })
}

/// Why a text is no decimal of a type.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoDecimal {
    /// It is no number.
    Malformed,
    /// It has too many digits before the point: NULL in Flink.
    TooLarge,
}

/// A decimal of this type, rounded half up.
pub(super) fn decimal(text: &str, precision: u8, scale: i8) -> Result<i128, NoDecimal> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().map_err(|_| NoDecimal::Malformed)?),
        None => (text, 0),
    };
    let unsigned = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let all_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
        return Err(NoDecimal::Malformed);
    }
    // How many of the digits count; more are zeros, fewer are rounded off.
    let digits = whole.bytes().chain(fraction.bytes());
    let kept = whole.len() as i64 + i64::from(exponent) + i64::from(scale);
    let total = (whole.len() + fraction.len()) as i64;
    let too_large = |value: i128| value >= 10i128.pow(u32::from(precision));
    let times_ten = |value: i128| value.checked_mul(10).ok_or(NoDecimal::TooLarge);
    let mut value = 0i128;
    for (digit, at) in digits.zip(0..) {
        if at < kept {
            value = times_ten(value)? + i128::from(digit - b'0');
        } else if at == kept && digit >= b'5' {
            value += 1;
        }
        if too_large(value) {
            return Err(NoDecimal::TooLarge);
        }
    }
    if value != 0 {
        for _ in total..kept {
            value = times_ten(value)?;
            if too_large(value) {
                return Err(NoDecimal::TooLarge);
            }
        }
    }
    Ok(if mantissa.starts_with('-') { -value } else { value })
}

/// Bytes from base 64, padded or not.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let mut out = Vec::with_capacity(digits.len() * 3 / 4 + 2);
    for group in digits.as_bytes().chunks(4) {
        let mut bits = 0u32;
        for &letter in group {
            let six = match letter {
                b'A'..=b'Z' => letter - b'A',
                b'a'..=b'z' => letter - b'a' + 26,
                b'0'..=b'9' => letter - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(six);
        }
        let bytes = match group.len() {
            4 => 3,
            3 => 2,
            2 => 1,
            _ => return None,
        };
        bits <<= 6 * (4 - group.len());
        out.extend_from_slice(&bits.to_be_bytes()[1..=bytes]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::TimeUnit;

    #[test]
    fn dates_and_times_are_strict() {
        assert_eq!(date("2013-01-01"), Some(15_706));
        assert_eq!(date("+10000-01-01"), Some(2_932_897));
        for wrong in ["2013-1-01", "2013-01", "13-01-01", "2013-02-30", "10000-01-01", "", "2013-01-01 "] {
            assert_eq!(date(wrong), None, "{wrong}");
        }
        let millis = |text| date_time(text, ' ').and_then(|at| at.to_timestamp(TimeUnit::Millisecond));
        assert_eq!(millis("1970-01-02 00:00:01.25"), Some(86_401_250));
        assert_eq!(millis("1970-01-01 00:00"), Some(0));
        for wrong in ["1970-01-01T00:00:00", "1970-01-01 24:00:00", "1970-01-01 0:00:00", "1970-01-01"] {
            assert_eq!(millis(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn decimals_are_rounded_half_up_and_bounded() {
        for (text, scale, want) in [
            ("12.345", 2, Ok(1235)),
            ("-12.345", 2, Ok(-1235)),
            ("12.344", 2, Ok(1234)),
            ("1e3", 2, Ok(100_000)),
            ("2.7E-8", 9, Ok(27)),
            ("2.7E-80", 9, Ok(0)),
            ("0.00", 0, Ok(0)),
            (".5", 0, Ok(1)),
            ("99999999.995", 2, Err(NoDecimal::TooLarge)),
            ("100000000", 2, Err(NoDecimal::TooLarge)),
            ("1e99", 2, Err(NoDecimal::TooLarge)),
            ("0e2000000000", 2, Ok(0)),
            ("", 2, Err(NoDecimal::Malformed)),
            ("1,5", 2, Err(NoDecimal::Malformed)),
            ("1e", 2, Err(NoDecimal::Malformed)),
        ] {
            assert_eq!(decimal(text, 10, scale), want, "{text}");
        }
    }

    #[test]
    fn base64_comes_back() {
        for bytes in [&b""[..], b"f", b"fo", b"foo", b"foob", &[0xff, 0xfe, 0, 1]] {
            let mut text = String::new();
            super::super::text::base64(&mut text, bytes);
            assert_eq!(base64(&text).unwrap(), bytes);
        }
        assert_eq!(base64("a!b"), None);
        assert_eq!(base64("abcde"), None);
    }
}
