//! The options of the generator, with the names that they have in SQL.

use flugs_types::{Error, Result};
use std::str::FromStr;

/// What the events are a function of, and how fast they come.
///
/// | option | builder | default |
/// | --- | --- | --- |
/// | `events.num` | [`events_num`](Self::events_num) | no end |
/// | `events.rate` | [`events_rate`](Self::events_rate) | 100000 |
/// | `emit.rate` | [`emit_rate`](Self::emit_rate) | 0: full speed |
/// | `seed` | [`seed`](Self::seed) | 1 |
/// | `base-time.ms` | [`base_time_ms`](Self::base_time_ms) | 1436918400000 |
/// | `out-of-order.group` | [`out_of_order_group`](Self::out_of_order_group) | 1: in order |
#[derive(Debug, Clone, PartialEq)]
pub struct NexmarkOptions {
    pub(crate) events_num: Option<u64>,
    pub(crate) events_rate: u64,
    pub(crate) emit_rate: f64,
    pub(crate) seed: i64,
    pub(crate) base_time_ms: i64,
    pub(crate) out_of_order_group: u64,
}

impl Default for NexmarkOptions {
    fn default() -> Self {
        NexmarkOptions {
            events_num: None,
            events_rate: 100_000,
            emit_rate: 0.0,
            seed: 1,
            base_time_ms: 1_436_918_400_000,
            out_of_order_group: 1,
        }
    }
}

pub(crate) const KEYS: [&str; 6] =
    ["events.num", "events.rate", "emit.rate", "seed", "base-time.ms", "out-of-order.group"];

/// So many events at most, so that their times fit into 64 bits in milliseconds.
const EVENTS_MAX: u64 = 9_000_000_000_000_000;
/// A larger group could not be told from disorder without end.
const GROUP_MAX: u64 = 1_000_000_000;

impl NexmarkOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many events there are, of all kinds.
    #[must_use]
    pub fn events_num(mut self, events: u64) -> Self {
        self.events_num = Some(events);
        self
    }

    /// How many events make a second of event time.
    #[must_use]
    pub fn events_rate(mut self, per_second: u64) -> Self {
        self.events_rate = per_second;
        self
    }

    /// How many events come in a second of wall time, over all readers together; 0 is full speed.
    #[must_use]
    pub fn emit_rate(mut self, per_second: f64) -> Self {
        self.emit_rate = per_second;
        self
    }

    /// Another seed, other events.
    #[must_use]
    pub fn seed(mut self, seed: i64) -> Self {
        self.seed = seed;
        self
    }

    /// The time of the first event, in milliseconds since the epoch.
    #[must_use]
    pub fn base_time_ms(mut self, millis: i64) -> Self {
        self.base_time_ms = millis;
        self
    }

    /// Events come out of order within groups of so many.
    #[must_use]
    pub fn out_of_order_group(mut self, events: u64) -> Self {
        self.out_of_order_group = events;
        self
    }

    /// From pairs of option and value. An unknown option is an error that names the nearest known one.
    pub fn from_pairs<K: AsRef<str>, V: AsRef<str>>(pairs: impl IntoIterator<Item = (K, V)>) -> Result<Self> {
        let mut options = Self::default();
        for (key, value) in pairs {
            options.set(key.as_ref(), value.as_ref().trim())?;
        }
        options.check()?;
        Ok(options)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        match key {
            "events.num" => self.events_num = Some(whole(key, value)?),
            "events.rate" => self.events_rate = whole(key, value)?,
            "emit.rate" => self.emit_rate = parse(key, value, "a number such as 100000")?,
            "seed" => self.seed = whole(key, value)?,
            "base-time.ms" => self.base_time_ms = whole(key, value)?,
            "out-of-order.group" => self.out_of_order_group = whole(key, value)?,
            _ => return Err(unknown(key)),
        }
        Ok(())
    }

    /// Refuses what no generator can be made with.
    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |key: &str, value: &dyn ToString, mend: &str| {
            Err(Error::job(format!("option '{key}' = '{}' is not possible", value.to_string())).mend(mend))
        };
        if self.events_rate == 0 {
            return wrong(
                KEYS[1],
                &self.events_rate,
                "give the events that make a second of event time, at least 1",
            );
        }
        if self.events_num.is_some_and(|n| n > EVENTS_MAX) {
            return wrong(
                KEYS[0],
                &self.events_num.unwrap_or(0),
                "give at most 9000000000000000, or leave it out",
            );
        }
        if !(self.emit_rate >= 0.0 && self.emit_rate.is_finite()) {
            return wrong(KEYS[2], &self.emit_rate, "give events a second, or 0 for full speed");
        }
        if self.base_time_ms.unsigned_abs() > EVENTS_MAX / 1000 {
            return wrong(KEYS[4], &self.base_time_ms, "give milliseconds since the epoch");
        }
        let group = self.out_of_order_group;
        if group > GROUP_MAX || (group > 0 && group.is_multiple_of(953)) {
            return wrong(
                KEYS[5],
                &group,
                "give at most 1000000000, and no multiple of 953: some events would repeat",
            );
        }
        Ok(())
    }
}

fn whole<N: FromStr>(key: &str, value: &str) -> Result<N> {
    parse(key, value, "a whole number")
}

fn parse<N: FromStr>(key: &str, value: &str, expected: &str) -> Result<N> {
    value.parse().map_err(|_| {
        let shown: String = value.chars().take(64).collect();
        Error::job(format!("option '{key}' = '{shown}' cannot be read")).mend(format!("give {expected}"))
    })
}

fn unknown(key: &str) -> Error {
    let shown: String = key.chars().take(64).collect();
    let nearest = KEYS.iter().min_by_key(|known| distance(&shown, known)).unwrap_or(&KEYS[0]);
    Error::job(format!("the nexmark source has no option '{shown}'"))
        .mend(format!("did you mean '{nearest}'? The options are {}", KEYS.join(", ")))
}

/// How many letters must be put in, left out or changed (Levenshtein 1966).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &b) in to.iter().enumerate() {
            let change = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_and_builder_agree() {
        let pairs = [
            ("events.num", "1000"),
            ("events.rate", "50"),
            ("emit.rate", "2.5"),
            ("seed", "-7"),
            ("base-time.ms", "12"),
            ("out-of-order.group", " 100 "),
        ];
        let built =
            NexmarkOptions::new().events_num(1000).events_rate(50).emit_rate(2.5).seed(-7).base_time_ms(12);
        assert_eq!(NexmarkOptions::from_pairs(pairs).unwrap(), built.out_of_order_group(100));
        assert_eq!(NexmarkOptions::from_pairs::<&str, &str>([]).unwrap(), NexmarkOptions::new());
    }

    #[test]
    fn wrong_options_are_named_with_their_mend() {
        for (key, value, want) in [
            ("event.rate", "1", "did you mean 'events.rate'?"),
            ("basetime", "1", "did you mean 'base-time.ms'?"),
            ("events.num", "many", "option 'events.num' = 'many' cannot be read; give a whole number"),
            ("events.rate", "0", "at least 1"),
            ("events.rate", "-5", "give a whole number"),
            ("emit.rate", "-1", "or 0 for full speed"),
            ("emit.rate", "NaN", "or 0 for full speed"),
            ("out-of-order.group", "1906", "no multiple of 953"),
            ("events.num", "9000000000000001", "at most"),
            ("base-time.ms", "9223372036854775807", "milliseconds"),
        ] {
            let error = NexmarkOptions::from_pairs([(key, value)]).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
    }
}
