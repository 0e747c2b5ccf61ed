//! What a job tells of itself. Alone in its process, because the subscriber is the process's.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "life/jobs.rs"]
#[allow(dead_code, reason = "not all of it is needed here")]
mod jobs;

use flugs_cluster::{RestartStrategy, Restore, Runtime, submit};
use flugs_connector::MemorySink;
use flugs_types::Error;
use jobs::*;
use std::fmt::{Debug, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Keeps all events of the engine as lines of text.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    /// Takes the lines, without those that tell of checkpoints at the level of debugging.
    fn take(&self) -> (Vec<String>, Vec<String>) {
        let lines = std::mem::take(&mut *self.0.lock().unwrap());
        lines.into_iter().partition(|line| !line.starts_with("DEBUG"))
    }
}

/// A line of an event's message and fields.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => write!(self.0, " {value:?}").unwrap(),
            name => write!(self.0, " {name}={value:?}").unwrap(),
        }
    }
}

impl Subscriber for Told {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "flugs"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Whether there is a line for each expectation, in order, which holds all of its words.
fn assert_told(lines: &[String], expected: &[&[&str]]) {
    let fits = |(line, words): (&String, &&[&str])| words.iter().all(|word| line.contains(word));
    assert!(lines.len() == expected.len() && lines.iter().zip(expected).all(fits), "{lines:#?}");
}

#[test]
fn a_job_tells_how_it_starts_fails_goes_on_and_ends() {
    let told = Told::default();
    tracing::subscriber::set_global_default(told.clone()).unwrap();
    let runtime = Runtime::with_workers(2);
    let store = Arc::<Held>::default();
    let mut options = options(&store);
    options.checkpoints.interval = None;

    // Fails once after a savepoint, has a refused checkpoint, and is stopped.
    let mut parts = Parts::new(numbers(None, Some(20_000.0)), &MemorySink::new());
    let fail = Arc::new(AtomicU32::new(0));
    let fails = fail.clone();
    parts.look = Arc::new(move |_| match fails.compare_exchange(1, 2, Ordering::SeqCst, Ordering::SeqCst) {
        Ok(_) => Err(Error::user("for once")),
        Err(_) => Ok(()),
    });
    options.restart = RestartStrategy::FixedDelay { attempts: 1, delay: Duration::from_millis(7) };
    let job = submit(&runtime, parts.job(), options.clone());
    let savepoint = job.trigger_savepoint().wait().unwrap();
    fail.store(1, Ordering::SeqCst);
    job.wait_until(SOON, |report| report.restarts == 1 && report.status == flugs_cluster::JobStatus::Running);
    *store.refuse.lock().unwrap() = 1;
    job.trigger_savepoint().wait().unwrap_err();
    job.stop_with_savepoint(false).wait().unwrap();
    job.wait().unwrap();
    let (lines, checkpoints) = told.take();
    assert_told(
        &lines,
        &[
            &["INFO job starts afresh", "job=\"life\"", "generation=1"],
            &["INFO job runs", "attempt=1", "tasks=6"],
            &["WARN job has failed and is started again", "checkpoint=1", "delay=7ms", "for once", "'look'"],
            &["INFO job runs", "attempt=2", "checkpoint=1"],
            &["WARN checkpoint was given up", "checkpoint=2", "the store is away"],
            &["INFO job was stopped with a savepoint", "checkpoint=3"],
        ],
    );
    assert_told(
        &checkpoints,
        &[&["checkpoint is complete", "checkpoint=1", "kind=savepoint", &savepoint], &["checkpoint=3"]],
    );

    // Goes on from there and ends; another one fails for good; a third is cancelled.
    options.restore = Restore::Path(savepoint);
    options.restart = RestartStrategy::None;
    let parts = Parts::new(numbers(Some(0), None), &MemorySink::new());
    submit(&runtime, parts.job(), options.clone()).wait().unwrap();
    assert_told(
        &told.take().0,
        &[
            &["INFO job is restored from a checkpoint", "checkpoint=1", "generation=2"],
            &["INFO job runs", "attempt=1"],
            &["INFO job has finished"],
        ],
    );
    options.restore = Restore::No;
    let mut parts = Parts::new(numbers(None, None), &MemorySink::new());
    parts.look = Arc::new(|_| Err(Error::data("no number")));
    submit(&runtime, parts.job(), options.clone()).wait().unwrap_err();
    let (lines, _) = told.take();
    assert_told(&lines[lines.len() - 1..], &[&["ERROR job has failed", "no number"]]);
    let job = submit(&runtime, Parts::new(numbers(None, Some(1.0)), &MemorySink::new()).job(), options);
    job.cancel();
    job.wait().unwrap();
    let (lines, _) = told.take();
    assert_told(&lines[lines.len() - 1..], &[&["INFO job was cancelled"]]);
}
