use crate::jobs::*;
use flugs_cluster::{JobStatus, RestartStrategy, Restore, Runtime, submit};
use flugs_connector::MemorySink;
use flugs_types::Error;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn a_drain_that_is_asked_for_before_the_job_runs_is_not_forgotten() {
    let store = Arc::<Held>::default();
    let sink = MemorySink::new();
    let job = submit(
        &Runtime::with_workers(2),
        Parts::new(numbers(None, Some(20_000.0)), &sink).job(),
        options(&store),
    );
    job.drain();
    let report = job.wait_until(SOON, |_| false);
    assert_eq!(report.status, JobStatus::Finished);
    // All that was read is there, without a gap.
    let rows = sorted(&sink);
    assert_eq!(rows.iter().collect::<BTreeSet<_>>().len(), rows.len());
}

#[test]
fn a_drain_that_is_asked_for_between_two_attempts_is_not_forgotten() {
    let store = Arc::<Held>::default();
    let sink = MemorySink::new();
    let mut parts = Parts::new(numbers(None, Some(20_000.0)), &sink);
    let fail = Arc::new(AtomicBool::new(false));
    let fails = fail.clone();
    parts.look =
        Arc::new(
            move |_| {
                if fails.swap(false, Ordering::SeqCst) { Err(Error::user("for once")) } else { Ok(()) }
            },
        );
    let mut options = options(&store);
    options.restart = RestartStrategy::FixedDelay { attempts: 1, delay: Duration::from_millis(50) };
    let job = submit(&Runtime::with_workers(2), parts.job(), options);
    job.wait_until(SOON, |report| report.checkpoints >= 2);
    fail.store(true, Ordering::SeqCst);
    let report = job.wait_until(SOON, |report| report.status == JobStatus::Restarting);
    assert_eq!(report.status, JobStatus::Restarting);
    job.drain();
    let report = job.wait_until(SOON, |_| false);
    assert_eq!((report.status, report.restarts), (JobStatus::Finished, 1));
    let rows = sorted(&sink);
    assert_eq!(rows.iter().collect::<BTreeSet<_>>().len(), rows.len(), "each once");
}

#[test]
fn a_savepoint_that_is_asked_for_before_the_job_runs_is_taken() {
    let store = Arc::<Held>::default();
    let sink = MemorySink::new();
    let mut options = options(&store);
    options.checkpoints.interval = None;
    let job =
        submit(&Runtime::with_workers(2), Parts::new(numbers(None, Some(20_000.0)), &sink).job(), options);
    job.trigger_savepoint();
    let report = job.wait_until(SOON, |report| report.checkpoints >= 1);
    assert_eq!(report.checkpoints, 1);
    job.cancel();
    job.wait().unwrap();
}

#[test]
fn a_handle_outlives_its_runtime_and_a_runtime_its_handles() {
    let store = Arc::<Held>::default();
    let sink = MemorySink::new();
    let job = {
        let runtime = Runtime::with_workers(2);
        submit(&runtime, Parts::new(numbers(Some(20_000), None), &sink).job(), options(&store))
    };
    assert_eq!(job.wait().unwrap().status, JobStatus::Finished);
    assert_eq!(sink.len(), 20_000);
    let runtime = Runtime::with_workers(1);
    let other = MemorySink::new();
    drop(submit(&runtime, Parts::new(numbers(Some(10), None), &other).job(), options(&Arc::default())));
    let mut options = options(&Arc::default());
    options.restore = Restore::Latest;
    let last = submit(&runtime, Parts::new(numbers(Some(10), None), &sink).job(), options);
    assert_eq!(last.wait().unwrap().status, JobStatus::Finished);
}
