//! Runs that are timed, and the table that they are printed into.

use crate::clock::{now_ns, seconds_since};
use crate::usage;
use flugs::Result;
use std::fmt::{Display, Write as _};

/// What one run took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    /// By the clock on the wall.
    pub(crate) seconds: f64,
    /// Of all threads of the process.
    pub(crate) cpu_seconds: f64,
    /// The most resident memory during the run, input that was made beforehand and the allocator's reserve included.
    pub(crate) peak_mb: f64,
}

/// Times a piece of work.
pub(crate) fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(Run, T)> {
    usage::reset_peak();
    let (start, cpu) = (now_ns(), usage::cpu_seconds());
    let made = work()?;
    let seconds = seconds_since(start);
    let run = Run { seconds, cpu_seconds: usage::cpu_seconds() - cpu, peak_mb: usage::peak_mb() };
    Ok((run, made))
}

/// The fastest of some runs of the same work, with what it made, and how long the slowest took.
pub(crate) struct Best<T> {
    pub(crate) run: Run,
    pub(crate) made: T,
    runs: u64,
    slowest_seconds: f64,
}

/// Runs `work` so many times, at least once.
pub(crate) fn best_of<T>(runs: u64, mut work: impl FnMut() -> Result<(Run, T)>) -> Result<Best<T>> {
    let (run, made) = work()?;
    let mut best = Best { run, made, runs: runs.max(1), slowest_seconds: run.seconds };
    for _ in 1..runs {
        let (run, made) = work()?;
        best.slowest_seconds = best.slowest_seconds.max(run.seconds);
        if run.seconds < best.run.seconds {
            (best.run, best.made) = (run, made);
        }
    }
    Ok(best)
}

/// A line of the table under construction.
pub(crate) struct Line {
    bench: &'static str,
    parameters: String,
    events: u64,
    run: Run,
    details: String,
}

impl Line {
    /// The line of a run over so many events.
    pub(crate) fn new(bench: &'static str, events: u64, run: Run) -> Self {
        Line { bench, parameters: String::new(), events, run, details: String::new() }
    }

    /// The line of the best of some runs.
    pub(crate) fn of_best<T>(bench: &'static str, events: u64, best: &Best<T>) -> Self {
        Line::new(bench, events, best.run)
            .detail("runs", best.runs)
            .detail("slowest_s", format!("{:.3}", best.slowest_seconds))
    }

    /// Adds what the run was told.
    #[must_use]
    pub(crate) fn parameter(mut self, name: &str, value: impl Display) -> Self {
        append(&mut self.parameters, name, value);
        self
    }

    /// Adds what only this benchmark measures.
    #[must_use]
    pub(crate) fn detail(mut self, name: &str, value: impl Display) -> Self {
        append(&mut self.details, name, value);
        self
    }

    /// Adds a duration in microseconds.
    #[must_use]
    pub(crate) fn micros(self, name: &str, ns: u64) -> Self {
        self.detail(name, format!("{:.1}", ns as f64 / 1e3))
    }
}

fn append(pairs: &mut String, name: &str, value: impl Display) {
    let space = if pairs.is_empty() { "" } else { " " };
    // Writing to a string does not fail.
    let _ = write!(pairs, "{space}{name}={value}");
}

/// Millions a second; empty where nothing was counted.
fn rate(events: u64, seconds: f64) -> String {
    if events == 0 || seconds <= 0.0 {
        return String::new();
    }
    format!("{:.3}", events as f64 / seconds / 1e6)
}

/// The table: tab-separated, a line at a time, with comments that start with `#`.
pub(crate) struct Table(());

impl Table {
    /// Prints what stands above the lines.
    pub(crate) fn begin() -> Self {
        println!("# flugs {}, {}", env!("CARGO_PKG_VERSION"), usage::machine());
        if cfg!(debug_assertions) {
            println!("# NOT OPTIMIZED: a debug build, its figures mean nothing");
        }
        println!("bench\tparameters\tevents\tseconds\tM/s\tcpu_s\tM/cpu_s\tpeak_MB\tdetails");
        Table(())
    }

    /// Prints a line.
    pub(crate) fn print(&mut self, line: Line) {
        let Line { bench, parameters, events, run, details } = line;
        let Run { seconds, cpu_seconds, peak_mb } = run;
        // The rate by processor time tells what the work costs where other programs take their share of the machine.
        let (rate, rate_by_cpu) = (rate(events, seconds), rate(events, cpu_seconds));
        println!(
            "{bench}\t{parameters}\t{events}\t{seconds:.4}\t{rate}\t{cpu_seconds:.3}\t{rate_by_cpu}\t{peak_mb:.0}\t{details}"
        );
    }

    /// Prints a comment.
    pub(crate) fn comment(&mut self, text: &str) {
        text.lines().for_each(|line| println!("# {line}"));
    }
}
