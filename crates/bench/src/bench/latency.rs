//! End-to-end latency at a fixed rate: a source, one exchange by key group, a keyed count, a sink.
//!
//! Two figures for each record. *From emission*: since the source made it. *From schedule*: since it was due by the
//! rate, so that a stall of the source counts for every record that it holds up (no coordinated omission); this one has the
//! grain of the source's pacing as its floor.

use super::environment;
use super::folder::Folder;
use crate::clock::now_ns;
use crate::figures::{Line, Table, timed};
use crate::histogram::Histogram;
use crate::options::Options;
use crate::rows::mix;
use flugs::prelude::*;
use flugs::{Error, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Records of so long a time from the start are not counted.
const WARM_UP_NS: u64 = 2_000_000_000;

#[derive(Debug, Clone, Data)]
struct Stamped {
    key: u64,
    /// When it was due, and whether its reader had warmed up by then.
    scheduled_ns: u64,
    counts: bool,
    emitted_ns: u64,
}

/// When each reader began. Under a rate, record `i` falls to reader `i % readers`, whose first record is due at once.
struct Schedule {
    starts_ns: Vec<AtomicU64>,
    rate: f64,
}

impl Schedule {
    fn stamp(&self, i: u64, keys: u64) -> Stamped {
        let emitted_ns = now_ns();
        let readers = self.starts_ns.len() as u64;
        let start = &self.starts_ns[(i % readers) as usize];
        if i < readers {
            start.store(emitted_ns, Ordering::Relaxed);
        }
        let after_ns = ((i - i % readers) as f64 / self.rate * 1e9) as u64;
        let scheduled_ns = start.load(Ordering::Relaxed) + after_ns;
        Stamped { key: mix(i) % keys, scheduled_ns, counts: after_ns >= WARM_UP_NS, emitted_ns }
    }
}

/// Counts the records of a key and hands them on.
struct Counting {
    count: ValueState<u64>,
}

impl KeyedProcessFunction for Counting {
    type Key = u64;
    type In = Stamped;
    type Out = Stamped;

    fn process(
        &mut self,
        record: Stamped,
        cx: &mut KeyedContext<'_, u64>,
        out: &mut Collector<'_, Stamped>,
    ) -> Result<()> {
        *self.count.get_or_insert_with(cx, || 0) += 1;
        out.collect(record);
        Ok(())
    }
}

/// What the sinks have seen.
#[derive(Default)]
struct Seen {
    from_emission: Histogram,
    from_schedule: Histogram,
}

impl Seen {
    /// Records that arrive in one batch have arrived at one time.
    fn add(&mut self, rows: &[Stamped]) {
        let now = now_ns();
        for row in rows.iter().filter(|row| row.counts) {
            self.from_emission.record(now.saturating_sub(row.emitted_ns));
            self.from_schedule.record(now.saturating_sub(row.scheduled_ns));
        }
    }
}

pub(crate) fn run(options: &Options, table: &mut Table) -> Result<()> {
    let interval = Duration::from_secs(options.number("interval", 1));
    for workers in options.workers(&[2]) {
        measure(options, table, workers, None)?;
        measure(options, table, workers, Some(interval))?;
    }
    Ok(())
}

fn measure(options: &Options, table: &mut Table, workers: u64, interval: Option<Duration>) -> Result<()> {
    let (rate, seconds) = (options.number("rate", 100_000), options.number("seconds", 10));
    let keys = options.number("keys", 10_000);
    let events = rate * seconds;
    let env = environment("latency", workers);
    let folder = Folder::new(options, "latency")?;
    match interval {
        Some(_) => {
            env.checkpoint_store(Arc::new(ObjectBlobs::folder(folder.path())?)).checkpoint_interval(interval)
        }
        None => env.checkpoint_interval(None),
    };
    let starts_ns = (0..workers).map(|_| AtomicU64::new(0)).collect();
    let schedule = Schedule { starts_ns, rate: rate as f64 };
    let source = GeneratorSource::new(Some(events), move |i| schedule.stamp(i, keys)).rate(rate as f64);
    let seen: Arc<Vec<Mutex<Seen>>> = Arc::new((0..workers).map(|_| Mutex::default()).collect());
    let by_sink = seen.clone();
    env.from_source(source, WatermarkStrategy::none(), "records")
        .stream()
        .key_by(|record: &Stamped| record.key)
        .transform("count", |key| {
            KeyedProcess::opened_by(|open| Ok(Counting { count: open.value("count")? }), key)
        })
        .sink_to(
            CallbackSink::new(move |subtask, rows: &Records<Stamped>| {
                let mut seen = by_sink[subtask.index as usize].lock().unwrap_or_else(PoisonError::into_inner);
                seen.add(&rows.values);
                Ok(())
            }),
            "measure",
        );
    let (run, report) = timed(|| env.execute())?;
    let mut all = Seen::default();
    for seen in seen.iter() {
        let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.from_emission.add(&seen.from_emission);
        all.from_schedule.add(&seen.from_schedule);
    }
    if all.from_emission.total() == 0 {
        return Err(Error::job("no record came after the warm-up of 2 s").mend("give more --seconds"));
    }
    let mut line = Line::new("latency", events, run)
        .parameter("rate", rate)
        .parameter("keys", keys)
        .parameter("workers", workers)
        .parameter("checkpoints", interval.map_or("none".to_owned(), |i| format!("{}s", i.as_secs())));
    for (name, histogram) in [("emission", &all.from_emission), ("schedule", &all.from_schedule)] {
        for (quantile, fraction) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)] {
            line = line.micros(&format!("{name}_{quantile}_us"), histogram.quantile(fraction));
        }
        line = line.micros(&format!("{name}_max_us"), histogram.max());
    }
    let line = line
        .detail("measured", all.from_emission.total())
        .detail("cores_used", format!("{:.2}", run.cpu_seconds / run.seconds))
        .detail("checkpoints_taken", report.checkpoints);
    table.print(line);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_due_by_the_rate_since_their_readers_start() {
        let starts_ns = (0..2).map(|_| AtomicU64::new(0)).collect();
        let schedule = Schedule { starts_ns, rate: 1_000.0 };
        let first = schedule.stamp(1, 10);
        assert_eq!(first.scheduled_ns, first.emitted_ns);
        let later = schedule.stamp(2_101, 10);
        assert_eq!(later.scheduled_ns - first.emitted_ns, 2_100_000_000);
        assert!(later.counts && !first.counts);
    }

    #[test]
    fn a_record_counts_twice_over() {
        let mut seen = Seen::default();
        let now = now_ns() + 1;
        let record = Stamped { key: 1, scheduled_ns: 0, counts: true, emitted_ns: now };
        seen.add(&[record.clone(), Stamped { counts: false, ..record }]);
        assert_eq!((seen.from_emission.total(), seen.from_schedule.total()), (1, 1));
        assert!(seen.from_emission.max() < seen.from_schedule.max());
    }
}
