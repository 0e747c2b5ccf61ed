//! What checkpoints of large keyed state cost: updates of random keys at full speed, first without, then with checkpoints.
//!
//! The updating operator looks at the clock after each group of 1024 updates. The time from group to group holds everything
//! that can hold a task up: its own work, alignment, freezing and capturing its tables, copies on write, the scheduler. Within a
//! batch it is the operator's own work with its copies on write; the first group of a batch has all the rest. A group counts as
//! *during* a checkpoint from its barrier until the operator is told that it is complete.
//!
//! The same time in processor time of the worker's thread leaves out what other programs (and waits for locks) add to it.

use super::environment;
use super::folder::Folder;
use crate::clock::{now_ns, seconds_since};
use crate::figures::{Line, Run, Table, timed};
use crate::histogram::Histogram;
use crate::options::Options;
use crate::rows::mix;
use crate::usage::thread_cpu_ns;
use flugs::prelude::*;
use flugs::state::{KeyedTable, SnapshotTable};
use flugs::task::{OpenContext, Operator, Output, Progress};
use flugs::{Error, JobHandle, JobReport, Result};
use flugs_batch::Barrier;
use flugs_types::CheckpointId;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// Updates between two looks at the clock.
const GROUP: usize = 1024;
/// How long a step of the measurement may take before it is given up.
const PATIENCE: Duration = Duration::from_secs(600);

/// The times from group to group, by the group's place in its batch.
#[derive(Default)]
struct Groups {
    first: Histogram,
    later: Histogram,
    /// The times of both as the worker's processor time, where it is the same worker.
    cpu: Histogram,
    updates: u64,
    ns: u64,
}

impl Groups {
    fn record(&mut self, is_first: bool, gap_ns: u64, updates: usize) {
        if is_first { &mut self.first } else { &mut self.later }.record(gap_ns);
        self.updates += updates as u64;
        self.ns += gap_ns;
    }

    fn add(&mut self, other: &Groups) {
        self.first.add(&other.first);
        self.later.add(&other.later);
        self.cpu.add(&other.cpu);
        self.updates += other.updates;
        self.ns += other.ns;
    }

    fn all(&self) -> Histogram {
        let mut all = self.first.clone();
        all.add(&self.later);
        all
    }
}

/// What the subtasks have seen since the last look.
#[derive(Default)]
struct Gaps {
    usual: Groups,
    during: Groups,
}

/// What the operators tell the measurement.
struct Probes {
    updates: AtomicU64,
    gaps: Vec<Mutex<Gaps>>,
}

impl Probes {
    fn new(subtasks: u64) -> Arc<Self> {
        let gaps = (0..subtasks).map(|_| Mutex::default()).collect();
        Arc::new(Probes { updates: AtomicU64::new(0), gaps })
    }

    fn updates(&self) -> u64 {
        self.updates.load(Ordering::Relaxed)
    }

    fn of(&self, subtask: usize) -> MutexGuard<'_, Gaps> {
        self.gaps[subtask].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All gaps since the last call.
    fn take(&self) -> Gaps {
        let mut all = Gaps::default();
        for subtask in 0..self.gaps.len() {
            let gaps = std::mem::take(&mut *self.of(subtask));
            all.usual.add(&gaps.usual);
            all.during.add(&gaps.during);
        }
        all
    }
}

/// Adds one to the count of each key, and watches itself.
struct Updates {
    counts: Option<KeyedTable<u64, u64>>,
    probes: Arc<Probes>,
    subtask: usize,
    last_ns: u64,
    /// The worker that made the last group, and its processor time then.
    last_cpu: Option<(ThreadId, u64)>,
    checkpointing: bool,
}

impl Updates {
    fn new(probes: Arc<Probes>) -> Self {
        Updates { counts: None, probes, subtask: 0, last_ns: 0, last_cpu: None, checkpointing: false }
    }
}

impl Operator for Updates {
    type In = Records<u64>;
    type Out = Records<u64>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.counts = Some(context.state.keyed("counts")?);
        self.subtask = context.ident.subtask.index as usize;
        self.last_ns = now_ns();
        Ok(())
    }

    fn process(&mut self, batch: Records<u64>, _: &mut Output<Records<u64>>) -> Result<Progress> {
        let counts = self.counts.as_mut().ok_or_else(|| Error::bug("the operator is not open"))?;
        let mut gaps = self.probes.of(self.subtask);
        let worker = std::thread::current().id();
        for (group, keys) in batch.values.chunks(GROUP).enumerate() {
            counts.for_each_row(keys.len(), |i| keys[i], || 0, |_, n| *n += 1);
            let now = now_ns();
            let gap = now - self.last_ns;
            self.last_ns = now;
            let gaps = if self.checkpointing { &mut gaps.during } else { &mut gaps.usual };
            gaps.record(group == 0, gap, keys.len());
            let cpu_ns = thread_cpu_ns();
            if let Some((_, last_ns)) = self.last_cpu.filter(|(last, _)| *last == worker) {
                gaps.cpu.record(cpu_ns - last_ns);
            }
            self.last_cpu = Some((worker, cpu_ns));
        }
        self.probes.updates.fetch_add(batch.len() as u64, Ordering::Relaxed);
        Ok(Progress::Done)
    }

    fn barrier(&mut self, _: Barrier, _: &mut Output<Records<u64>>) -> Result<Progress> {
        self.checkpointing = true;
        Ok(Progress::Done)
    }

    fn committed(&mut self, _: CheckpointId) -> Result<()> {
        self.checkpointing = false;
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.counts.iter_mut().map(|table| table as &mut dyn SnapshotTable).collect()
    }
}

/// What was measured between two moments.
struct Phase {
    updates: u64,
    run: Run,
    gaps: Gaps,
}

fn phase<T>(probes: &Probes, work: impl FnOnce() -> Result<T>) -> Result<(Phase, T)> {
    probes.take();
    let before = probes.updates();
    let (run, made) = timed(work)?;
    Ok((Phase { updates: probes.updates() - before, run, gaps: probes.take() }, made))
}

fn alive(report: JobReport) -> Result<JobReport> {
    match (report.status.is_terminal(), &report.failure) {
        (false, _) => Ok(report),
        (true, failure) => Err(Error::job(failure.clone().unwrap_or_else(|| "the job has ended".to_owned()))),
    }
}

/// Lets the job go on for a time.
fn pass(job: &JobHandle, time: Duration) -> Result<()> {
    alive(job.wait_until(time, |_| false)).map(|_| ())
}

pub(crate) fn run(options: &Options, table: &mut Table) -> Result<()> {
    for workers in options.workers(&[2]) {
        for keys in options.list("keys", &[20_000_000]) {
            measure(options, table, workers, keys)?;
        }
    }
    Ok(())
}

fn measure(options: &Options, table: &mut Table, workers: u64, keys: u64) -> Result<()> {
    let interval = Duration::from_secs(options.number("interval", 10));
    let usual_time = Duration::from_secs(options.number("seconds", 10));
    let folder = Folder::new(options, "checkpoint-pause")?;
    let env = environment("checkpoint-pause", workers);
    env.checkpoint_store(Arc::new(ObjectBlobs::folder(folder.path())?))
        .checkpoint_interval(None)
        .retained_checkpoints(1)
        .restart_strategy(RestartStrategy::None);
    let probes = Probes::new(workers);
    let of_operator = probes.clone();
    // Each key once, then at random.
    let source = GeneratorSource::new(None, move |i| if i < keys { i } else { mix(i) % keys });
    env.from_source(source, WatermarkStrategy::none(), "keys")
        .stream()
        .key_by(|key: &u64| *key)
        .transform("updates", move |_| Updates::new(of_operator.clone()))
        .sink_to(BlackholeSink::new(), "nothing");
    let job = env.execute_async()?;
    let started = now_ns();
    while probes.updates() < keys + keys / 4 {
        pass(&job, Duration::from_millis(100))?;
        if seconds_since(started) > PATIENCE.as_secs_f64() {
            return Err(Error::job("the state did not fill in time").mend("give fewer --keys"));
        }
    }
    let line = |phase: &Phase, checkpoints: &str| {
        Line::new("checkpoint-pause", phase.updates, phase.run)
            .parameter("keys", keys)
            .parameter("workers", workers)
            .parameter("checkpoints", checkpoints)
    };
    let (usual, ()) = phase(&probes, || pass(&job, usual_time))?;
    let usual_p50 = usual.gaps.usual.all().quantile(0.5);
    table.print(gap_details(line(&usual, "none"), &usual.gaps.usual));

    let (with, taken) = phase(&probes, || checkpoints(&job, options.runs(), interval))?;
    let during = &with.gaps.during;
    let during_seconds = during.ns as f64 / 1e9 / workers as f64;
    let line = gap_details(line(&with, &format!("{}s", interval.as_secs())), during);
    let line = pause_details(line, &during.all(), usual_p50)
        .detail("during_M/s", format!("{:.2}", during.updates as f64 / during_seconds / 1e6))
        .detail("during_s", format!("{during_seconds:.2}"))
        .detail("snapshot_s", format!("{:.3}", taken.seconds))
        .detail("snapshot_MB", format!("{:.0}", taken.bytes as f64 / 1e6))
        .detail("checkpoints_taken", taken.number);
    table.print(line);
    job.cancel();
    job.wait().map(|_| ())
}

const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)];

/// The times from group to group.
fn gap_details(mut line: Line, groups: &Groups) -> Line {
    let all = groups.all();
    for (name, fraction) in QUANTILES {
        line = line.micros(&format!("group_{name}_us"), all.quantile(fraction));
    }
    line.micros("first_group_max_us", groups.first.max())
        .micros("later_group_max_us", groups.later.max())
        .micros("group_cpu_p99.9_us", groups.cpu.quantile(0.999))
        .micros("group_cpu_max_us", groups.cpu.max())
}

/// By how much they exceed the usual one.
fn pause_details(mut line: Line, during: &Histogram, usual_p50: u64) -> Line {
    let millis = |ns: u64| format!("{:.3}", ns.saturating_sub(usual_p50) as f64 / 1e6);
    for (name, fraction) in QUANTILES {
        line = line.detail(&format!("pause_{name}_ms"), millis(during.quantile(fraction)));
    }
    line.detail("pause_max_ms", millis(during.max()))
}

struct Taken {
    number: u64,
    /// Of the longest checkpoint, from its trigger to its manifest.
    seconds: f64,
    /// Of state, in the last one.
    bytes: u64,
}

/// Takes some checkpoints, each `interval` after the one before.
fn checkpoints(job: &JobHandle, number: u64, interval: Duration) -> Result<Taken> {
    let mut taken = Taken { number: 0, seconds: 0.0, bytes: 0 };
    for _ in 0..number {
        let start = now_ns();
        let before = job.report();
        job.trigger_checkpoint();
        let over = |r: &JobReport| {
            r.checkpoints > before.checkpoints || r.checkpoints_failed > before.checkpoints_failed
        };
        let report = alive(job.wait_until(PATIENCE, over))?;
        if report.checkpoints == before.checkpoints {
            return Err(Error::state("a checkpoint failed").mend("look whether the disk of --store is full"));
        }
        let duration = report.checkpoint_duration.unwrap_or_default();
        taken.number += 1;
        taken.seconds = taken.seconds.max(duration.as_secs_f64());
        taken.bytes = report.checkpoint_bytes;
        pass(job, interval.saturating_sub(Duration::from_nanos(now_ns() - start)))?;
    }
    Ok(taken)
}
