//! How long a job takes to start: from the call of `execute_async` until all of its tasks run.

use crate::clock::now_ns;
use crate::figures::{Line, Table, timed};
use crate::histogram::Histogram;
use crate::options::Options;
use flugs::prelude::*;
use flugs::{Error, Result};

/// How long a job may take to start.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn run(options: &Options, table: &mut Table) -> Result<()> {
    let starts = options.number("runs", 50);
    let shared = Runtime::new();
    for (name, runtime) in [("shared", Some(&shared)), ("of its own", None)] {
        let (run, histogram) = timed(|| {
            let mut histogram = Histogram::default();
            for _ in 0..starts {
                histogram.record(start(runtime)?);
            }
            Ok(histogram)
        })?;
        let line = Line::new("startup", 0, run)
            .parameter("starts", starts)
            .parameter("runtime", name.replace(' ', "_"))
            .parameter("tasks", 2)
            .micros("p50_us", histogram.quantile(0.5))
            .micros("p90_us", histogram.quantile(0.9));
        table.print(line.micros("max_us", histogram.max()));
    }
    Ok(())
}

/// Starts a job of a source and a sink in tasks of their own, and stops it again. Nanoseconds until it ran.
fn start(runtime: Option<&Runtime>) -> Result<u64> {
    let env = Environment::new("startup");
    env.set_parallelism(1);
    if let Some(runtime) = runtime {
        env.runtime(runtime);
    }
    let (sender, source) = channel_source::<u64>(1);
    env.from_source(source, WatermarkStrategy::none(), "source")
        .stream()
        .rebalance()
        .sink_to(BlackholeSink::new(), "sink");
    let before = now_ns();
    let job = env.execute_async()?;
    let report = job.wait_until(PATIENCE, |report| report.running_since.is_some());
    let took = now_ns() - before;
    job.cancel();
    job.wait()?;
    drop(sender);
    report.running_since.map(|_| took).ok_or_else(|| Error::job("the job did not start within 10 s"))
}
