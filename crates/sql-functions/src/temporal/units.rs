//! Units of time by their names in SQL.

use flugs_types::{Error, Result};

/// A unit, or a field of a datetime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Millennium,
    Century,
    Decade,
    Year,
    IsoYear,
    Quarter,
    Month,
    Week,
    Day,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
    Epoch,
}

/// The names of units; Calcite's abbreviations and the ODBC forms with `SQL_TSI_` are known, too.
const NAMES: [(&str, Unit); 26] = [
    ("MILLENNIUM", Unit::Millennium),
    ("CENTURY", Unit::Century),
    ("DECADE", Unit::Decade),
    ("YEAR", Unit::Year),
    ("YEARS", Unit::Year),
    ("ISOYEAR", Unit::IsoYear),
    ("QUARTER", Unit::Quarter),
    ("MONTH", Unit::Month),
    ("MONTHS", Unit::Month),
    ("WEEK", Unit::Week),
    ("DAY", Unit::Day),
    ("DAYS", Unit::Day),
    ("DOW", Unit::DayOfWeek),
    ("ISODOW", Unit::IsoDayOfWeek),
    ("DOY", Unit::DayOfYear),
    ("HOUR", Unit::Hour),
    ("HOURS", Unit::Hour),
    ("MINUTE", Unit::Minute),
    ("MINUTES", Unit::Minute),
    ("SECOND", Unit::Second),
    ("SECONDS", Unit::Second),
    ("MILLISECOND", Unit::Millisecond),
    ("MICROSECOND", Unit::Microsecond),
    ("NANOSECOND", Unit::Nanosecond),
    ("FRAC_SECOND", Unit::Microsecond),
    ("EPOCH", Unit::Epoch),
];

impl Unit {
    /// A unit by its name; an error where there is none.
    pub(super) fn parse(name: &str) -> Result<Unit> {
        let upper = name.trim().to_ascii_uppercase();
        let plain = upper.strip_prefix("SQL_TSI_").unwrap_or(&upper);
        let known = NAMES.iter().find(|(known, _)| *known == plain).map(|(_, unit)| *unit);
        known.ok_or_else(|| {
            Error::job(format!("there is no unit of time '{name}'")).mend(
                "units are YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND, MILLISECOND and some more",
            )
        })
    }

    /// How many months it has; none where it is no number of months.
    pub(super) fn months(self) -> Option<i64> {
        match self {
            Unit::Millennium => Some(12_000),
            Unit::Century => Some(1_200),
            Unit::Decade => Some(120),
            Unit::Year => Some(12),
            Unit::Quarter => Some(3),
            Unit::Month => Some(1),
            _ => None,
        }
    }

    /// How many nanoseconds it has; none where it is no number of nanoseconds.
    pub(super) fn nanos(self) -> Option<i64> {
        const SECOND: i64 = 1_000_000_000;
        match self {
            Unit::Week => Some(7 * 86_400 * SECOND),
            Unit::Day => Some(86_400 * SECOND),
            Unit::Hour => Some(3600 * SECOND),
            Unit::Minute => Some(60 * SECOND),
            Unit::Second => Some(SECOND),
            Unit::Millisecond => Some(1_000_000),
            Unit::Microsecond => Some(1_000),
            Unit::Nanosecond => Some(1),
            _ => None,
        }
    }
}
