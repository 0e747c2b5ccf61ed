//! Time zones by the names Java knows, and the way between local time and instants.
//!
//! Local times that a change of the clock leaves out are moved on by the gap; of local times that come twice the earlier
//! instant is meant. Both as in `java.time`, which Flink uses.

use super::civil::DAY_S;
use chrono::{DateTime, LocalResult, NaiveDateTime, Offset, TimeZone};
use chrono_tz::{OffsetName, Tz};
use flugs_types::{Error, Result};
use std::ops::Range;

/// A time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Seconds east of Greenwich.
    Fixed(i32),
    Named(Tz),
}

/// The three-letter names of Java that are no names of the database of zones, or mean another zone there.
const SHORT: [(&str, &str); 25] = [
    ("ACT", "Australia/Darwin"),
    ("AET", "Australia/Sydney"),
    ("AGT", "America/Argentina/Buenos_Aires"),
    ("ART", "Africa/Cairo"),
    ("AST", "America/Anchorage"),
    ("BET", "America/Sao_Paulo"),
    ("BST", "Asia/Dhaka"),
    ("CAT", "Africa/Harare"),
    ("CNT", "America/St_Johns"),
    ("CST", "America/Chicago"),
    ("CTT", "Asia/Shanghai"),
    ("EAT", "Africa/Addis_Ababa"),
    ("ECT", "Europe/Paris"),
    ("IET", "America/Indiana/Indianapolis"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("MIT", "Pacific/Apia"),
    ("NET", "Asia/Yerevan"),
    ("NST", "Pacific/Auckland"),
    ("PLT", "Asia/Karachi"),
    ("PNT", "America/Phoenix"),
    ("PRT", "America/Puerto_Rico"),
    ("PST", "America/Los_Angeles"),
    ("SST", "Pacific/Guadalcanal"),
    ("VST", "Asia/Ho_Chi_Minh"),
];

impl Zone {
    /// Greenwich.
    pub const UTC: Zone = Zone(Kind::Fixed(0));

    /// A zone by its name: `Europe/Berlin`, `UTC`, `PST`, `+02:00`, `GMT-08:00`. An error where there is no such zone.
    pub fn parse(name: &str) -> Result<Zone> {
        let trimmed = name.trim();
        let offset =
            ["UTC", "GMT", "UT"].iter().find_map(|prefix| trimmed.strip_prefix(prefix)).unwrap_or(trimmed);
        if offset.is_empty() && !trimmed.is_empty() || offset == "Z" {
            return Ok(Zone::UTC);
        }
        if let Some(seconds) = parse_offset(offset) {
            return Ok(Zone(Kind::Fixed(seconds)));
        }
        let long = SHORT.iter().find(|(short, _)| *short == trimmed).map_or(trimmed, |(_, long)| long);
        match long.parse::<Tz>() {
            Ok(zone) => Ok(Zone(Kind::Named(zone))),
            Err(_) => Err(Error::job(format!("there is no time zone '{name}'"))
                .mend("write a name like 'Europe/Berlin', 'UTC' or '+02:00'")),
        }
    }

    /// The offset in seconds east of Greenwich at an instant, given in seconds since the epoch.
    pub(crate) fn offset_at(&self, instant_s: i64) -> i32 {
        match self.0 {
            Kind::Fixed(offset) => offset,
            Kind::Named(zone) => zone.offset_from_utc_datetime(&naive(instant_s)).fix().local_minus_utc(),
        }
    }

    /// The offset at a local time, given in seconds since the epoch as if at Greenwich.
    pub(crate) fn offset_at_local(&self, local_s: i64) -> i32 {
        let Kind::Named(zone) = self.0 else {
            return self.offset_at(local_s);
        };
        match zone.offset_from_local_datetime(&naive(local_s)) {
            LocalResult::Single(offset) | LocalResult::Ambiguous(offset, _) => offset.fix().local_minus_utc(),
            LocalResult::None => {
                // One of the two is the offset before the gap, which is the smaller one.
                let either = self.offset_at(local_s);
                either.min(self.offset_at(local_s.saturating_sub(i64::from(either))))
            }
        }
    }

    /// What people call the zone at an instant: `CEST`, `UTC`, `+02:00`.
    pub(crate) fn short_name(&self, instant_s: i64) -> String {
        match self.0 {
            Kind::Fixed(0) => "UTC".to_owned(),
            Kind::Fixed(offset) => format_offset(offset),
            Kind::Named(zone) => {
                let offset = zone.offset_from_utc_datetime(&naive(instant_s));
                offset
                    .abbreviation()
                    .map_or_else(|| format_offset(offset.fix().local_minus_utc()), str::to_owned)
            }
        }
    }

    /// The zone's name: `Europe/Berlin`, `UTC`, `+02:00`.
    pub fn id(&self) -> String {
        match self.0 {
            Kind::Fixed(0) => "UTC".to_owned(),
            Kind::Fixed(offset) => format_offset(offset),
            Kind::Named(zone) => zone.name().to_owned(),
        }
    }
}

/// `+02:00`.
pub(crate) fn format_offset(offset: i32) -> String {
    let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.unsigned_abs() / 60);
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

fn parse_offset(text: &str) -> Option<i32> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let mut parts = text[1..].split(':');
    let first = parts.next()?.to_owned();
    // Behind a colon there are two digits.
    let digits = parts.try_fold(first, |all, part| (part.len() == 2).then(|| all + part))?;
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes, seconds) = match digits.len() {
        1 | 2 => (&digits[..], "0", "0"),
        3 => (&digits[..1], &digits[1..], "0"),
        4 => (&digits[..2], &digits[2..], "0"),
        6 => (&digits[..2], &digits[2..4], &digits[4..]),
        _ => return None,
    };
    let (hours, minutes, seconds): (i32, i32, i32) =
        (hours.parse().ok()?, minutes.parse().ok()?, seconds.parse().ok()?);
    let total = hours * 3600 + minutes * 60 + seconds;
    (total <= 18 * 3600 && minutes < 60 && seconds < 60).then_some(sign * total)
}

fn naive(seconds: i64) -> NaiveDateTime {
    let clamped = seconds.clamp(-8_000_000_000_000, 8_000_000_000_000);
    DateTime::from_timestamp(clamped, 0).unwrap_or_default().naive_utc()
}

/// A zone that remembers the offsets it was asked for: columns of times ask for the same ones again and again.
///
/// Clocks change at full quarters of an hour, but for some changes long ago; a quarter whose ends have the same offset has no
/// change inside, and only such quarters are remembered.
pub(crate) struct Offsets {
    zone: Zone,
    instants: Quarter,
    locals: Quarter,
}

#[derive(Clone, Copy)]
struct Quarter {
    start: i64,
    offset: i32,
}

const QUARTER_S: i64 = 900;

impl Offsets {
    pub(crate) fn new(zone: Zone) -> Self {
        // A start that no quarter has.
        let none = Quarter { start: 1, offset: 0 };
        Offsets { zone, instants: none, locals: none }
    }

    pub(crate) fn zone(&self) -> &Zone {
        &self.zone
    }

    /// [`Zone::offset_at`].
    pub(crate) fn at(&mut self, instant_s: i64) -> i64 {
        look_up(&self.zone, &mut self.instants, instant_s, Zone::offset_at)
    }

    /// Instants with the same offset around one.
    pub(crate) fn around(&mut self, instant_s: i64) -> Range<i64> {
        let start = instant_s.saturating_sub(instant_s.rem_euclid(QUARTER_S));
        if matches!(self.zone.0, Kind::Fixed(_)) {
            return start..start.saturating_add(1_000_000_000);
        }
        self.at(instant_s);
        if self.instants.start == start {
            return start..start.saturating_add(QUARTER_S);
        }
        instant_s..instant_s.saturating_add(1)
    }

    /// [`Zone::offset_at_local`].
    pub(crate) fn at_local(&mut self, local_s: i64) -> i64 {
        look_up(&self.zone, &mut self.locals, local_s, Zone::offset_at_local)
    }
}

fn look_up(zone: &Zone, known: &mut Quarter, seconds: i64, offset: fn(&Zone, i64) -> i32) -> i64 {
    if let Kind::Fixed(offset) = zone.0 {
        return i64::from(offset);
    }
    let start = seconds.saturating_sub(seconds.rem_euclid(QUARTER_S));
    if known.start != start {
        let (first, last) = (offset(zone, start), offset(zone, start.saturating_add(QUARTER_S - 1)));
        if first != last {
            return i64::from(offset(zone, seconds));
        }
        *known = Quarter { start, offset: first };
    }
    i64::from(known.offset)
}

/// The instant at which a local day begins: where midnight is left out, the one at which the clocks change.
pub(crate) fn start_of_day(offsets: &mut Offsets, day: i64) -> i64 {
    let local = day.saturating_mul(DAY_S);
    local.saturating_sub(offsets.at_local(local))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(name: &str, at: i64) -> i32 {
        Zone::parse(name).unwrap().offset_at(at)
    }

    #[test]
    fn zones_have_many_names() {
        for (name, seconds) in [
            ("UTC", 0),
            ("Z", 0),
            ("GMT", 0),
            ("+02:00", 7200),
            ("-0130", -5400),
            ("GMT-08:00", -28_800),
            ("UTC+8", 28_800),
            ("Europe/Berlin", 3600),
            ("PST", -28_800),
            ("Asia/Shanghai", 28_800),
        ] {
            assert_eq!(offset(name, 0), seconds, "{name}");
        }
        for wrong in ["", "Europe/Nowhere", "+25:00", "+1:2:3:4", "GMT+"] {
            assert!(Zone::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn clocks_change() {
        let berlin = Zone::parse("Europe/Berlin").unwrap();
        // 2021-03-28 01:00 UTC: 02:00 becomes 03:00.
        let change = 1_616_893_200;
        assert_eq!((berlin.offset_at(change - 1), berlin.offset_at(change)), (3600, 7200));
        // 02:30 is left out: it is read as 03:30, an hour and a half after 02:00.
        assert_eq!(berlin.offset_at_local(change + 3600 + 1800), 3600);
        // 2021-10-31 02:30 comes twice: the first time is meant.
        let back = 1_635_645_600 + 1800;
        assert_eq!(berlin.offset_at_local(back), 7200);
        assert_eq!(berlin.short_name(change), "CEST");
    }

    #[test]
    fn remembered_offsets_are_those_of_the_zone() {
        for name in ["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "+03:30"] {
            let zone = Zone::parse(name).unwrap();
            let mut offsets = Offsets::new(zone);
            for i in -40_000i64..40_000 {
                let at = i * 50_000 + i % 7;
                assert_eq!(offsets.at(at), i64::from(zone.offset_at(at)), "{name} {at}");
                assert_eq!(offsets.at_local(at), i64::from(zone.offset_at_local(at)), "{name} {at}");
                let around = offsets.around(at);
                assert!(around.contains(&at));
                for end in [around.start, around.end - 1] {
                    assert_eq!(zone.offset_at(end), zone.offset_at(at), "{name} {at}");
                }
            }
        }
    }
}
