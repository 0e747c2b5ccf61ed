//! Time as microseconds since the epoch, UTC.

use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;
use std::time::Duration;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// A point in time: microseconds since 1970-01-01T00:00:00Z.
///
/// [`Timestamp::MIN`] stands for "no event time" on records and "nothing is known yet" on
/// watermarks; [`Timestamp::MAX`] is the watermark after the last record of a bounded input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Before all time.
    pub const MIN: Self = Timestamp(i64::MIN);
    /// After all time.
    pub const MAX: Self = Timestamp(i64::MAX);
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Timestamp(0);

    /// From milliseconds since the epoch; saturates.
    pub const fn from_millis(millis: i64) -> Self {
        Timestamp(millis.saturating_mul(1000))
    }

    /// From seconds since the epoch; saturates.
    pub const fn from_secs(secs: i64) -> Self {
        Timestamp(secs.saturating_mul(SECOND))
    }

    /// Whole milliseconds since the epoch, rounded down.
    pub const fn as_millis(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// This much later; saturates.
    #[must_use]
    pub fn saturating_add(self, by: Duration) -> Self {
        Timestamp(self.0.saturating_add(micros(by)))
    }

    /// This much earlier; saturates.
    #[must_use]
    pub fn saturating_sub(self, by: Duration) -> Self {
        Timestamp(self.0.saturating_sub(micros(by)))
    }

    /// How much later than `earlier`; zero where it is not later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The start of the unit (hour, day, ...) that this time is in, counted from the epoch.
    #[must_use]
    pub fn floor(self, unit: Duration) -> Self {
        let unit = micros(unit).max(1);
        Timestamp(self.0.saturating_sub(self.0.rem_euclid(unit)))
    }
}

fn micros(d: Duration) -> i64 {
    i64::try_from(d.as_micros()).unwrap_or(i64::MAX)
}

impl Add<Duration> for Timestamp {
    type Output = Self;
    fn add(self, by: Duration) -> Self {
        self.saturating_add(by)
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;
    fn sub(self, by: Duration) -> Self {
        self.saturating_sub(by)
    }
}

/// RFC 3339 in UTC with as many digits of the second as are needed (`2013-01-01T10:00:00Z`);
/// the two ends of time as `-inf` and `+inf`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::MIN {
            return f.write_str("-inf");
        }
        if *self == Self::MAX {
            return f.write_str("+inf");
        }
        let (day, of_day) = (self.0.div_euclid(DAY), self.0.rem_euclid(DAY));
        let (year, month, dom) = civil_of_days(day);
        let (secs, us) = (of_day / SECOND, of_day % SECOND);
        let (h, m, s) = (secs / 3600, secs / 60 % 60, secs % 60);
        if (0..=9999).contains(&year) {
            write!(f, "{year:04}")?;
        } else {
            write!(f, "{year:+}")?;
        }
        write!(f, "-{month:02}-{dom:02}T{h:02}:{m:02}:{s:02}")?;
        if us % 1000 != 0 {
            write!(f, ".{us:06}")?;
        } else if us != 0 {
            write!(f, ".{:03}", us / 1000)?;
        }
        f.write_str("Z")
    }
}

/// Why a text is not a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseTimestampError(String);

impl fmt::Display for ParseTimestampError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is no time; expected RFC 3339 such as 2013-01-01T10:00:00Z", self.0)
    }
}

impl std::error::Error for ParseTimestampError {}

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    /// Reads `YYYY-MM-DD(T| )HH:MM[:SS[.fraction]](Z|+HH:MM|-HH:MM)`; digits below a microsecond are cut off.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text.as_bytes()).ok_or_else(|| ParseTimestampError(text.chars().take(64).collect()))
    }
}

fn parse(t: &[u8]) -> Option<Timestamp> {
    let digits = |range: std::ops::Range<usize>| -> Option<i64> {
        t.get(range)?
            .iter()
            .try_fold(0i64, |acc, &b| b.is_ascii_digit().then(|| acc * 10 + i64::from(b - b'0')))
    };
    let at = |i: usize, want: u8| t.get(i).copied().filter(|&b| b == want);
    let (year, month, day) = (digits(0..4)?, digits(5..7)?, digits(8..10)?);
    at(4, b'-')?;
    at(7, b'-')?;
    t.get(10).filter(|b| matches!(b, b'T' | b't' | b' '))?;
    let (hour, minute) = (digits(11..13)?, digits(14..16)?);
    at(13, b':')?;
    let (mut second, mut fraction, mut i) = (0, 0, 16);
    if at(i, b':').is_some() {
        second = digits(17..19)?;
        i = 19;
        if at(i, b'.').is_some() {
            let start = i + 1;
            i = start + t.get(start..)?.iter().take_while(|b| b.is_ascii_digit()).count();
            if i == start {
                return None;
            }
            let kept = i.min(start + 6);
            fraction = digits(start..kept)? * 10i64.pow(6 - (kept - start) as u32);
        }
    }
    if !(1..=12).contains(&month) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    if !(1..=days_in_month(year, month)).contains(&day) {
        return None;
    }
    let offset = match (*t.get(i)?, t.len() - i) {
        (b'Z' | b'z', 1) => 0,
        (sign @ (b'+' | b'-'), 6) => {
            at(i + 3, b':')?;
            let (h, m) = (digits(i + 1..i + 3)?, digits(i + 4..i + 6)?);
            if h > 23 || m > 59 {
                return None;
            }
            (h * 3600 + m * 60) * if sign == b'+' { 1 } else { -1 }
        }
        _ => return None,
    };
    let secs = days_of_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
    Some(Timestamp(secs * SECOND + fraction))
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since the epoch of a date of the proleptic Gregorian calendar. Years are counted from March,
/// so that the leap day is the last of its year.
fn days_of_civil(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (y.div_euclid(400), y.rem_euclid(400));
    let from_march = (month + 9) % 12;
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468
}

fn civil_of_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * of_era + of_era / 4 - of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_parses() {
        for (text, micros) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2013-01-01T10:15:00Z", 1_357_035_300_000_000),
            ("2000-02-29T23:59:59.999Z", 951_868_799_999_000),
            ("1969-12-31T23:59:59.999999Z", -1),
            ("0001-01-01T00:00:00Z", -62_135_596_800_000_000),
        ] {
            assert_eq!(text.parse::<Timestamp>(), Ok(Timestamp(micros)), "{text}");
            assert_eq!(Timestamp(micros).to_string(), text);
        }
        assert_eq!("2013-01-01 12:15+02:00".parse(), Ok(Timestamp(1_357_035_300_000_000)));
        assert_eq!("2013-01-01T10:15:00.1234567Z".parse(), Ok(Timestamp(1_357_035_300_123_456)));
    }

    #[test]
    fn refuses_what_is_no_time() {
        for text in [
            "",
            "2013",
            "2013-02-29T00:00:00Z",
            "2013-13-01T00:00:00Z",
            "2013-01-01T24:00:00Z",
            "2013-01-01T10:15:00",
            "2013-01-01T10:15:00.Z",
            "2013-01-01T10:15:00ZZ",
            "2013-01-01T10:15:00+1:00",
            "2013-00-10T00:00:00Z",
            "2013-01-01T10:15:00\u{e9}",
            "+013-01-01T10:15:00Z",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }

    #[test]
    fn every_day_of_eight_centuries_there_and_back() {
        for day in -146_097..146_097 {
            let (y, m, d) = civil_of_days(day);
            assert_eq!(days_of_civil(y, m, d), day);
        }
    }

    #[test]
    fn floors_towards_the_past() {
        assert_eq!(Timestamp(-1).floor(Duration::from_secs(1)), Timestamp(-1_000_000));
        assert_eq!(Timestamp(1_500_000).floor(Duration::from_secs(1)), Timestamp(1_000_000));
    }
}
