//! Dates, times and timestamps as texts in the form of SQL: `2020-02-29`, `13:14:15.5`, `2020-02-29 13:14:15.123456789`.
//!
//! Years have four digits (0000 to 9999), months, days, hours, minutes and seconds one or two, fractions up to nine. What
//! stands in a literal of a query and what `TO_DATE` and `TO_TIMESTAMP` take without a format is the same.

use super::civil::{DAY_S, days_of, month_days};

/// A date and a time of day in no zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateTime {
    /// Seconds since 1970-01-01 00:00:00.
    pub seconds: i64,
    /// Nanoseconds since that second.
    pub nanos: u32,
    /// How many digits the fraction was written with.
    pub digits: u8,
}

/// The days since the epoch of a date; none where the text is none.
pub fn parse_date(text: &str) -> Option<i32> {
    let mut scanner = Scanner(text.trim().as_bytes());
    let days = scanner.date()?;
    scanner.end()?;
    i32::try_from(days).ok()
}

/// The milliseconds of a time of day, more digits cut off; none where the text is none. Seconds may be left out.
pub fn parse_time(text: &str) -> Option<i32> {
    let mut scanner = Scanner(text.trim().as_bytes());
    let (seconds, nanos, _) = scanner.time(false)?;
    scanner.end()?;
    i32::try_from(seconds * 1000 + i64::from(nanos / 1_000_000)).ok()
}

/// A timestamp; none where the text is none. A date alone is its midnight; a `T` may stand for the space.
pub fn parse_timestamp(text: &str) -> Option<DateTime> {
    let mut scanner = Scanner(text.trim().as_bytes());
    let date = scanner.date()?;
    if scanner.0.is_empty() {
        return Some(DateTime { seconds: date * DAY_S, nanos: 0, digits: 0 });
    }
    scanner.one_of(b" T")?;
    let (seconds, nanos, digits) = scanner.time(true)?;
    scanner.end()?;
    Some(DateTime { seconds: date * DAY_S + seconds, nanos, digits })
}

struct Scanner<'a>(&'a [u8]);

impl Scanner<'_> {
    fn number(&mut self, least: usize, most: usize) -> Option<i64> {
        let digits = self.0.iter().take(most).take_while(|b| b.is_ascii_digit()).count();
        if digits < least {
            return None;
        }
        let value = self.0[..digits].iter().fold(0, |value, b| value * 10 + i64::from(b - b'0'));
        self.0 = &self.0[digits..];
        Some(value)
    }

    fn one_of(&mut self, allowed: &[u8]) -> Option<()> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        allowed.contains(first).then_some(())
    }

    fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }

    fn date(&mut self) -> Option<i64> {
        let year = self.number(4, 4)?;
        self.one_of(b"-")?;
        let month = self.number(1, 2)?;
        self.one_of(b"-")?;
        let day = self.number(1, 2)?;
        let in_range =
            (1..=12).contains(&month) && day >= 1 && day <= i64::from(month_days(year, month as u32));
        in_range.then(|| days_of(year, month, day))
    }

    /// Seconds of the day, nanoseconds, digits of the fraction.
    fn time(&mut self, with_seconds: bool) -> Option<(i64, u32, u8)> {
        let hour = self.number(1, 2)?;
        self.one_of(b":")?;
        let minute = self.number(1, 2)?;
        let (mut second, mut nanos, mut digits) = (0, 0, 0);
        if with_seconds || !self.0.is_empty() {
            self.one_of(b":")?;
            second = self.number(1, 2)?;
            if self.0.first() == Some(&b'.') {
                self.0 = &self.0[1..];
                let before = self.0.len();
                let fraction = self.number(0, 9)?;
                digits = before - self.0.len();
                nanos = fraction * 10i64.pow(9 - digits as u32);
            }
        }
        let in_range = hour < 24 && minute < 60 && second < 60;
        in_range.then_some((hour * 3600 + minute * 60 + second, nanos as u32, digits as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (text, days) in [
            ("1970-01-01", Some(0)),
            ("1970-1-2", Some(1)),
            (" 2020-02-29 ", Some(18_321)),
            ("0000-01-01", Some(-719_528)),
            ("9999-12-31", Some(2_932_896)),
            ("2021-02-29", None),
            ("2021-13-01", None),
            ("21-01-01", None),
            ("2021-01", None),
            ("", None),
            ("2021-01-01x", None),
        ] {
            assert_eq!(parse_date(text), days, "{text}");
        }
    }

    #[test]
    fn times() {
        for (text, millis) in [
            ("00:00:00", Some(0)),
            ("13:14:15.5", Some(47_655_500)),
            ("13:14", Some(47_640_000)),
            ("23:59:59.9999", Some(86_399_999)),
            ("24:00:00", None),
            ("1:60:00", None),
            ("noon", None),
        ] {
            assert_eq!(parse_time(text), millis, "{text}");
        }
    }

    #[test]
    fn timestamps() {
        let at = |seconds, nanos, digits| Some(DateTime { seconds, nanos, digits });
        for (text, expected) in [
            ("1970-01-01 00:00:01", at(1, 0, 0)),
            ("1969-12-31T23:59:59.25", at(-1, 250_000_000, 2)),
            ("2020-02-29 13:14:15.123456789", at(1_582_982_055, 123_456_789, 9)),
            ("2020-02-29", at(1_582_934_400, 0, 0)),
            ("2020-02-29 13:14", None),
            ("2020-02-29 13:14:15.1234567890", None),
            ("2020-02-29 ", at(1_582_934_400, 0, 0)),
        ] {
            assert_eq!(parse_timestamp(text), expected, "{text}");
        }
    }
}
