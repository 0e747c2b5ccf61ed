//! What jobs cost that have nothing to do: many of them in one runtime, each a source, a map and a sink in tasks of
//! their own.

use crate::clock::now_ns;
use crate::figures::{Line, Table, timed};
use crate::options::Options;
use crate::usage;
use flugs::prelude::*;
use flugs::{Error, Result};

/// How long a job may take to start.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn run(options: &Options, table: &mut Table) -> Result<()> {
    measure(options, table, None)?;
    measure(options, table, Some(Duration::from_secs(10)))
}

fn measure(options: &Options, table: &mut Table, checkpoints: Option<Duration>) -> Result<()> {
    let jobs = options.number("jobs", 1_000);
    let time = Duration::from_secs(options.number("seconds", 10));
    let runtime = Runtime::new();
    let empty_mb = usage::resident_mb();
    let before = now_ns();
    // A source ends when its sender is dropped.
    let mut senders = Vec::new();
    let mut running = Vec::new();
    for number in 0..jobs {
        let (sender, job) = idle_job(&runtime, number, checkpoints)?;
        senders.push(sender);
        running.push(job);
    }
    for job in &running {
        let report = job.wait_until(PATIENCE, |report| report.running_since.is_some());
        if report.running_since.is_none() {
            return Err(Error::job("a job did not start within 30 s"));
        }
    }
    let started_ns = now_ns() - before;
    let first = running.first().ok_or_else(|| Error::job("no jobs"))?;
    let (run, ()) = timed(|| {
        first.wait_until(time, |_| false);
        Ok(())
    })?;
    let idle_mb = usage::resident_mb();
    let taken: u64 = running.iter().map(|job| job.report().checkpoints).sum();
    running.iter().for_each(JobHandle::cancel);
    running.iter().try_for_each(|job| job.wait().map(|_| ()))?;
    let line = Line::new("idle-jobs", 0, run)
        .parameter("jobs", jobs)
        .parameter("tasks", jobs * 3)
        .parameter("checkpoints", checkpoints.map_or("none".to_owned(), |c| format!("{}s", c.as_secs())))
        .detail("cores_used", format!("{:.4}", run.cpu_seconds / run.seconds))
        .detail("start_of_all_s", format!("{:.3}", started_ns as f64 / 1e9))
        .detail("resident_before_MB", format!("{empty_mb:.1}"))
        .detail("resident_MB", format!("{idle_mb:.1}"))
        .detail("checkpoints_taken", taken);
    // Jobs of a later measurement partly live in memory that the earlier ones have left.
    let per_job_kb = (idle_mb - empty_mb) * 1e3 / jobs as f64;
    let line =
        if checkpoints.is_none() { line.detail("KB_per_job", format!("{per_job_kb:.1}")) } else { line };
    table.print(line);
    Ok(())
}

/// A job that waits for rows that never come.
fn idle_job(
    runtime: &Runtime,
    number: u64,
    checkpoints: Option<Duration>,
) -> Result<(Sender<u64>, JobHandle)> {
    let env = Environment::new(format!("idle-{number}"));
    env.runtime(runtime).set_parallelism(1).checkpoint_interval(checkpoints);
    let (sender, source) = channel_source::<u64>(16);
    env.from_source(source, WatermarkStrategy::none(), "source")
        .stream()
        .map(|n| n + 1)
        .disable_chaining()
        .sink_to(BlackholeSink::new(), "sink");
    Ok((sender, env.execute_async()?))
}
