//! Days since the epoch and the proleptic Gregorian calendar.
//!
//! Everything here is total: a number of days far outside of the calendar gives some date, never a panic. Years are
//! astronomical: 0 is the year before 1.

/// Seconds in a day.
pub(crate) const DAY_S: i64 = 86_400;
/// Milliseconds in a day.
pub(crate) const DAY_MS: i64 = 86_400_000;

/// A date of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Date {
    pub(crate) year: i64,
    /// 1 to 12.
    pub(crate) month: u32,
    /// 1 to 31.
    pub(crate) day: u32,
}

/// The date of a day. (Howard Hinnant, "chrono-compatible low-level date algorithms".)
pub(crate) fn date_of(days: i64) -> Date {
    // Years begin in March and eras of 400 years at 0000-03-01, so that leap days come last.
    let shifted = days.saturating_add(719_468);
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * shifted_month + 2) / 5 + 1) as u32;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 } as u32;
    Date { year: year_of_era + era * 400 + i64::from(month <= 2), month, day }
}

/// The day of a date. Months and days outside of their ranges count on: month 13 is the next January, day 0 the last day of
/// the month before.
pub(crate) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year.saturating_add((month - 1).div_euclid(12)).clamp(-1_000_000_000_000, 1_000_000_000_000);
    let month = (month - 1).rem_euclid(12) + 1;
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era - 719_468).saturating_add(day - 1)
}

/// The length of a month.
pub(crate) fn month_days(year: i64, month: u32) -> u32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A day some months later: the last day of the month where that month is shorter.
pub(crate) fn add_months(days: i64, months: i64) -> i64 {
    let date = date_of(days);
    let total = (date.year * 12 + i64::from(date.month) - 1).saturating_add(months);
    let (year, month) = (total.div_euclid(12), total.rem_euclid(12) as u32 + 1);
    days_of(year, i64::from(month), i64::from(date.day.min(month_days(year, month))))
}

/// The number of a day in its week: 0 is Sunday.
pub(crate) fn weekday(days: i64) -> i64 {
    // 1970-01-01 was a Thursday.
    days.saturating_add(4).rem_euclid(7)
}

/// The number of a day in its year, from 1.
pub(crate) fn day_of_year(days: i64) -> i64 {
    days - days_of(date_of(days).year, 1, 1) + 1
}

/// The year and week of ISO 8601: weeks begin on Monday, and the first has the year's first Thursday.
pub(crate) fn iso_week(days: i64) -> (i64, i64) {
    let monday_based = (weekday(days) + 6) % 7;
    let thursday = days - monday_based + 3;
    (date_of(thursday).year, (day_of_year(thursday) - 1) / 7 + 1)
}

/// The year and week as in the United States: weeks begin on Sunday, and the first has the first of January.
pub(crate) fn us_week(days: i64) -> (i64, i64) {
    let saturday = days - weekday(days) + 6;
    (date_of(saturday).year, (day_of_year(saturday) - 1) / 7 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_days() {
        let cases = [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_016, (2000, 2, 29)),
            (-719_528, (0, 1, 1)),
            (2_932_896, (9999, 12, 31)),
            (-141_427, (1582, 10, 15)),
        ];
        for (days, (year, month, day)) in cases {
            assert_eq!(date_of(days), Date { year, month, day });
            assert_eq!(days_of(year, i64::from(month), i64::from(day)), days);
        }
        assert_eq!(days_of(2020, 14, 0), days_of(2021, 1, 31));
    }

    #[test]
    fn weeks_of_known_days() {
        // From the examples of ISO 8601.
        for ((y, m, d), week) in [
            ((2005, 1, 1), (2004, 53)),
            ((2007, 12, 31), (2008, 1)),
            ((2008, 12, 29), (2009, 1)),
            ((2010, 1, 3), (2009, 53)),
            ((1994, 9, 27), (1994, 39)),
        ] {
            assert_eq!(iso_week(days_of(y, m, d)), week, "{y}-{m}-{d}");
        }
        assert_eq!(us_week(days_of(2022, 1, 1)), (2022, 1));
        assert_eq!(us_week(days_of(2022, 1, 2)), (2022, 2));
        assert_eq!(us_week(days_of(2024, 12, 29)), (2025, 1));
        assert_eq!(weekday(days_of(1994, 9, 27)), 2);
    }

    #[test]
    fn months_end_where_the_month_ends() {
        let plus = |y, m, d, months| {
            let date = date_of(add_months(days_of(y, m, d), months));
            (date.year, date.month, date.day)
        };
        assert_eq!(plus(2020, 1, 31, 1), (2020, 2, 29));
        assert_eq!(plus(2021, 3, 31, -1), (2021, 2, 28));
        assert_eq!(plus(2020, 2, 29, 12), (2021, 2, 28));
        assert_eq!(plus(1969, 12, 31, -13), (1968, 11, 30));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_day_comes_back_from_its_date(days in -4_000_000i64..4_000_000) {
            let date = date_of(days);
            prop_assert_eq!(days_of(date.year, i64::from(date.month), i64::from(date.day)), days);
            prop_assert!(date.day <= month_days(date.year, date.month));
        }

        #[test]
        fn no_number_of_days_panics(days in any::<i64>(), months in any::<i64>()) {
            let _ = (date_of(days), add_months(days, months), weekday(days));
        }
    }
}
