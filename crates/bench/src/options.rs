//! What the command line says: names of benchmarks and `--option value` pairs.

use flugs::{Error, Result};
use std::path::PathBuf;

/// The options, as the help shows them.
pub(crate) const HELP: &str = "\
Options (each benchmark has its own defaults; numbers take the suffixes k and m):
  --events N         rows of a run
  --runs N           runs, of which the best is printed (3)
  --workers N,N...   workers of the runtime, and parallelism (1,2)
  --keys N,N...      distinct keys
  --rate N           rows a second (latency: 100k)
  --seconds N        how long to measure (latency, checkpoint-pause, idle-jobs)
  --interval N       seconds from a checkpoint to the next (checkpoint-pause: 10; latency: 1)
  --jobs N           jobs (idle-jobs: 1k)
  --store DIR        where checkpoints and input files are written (the system's folder for temporary files)";

const KNOWN: [&str; 9] =
    ["events", "runs", "workers", "keys", "rate", "seconds", "interval", "jobs", "store"];

/// The parsed command line.
#[derive(Debug, Default)]
pub(crate) struct Options {
    names: Vec<String>,
    values: Vec<(String, String)>,
}

impl Options {
    /// Words and pairs in any order. An unknown option, one without a value, and a value that is no number where one is
    /// needed are errors.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Options::default();
        while let Some(word) = words.next() {
            if word == "--help" || word == "-h" {
                return Ok(Options::default());
            }
            let Some(option) = word.strip_prefix("--") else {
                options.names.push(word);
                continue;
            };
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name.to_owned(), value.to_owned()),
                None => {
                    let value = words.next().ok_or_else(|| Error::job(format!("--{option} has no value")))?;
                    (option.to_owned(), value)
                }
            };
            if !KNOWN.contains(&name.as_str()) {
                return Err(Error::job(format!("there is no option `--{name}`")));
            }
            if name != "store" {
                numbers(&name, &value)?;
            }
            options.values.push((name, value));
        }
        Ok(options)
    }

    /// The benchmarks to run, in order.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().rev().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The numbers of an option; at least one.
    pub(crate) fn list(&self, name: &str, default: &[u64]) -> Vec<u64> {
        self.value(name).and_then(|value| numbers(name, value).ok()).unwrap_or_else(|| default.to_vec())
    }

    /// The first number of an option.
    pub(crate) fn number(&self, name: &str, default: u64) -> u64 {
        self.list(name, &[default])[0]
    }

    /// How many runs of which the best counts.
    pub(crate) fn runs(&self) -> u64 {
        self.number("runs", 3)
    }

    /// Numbers of workers to measure with.
    pub(crate) fn workers(&self, default: &[u64]) -> Vec<u64> {
        self.list("workers", default)
    }

    /// A folder for files of this process.
    pub(crate) fn folder(&self) -> PathBuf {
        let base = self.value("store").map_or_else(std::env::temp_dir, PathBuf::from);
        base.join(format!("flugs-bench-{}", std::process::id()))
    }
}

fn numbers(name: &str, value: &str) -> Result<Vec<u64>> {
    value.split(',').map(|n| number(n.trim())).collect::<Option<_>>().ok_or_else(|| {
        Error::job(format!("--{name} {value} is no number above 0"))
            .mend("give numbers such as 1000, 20m or 1k,1m")
    })
}

fn number(text: &str) -> Option<u64> {
    let (digits, unit) = match text.to_ascii_lowercase().strip_suffix(['k', 'm']) {
        Some(digits) if text.ends_with(['k', 'K']) => (digits.to_owned(), 1_000),
        Some(digits) => (digits.to_owned(), 1_000_000),
        None => (text.replace('_', ""), 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|n| *n > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        Options::parse(line.split(' ').map(String::from))
    }

    #[test]
    fn names_and_options_stand_in_any_order() {
        let options = parse("--keys 1k,2M state --events=3_000 latency --events 7").unwrap();
        assert_eq!(options.names(), ["state", "latency"]);
        assert_eq!(options.list("keys", &[1]), [1_000, 2_000_000]);
        assert_eq!(options.number("events", 1), 7, "the last counts");
        assert_eq!(options.runs(), 3);
    }

    #[test]
    fn mistakes_are_refused() {
        for wrong in ["--events", "--evnts 3", "--events x", "--events 0", "--keys 1,,2", "--keys 1mm"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
