use crate::jobs::*;
use flugs_cluster::{JobHandle, JobStatus, RestartStrategy, Runtime, submit};
use flugs_connector::MemorySink;
use flugs_types::Error;
use std::sync::Arc;
use std::time::Duration;

fn canceled(job: &JobHandle) {
    assert_eq!(job.wait().unwrap().status, JobStatus::Canceled);
}

#[test]
fn while_the_job_is_claimed_in_the_store() {
    let store = Arc::<Held>::default();
    store.claims.close();
    let sink = MemorySink::new();
    let job =
        submit(&Runtime::with_workers(1), Parts::new(numbers(None, None), &sink).job(), options(&store));
    store.claims.reached(1);
    job.cancel();
    store.claims.open();
    canceled(&job);
    assert!(sink.is_empty());
}

#[test]
fn while_its_operators_are_opened() {
    let (store, opening) = (Arc::<Held>::default(), Arc::new(Gate::default()));
    opening.close();
    let mut parts = Parts::new(numbers(None, None), &MemorySink::new());
    let gate = opening.clone();
    parts.open = Arc::new(move || {
        gate.pass();
        Ok(())
    });
    let job = submit(&Runtime::with_workers(1), parts.job(), options(&store));
    opening.reached(1);
    job.cancel();
    let report = job.wait_until(SOON, |report| report.status == JobStatus::Cancelling);
    assert_eq!(report.status, JobStatus::Cancelling, "seen although nothing can be stopped yet");
    opening.open();
    canceled(&job);
}

#[test]
fn while_it_runs_at_full_speed_on_each_scheduler() {
    for runtime in [Runtime::with_workers(1), Runtime::with_workers(3), Runtime::thread_per_task()] {
        let store = Arc::<Held>::default();
        let job =
            submit(&runtime, Parts::new(numbers(None, None), &MemorySink::new()).job(), options(&store));
        job.wait_until(SOON, |report| report.checkpoints >= 2);
        job.cancel();
        job.cancel();
        canceled(&job);
        // What is asked of a job that is over changes nothing.
        job.trigger_savepoint();
        job.drain();
        canceled(&job);
    }
}

#[test]
fn while_a_slow_sink_stops_everything_before_it() {
    let (store, writing) = (Arc::<Held>::default(), Arc::new(Gate::default()));
    writing.close();
    let mut parts = Parts::new(numbers(None, None), &MemorySink::new());
    let gate = writing.clone();
    parts.look = Arc::new(move |_| {
        gate.pass();
        Ok(())
    });
    // The source fills the channels and waits for credit, while a worker is held up by the user's code.
    let job = submit(&Runtime::with_workers(3), parts.job(), options(&store));
    writing.reached(2);
    std::thread::park_timeout(Duration::from_millis(20));
    job.cancel();
    writing.open();
    canceled(&job);
}

#[test]
fn while_it_waits_to_be_started_again() {
    let store = Arc::<Held>::default();
    let mut parts = Parts::new(numbers(None, None), &MemorySink::new());
    parts.look = Arc::new(|_| Err(Error::user("no")));
    let hour = Duration::from_secs(3600);
    let mut options = options(&store);
    options.restart = RestartStrategy::FixedDelay { attempts: 1, delay: hour };
    let job = submit(&Runtime::with_workers(2), parts.job(), options);
    job.wait_until(SOON, |report| report.status == JobStatus::Restarting);
    job.cancel();
    canceled(&job);
}

#[test]
fn while_a_manifest_is_written_which_then_counts() {
    let store = Arc::<Held>::default();
    store.manifests.close();
    let sink = MemorySink::new();
    let runtime = Runtime::with_workers(2);
    let job = submit(&runtime, Parts::new(numbers(None, Some(10_000.0)), &sink).job(), options(&store));
    store.manifests.reached(1);
    job.cancel();
    let report = job.wait_until(Duration::from_millis(30), |_| false);
    assert_eq!(report.status, JobStatus::Cancelling, "until it is known which checkpoint is the newest");
    store.manifests.open();
    let report = job.wait().unwrap();
    assert_eq!((report.status, report.checkpoints), (JobStatus::Canceled, 1));
}

#[test]
fn after_the_last_commit_was_told_changes_nothing() {
    let store = Arc::<Held>::default();
    let sink = MemorySink::new();
    let job =
        submit(&Runtime::with_workers(2), Parts::new(numbers(Some(100), None), &sink).job(), options(&store));
    job.wait().unwrap();
    job.cancel();
    assert_eq!(job.wait().unwrap().status, JobStatus::Finished);
    assert_eq!(sorted(&sink), (0..100).collect::<Vec<_>>());
}
