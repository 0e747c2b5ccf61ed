use crate::jobs::*;
use flugs_checkpoint::{Kind, Manifest, catalog};
use flugs_cluster::{JobHandle, JobStatus, RestartStrategy, Restore, Runtime, submit};
use flugs_connector::MemorySink;
use flugs_types::Error;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
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
    let pending = job.trigger_savepoint();
    let path = pending.wait().unwrap();
    assert_eq!(open(&store, &path).kind, Kind::Savepoint);
    assert_eq!(pending.wait_for(Duration::ZERO).unwrap().unwrap(), path, "each time again");
    assert_eq!(job.report().checkpoints, 1);
    let checkpoint = open(&store, &job.trigger_checkpoint().wait().unwrap());
    assert_eq!((checkpoint.kind, checkpoint.checkpoint.0), (Kind::Checkpoint, 2));
    job.cancel();
    job.wait().unwrap();
    let error = job.trigger_savepoint().wait().unwrap_err().to_string();
    assert!(error.contains("the job was stopped"), "{error}");
}

fn open(store: &Arc<Held>, path: &str) -> Manifest {
    catalog::open(store.as_ref(), path).unwrap()
}

#[test]
fn what_is_asked_for_between_two_attempts_is_taken_by_the_next_and_not_twice() {
    let store = Arc::<Held>::default();
    let mut parts = Parts::new(numbers(None, Some(20_000.0)), &MemorySink::new());
    let failed = AtomicBool::new(false);
    parts.look = Arc::new(move |_| match failed.swap(true, Ordering::SeqCst) {
        true => Ok(()),
        false => Err(Error::user("for once")),
    });
    let mut options = options(&store);
    options.checkpoints.interval = None;
    options.restart = RestartStrategy::FixedDelay { attempts: 1, delay: Duration::from_millis(50) };
    let job = submit(&Runtime::with_workers(2), parts.job(), options);
    job.wait_until(SOON, |report| report.status == JobStatus::Restarting);
    let (one, other) = (job.trigger_savepoint(), job.trigger_savepoint());
    assert!(one.wait_for(Duration::ZERO).is_none());
    assert_eq!(one.wait().unwrap(), other.wait().unwrap());
    assert_eq!(job.report().checkpoints, 1);
    job.cancel();
    job.wait().unwrap();
}

#[test]
fn a_savepoint_that_fails_says_why_and_the_job_goes_on() {
    let store = Arc::new(Held { refuse: Mutex::new(2), ..Held::default() });
    let mut options = options(&store);
    options.checkpoints.interval = None;
    let parts = Parts::new(numbers(None, Some(20_000.0)), &MemorySink::new());
    let job = submit(&Runtime::with_workers(2), parts.job(), options);
    for ask in [JobHandle::trigger_savepoint, |job: &JobHandle| job.stop_with_savepoint(false)] {
        let error = ask(&job).wait().unwrap_err().to_string();
        assert!(error.contains("was given up") && error.contains("the store is away"), "{error}");
    }
    let path = job.trigger_savepoint().wait().unwrap();
    assert_eq!(job.status(), JobStatus::Running);
    assert_eq!(open(&store, &path).kind, Kind::Savepoint);
    job.cancel();
    job.wait().unwrap();
}

#[test]
fn a_savepoint_under_way_shares_the_fate_of_its_attempt() {
    let store = Arc::<Held>::default();
    let mut parts = Parts::new(numbers(None, Some(20_000.0)), &MemorySink::new());
    let (gate, fail) = (Arc::new(Gate::default()), Arc::new(AtomicBool::new(false)));
    let (passed, fails) = (gate.clone(), fail.clone());
    parts.parallelism = 1;
    parts.look = Arc::new(move |_| {
        passed.pass();
        if fails.load(Ordering::SeqCst) { Err(Error::user("in between")) } else { Ok(()) }
    });
    let mut options = options(&store);
    options.checkpoints.interval = None;
    let job = submit(&Runtime::thread_per_task(), parts.job(), options);
    gate.reached(1);
    gate.close();
    fail.store(true, Ordering::SeqCst);
    let pending = job.trigger_savepoint();
    std::thread::park_timeout(Duration::from_millis(20));
    gate.open();
    let error = pending.wait().unwrap_err().to_string();
    assert!(error.contains("in between"), "{error}");
    assert!(job.wait().is_err());
}

#[test]
fn a_job_that_is_stopped_with_a_savepoint_has_committed_it_and_is_gone_on_from() {
    for drain in [false, true] {
        let store = Arc::<Held>::default();
        let sink = MemorySink::new();
        let run = |restore, rate| {
            let mut options = options(&store);
            options.restore = restore;
            submit(&Runtime::with_workers(2), Parts::new(numbers(Some(20_000), rate), &sink).job(), options)
        };
        let job = run(Restore::No, Some(50_000.0));
        job.wait_until(SOON, |report| report.checkpoints >= 2);
        let path = job.stop_with_savepoint(drain).wait().unwrap();
        let report = job.wait().unwrap();
        assert_eq!(report.status, if drain { JobStatus::Finished } else { JobStatus::Canceled });
        let manifest = open(&store, &path);
        assert_eq!((manifest.kind, manifest.finished), (Kind::Savepoint, drain));
        assert_eq!(report.checkpoint, Some(manifest.checkpoint), "nothing came after it");
        let newest = catalog::latest(store.as_ref(), "life").unwrap();
        assert_eq!(newest.map(|m| m.path()), Some(path.clone()));
        let before = sorted(&sink);
        assert!(!before.is_empty() && before.len() < 20_000);
        assert_eq!(run(Restore::Path(path.clone()), None).wait().unwrap().status, JobStatus::Finished);
        // What was drained has nothing left to read.
        let all = if drain { before } else { (0..20_000).collect() };
        assert!(sorted(&sink) == all, "drain: {drain}, {} rows", sink.len());
        assert_eq!(open(&store, &path), manifest, "retention leaves it");
    }
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
