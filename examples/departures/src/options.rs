//! The command line.

use flugs::Restore;
use std::path::PathBuf;
use std::time::Duration;

/// What the user chose.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folder with `departures.jsonl.gz` and `weather.jsonl.gz`.
    pub data: PathBuf,
    /// Folder for the three outputs and the checkpoints.
    pub out: PathBuf,
    /// How many subtasks each operator has.
    pub parallelism: u32,
    /// How many departures are read a second, if not as many as possible.
    pub rate: Option<f64>,
    /// From one checkpoint to the next.
    pub checkpoint_interval: Duration,
    /// What an unfinished run goes on from.
    pub restore: Restore,
}

/// What is printed for `--help`.
pub const HELP: &str = "\
Hourly departure statistics of New York's airports, the worst carrier of each hour, and alerts on late aircraft.

usage: departures --data DIR --out DIR [options]

  --data DIR                    folder with departures.jsonl.gz and weather.jsonl.gz
  --out DIR                     folder for hourly/, worst_carrier/, alerts/ and the checkpoints
  --parallelism N               subtasks of each operator (default: 2)
  --rate N                      departures read a second (default: as fast as possible)
  --checkpoint-interval-ms N    from one checkpoint to the next (default: 1000)
  --restore latest|CHECKPOINT   what an unfinished run goes on from (default: latest); a checkpoint is named by its path in
                                OUT/checkpoints, and results that were committed after it come again

A run that was killed goes on where its last checkpoint left it; a run that had ended starts anew.
";

/// What the arguments say: `None` where help was asked for.
pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let (mut data, mut out) = (None, None);
    let (mut parallelism, mut rate, mut interval, mut restore) = (2, None, 1000, Restore::Latest);
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        if argument == "--help" || argument == "-h" {
            return Ok(None);
        }
        let (name, mut given) = match argument.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (argument, None),
        };
        let mut value =
            || given.take().or_else(|| arguments.next()).ok_or_else(|| format!("{name} needs a value"));
        match name.as_str() {
            "--data" => data = Some(PathBuf::from(value()?)),
            "--out" => out = Some(PathBuf::from(value()?)),
            "--parallelism" => parallelism = number(&name, &value()?, 1, 32_768)? as u32,
            "--rate" => rate = Some(number(&name, &value()?, 1, u64::MAX)? as f64),
            "--checkpoint-interval-ms" => interval = number(&name, &value()?, 1, u64::MAX)?,
            "--restore" => restore = value()?.parse().map_err(|e| format!("{name}: {e}"))?,
            _ => return Err(format!("there is no option {name}")),
        }
    }
    Ok(Some(Options {
        data: data.ok_or("--data is missing")?,
        out: out.ok_or("--out is missing")?,
        parallelism,
        rate,
        checkpoint_interval: Duration::from_millis(interval),
        restore,
    }))
}

fn number(name: &str, text: &str, min: u64, max: u64) -> Result<u64, String> {
    let number = text.parse().ok().filter(|n| (min..=max).contains(n));
    let range = if max == u64::MAX { format!("from {min} on") } else { format!("from {min} to {max}") };
    number.ok_or_else(|| format!("{name} takes a whole number {range}, not '{text}'"))
}
