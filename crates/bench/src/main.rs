//! `flugs-bench`: benchmarks that print a TSV and never pass or fail by time.
//!
//! Each benchmark is a function over [`Options`] in its own file below `bench`; this file lists them. Engine and
//! hand-written loops run in one process over the same rows, so that both see the same machine.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool speaks by printing")]

mod bench;
mod clock;
mod figures;
mod histogram;
mod options;
mod rows;
mod usage;

use figures::Table;
use flugs::{Error, Result};
use options::Options;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A benchmark: its name, what it measures, and itself.
type Bench = (&'static str, &'static str, fn(&Options, &mut Table) -> Result<()>);

const BENCHES: [Bench; 12] = [
    ("tumbling-sum", "a keyed 5 s tumbling sum, source included", bench::tumbling_sum::run),
    ("hand-sum", "the same by hand: the limit", bench::hand_sum::run),
    ("word-count", "words of a text in memory, counted", bench::word_count::run),
    ("hand-words", "the same by hand: the limit", bench::hand_words::run),
    ("latency", "end to end through one exchange, at a fixed rate", bench::latency::run),
    ("checkpoint-pause", "updates of large state while checkpoints are taken", bench::checkpoint_pause::run),
    ("startup", "from execute_async() until all tasks run", bench::startup::run),
    ("idle-jobs", "the cost of many jobs that wait", bench::idle_jobs::run),
    ("state", "the keyed table alone", bench::state::run),
    ("nexmark-source", "Nexmark events into nothing", bench::sources::nexmark),
    ("json-source", "JSON lines of bids from a file into nothing", bench::sources::json),
    ("peers", "says how to run the same work on other engines", bench::peers::run),
];

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => return usage(&error),
    };
    if options.names().is_empty() {
        println!("{}", help());
        return ExitCode::SUCCESS;
    }
    let unknown = options.names().iter().find(|name| BENCHES.iter().all(|(known, ..)| known != name));
    if let Some(name) = unknown {
        return usage(&Error::job(format!("there is no benchmark `{name}`")));
    }
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("flugs-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    let mut table = Table::begin();
    for name in options.names() {
        if let Some((_, _, bench)) = BENCHES.iter().find(|(known, ..)| known == name) {
            bench(options, &mut table)?;
        }
    }
    Ok(())
}

fn usage(error: &Error) -> ExitCode {
    eprintln!("flugs-bench: {error}\n\n{}", help());
    ExitCode::from(2)
}

fn help() -> String {
    let benches: String = BENCHES.iter().map(|(name, what, _)| format!("  {name:<18} {what}\n")).collect();
    format!("Usage: cargo xtask bench NAME... [--OPTION VALUE]...\n\n{benches}\n{}", options::HELP)
}
