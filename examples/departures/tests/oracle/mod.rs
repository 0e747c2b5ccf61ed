//! The oracle of the main job: its three outputs, computed from the two input files by sorting and
//! looping, with no part of the engine.
//!
//! Delays are whole minutes and are summed as integers, so that a mean does not depend on the order
//! of the rows and every output line is exact to the byte. Numbers are printed as serde_json prints
//! them: the shortest digits that read back the same.
#![allow(dead_code, reason = "every test binary uses its own part of this module")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};

/// A departure with at most this delay, in minutes, does not count in `late_share`.
const SHARE_DELAY_MIN: i64 = 15;
/// A departure with at most this delay, in minutes, is not late for an alert.
const ALERT_DELAY_MIN: i64 = 60;
/// A gap of this length or longer since the last late departure starts the count anew.
const ALERT_GAP_S: i64 = 36 * 3600;
/// So many late departures in a row raise an alert.
const ALERT_RUN: usize = 3;
/// A carrier with fewer departures in an hour is not compared.
const CARRIER_FLIGHTS_MIN: usize = 3;

/// What is read of a line of `departures.jsonl.gz`. Instants are `2013-01-01T10:15:00Z`, so they
/// sort as text.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Departure {
    pub(crate) flight_id: u64,
    pub(crate) carrier: String,
    pub(crate) tailnum: Option<String>,
    pub(crate) origin: String,
    pub(crate) scheduled: String,
    pub(crate) dep_delay: i64,
}

/// What is read of a line of `weather.jsonl.gz`.
#[derive(Debug, Clone)]
pub(crate) struct Weather {
    pub(crate) origin: String,
    pub(crate) observed: String,
    pub(crate) temp: Option<f64>,
    pub(crate) wind_speed: Option<f64>,
    pub(crate) visib: Option<f64>,
}

impl Weather {
    /// Measures are cut out of the text and read by the standard library, which is exact; what
    /// serde_json makes of 17 digits depends on how it was built.
    pub(crate) fn parse(line: &str) -> Weather {
        let value = |name: &str| {
            let (_, rest) =
                line.split_once(&format!("\"{name}\":")).unwrap_or_else(|| panic!("no {name}: {line}"));
            rest.split([',', '}']).next().expect("a split has a first part")
        };
        let text = |name| value(name).trim_matches('"').to_owned();
        let measure = |name| match value(name) {
            "null" => None,
            digits => Some(digits.parse().unwrap_or_else(|_| panic!("{name} is not a number: {line}"))),
        };
        Weather {
            origin: text("origin"),
            observed: text("observed"),
            temp: measure("temp"),
            wind_speed: measure("wind_speed"),
            visib: measure("visib"),
        }
    }
}

/// The rows that the job must write, each a JSON line without its line end, sorted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expected {
    pub(crate) hourly: Vec<String>,
    pub(crate) worst_carrier: Vec<String>,
    pub(crate) alerts: Vec<String>,
}

impl Expected {
    /// The rows for these inputs, in whatever order they come.
    pub(crate) fn of(departures: &[Departure], weather: &[Weather]) -> Expected {
        Expected {
            hourly: hourly(departures, weather),
            worst_carrier: worst_carrier(departures),
            alerts: alerts(departures),
        }
    }

    /// Each output's folder name and rows.
    pub(crate) fn outputs(&self) -> [(&'static str, &[String]); 3] {
        [("hourly", &self.hourly), ("worst_carrier", &self.worst_carrier), ("alerts", &self.alerts)]
    }
}

/// The rows for the input files in `dir`.
pub(crate) fn compute(dir: &Path) -> Expected {
    let departures = read_lines(&dir.join("departures.jsonl.gz"));
    let departures: Vec<Departure> = departures
        .iter()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("not a departure: {e}: {line}")))
        .collect();
    let weather = read_lines(&dir.join("weather.jsonl.gz"));
    let weather: Vec<Weather> = weather.iter().map(|line| Weather::parse(line)).collect();
    Expected::of(&departures, &weather)
}

fn read_lines(path: &Path) -> Vec<String> {
    let file = readable(path, File::open(path));
    BufReader::new(GzDecoder::new(file)).lines().map(|line| readable(path, line)).collect()
}

fn readable<T>(path: &Path, result: io::Result<T>) -> T {
    result.unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[derive(Serialize)]
struct HourlyRow<'a> {
    origin: &'a str,
    hour: &'a str,
    flights: usize,
    mean_delay: f64,
    max_delay: i64,
    late_share: f64,
    temp: Option<f64>,
    wind_speed: Option<f64>,
    visib: Option<f64>,
}

/// Per origin and hour of `scheduled`: the delays, and the weather observed there at that hour.
fn hourly(departures: &[Departure], weather: &[Weather]) -> Vec<String> {
    let mut delays: BTreeMap<(&str, String), Vec<i64>> = BTreeMap::new();
    for d in departures {
        delays.entry((&d.origin, hour(&d.scheduled))).or_default().push(d.dep_delay);
    }
    let mut observed = BTreeMap::new();
    for w in weather {
        let twice = observed.insert((w.origin.as_str(), w.observed.clone()), w);
        assert!(twice.is_none(), "two observations at {} {}", w.origin, w.observed);
    }
    sorted_lines(delays.iter().map(|(place, delays)| {
        let weather = observed.get(place);
        let late = delays.iter().filter(|&&delay| delay > SHARE_DELAY_MIN).count();
        HourlyRow {
            origin: place.0,
            hour: &place.1,
            flights: delays.len(),
            mean_delay: mean(delays),
            max_delay: *delays.iter().max().expect("a group has a departure"),
            late_share: late as f64 / delays.len() as f64,
            temp: weather.and_then(|w| w.temp),
            wind_speed: weather.and_then(|w| w.wind_speed),
            visib: weather.and_then(|w| w.visib),
        }
    }))
}

#[derive(Serialize)]
struct WorstCarrierRow<'a> {
    hour: &'a str,
    carrier: &'a str,
    flights: usize,
    mean_delay: f64,
}

/// Per hour over all origins: of the carriers with enough departures the one with the highest mean
/// delay, of equal ones the smaller code. An hour in which no carrier has enough has no row.
fn worst_carrier(departures: &[Departure]) -> Vec<String> {
    let mut hours: BTreeMap<String, BTreeMap<&str, Vec<i64>>> = BTreeMap::new();
    for d in departures {
        let carriers = hours.entry(hour(&d.scheduled)).or_default();
        carriers.entry(&d.carrier).or_default().push(d.dep_delay);
    }
    sorted_lines(hours.iter().filter_map(|(hour, carriers)| {
        let mut worst: Option<(&str, &Vec<i64>)> = None;
        for (carrier, delays) in carriers.iter().filter(|(_, delays)| delays.len() >= CARRIER_FLIGHTS_MIN) {
            if worst.is_none_or(|(_, most)| higher_mean(delays, most)) {
                worst = Some((carrier, delays));
            }
        }
        let (carrier, delays) = worst?;
        Some(WorstCarrierRow { hour, carrier, flights: delays.len(), mean_delay: mean(delays) })
    }))
}

#[derive(Serialize)]
struct AlertRow<'a> {
    tailnum: &'a str,
    flight_ids: Vec<u64>,
    at: &'a str,
}

/// Per aircraft, in order of `scheduled`, then `flight_id`: three late departures in a row. A
/// departure that is not late, a gap of 36 h since the last late one, and an alert start the count
/// anew. Departures without a tail number belong to no aircraft and raise none.
fn alerts(departures: &[Departure]) -> Vec<String> {
    let mut aircraft: BTreeMap<&str, Vec<&Departure>> = BTreeMap::new();
    for d in departures {
        if let Some(tailnum) = d.tailnum.as_deref().filter(|tailnum| !tailnum.is_empty()) {
            aircraft.entry(tailnum).or_default().push(d);
        }
    }
    let mut rows = Vec::new();
    for (tailnum, mut departures) in aircraft {
        departures.sort_by_key(|d| (&d.scheduled, d.flight_id));
        let mut run: Vec<&Departure> = Vec::new();
        for departure in departures {
            if departure.dep_delay <= ALERT_DELAY_MIN {
                run.clear();
                continue;
            }
            let gap = run.last().map(|last| seconds(&departure.scheduled) - seconds(&last.scheduled));
            if gap.is_some_and(|gap| gap >= ALERT_GAP_S) {
                run.clear();
            }
            run.push(departure);
            if run.len() == ALERT_RUN {
                let flight_ids = run.iter().map(|d| d.flight_id).collect();
                rows.push(AlertRow { tailnum, flight_ids, at: &departure.scheduled });
                run.clear();
            }
        }
    }
    sorted_lines(rows)
}

fn mean(delays: &[i64]) -> f64 {
    delays.iter().sum::<i64>() as f64 / delays.len() as f64
}

/// Compares the means as fractions, without rounding.
fn higher_mean(a: &[i64], b: &[i64]) -> bool {
    a.iter().sum::<i64>() * b.len() as i64 > b.iter().sum::<i64>() * a.len() as i64
}

/// The hour of an instant: `2013-01-01T10:15:00Z` gives `2013-01-01T10:00:00Z`.
fn hour(instant: &str) -> String {
    assert!(instant.len() == 20 && instant.ends_with('Z'), "not an instant: {instant}");
    format!("{}:00:00Z", &instant[..13])
}

/// Seconds from the start of the year 2000 to an instant of 2000 to 2099, whose leap years are
/// every fourth.
pub(crate) fn seconds(instant: &str) -> i64 {
    const DAYS_BEFORE_MONTH: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let number = |from: usize, to: usize| -> i64 {
        instant[from..to].parse().unwrap_or_else(|_| panic!("not an instant: {instant}"))
    };
    let (year, month) = (number(0, 4) - 2000, number(5, 7));
    let leap_days = (year + 3) / 4 + i64::from(year % 4 == 0 && month > 2);
    let days = year * 365 + leap_days + DAYS_BEFORE_MONTH[month as usize - 1] + number(8, 10) - 1;
    days * 86_400 + number(11, 13) * 3600 + number(14, 16) * 60 + number(17, 19)
}

fn sorted_lines<T: Serialize>(rows: impl IntoIterator<Item = T>) -> Vec<String> {
    let print = |row| serde_json::to_string(&row).expect("a row prints as JSON");
    let mut lines: Vec<String> = rows.into_iter().map(print).collect();
    lines.sort();
    lines
}

/// All rows of an output folder, sorted: the lines of every file whose name, and whose folders'
/// names below `dir`, do not begin with `.` or `_`. A folder that does not exist holds no rows.
///
/// Panics where a file is cut short: every line must be one JSON object and end with a line end.
pub(crate) fn read_parts(dir: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    if dir.exists() {
        read_folder(dir, &mut lines);
    }
    lines.sort();
    lines
}

fn read_folder(dir: &Path, lines: &mut Vec<String>) {
    for entry in readable(dir, fs::read_dir(dir)) {
        let path = readable(dir, entry).path();
        let name = path.file_name().expect("an entry has a name").to_string_lossy();
        if name.starts_with(['.', '_']) {
            continue;
        }
        if path.is_dir() {
            read_folder(&path, lines);
            continue;
        }
        let text = readable(&path, fs::read_to_string(&path));
        assert!(text.is_empty() || text.ends_with('\n'), "{}: the last line is cut short", path.display());
        for (n, line) in text.lines().enumerate() {
            let row: Result<serde_json::Map<String, serde_json::Value>, _> = serde_json::from_str(line);
            assert!(row.is_ok(), "{}:{}: not a JSON object: {line}", path.display(), n + 1);
            lines.push(line.to_owned());
        }
    }
}

/// FNV-1a (64 bit) over the lines, each followed by a line end: one number that stands for an
/// output and that any language computes in three lines.
pub(crate) fn checksum(lines: &[String]) -> u64 {
    let bytes = lines.iter().flat_map(|line| line.bytes().chain([b'\n']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
