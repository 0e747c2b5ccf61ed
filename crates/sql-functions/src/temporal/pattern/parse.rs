//! Moments of texts.
//!
//! `DateTimeFormatter` takes the whole text and only values in range, but for a day behind the end of its month, which is the
//! month's last, and 24:00:00. `SimpleDateFormat` takes a text that begins right, and values out of range count on.

use super::format::{DAYS, MONTHS, QUARTERS};
use super::{Dialect, Field, Item, Name, OffsetStyle, Pattern};
use crate::temporal::civil::{DAY_S, days_of, month_days};
use crate::temporal::zone::Zone;

/// What a text says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// Seconds of the local time since 1970-01-01 00:00:00.
    pub(crate) local_s: i64,
    pub(crate) nanos: u32,
    /// The zone, where the text names one.
    pub(crate) zone: Option<Zone>,
}

#[derive(Default)]
struct Fields {
    year: Option<i64>,
    before_christ: bool,
    quarter: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    hour: Option<i64>,
    /// 0 to 11.
    hour_of_half: Option<i64>,
    afternoon: Option<bool>,
    minute: Option<i64>,
    second: Option<i64>,
    nanos: Option<i64>,
    of_day_ns: Option<i64>,
    zone: Option<Zone>,
}

impl Pattern {
    /// What a text says; none where it does not have this pattern.
    pub(crate) fn parse(&self, text: &str) -> Option<Parsed> {
        let mut fields = Fields::default();
        let rest = parse_items(&self.items, self.dialect, text, &mut fields)?;
        if self.dialect == Dialect::Formatter {
            return rest.is_empty().then(|| fields.resolve_smart())?;
        }
        Some(fields.resolve_lenient())
    }
}

fn parse_items<'t>(
    items: &[Item],
    dialect: Dialect,
    mut text: &'t str,
    fields: &mut Fields,
) -> Option<&'t str> {
    for (i, item) in items.iter().enumerate() {
        let adjacent = matches!(items.get(i + 1), Some(Item::Number(..) | Item::Fraction(_)));
        if dialect == Dialect::Simple && !matches!(item, Item::Literal(_)) {
            text = text.trim_start_matches([' ', '\t']);
        }
        text = match item {
            Item::Literal(literal) => text.strip_prefix(literal.as_str())?,
            Item::Number(field, count) => {
                let (value, digits, rest) = number(text, *count, adjacent, dialect, *field)?;
                fields.set(*field, value, digits, *count, dialect);
                rest
            }
            Item::Fraction(count) => {
                let digits = text.get(..*count).filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
                fields.nanos = Some(digits.parse::<i64>().ok()? * 10i64.pow(9 - *count as u32));
                &text[*count..]
            }
            Item::Name(name, _) => fields.set_name(*name, text)?,
            Item::Offset(style) => {
                let (zone, rest) = offset(text, *style)?;
                fields.zone = Some(zone);
                rest
            }
            Item::ZoneName | Item::ZoneId => {
                let length = text.find(|c: char| !(c.is_ascii_alphanumeric() || "/_+-:".contains(c)));
                let (name, rest) = text.split_at(length.unwrap_or(text.len()));
                fields.zone = Some(Zone::parse(name).ok()?);
                rest
            }
            Item::Optional(items) => parse_items(items, dialect, text, fields).unwrap_or(text),
        };
    }
    Some(text)
}

/// The number a text begins with, how many digits it has, and the rest of the text.
fn number(
    text: &str,
    count: usize,
    adjacent: bool,
    dialect: Dialect,
    field: Field,
) -> Option<(i64, usize, &str)> {
    let is_year = matches!(field, Field::Year | Field::YearOfEra | Field::WeekYear);
    let available = text.bytes().take_while(u8::is_ascii_digit).count();
    let (least, most) = match dialect {
        Dialect::Simple if adjacent => (1, count),
        Dialect::Simple => (1, 18),
        Dialect::Formatter if count == 1 && !adjacent => (1, 18),
        Dialect::Formatter if count == 1 => (1, if is_year { 4 } else { 1 }),
        // Years with three letters have at least three digits, those with four exactly four.
        Dialect::Formatter if is_year && count == 3 && !adjacent => (3, 18),
        Dialect::Formatter => (count, count),
    };
    let digits = available.min(most);
    if digits < least || digits > 18 {
        return None;
    }
    Some((text[..digits].parse().ok()?, digits, &text[digits..]))
}

fn offset(text: &str, style: OffsetStyle) -> Option<(Zone, &str)> {
    if let OffsetStyle::Hours { zulu: true }
    | OffsetStyle::Plain { zulu: true }
    | OffsetStyle::Colon { zulu: true } = style
        && let Some(rest) = text.strip_prefix('Z')
    {
        return Some((Zone::UTC, rest));
    }
    let unprefixed = text.strip_prefix("GMT").unwrap_or(text);
    let end = unprefixed.char_indices().skip(1).find(|(_, c)| !(c.is_ascii_digit() || *c == ':'));
    let (name, rest) = unprefixed.split_at(end.map_or(unprefixed.len(), |(at, _)| at));
    if name.is_empty() && unprefixed.len() < text.len() {
        return Some((Zone::UTC, rest));
    }
    Some((name.starts_with(['+', '-']).then(|| Zone::parse(name).ok())??, rest))
}

impl Fields {
    fn set(&mut self, field: Field, value: i64, digits: usize, count: usize, dialect: Dialect) {
        match field {
            Field::Year | Field::YearOfEra => {
                let two = digits == 2 && if dialect == Dialect::Simple { count <= 2 } else { count == 2 };
                self.year = Some(match (two, dialect) {
                    (false, _) => value,
                    (true, Dialect::Formatter) => 2000 + value,
                    // Java takes the century that puts the year from 80 years ago to 20 years ahead of its clock.
                    (true, Dialect::Simple) => value + if value < 50 { 2000 } else { 1900 },
                });
            }
            Field::Quarter => self.quarter = Some(value),
            Field::Month => self.month = Some(value),
            Field::Day => self.day = Some(value),
            Field::DayOfYear => self.day_of_year = Some(value),
            Field::Hour => self.hour = Some(value),
            Field::HourFromOne => self.hour = Some(if value == 24 { 0 } else { value }),
            Field::HourOfHalf => self.hour_of_half = Some(if value == 12 { 0 } else { value }),
            Field::HourOfHalfFromZero => self.hour_of_half = Some(value),
            Field::Minute => self.minute = Some(value),
            Field::Second => self.second = Some(value),
            Field::Milli => self.nanos = Some(value.saturating_mul(1_000_000)),
            Field::Nano => self.nanos = Some(value),
            Field::MilliOfDay => self.of_day_ns = Some(value.saturating_mul(1_000_000)),
            Field::NanoOfDay => self.of_day_ns = Some(value),
            // They follow from the date, which has to be there as well.
            Field::WeekYear
            | Field::DayOfWeek
            | Field::IsoDayOfWeek
            | Field::WeekdayInMonth
            | Field::WeekOfYear
            | Field::WeekOfMonth => {}
        }
    }

    /// Takes a name off the text.
    fn set_name<'t>(&mut self, name: Name, text: &'t str) -> Option<&'t str> {
        let one_of = |names: &[&str]| -> Option<(usize, &'t str)> {
            let full = names.iter().position(|n| starts_with(text, n)).map(|i| (i, &text[names[i].len()..]));
            full.or_else(|| names.iter().position(|n| starts_with(text, &n[..3])).map(|i| (i, &text[3..])))
        };
        match name {
            Name::Month => {
                let (month, rest) = one_of(&MONTHS)?;
                self.month = Some(month as i64 + 1);
                Some(rest)
            }
            Name::DayOfWeek => Some(one_of(&DAYS)?.1),
            Name::Quarter => {
                let short = QUARTERS.iter().enumerate().find(|(_, full)| starts_with(text, full));
                let (quarter, rest) = match short {
                    Some((i, full)) => (i as i64 + 1, &text[full.len()..]),
                    None => (text.strip_prefix('Q')?.get(..1)?.parse().ok()?, &text[2..]),
                };
                self.quarter = Some(quarter);
                Some(rest)
            }
            Name::Era => {
                self.before_christ = starts_with(text, "BC");
                (self.before_christ || starts_with(text, "AD")).then(|| &text[2..])
            }
            Name::HalfOfDay => {
                let afternoon = starts_with(text, "PM");
                self.afternoon = Some(afternoon);
                (afternoon || starts_with(text, "AM")).then(|| &text[2..])
            }
        }
    }

    fn year_or_1970(&self) -> i64 {
        let year = self.year.unwrap_or(1970);
        if self.before_christ { 1 - year } else { year }
    }

    /// As `DateTimeFormatter` does by default, with Flink's values for what is not said.
    fn resolve_smart(self) -> Option<Parsed> {
        let within = |value: Option<i64>, range: std::ops::RangeInclusive<i64>| match value {
            Some(value) => range.contains(&value).then_some(value),
            None => Some(*range.start()),
        };
        let year = self.year_or_1970();
        let days = match self.day_of_year {
            Some(day) if self.month.is_none() => days_of(year, 1, within(Some(day), 1..=366)?),
            _ => {
                let first_month = self.quarter.map(|q| within(Some(q), 1..=4).map(|q| q * 3 - 2));
                let month = within(self.month.or(first_month.unwrap_or(Some(1))), 1..=12)?;
                let day = within(self.day, 1..=31)?;
                days_of(year, month, day.min(i64::from(month_days(year, month as u32))))
            }
        };
        let half = self.afternoon.map(|afternoon| i64::from(afternoon) * 12);
        let of_half = within(self.hour_of_half, 0..=11)?;
        // Java does not know the hour while nobody says which half of the day is meant, and Flink takes 0.
        let hour = self.hour.or(half.map(|half| half + of_half));
        let hour = within(hour, 0..=24)?;
        let (minute, second) = (within(self.minute, 0..=59)?, within(self.second, 0..=59)?);
        let nanos = within(self.nanos, 0..=999_999_999)?;
        if hour == 24 && (minute, second, nanos) != (0, 0, 0) {
            return None;
        }
        let of_day = within(self.of_day_ns, 0..=86_399_999_999_999)?;
        let seconds = hour * 3600 + minute * 60 + second + of_day / 1_000_000_000;
        let nanos = (nanos + of_day % 1_000_000_000).min(999_999_999) as u32;
        Some(Parsed { local_s: days * DAY_S + seconds, nanos, zone: self.zone })
    }

    /// As `SimpleDateFormat` does by default.
    fn resolve_lenient(self) -> Parsed {
        // Numbers have up to 18 digits; with these bounds nothing below overflows.
        let bounded = |value: Option<i64>, otherwise: i64| {
            value.unwrap_or(otherwise).clamp(-100_000_000_000, 100_000_000_000)
        };
        let year = self.year_or_1970();
        let days = match self.day_of_year {
            Some(day) if self.month.is_none() => days_of(year, 1, bounded(Some(day), 1)),
            _ => days_of(year, bounded(self.month, 1), bounded(self.day, 1)),
        };
        let half = i64::from(self.afternoon.unwrap_or(false)) * 12;
        let hour = match (self.hour, self.hour_of_half) {
            (None, Some(of_half)) => bounded(Some(of_half), 0) + half,
            (hour, _) => bounded(hour, 0),
        };
        let nanos = self.nanos.unwrap_or(0);
        let seconds = hour * 3600 + bounded(self.minute, 0) * 60 + bounded(self.second, 0);
        let seconds = seconds + nanos.div_euclid(1_000_000_000);
        Parsed {
            local_s: days.saturating_mul(DAY_S).saturating_add(seconds),
            nanos: nanos.rem_euclid(1_000_000_000) as u32,
            zone: self.zone,
        }
    }
}

/// Whether a text begins with a name, in any case.
fn starts_with(text: &str, name: &str) -> bool {
    text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
}
