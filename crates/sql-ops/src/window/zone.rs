//! Local time: in which spans of it windows are, and when these are over.

use super::shape::TIME_MAX_MS;
use arrow::array::timezone::Tz;
use chrono::{DateTime, LocalResult, NaiveDateTime, Offset, TimeZone};
use flugs_types::{Error, Result, Timestamp};

/// Clocks change at full quarters of an hour, but for some changes long ago. A quarter whose ends have the same offset has no change
/// inside.
const QUARTER_MS: i64 = 15 * 60 * 1000;

/// Converts between instants and local time, both in milliseconds.
///
/// Where it is asked for times further away than [`TIME_MAX_MS`], it takes the offset there.
#[derive(Debug, Clone)]
pub(super) struct LocalTime {
    /// `None` is UTC.
    zone: Option<Tz>,
    /// A quarter of an hour without a change, and its offset.
    quarter: (i64, i64),
}

impl LocalTime {
    /// Of a zone by its name; `None` is UTC.
    pub(super) fn new(zone: Option<&str>) -> Result<Self> {
        let zone = match zone {
            None | Some("UTC" | "+00:00") => None,
            Some(name) => Some(name.parse::<Tz>().map_err(|_| {
                Error::job(format!("there is no time zone '{name}'"))
                    .mend("write a name like 'Europe/Berlin', 'UTC' or '+02:00'")
            })?),
        };
        // A start that no quarter has.
        Ok(LocalTime { zone, quarter: (1, 0) })
    }

    /// Whether local time is that of the instants.
    pub(super) fn is_utc(&self) -> bool {
        self.zone.is_none()
    }

    /// The local time of an instant.
    #[inline]
    pub(super) fn local(&mut self, instant: i64) -> i64 {
        let Some(zone) = self.zone else { return instant };
        let start = instant - instant.rem_euclid(QUARTER_MS);
        if self.quarter.0 != start {
            let (first, last) = (offset_at(zone, start), offset_at(zone, start + QUARTER_MS - 1));
            if first != last {
                return instant + offset_at(zone, instant);
            }
            self.quarter = (start, first);
        }
        instant + self.quarter.1
    }

    /// The instant with this local time. Of two, the earlier; a time that is left out is moved on by as much as the clocks are.
    pub(super) fn instant(&self, local: i64) -> i64 {
        let Some(zone) = self.zone else { return local };
        match offsets_at_local(zone, local) {
            LocalResult::Single(offset) | LocalResult::Ambiguous(offset, _) => local - offset,
            // The offset before the change is the smaller one.
            LocalResult::None => local - surrounding(zone, local).0,
        }
    }

    /// The last local time that will not come again and is over when the watermark is `watermark`: windows are over that end at most a
    /// millisecond after it.
    pub(super) fn reached(&mut self, watermark: Timestamp) -> i64 {
        let instant = match watermark {
            Timestamp::MAX => return i64::MAX,
            Timestamp::MIN => return i64::MIN,
            watermark => watermark.as_millis(),
        };
        let Some(zone) = self.zone else { return instant };
        if instant.abs() > TIME_MAX_MS {
            return instant;
        }
        let local = self.local(instant);
        match offsets_at_local(zone, local) {
            LocalResult::Ambiguous(earlier, later) if local - earlier == instant => {
                let change = change_after(zone, instant, local - later);
                change + later - 1
            }
            _ => local,
        }
    }

    /// The first instant at which a window that ends at `end` is over.
    pub(super) fn due(&self, end: i64) -> Timestamp {
        let local = end - 1;
        let Some(zone) = self.zone else { return Timestamp::from_millis(local) };
        Timestamp::from_millis(match offsets_at_local(zone, local) {
            LocalResult::Single(offset) | LocalResult::Ambiguous(_, offset) => local - offset,
            LocalResult::None => {
                let (before, after) = surrounding(zone, local);
                change_after(zone, local - after, local - before)
            }
        })
    }
}

fn naive(ms: i64) -> NaiveDateTime {
    DateTime::from_timestamp_millis(ms.clamp(-TIME_MAX_MS, TIME_MAX_MS)).unwrap_or_default().naive_utc()
}

fn offset_ms(offset: impl Offset) -> i64 {
    i64::from(offset.fix().local_minus_utc()) * 1000
}

fn offset_at(zone: Tz, instant: i64) -> i64 {
    offset_ms(zone.offset_from_utc_datetime(&naive(instant)))
}

fn offsets_at_local(zone: Tz, local: i64) -> LocalResult<i64> {
    match zone.offset_from_local_datetime(&naive(local)).map(offset_ms) {
        // Not every source of zones says which of the two comes first.
        LocalResult::Ambiguous(a, b) => LocalResult::Ambiguous(a.max(b), a.min(b)),
        offsets => offsets,
    }
}

/// The offsets before and after the change that leaves the local time out.
fn surrounding(zone: Tz, local: i64) -> (i64, i64) {
    let either = offset_at(zone, local);
    let other = offset_at(zone, local - either);
    // Seen from one side of the change, the time is on the other side.
    let third = offset_at(zone, local - other);
    (either.min(other).min(third), either.max(other).max(third))
}

/// The first instant after `before` whose offset is that of `after`, between which there is one change.
fn change_after(zone: Tz, before: i64, after: i64) -> i64 {
    let offset = offset_at(zone, after);
    let (mut before, mut after) = (before, after);
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        if offset_at(zone, middle) == offset {
            after = middle;
        } else {
            before = middle;
        }
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: i64 = 3_600_000;
    /// 2021-03-28 01:00 UTC, when 02:00 becomes 03:00 in Berlin.
    const FORTH: i64 = 1_616_893_200_000;
    /// 2021-10-31 01:00 UTC, when 03:00 becomes 02:00 in Berlin.
    const BACK: i64 = 1_635_642_000_000;

    fn berlin() -> LocalTime {
        LocalTime::new(Some("Europe/Berlin")).unwrap()
    }

    fn reached(time: &mut LocalTime, ms: i64) -> i64 {
        time.reached(Timestamp::from_millis(ms))
    }

    #[test]
    fn clocks_that_go_forth() {
        let mut time = berlin();
        let two = FORTH + HOUR;
        assert_eq!((time.local(FORTH - 1), time.local(FORTH)), (two - 1, two + HOUR));
        // 02:30 is read as 03:30.
        assert_eq!(time.instant(two + HOUR / 2), FORTH + HOUR / 2);
        // What ends within the hour that is left out is over when the clocks change.
        for end in [two + 1, two + HOUR / 2, two + HOUR] {
            assert_eq!(time.due(end), Timestamp::from_millis(FORTH));
        }
        assert_eq!(time.due(two), Timestamp::from_millis(FORTH - 1));
        assert_eq!(time.due(two + HOUR + 1), Timestamp::from_millis(FORTH));
        assert_eq!((reached(&mut time, FORTH - 1), reached(&mut time, FORTH)), (two - 1, two + HOUR));
    }

    #[test]
    fn clocks_that_go_back() {
        let mut time = berlin();
        let two = BACK + HOUR;
        assert_eq!((time.local(BACK - 1), time.local(BACK)), (two + HOUR - 1, two));
        // 02:30 comes twice: the first time is read, the second ends a window.
        assert_eq!(time.instant(two + HOUR / 2), BACK - HOUR / 2);
        assert_eq!(time.due(two + HOUR / 2), Timestamp::from_millis(BACK + HOUR / 2 - 1));
        assert_eq!(time.due(two), Timestamp::from_millis(BACK - HOUR - 1));
        for first_pass in [BACK - HOUR, BACK - HOUR / 2, BACK - 1] {
            assert_eq!(reached(&mut time, first_pass), two - 1);
        }
        assert_eq!(reached(&mut time, BACK + 5), two + 5);
    }

    #[test]
    fn zones_by_offset_and_none() {
        assert!(LocalTime::new(Some("Europe/Nowhere")).is_err());
        let mut east = LocalTime::new(Some("+02:00")).unwrap();
        assert_eq!(
            (east.local(5), east.instant(5), east.due(1).as_millis()),
            (2 * HOUR + 5, 5 - 2 * HOUR, -2 * HOUR)
        );
        let mut utc = LocalTime::new(None).unwrap();
        assert_eq!((utc.local(5), utc.instant(5), utc.due(6).as_millis()), (5, 5, 5));
        assert_eq!(utc.reached(Timestamp::MAX), i64::MAX);
        assert_eq!(utc.reached(Timestamp(-1)), -1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// A window is over from the instant on that `due` names, and `reached` never falls.
        #[test]
        fn what_is_due_is_reached(
            zone in prop::sample::select(vec!["Europe/Berlin", "America/Los_Angeles", "Australia/Lord_Howe", "Asia/Kathmandu"]),
            at in prop::sample::select(vec![FORTH, BACK, 1_636_275_600_000, 1_615_716_000_000, 1_617_458_400_000, 0]),
            by in -2 * HOUR..2 * HOUR,
            step in 0..HOUR,
        ) {
            let mut time = LocalTime::new(Some(zone)).unwrap();
            let end = time.local(at) + by;
            let due = time.due(end).as_millis();
            prop_assert!(end - 1 <= reached(&mut time, due));
            prop_assert!(end - 1 > reached(&mut time, due - 1));
            prop_assert!(reached(&mut time, at + by) <= reached(&mut time, at + by + step));
            prop_assert!(time.due(end) <= time.due(end + step));
            let zone: Tz = zone.parse().unwrap();
            prop_assert_eq!(time.local(at + by), at + by + offset_at(zone, at + by));
        }
    }
}
