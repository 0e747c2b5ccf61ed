//! When a partition is whole, and how that is shown: by a file in its folder.
//!
//! A partition that got rows waits until its time has come. Then, at a barrier, its open files end and a committable for it follows
//! theirs, so that the success file appears behind the rows. Waiting partitions are part of the checkpoint. Rows that come
//! later make it wait again.

use crate::{codec, failure};
use flugs_batch::Data;
use flugs_types::{Error, Result, Timestamp};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The first bytes of states and committables; those of files have the version of theirs, 1.
pub(super) const WAITING_VERSION: u8 = 2;
pub(super) const WHOLE_VERSION: u8 = 3;

/// When and how partitions are committed.
#[derive(Debug, Clone)]
pub(super) struct CommitOptions {
    pub(super) trigger: Trigger,
    pub(super) delay: Duration,
    /// Of the success file.
    pub(super) file_name: String,
}

/// Which time a partition has.
#[derive(Debug, Clone)]
pub(super) enum Trigger {
    /// That of its first row, by the wall clock.
    ProcessTime,
    /// That in its name; compared with the watermark.
    PartitionTime(TimeExtractor),
}

/// Finds the time in the name of a partition.
#[derive(Debug, Clone)]
pub(super) struct TimeExtractor {
    /// With `$key` for the values of the partition keys.
    pattern: String,
    /// The letters of the time; the usual forms where there is none.
    formatter: Option<String>,
}

impl TimeExtractor {
    pub(super) fn new(pattern: Option<&str>, formatter: Option<&str>, keys: &[String]) -> Result<Self> {
        let first = keys.first().map(|key| format!("${key}")).unwrap_or_default();
        let pattern = pattern.unwrap_or(&first).to_owned();
        let is_known = |rest: &str| keys.iter().any(|key| rest.starts_with(key.as_str()));
        if let Some(wrong) = pattern.split('$').skip(1).find(|rest| !is_known(rest)) {
            return Err(Error::job(format!(
                "'partition.time-extractor.timestamp-pattern' = '{pattern}' has '${wrong}', which begins with no \
                 partition key"
            ))
            .mend(format!("the partition keys are {}", keys.join(", "))));
        }
        Ok(TimeExtractor { pattern, formatter: formatter.map(str::to_owned) })
    }

    /// The time of a partition with these keys and values.
    fn time(&self, keys: &[String], values: &[Option<String>]) -> Result<Timestamp> {
        // Longer names first, so that `$day` is not taken for `$d`.
        let mut by_length: Vec<(&String, &Option<String>)> = keys.iter().zip(values).collect();
        by_length.sort_by_key(|(key, _)| std::cmp::Reverse(key.len()));
        let mut text = self.pattern.clone();
        for (key, value) in by_length {
            text = text.replace(&format!("${key}"), value.as_deref().unwrap_or("null"));
        }
        let time = match &self.formatter {
            Some(formatter) => by_formatter(&text, formatter),
            None => usual(&text),
        };
        time.ok_or_else(|| {
            Error::data(format!("'{text}' is no time, but the name of a partition is to have one")).mend(
                "check 'partition.time-extractor.timestamp-pattern' and '.timestamp-formatter', or set \
                 'sink.partition-commit.trigger' to 'process-time'",
            )
        })
    }
}

/// Year, month, day, hour, minute, second.
type Fields = [u32; 6];

fn of_fields([year, month, day, hour, minute, second]: Fields) -> Option<Timestamp> {
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z").parse().ok()
}

/// `2013-1-31`, `2013-01-31 10:00:00` and what is between.
fn usual(text: &str) -> Option<Timestamp> {
    let (date, time) = text.trim().split_once([' ', 'T']).unwrap_or((text.trim(), "0:0:0"));
    let mut fields: Fields = [0; 6];
    let numbers = date.split('-').chain(time.split(':'));
    let mut count = 0;
    for (number, field) in numbers.zip(&mut fields) {
        *field = number.parse().ok()?;
        count += 1;
    }
    (date.split('-').count() == 3 && count >= 5).then(|| of_fields(fields)).flatten()
}

/// By the letters of a formatter: `yyyy-MM-dd HH:mm:ss`.
fn by_formatter(text: &str, formatter: &str) -> Option<Timestamp> {
    let mut fields: Fields = [1970, 1, 1, 0, 0, 0];
    let (mut rest, mut letters) = (text, formatter);
    while let Some(letter) = letters.chars().next() {
        let run = letters.len() - letters.trim_start_matches(letter).len();
        let field = match letter {
            'y' | 'u' => 0,
            'M' => 1,
            'd' => 2,
            'H' => 3,
            'm' => 4,
            's' => 5,
            '\'' => {
                let (literal, behind) = letters[1..].split_once('\'')?;
                rest = rest.strip_prefix(literal)?;
                letters = behind;
                continue;
            }
            other => {
                rest = rest.strip_prefix(other)?;
                letters = &letters[other.len_utf8()..];
                continue;
            }
        };
        let most = if run == 1 { 2 } else { run };
        let digits = rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
        fields[field] = rest[..digits].parse().ok()?;
        (rest, letters) = (&rest[digits..], &letters[run..]);
    }
    rest.is_empty().then(|| of_fields(fields)).flatten()
}

/// Partitions that have rows and are not committed.
pub(super) struct Waiting {
    options: CommitOptions,
    keys: Vec<String>,
    /// By the partition's folder: its time.
    partitions: BTreeMap<String, Timestamp>,
    watermark: Timestamp,
}

impl Waiting {
    /// Goes on with the states that are of waiting partitions.
    pub(super) fn new(options: CommitOptions, keys: Vec<String>, restored: &[Vec<u8>]) -> Result<Self> {
        let mut partitions = BTreeMap::new();
        for state in restored.iter().filter(|state| state.first() == Some(&WAITING_VERSION)) {
            let (folder, time) =
                codec::decode("a partition of a file sink", WAITING_VERSION, state, |input| {
                    Ok((String::decode(input)?, Timestamp::decode(input)?))
                })?;
            partitions.insert(folder, time);
        }
        Ok(Waiting { options, keys, partitions, watermark: Timestamp::MIN })
    }

    /// A partition got rows.
    pub(super) fn add(&mut self, folder: &str, values: &[Option<String>], now: Timestamp) -> Result<()> {
        if !self.partitions.contains_key(folder) {
            let time = match &self.options.trigger {
                Trigger::ProcessTime => now,
                Trigger::PartitionTime(extractor) => extractor.time(&self.keys, values)?,
            };
            self.partitions.insert(folder.to_owned(), time);
        }
        Ok(())
    }

    pub(super) fn advance(&mut self, watermark: Timestamp) {
        self.watermark = watermark;
    }

    /// Takes out the partitions whose time has come; at the end all.
    pub(super) fn take_whole(&mut self, now: Timestamp, end: bool) -> Vec<String> {
        let (delay, watermark) = (self.options.delay, self.watermark);
        let is_due = |time: Timestamp| match self.options.trigger {
            Trigger::ProcessTime => now >= time + delay,
            // As in Flink, where the watermark must be behind.
            Trigger::PartitionTime(_) => watermark > time + delay,
        };
        self.partitions.extract_if(.., |_, time| end || is_due(*time)).map(|(folder, _)| folder).collect()
    }

    /// What a later writer needs.
    pub(super) fn states(&self) -> Vec<Vec<u8>> {
        let state = |(folder, time): (&String, &Timestamp)| {
            let mut out = codec::versioned(WAITING_VERSION);
            folder.encode(&mut out);
            time.encode(&mut out);
            out
        };
        self.partitions.iter().map(state).collect()
    }

    /// The committable of a whole partition.
    pub(super) fn committable(&self, folder: &Path) -> Vec<u8> {
        let mut out = codec::versioned(WHOLE_VERSION);
        folder.to_string_lossy().into_owned().encode(&mut out);
        self.options.file_name.encode(&mut out);
        out
    }
}

/// Shows that a partition is whole. Again where it is shown already.
pub(super) fn commit(committable: &[u8]) -> Result<PathBuf> {
    let (folder, name) = codec::decode("a partition of a file sink", WHOLE_VERSION, committable, |input| {
        Ok((String::decode(input)?, String::decode(input)?))
    })?;
    let folder = PathBuf::from(folder);
    let path = folder.join(name);
    let write = || File::create(&path)?.sync_all();
    write().map_err(|e| failure::writing(&path, e))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_partition_stands_in_its_name() {
        let keys = ["d".to_owned(), "day".to_owned(), "hm".to_owned()];
        let values = ["x".to_owned(), "2013-1-31".to_owned(), "10:15".to_owned()].map(Some);
        let time = |pattern: &str, formatter: Option<&str>| {
            let extractor = TimeExtractor::new(Some(pattern), formatter, &keys).unwrap();
            extractor.time(&keys, &values).map(|time| time.to_string()).map_err(|e| e.to_string())
        };
        assert_eq!(time("$day $hm:00", None).unwrap(), "2013-01-31T10:15:00Z");
        assert_eq!(time("$day", None).unwrap(), "2013-01-31T00:00:00Z");
        assert_eq!(time("$day|$hm", Some("yyyy-M-dd|HH:mm")).unwrap(), "2013-01-31T10:15:00Z");
        assert_eq!(time("$day$d", Some("yyyy-M-dd'x'")).unwrap(), "2013-01-31T00:00:00Z");
        assert!(time("$d", None).unwrap_err().contains("'x' is no time"));
        assert!(time("$day", Some("yyyyMMdd")).is_err());
        let wrong = TimeExtractor::new(Some("$month"), None, &keys).unwrap_err().to_string();
        assert!(wrong.contains("'$month'"), "{wrong}");
    }

    #[test]
    fn partitions_wait_for_the_watermark_and_survive() {
        let keys = vec!["dt".to_owned()];
        let extractor = TimeExtractor::new(None, None, &keys).unwrap();
        let options = CommitOptions {
            trigger: Trigger::PartitionTime(extractor),
            delay: Duration::from_secs(3600),
            file_name: "_SUCCESS".to_owned(),
        };
        let mut waiting = Waiting::new(options.clone(), keys.clone(), &[]).unwrap();
        for day in ["2013-01-01", "2013-01-02"] {
            waiting.add(&format!("dt={day}"), &[Some(day.to_owned())], Timestamp::EPOCH).unwrap();
        }
        waiting.advance("2013-01-01T01:00:00Z".parse().unwrap());
        assert_eq!(waiting.take_whole(Timestamp::EPOCH, false), [""; 0]);
        let mut waiting = Waiting::new(options, keys, &waiting.states()).unwrap();
        waiting.advance("2013-01-01T01:00:01Z".parse().unwrap());
        assert_eq!(waiting.take_whole(Timestamp::EPOCH, false), ["dt=2013-01-01"]);
        assert_eq!(waiting.take_whole(Timestamp::EPOCH, true), ["dt=2013-01-02"]);
        assert!(waiting.states().is_empty());
    }
}
