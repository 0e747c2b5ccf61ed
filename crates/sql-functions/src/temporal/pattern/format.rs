//! Texts of moments.

use super::{Dialect, Field, Item, Name, OffsetStyle, Pattern, Width};
use crate::temporal::civil::{Date, date_of, day_of_year, us_week, weekday};
use crate::temporal::zone::{Zone, format_offset};
use std::fmt::Write;

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
pub(super) const QUARTERS: [&str; 4] = ["1st quarter", "2nd quarter", "3rd quarter", "4th quarter"];

/// A local time and the zone it is in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) days: i64,
    pub(crate) nanos_of_day: i64,
    /// Seconds east of Greenwich.
    pub(crate) offset_s: i64,
    pub(crate) zone: Zone,
}

impl Moment {
    /// The moment at a local time, given in nanosecond fractions of a second; in no zone, which is as at Greenwich.
    pub(crate) fn local(seconds: i64, nanos: i64) -> Moment {
        let days = seconds.div_euclid(86_400);
        Moment {
            days,
            nanos_of_day: seconds.rem_euclid(86_400) * 1_000_000_000 + nanos,
            offset_s: 0,
            zone: Zone::UTC,
        }
    }

    fn hour(&self) -> i64 {
        self.nanos_of_day / 3_600_000_000_000
    }

    fn second_of_day(&self) -> i64 {
        self.nanos_of_day / 1_000_000_000
    }
}

impl Pattern {
    /// Appends the text of a moment.
    pub(crate) fn format(&self, moment: &Moment, out: &mut String) {
        let date = date_of(moment.days);
        write_items(&self.items, self.dialect, moment, date, out);
    }
}

fn write_items(items: &[Item], dialect: Dialect, moment: &Moment, date: Date, out: &mut String) {
    for item in items {
        match item {
            Item::Literal(text) => out.push_str(text),
            Item::Number(field, count) => write_number(*field, *count, dialect, moment, date, out),
            Item::Name(name, width) => write_name(*name, *width, moment, date, out),
            Item::Fraction(count) => {
                let fraction = moment.nanos_of_day % 1_000_000_000 / 10i64.pow(9 - *count as u32);
                pad(fraction, *count, out);
            }
            Item::Offset(style) => write_offset(*style, moment.offset_s as i32, out),
            Item::ZoneName => {
                let instant = moment.days.saturating_mul(86_400) + moment.second_of_day() - moment.offset_s;
                out.push_str(&moment.zone.short_name(instant));
            }
            Item::ZoneId => out.push_str(&moment.zone.id()),
            Item::Optional(items) => write_items(items, dialect, moment, date, out),
        }
    }
}

/// A number with at least so many digits; the hot path of all formatting.
fn pad(value: i64, digits: usize, out: &mut String) {
    let mut buffer = [b'0'; 20];
    if value < 0 || digits > buffer.len() {
        // Writing to a string does not fail.
        let _ = write!(out, "{value:0digits$}");
        return;
    }
    let (mut rest, mut start) = (value, buffer.len());
    while rest > 0 {
        start -= 1;
        buffer[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let start = start.min(buffer.len() - digits.max(1));
    out.push_str(str::from_utf8(&buffer[start..]).expect("digits are characters"));
}

fn write_number(field: Field, count: usize, dialect: Dialect, moment: &Moment, date: Date, out: &mut String) {
    match field {
        Field::Year | Field::YearOfEra | Field::WeekYear => {
            let year = match field {
                Field::Year => date.year,
                Field::YearOfEra if date.year <= 0 => 1 - date.year,
                Field::YearOfEra => date.year,
                _ => us_week(moment.days).0,
            };
            if count == 2 {
                return pad(year.rem_euclid(100), 2, out);
            }
            if dialect == Dialect::Formatter && count >= 4 && year > 9999 {
                out.push('+');
            }
            pad(year, count, out);
        }
        field => pad(value_of(field, moment, date), count, out),
    }
}

fn value_of(field: Field, moment: &Moment, date: Date) -> i64 {
    let nano = moment.nanos_of_day;
    match field {
        Field::Year | Field::YearOfEra => date.year,
        Field::WeekYear => us_week(moment.days).0,
        Field::Quarter => i64::from(date.month - 1) / 3 + 1,
        Field::Month => i64::from(date.month),
        Field::Day => i64::from(date.day),
        Field::DayOfYear => day_of_year(moment.days),
        Field::DayOfWeek => weekday(moment.days) + 1,
        Field::IsoDayOfWeek => (weekday(moment.days) + 6) % 7 + 1,
        Field::WeekdayInMonth => i64::from(date.day - 1) / 7 + 1,
        Field::WeekOfYear => us_week(moment.days).1,
        Field::WeekOfMonth => {
            let first = weekday(moment.days - i64::from(date.day) + 1);
            (i64::from(date.day) - 1 + first) / 7 + 1
        }
        Field::Hour => moment.hour(),
        Field::HourFromOne => (moment.hour() + 23) % 24 + 1,
        Field::HourOfHalf => (moment.hour() + 11) % 12 + 1,
        Field::HourOfHalfFromZero => moment.hour() % 12,
        Field::Minute => nano / 60_000_000_000 % 60,
        Field::Second => moment.second_of_day() % 60,
        Field::Milli => nano / 1_000_000 % 1000,
        Field::Nano => nano % 1_000_000_000,
        Field::MilliOfDay => nano / 1_000_000,
        Field::NanoOfDay => nano,
    }
}

fn write_name(name: Name, width: Width, moment: &Moment, date: Date, out: &mut String) {
    let full = match name {
        Name::Era => return out.push_str(if date.year > 0 { "AD" } else { "BC" }),
        Name::HalfOfDay => return out.push_str(if moment.hour() < 12 { "AM" } else { "PM" }),
        Name::Quarter => {
            let quarter = (date.month - 1) / 3;
            match width {
                Width::Full => QUARTERS[quarter as usize],
                Width::Short => return out.push_str(["Q1", "Q2", "Q3", "Q4"][quarter as usize]),
                Width::Narrow => return pad(i64::from(quarter) + 1, 1, out),
            }
        }
        Name::Month => MONTHS[date.month as usize - 1],
        Name::DayOfWeek => DAYS[weekday(moment.days) as usize],
    };
    out.push_str(match width {
        Width::Full => full,
        Width::Short => &full[..3],
        Width::Narrow => &full[..1],
    });
}

fn write_offset(style: OffsetStyle, offset_s: i32, out: &mut String) {
    let colon = format_offset(offset_s);
    let text = match style {
        OffsetStyle::Hours { zulu: true }
        | OffsetStyle::Plain { zulu: true }
        | OffsetStyle::Colon { zulu: true }
            if offset_s == 0 =>
        {
            "Z".to_owned()
        }
        OffsetStyle::Hours { .. } if colon.ends_with(":00") => colon[..3].to_owned(),
        OffsetStyle::Hours { .. } | OffsetStyle::Plain { .. } => colon.replace(':', ""),
        OffsetStyle::Colon { .. } => colon,
        OffsetStyle::Gmt | OffsetStyle::GmtFull if offset_s == 0 => "GMT".to_owned(),
        OffsetStyle::GmtFull => format!("GMT{colon}"),
        OffsetStyle::Gmt => {
            let hours = format!("GMT{}{}", &colon[..1], offset_s.abs() / 3600);
            if colon.ends_with(":00") { hours } else { format!("{hours}{}", &colon[3..]) }
        }
    };
    out.push_str(&text);
}
