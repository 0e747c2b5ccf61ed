//! Values as text, as Flink (that is, Java) writes them.

use arrow::datatypes::TimeUnit;
use std::fmt::Write as _;

const SECONDS_PER_DAY: i64 = 86_400;
const NANOS_PER_MILLI: u32 = 1_000_000;

/// A date and a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateTime {
    /// Days since 1970-01-01.
    pub days: i64,
    /// Seconds of the day.
    pub seconds: u32,
    /// Nanoseconds of the second.
    pub nanos: u32,
}

impl DateTime {
    /// From the value of a timestamp column of this unit.
    pub fn of_timestamp(unit: TimeUnit, value: i64) -> Self {
        let (per_second, nanos_each) = units(unit);
        let seconds = value.div_euclid(per_second);
        DateTime {
            days: seconds.div_euclid(SECONDS_PER_DAY),
            seconds: seconds.rem_euclid(SECONDS_PER_DAY) as u32,
            nanos: value.rem_euclid(per_second) as u32 * nanos_each,
        }
    }

    /// The value in a timestamp column of this unit; what is finer is cut off. `None` where it is out of range.
    pub fn to_timestamp(self, unit: TimeUnit) -> Option<i64> {
        let (per_second, nanos_each) = units(unit);
        let seconds = self.days.checked_mul(SECONDS_PER_DAY)?.checked_add(i64::from(self.seconds))?;
        seconds.checked_mul(per_second)?.checked_add(i64::from(self.nanos / nanos_each))
    }

    /// From the value of a time column: milliseconds of the day.
    pub fn of_time(millis: i32) -> Self {
        Self::of_timestamp(TimeUnit::Millisecond, i64::from(millis))
    }
}

/// How many of a unit make a second, and how many nanoseconds each has.
fn units(unit: TimeUnit) -> (i64, u32) {
    match unit {
        TimeUnit::Second => (1, 1_000_000_000),
        TimeUnit::Millisecond => (1_000, NANOS_PER_MILLI),
        TimeUnit::Microsecond => (1_000_000, 1_000),
        TimeUnit::Nanosecond => (1_000_000_000, 1),
    }
}

/// Year, month and day of the Gregorian calendar. Counts from 0000-03-01, so that leap days end a year, in eras of 400 years.
fn civil_of_days(days: i64) -> (i64, u32, u32) {
    let since = days + 719_468;
    let (era, of_era) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month as u32, day as u32)
}

/// Days since 1970-01-01; `None` where there is no such day.
pub(super) fn days_of_civil(year: i64, month: u32, day: u32) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if day == 0 || day > length || year.abs() > 999_999_999 {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let shifted = i64::from(if month > 2 { month - 3 } else { month + 9 });
    let of_year = (153 * shifted + 2) / 5 + i64::from(day) - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

fn two(out: &mut String, n: u32) {
    out.push(char::from(b'0' + (n / 10 % 10) as u8));
    out.push(char::from(b'0' + (n % 10) as u8));
}

/// A whole number.
pub fn integer(out: &mut String, value: i64) {
    out.push_str(itoa::Buffer::new().format(value));
}

/// `2013-01-31`, with a sign where the year has more than four digits.
pub fn date(out: &mut String, days: i64) {
    let (year, month, day) = civil_of_days(days);
    if (0..=9999).contains(&year) {
        two(out, year as u32 / 100);
        two(out, year as u32 % 100);
    } else {
        // A string takes everything; so here and below.
        let _ = if year > 0 { write!(out, "+{year}") } else { write!(out, "-{:04}", -year) };
    }
    out.push('-');
    two(out, month);
    out.push('-');
    two(out, day);
}

/// `10:00:00`, then as many digits of the second as are not zero.
pub fn time(out: &mut String, at: DateTime) {
    hours_and_minutes(out, at);
    out.push(':');
    two(out, at.seconds % 60);
    if at.nanos > 0 {
        fraction(out, at.nanos, 1);
    }
}

fn hours_and_minutes(out: &mut String, at: DateTime) {
    two(out, at.seconds / 3600);
    out.push(':');
    two(out, at.seconds / 60 % 60);
}

/// A point and the digits of a part of a second, without the zeros behind a multiple of `step` digits.
fn fraction(out: &mut String, nanos: u32, step: usize) {
    let mut digits = [0; 9];
    let mut rest = nanos;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let used = digits.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
    out.push('.');
    digits[..used.next_multiple_of(step)].iter().for_each(|digit| out.push(char::from(*digit)));
}

/// As `java.time.LocalTime` shows itself: seconds only where they are not zero, fractions by three digits.
pub fn java_time(out: &mut String, at: DateTime) {
    hours_and_minutes(out, at);
    if !at.seconds.is_multiple_of(60) || at.nanos > 0 {
        java_seconds(out, at);
    }
}

fn java_seconds(out: &mut String, at: DateTime) {
    out.push(':');
    two(out, at.seconds % 60);
    if at.nanos > 0 {
        fraction(out, at.nanos, 3);
    }
}

/// As `java.time.Instant` shows itself.
pub fn java_instant(out: &mut String, at: DateTime) {
    date(out, at.days);
    out.push('T');
    hours_and_minutes(out, at);
    java_seconds(out, at);
    out.push('Z');
}

/// A floating-point number as Java's `Double.toString` and `Float.toString`: the fewest digits that tell it from its
/// neighbours, at least one behind the point, and with an exponent outside of 0.001 to 10,000,000.
pub fn double(out: &mut String, value: f64) {
    java_float(out, value.is_nan(), value, &format!("{value:e}"));
}

/// As [`double`].
pub fn float(out: &mut String, value: f32) {
    java_float(out, value.is_nan(), f64::from(value), &format!("{value:e}"));
}

fn java_float(out: &mut String, is_nan: bool, value: f64, scientific: &str) {
    if is_nan {
        return out.push_str("NaN");
    }
    if value.is_infinite() {
        return out.push_str(if value > 0.0 { "Infinity" } else { "-Infinity" });
    }
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let unsigned = mantissa.trim_start_matches('-');
    if unsigned.len() < mantissa.len() {
        out.push('-');
    }
    let digits: String = unsigned.chars().filter(|c| *c != '.').collect();
    let digits = digits.as_str();
    let fractional = |digits: &'_ str| if digits.is_empty() { "0".to_owned() } else { digits.to_owned() };
    match exponent {
        _ if value == 0.0 => out.push_str("0.0"),
        -3..=-1 => {
            out.push_str("0.");
            (1..-exponent).for_each(|_| out.push('0'));
            out.push_str(digits);
        }
        0..=6 => {
            let whole = exponent as usize + 1;
            let cut = digits.len().min(whole);
            out.push_str(&digits[..cut]);
            (cut..whole).for_each(|_| out.push('0'));
            out.push('.');
            out.push_str(&fractional(&digits[cut..]));
        }
        _ => {
            out.push_str(&digits[..1]);
            out.push('.');
            out.push_str(&fractional(&digits[1..]));
            let _ = write!(out, "E{exponent}");
        }
    }
}

/// A decimal as Java's `BigDecimal.toString`, or `toPlainString` where `plain`.
pub fn decimal(out: &mut String, unscaled: i128, scale: i8, plain: bool) {
    let digits = unscaled.unsigned_abs().to_string();
    if unscaled < 0 {
        out.push('-');
    }
    let scale = i32::from(scale);
    let adjusted = digits.len() as i32 - 1 - scale;
    if !plain && (scale < 0 || adjusted < -6) {
        out.push_str(&digits[..1]);
        if digits.len() > 1 {
            out.push('.');
            out.push_str(&digits[1..]);
        }
        let _ = if adjusted == 0 { Ok(()) } else { write!(out, "E{adjusted:+}") };
        return;
    }
    let scale = scale.max(0) as usize;
    if scale == 0 {
        return out.push_str(&digits);
    }
    match digits.len().checked_sub(scale).filter(|whole| *whole > 0) {
        Some(whole) => {
            out.push_str(&digits[..whole]);
            out.push('.');
            out.push_str(&digits[whole..]);
        }
        None => {
            out.push_str("0.");
            (digits.len()..scale).for_each(|_| out.push('0'));
            out.push_str(&digits);
        }
    }
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes in base 64 (RFC 4648), padded.
pub fn base64(out: &mut String, bytes: &[u8]) {
    for group in bytes.chunks(3) {
        let byte = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let letter = BASE64[(bits >> (18 - 6 * i) & 63) as usize];
            out.push(if i > group.len() { '=' } else { char::from(letter) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(write: impl FnOnce(&mut String)) -> String {
        let mut out = String::new();
        write(&mut out);
        out
    }

    #[test]
    fn dates_and_times() {
        for (days, want) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (15_706, "2013-01-01"),
            (11_016, "2000-02-29"),
            (2_932_896, "9999-12-31"),
            (2_932_897, "+10000-01-01"),
            (-719_528, "0000-01-01"),
            (-719_529, "-0001-12-31"),
        ] {
            assert_eq!(of(|out| date(out, days)), want);
            let (year, month, day) = civil_of_days(days);
            assert_eq!(days_of_civil(year, month, day), Some(days));
        }
        assert_eq!(days_of_civil(1900, 2, 29), None);
        assert_eq!(days_of_civil(2024, 4, 31), None);
        let at = |nanos: i64| DateTime::of_timestamp(TimeUnit::Nanosecond, 36_000_000_000_000 + nanos);
        for (nanos, plain, java) in [
            (0, "10:00:00", "10:00"),
            (7_000_000_000, "10:00:07", "10:00:07"),
            (120_000_000, "10:00:00.12", "10:00:00.120"),
            (1_000, "10:00:00.000001", "10:00:00.000001"),
            (1, "10:00:00.000000001", "10:00:00.000000001"),
        ] {
            assert_eq!(of(|out| time(out, at(nanos))), plain);
            assert_eq!(of(|out| java_time(out, at(nanos))), java);
        }
        let before = DateTime::of_timestamp(TimeUnit::Millisecond, -1);
        assert_eq!(of(|out| java_instant(out, before)), "1969-12-31T23:59:59.999Z");
        assert_eq!(before.to_timestamp(TimeUnit::Microsecond), Some(-1000));
    }

    #[test]
    fn numbers_are_written_as_java_does() {
        for (value, want) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (100.0, "100.0"),
            (1234567.0, "1234567.0"),
            (1e7, "1.0E7"),
            (1.25e10, "1.25E10"),
            (0.001, "0.001"),
            (0.0123, "0.0123"),
            (0.00099, "9.9E-4"),
            (f64::MIN_POSITIVE, "2.2250738585072014E-308"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(of(|out| double(out, value)), want);
        }
        assert_eq!(of(|out| float(out, 0.1)), "0.1");
        assert_eq!(of(|out| float(out, 1.1e-5)), "1.1E-5");
        for (unscaled, scale, java, plain) in [
            (0, 0, "0", "0"),
            (12345, 2, "123.45", "123.45"),
            (-5, 2, "-0.05", "-0.05"),
            (100, 2, "1.00", "1.00"),
            (27, 9, "2.7E-8", "0.000000027"),
            (0, 10, "0E-10", "0.0000000000"),
            (1, 6, "0.000001", "0.000001"),
            (1, 7, "1E-7", "0.0000001"),
        ] {
            assert_eq!(of(|out| decimal(out, unscaled, scale, false)), java);
            assert_eq!(of(|out| decimal(out, unscaled, scale, true)), plain);
        }
    }

    #[test]
    fn base64_is_padded() {
        for (bytes, want) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(of(|out| base64(out, bytes.as_bytes())), want);
        }
    }
}
