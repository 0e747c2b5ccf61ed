//! What a person sees: a line while the job runs, a table when it has ended.

use flugs::JobReport;
use flugs::prelude::*;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Instant;

use crate::job::OUTPUTS;

/// Where there is no terminal, a line is written only so often.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// The line.
pub struct Progress {
    started: Instant,
    shown: Instant,
    rows: i64,
    terminal: bool,
    announced: bool,
}

impl Progress {
    #[allow(clippy::disallowed_methods, reason = "a display reads the clock of the person who looks at it")]
    pub fn new() -> Self {
        let now = Instant::now();
        Progress { started: now, shown: now, rows: 0, terminal: io::stderr().is_terminal(), announced: false }
    }

    /// Writes the line anew. A stderr that is gone is no reason to stop.
    pub fn show(&mut self, job: &JobHandle) {
        if let Some(from) = job.report().restored_from.filter(|_| !self.announced) {
            self.announced = true;
            let _ = writeln!(io::stderr(), "going on from checkpoint {from} of the run before");
        }
        let since = self.shown.elapsed();
        if !self.terminal && since < LINE_EVERY {
            return;
        }
        let rows = job.metrics().sum(Some("departures"), "numRecordsOut");
        let rate = (rows - self.rows) as f64 / since.as_secs_f64().max(1e-6);
        self.rows = rows;
        self.shown += since;
        let report = job.report();
        // To the minute: more would change too fast to be read.
        let watermark = job.metrics().source_watermark().map_or("-".to_owned(), |w| w.to_string());
        let watermark: String = watermark.chars().take("2013-01-01T10:00".len()).collect();
        let line = format!(
            "{:5.1} s  {rows:>7} read  {rate:>8.0} rows/s  watermark {watermark:<16}  {} checkpoints",
            self.started.elapsed().as_secs_f64(),
            report.checkpoints,
        );
        let (start, end) = if self.terminal { ("\r\x1b[2K", "") } else { ("", "\n") };
        let _ = write!(io::stderr(), "{start}{line}{end}");
        let _ = io::stderr().flush();
    }

    /// Leaves the line behind; says how long the run took, in seconds.
    pub fn end(&self) -> f64 {
        if self.terminal {
            let _ = writeln!(io::stderr());
        }
        self.started.elapsed().as_secs_f64()
    }
}

/// The table.
pub fn table(out: &Path, job: &JobHandle, report: &JobReport, seconds: f64) -> String {
    let metrics = job.metrics();
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<22}{value}");
    };
    line("ended after", format!("{seconds:.1} s"));
    let read = |source| metrics.sum(Some(source), "numRecordsOut").to_string();
    line("departures read", read("departures"));
    line("weather rows read", read("weather"));
    line("late and dropped", metrics.sum(None, "numLateRecordsDropped").to_string());
    for output in OUTPUTS {
        line(
            output,
            format!(
                "{:<6} rows in {}",
                metrics.sum(Some(output), "numRecordsIn"),
                out.join(output).display()
            ),
        );
    }
    line("checkpoints", report.checkpoints.to_string());
    if let Some(from) = report.restored_from {
        line("gone on from", format!("checkpoint {from}; the figures above are those since then"));
    }
    if report.restarts > 0 {
        line(
            "restarts",
            format!("{} (last failure: {})", report.restarts, report.failure.as_deref().unwrap_or("-")),
        );
    }
    text
}
