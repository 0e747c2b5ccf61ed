//! Options of tables, formats and sessions.

use flugs_types::{Error, Result};
use std::collections::BTreeMap;
use std::time::Duration;

/// What an option's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionKind {
    /// Any text.
    String,
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer,
    /// A number.
    Double,
    /// A length of time: `10 s`, `1min`, `500 ms`; a bare number is milliseconds.
    Duration,
    /// An amount of memory: `64kb`, `128 mb`; a bare number is bytes.
    Memory,
    /// One of these words.
    Enum(&'static [&'static str]),
}

/// An option as its owner declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionSpec {
    /// Its key. `#` stands for a name of the user's own (`fields.#.kind`).
    pub key: &'static str,
    /// What its value is.
    pub kind: OptionKind,
    /// What holds where it is not given, as text; `None` where it then has no value.
    pub default: Option<&'static str>,
    /// What it does.
    pub doc: &'static str,
}

impl OptionSpec {
    /// Whether this is the option of a key.
    pub fn matches(&self, key: &str) -> bool {
        let Some((before, behind)) = self.key.split_once('#') else {
            return self.key.eq_ignore_ascii_case(key);
        };
        key.strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(behind))
            .is_some_and(|name| !name.is_empty())
    }
}

/// Keys and values as they were given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options(BTreeMap<String, String>);

impl FromIterator<(String, String)> for Options {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(options: I) -> Self {
        Options(options.into_iter().collect())
    }
}

impl Options {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets an option; returns its former value.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<String>) -> Option<String> {
        self.0.insert(key.into(), value.into())
    }

    /// Takes an option out.
    pub fn remove(&mut self, key: &str) -> Option<String> {
        self.0.remove(key)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// All in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Those whose keys begin with `prefix`, without it.
    #[must_use]
    pub fn with_prefix(&self, prefix: &str) -> Options {
        self.iter().filter_map(|(k, v)| Some((k.strip_prefix(prefix)?.to_owned(), v.to_owned()))).collect()
    }

    /// These, and over them those.
    #[must_use]
    pub fn overlaid(&self, over: &Options) -> Options {
        let mut all = self.clone();
        all.0.extend(over.0.iter().map(|(k, v)| (k.clone(), v.clone())));
        all
    }

    /// The value of a key that must be there.
    pub fn required(&self, key: &str) -> Result<&str> {
        self.get(key).ok_or_else(|| {
            Error::job(format!("option '{key}' is missing")).mend(format!("add '{key}' = '...'"))
        })
    }

    /// A truth value.
    pub fn boolean(&self, key: &str) -> Result<Option<bool>> {
        self.parsed(key, "true or false", |v| match () {
            () if v.eq_ignore_ascii_case("true") => Some(true),
            () if v.eq_ignore_ascii_case("false") => Some(false),
            () => None,
        })
    }

    /// A whole number.
    pub fn integer<T: std::str::FromStr>(&self, key: &str) -> Result<Option<T>> {
        self.parsed(key, "a whole number in range", |v| v.parse().ok())
    }

    /// A number.
    pub fn double(&self, key: &str) -> Result<Option<f64>> {
        self.parsed(key, "a number", |v| v.parse().ok())
    }

    /// A length of time.
    pub fn duration(&self, key: &str) -> Result<Option<Duration>> {
        self.parsed(key, "a length of time such as '10 s', '1 min' or '500 ms'", duration)
    }

    /// An amount of memory, in bytes.
    pub fn memory(&self, key: &str) -> Result<Option<u64>> {
        self.parsed(key, "an amount of memory such as '64 kb' or '128mb'", memory)
    }

    fn parsed<T>(&self, key: &str, expected: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let wrong =
            || Error::job(format!("option '{key}' has the value '{value}', and {expected} was expected"));
        parse(value.trim()).map(Some).ok_or_else(wrong)
    }

    /// Checks keys and values against what is known. An unknown key is an error that names the nearest known one.
    pub fn check(&self, known: &[OptionSpec], place: &str) -> Result<()> {
        for (key, _) in self.iter() {
            let Some(spec) = known.iter().find(|spec| spec.matches(key)) else {
                let error = Error::job(format!("unknown option '{key}'")).at(place);
                let keys = known.iter().map(|spec| spec.key);
                return Err(match nearest(key, keys.clone()) {
                    Some(near) => error.mend(format!("did you mean '{near}'?")),
                    None => error.mend(format!("known options: {}", keys.collect::<Vec<_>>().join(", "))),
                });
            };
            match spec.kind {
                OptionKind::String => Ok(()),
                OptionKind::Boolean => self.boolean(key).map(|_| ()),
                OptionKind::Integer => self.integer::<i64>(key).map(|_| ()),
                OptionKind::Double => self.double(key).map(|_| ()),
                OptionKind::Duration => self.duration(key).map(|_| ()),
                OptionKind::Memory => self.memory(key).map(|_| ()),
                OptionKind::Enum(words) => self
                    .parsed(key, &format!("one of {}", words.join(", ")), |v| {
                        words.iter().any(|word| word.eq_ignore_ascii_case(v)).then_some(())
                    })
                    .map(|_| ()),
            }
            .map_err(|e| e.at(place))?;
        }
        Ok(())
    }
}

/// A number and the unit behind it.
fn quantity(text: &str) -> Option<(u64, String)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].trim().to_ascii_lowercase()))
}

fn duration(text: &str) -> Option<Duration> {
    let (n, unit) = quantity(text)?;
    let seconds = |each: u64| n.checked_mul(each).map(Duration::from_secs);
    match unit.as_str() {
        "ns" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => Some(Duration::from_nanos(n)),
        "us" | "µs" | "micro" | "micros" | "microsecond" | "microseconds" => Some(Duration::from_micros(n)),
        "" | "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => Some(Duration::from_millis(n)),
        "s" | "sec" | "secs" | "second" | "seconds" => seconds(1),
        "m" | "min" | "minute" | "minutes" => seconds(60),
        "h" | "hour" | "hours" => seconds(3_600),
        "d" | "day" | "days" => seconds(86_400),
        _ => None,
    }
}

fn memory(text: &str) -> Option<u64> {
    let (n, unit) = quantity(text)?;
    let shift = match unit.as_str() {
        "" | "b" | "bytes" => 0,
        "k" | "kb" | "kibibytes" => 10,
        "m" | "mb" | "mebibytes" => 20,
        "g" | "gb" | "gibibytes" => 30,
        "t" | "tb" | "tebibytes" => 40,
        _ => return None,
    };
    n.checked_mul(1 << shift)
}

/// The known word that `word` was perhaps meant to be: the one with the fewest typing mistakes between, if they are few.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let distance = |known: &str| typing_distance(&lower, &known.to_lowercase());
    let (distance, near) = known.into_iter().map(|k| (distance(k), k)).min_by_key(|(d, _)| *d)?;
    (distance <= word.chars().count().div_ceil(3).max(1)).then_some(near)
}

/// How many letters must be changed, put in, left out or swapped with their neighbour.
fn typing_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> Options {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    const KNOWN: &[OptionSpec] = &[
        OptionSpec { key: "path", kind: OptionKind::String, default: None, doc: "" },
        OptionSpec { key: "rate", kind: OptionKind::Duration, default: None, doc: "" },
        OptionSpec { key: "kind", kind: OptionKind::Enum(&["a", "b"]), default: None, doc: "" },
        OptionSpec { key: "fields.#.kind", kind: OptionKind::Integer, default: None, doc: "" },
    ];

    #[test]
    fn unknown_keys_and_values_are_errors_with_a_mend() {
        let error = |pairs: &[(&str, &str)]| options(pairs).check(KNOWN, "table t").unwrap_err().to_string();
        assert_eq!(
            error(&[("pahT", "x")]),
            "job error: unknown option 'pahT' (at table t); did you mean 'path'?"
        );
        assert!(error(&[("elephant", "x")]).ends_with("known options: path, rate, kind, fields.#.kind"));
        assert!(error(&[("kind", "c")]).contains("one of a, b was expected"));
        assert!(error(&[("fields.x.kind", "c")]).contains("whole number"));
        assert!(
            options(&[("fields.x.kind", "3"), ("kind", "B"), ("rate", "1 MIN")]).check(KNOWN, "t").is_ok()
        );
    }

    #[test]
    fn quantities_have_units() {
        let times = options(&[("a", "10 s"), ("b", "500"), ("c", "2h"), ("d", "x")]);
        assert_eq!(times.duration("a").unwrap(), Some(Duration::from_secs(10)));
        assert_eq!(times.duration("b").unwrap(), Some(Duration::from_millis(500)));
        assert_eq!(times.duration("c").unwrap(), Some(Duration::from_secs(7200)));
        assert!(times.duration("d").is_err());
        assert_eq!(options(&[("m", "64kb")]).memory("m").unwrap(), Some(65_536));
        assert!(options(&[("m", "99999999999999999 tb")]).memory("m").is_err());
    }

    #[test]
    fn a_swap_of_letters_is_one_mistake() {
        assert_eq!(typing_distance("conenctor", "connector"), 1);
        assert_eq!(nearest("SELCT", ["SELECT", "INSERT"]), Some("SELECT"));
        assert_eq!(nearest("zzz", ["SELECT"]), None);
    }
}
