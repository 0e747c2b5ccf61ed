//! Nexmark: queries over an online auction, each a script that is planned and run to the end of its events.

use super::usage::{peak_megabytes, processor_seconds, reset_peak};
use crate::connectors::registry;
use crate::sql::parallelism;
use clap::Args;
use flugs_sql::RuntimeMode;
use flugs_sql::SqlEnvironment;
use flugs_types::{Clock, Error, Result, SystemClock};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of the benchmark.
#[derive(Debug, Args)]
pub struct NexmarkArguments {
    /// Which queries; all where none is named.
    #[arg(long, value_delimiter = ',')]
    queries: Vec<String>,
    /// Events of each query; by default as many as keep Flink busy for some ten seconds.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    events: Option<u64>,
    /// Events in a second of event time.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    rate: u64,
    /// Subtasks of each operator; the number of processors where it is not given.
    #[arg(long, value_parser = parallelism())]
    parallelism: Option<u32>,
    /// How often each query is run; each run is a line.
    #[arg(long, default_value_t = 1)]
    repeats: u32,
    /// streaming or batch.
    #[arg(long, default_value = "streaming")]
    mode: String,
    /// Where q10 writes and the side input of q13 stands: a folder that is made, and removed afterwards.
    #[arg(long)]
    folder: Option<PathBuf>,
}

const DDL: &str = include_str!("../../../connectors/nexmark/queries/ddl.sql");

macro_rules! queries {
    ($(($name:literal, $events:literal)),* $(,)?) => {
        &[$(($name, $events, include_str!(concat!("../../../connectors/nexmark/queries/", $name, ".sql")))),*]
    };
}

/// Name, events by default, and text.
const QUERIES: &[(&str, u64, &str)] = queries![
    ("q0", 25_000_000),
    ("q1", 25_000_000),
    ("q2", 30_000_000),
    ("q3", 25_000_000),
    ("q4", 5_000_000),
    ("q5", 7_000_000),
    ("q6", 1_000_000),
    ("q7", 5_000_000),
    ("q8", 25_000_000),
    ("q9", 5_000_000),
    ("q10", 8_000_000),
    ("q11", 10_000_000),
    ("q12", 20_000_000),
    ("q13", 20_000_000),
    ("q14", 20_000_000),
    ("q15", 8_000_000),
    ("q16", 8_000_000),
    ("q17", 14_000_000),
    ("q18", 14_000_000),
    ("q19", 8_000_000),
    ("q20", 6_000_000),
    ("q21", 10_000_000),
    ("q22", 20_000_000),
];

/// The folder that the texts name.
const FOLDER: &str = "/tmp/nexmark";

/// The folder of a run's files, removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    /// Makes it, with the side input of q13: the lines `k,k` for `k` from 0 to 9999.
    fn make(path: Option<&Path>) -> Result<Self> {
        let of_process = || std::env::temp_dir().join(format!("flugs-nexmark-{}", std::process::id()));
        let path = path.map_or_else(of_process, Path::to_owned);
        let shown = path.display().to_string();
        let failed = |e| Error::environment(format!("the folder {shown} cannot be made")).caused_by(e);
        fs::create_dir(&path).map_err(|e| {
            failed(e)
                .mend("name a folder that is not there yet with --folder; what is above it must be there")
        })?;
        let folder = Folder(path);
        let lines: String = (0..10_000).map(|key| format!("{key},{key}\n")).collect();
        fs::write(folder.0.join("side_input.csv"), lines).map_err(failed)?;
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Whoever runs benchmarks can remove what cannot be removed here.
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(super) fn run(args: &NexmarkArguments) -> Result<()> {
    let mode = match args.mode.as_str() {
        "streaming" => RuntimeMode::Streaming,
        "batch" => RuntimeMode::Batch,
        other => return Err(Error::job(format!("there is no mode '{other}'")).mend("say streaming or batch")),
    };
    let known = |name: &String| QUERIES.iter().any(|(query, ..)| query == name);
    if let Some(wrong) = args.queries.iter().find(|name| !known(name)) {
        return Err(Error::job(format!("there is no query '{wrong}'")).mend("say q0 to q22"));
    }
    let chosen = |name: &str| args.queries.is_empty() || args.queries.iter().any(|query| query == name);
    let folder = Folder::make(args.folder.as_deref())?;
    let shown = folder.0.to_str().ok_or_else(|| Error::environment("the folder's path is not UTF-8"))?;
    let mut out = std::io::stdout();
    let printed = |e: std::io::Error| Error::environment("standard output cannot be written").caused_by(e);
    writeln!(out, "query\tevents\tseconds\tevents/s\tcpu_s\tevents/cpu_s\tpeak_MB").map_err(printed)?;
    for (name, events, text) in QUERIES.iter().filter(|(name, ..)| chosen(name)) {
        let events = args.events.unwrap_or(*events);
        let text = text.replace(FOLDER, shown);
        for _ in 0..args.repeats.max(1) {
            let line = measured(name, &text, events, args, mode)?;
            writeln!(out, "{line}").and_then(|()| out.flush()).map_err(printed)?;
        }
    }
    Ok(())
}

fn measured(
    name: &str,
    text: &str,
    events: u64,
    args: &NexmarkArguments,
    mode: RuntimeMode,
) -> Result<String> {
    let mut session = SqlEnvironment::new(registry());
    if let Some(parallelism) = args.parallelism {
        session.config_mut().parallelism = parallelism;
    }
    session.config_mut().mode = mode;
    let ddl = DDL.replace("${EVENTS}", &events.to_string()).replace("${RATE}", &args.rate.to_string());
    session.execute_script(&ddl, |_| Ok(()))?;
    reset_peak();
    let clock = SystemClock;
    let (start, cpu) = (clock.now(), processor_seconds());
    session.execute_script(text, |_| Ok(()))?;
    let seconds = clock.now().since(start).as_secs_f64();
    let cpu = processor_seconds().zip(cpu).map(|(end, start)| end - start);
    let per = |seconds: f64| events as f64 / seconds.max(1e-9);
    let shown = |x: Option<f64>, digits: usize| x.map_or("-".to_owned(), |x| format!("{x:.digits$}"));
    Ok(format!(
        "{name}\t{events}\t{seconds:.3}\t{:.0}\t{}\t{}\t{}",
        per(seconds),
        shown(cpu, 2),
        shown(cpu.map(per), 0),
        peak_megabytes().map_or("-".to_owned(), |mb| mb.to_string()),
    ))
}
