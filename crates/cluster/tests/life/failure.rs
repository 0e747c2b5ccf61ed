use crate::jobs::*;
use flugs_batch::Records;
use flugs_cluster::{JobStatus, RestartStrategy, Runtime, submit};
use flugs_connector::{
    Boundedness, Committable, Delivery, EnumeratorAction, EnumeratorContext, EnumeratorEvent,
    GeneratorSource, MemorySink, Prepared, ReaderContext, Sink, SinkWriter, Source, SourceReader, Split,
    SplitEnumerator, WriterContext,
};
use flugs_types::{CheckpointId, Clock, Error, Result, SystemClock, Timestamp};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The numbers, whose enumerator fails in a way of its own.
struct Faulty {
    numbers: GeneratorSource<u64>,
    how: &'static str,
}

struct FaultyEnumerator(Box<dyn SplitEnumerator>, &'static str);

impl Source for Faulty {
    type Item = u64;

    fn boundedness(&self) -> Boundedness {
        self.numbers.boundedness()
    }

    fn enumerator(&self, context: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>> {
        match self.how {
            "panics at once" => panic!("no list of files"),
            "fails at once" => Err(Error::environment("no list of files")),
            how => Ok(Box::new(FaultyEnumerator(self.numbers.enumerator(context)?, how))),
        }
    }

    fn reader(&self, context: ReaderContext) -> Result<Box<dyn SourceReader<u64>>> {
        self.numbers.reader(context)
    }
}

impl SplitEnumerator for FaultyEnumerator {
    fn step(&mut self, now: Timestamp, event: EnumeratorEvent) -> Result<Vec<EnumeratorAction>> {
        match (self.1, event) {
            ("panics", _) => panic!("out of splits"),
            ("fails", _) => Err(Error::transient("out of splits")),
            ("gives to nobody", EnumeratorEvent::Start) => {
                let splits = vec![Split { id: "lost".to_owned(), payload: Vec::new() }];
                Ok(vec![EnumeratorAction::Assign { reader: 9, splits }])
            }
            ("discovers in panic", EnumeratorEvent::Start) => {
                Ok(vec![EnumeratorAction::Discover(Box::new(|| panic!("no such folder")))])
            }
            ("discovers in panic", EnumeratorEvent::Discovered(found)) => found.map(|_| Vec::new()),
            (_, event) => self.0.step(now, event),
        }
    }

    fn snapshot(&self) -> Result<Vec<u8>> {
        if self.1 == "keeps nothing" {
            return Err(Error::user("not to be kept"));
        }
        self.0.snapshot()
    }
}

#[test]
fn an_enumerator_that_fails_in_whatever_way_fails_its_job_by_name_and_leaves_no_task() {
    for (how, says) in [
        ("panics at once", "panicked: no list of files"),
        ("fails at once", "no list of files"),
        ("panics", "panicked: out of splits"),
        ("fails", "out of splits"),
        ("discovers in panic", "panicked: no such folder"),
        ("keeps nothing", "not to be kept"),
        ("gives to nobody", "reader 9"),
    ] {
        let opened = Arc::new(());
        let held = opened.clone();
        let numbers = GeneratorSource::new(None, |i| i).rate(1000.0);
        let mut parts = Parts::new(of(Faulty { numbers, how }), &MemorySink::new());
        parts.look = Arc::new(move |_| {
            let _ = &held;
            Ok(())
        });
        let job = submit(&Runtime::with_workers(2), parts.job(), options(&Arc::default()));
        let error = job.wait().unwrap_err().to_string();
        assert!(error.contains(says) && error.contains("source 'numbers'"), "{how}: {error}");
        // The job's parts are held by its tasks and its coordinator.
        for _ in 0..1000 {
            if Arc::strong_count(&opened) == 1 {
                break;
            }
            std::thread::park_timeout(Duration::from_millis(1));
        }
        assert_eq!(Arc::strong_count(&opened), 1, "{how}");
    }
}

/// Commits into memory, but fails the first commits.
struct Reluctant {
    sink: MemorySink<u64>,
    fails: Arc<AtomicU32>,
}

struct ReluctantWriter(Box<dyn SinkWriter<u64>>, Arc<AtomicU32>);

impl Sink for Reluctant {
    type Item = u64;

    fn delivery(&self) -> Delivery {
        self.sink.delivery()
    }

    fn writer(&self, context: WriterContext, restored: Vec<Vec<u8>>) -> Result<Box<dyn SinkWriter<u64>>> {
        Ok(Box::new(ReluctantWriter(self.sink.writer(context, restored)?, self.fails.clone())))
    }
}

impl SinkWriter<u64> for ReluctantWriter {
    fn write(&mut self, rows: Records<u64>) -> Result<()> {
        self.0.write(rows)
    }

    fn prepare(&mut self, checkpoint: CheckpointId, end: bool) -> Result<Prepared> {
        self.0.prepare(checkpoint, end)
    }

    fn commit(&mut self, committables: Vec<Committable>) -> Result<()> {
        let spend = |left: u32| left.checked_sub(1);
        if self.1.fetch_update(Ordering::SeqCst, Ordering::SeqCst, spend).is_ok() {
            return Err(Error::transient("not now"));
        }
        self.0.commit(committables)
    }
}

#[test]
fn a_last_commit_that_fails_is_made_by_the_next_attempt() {
    for fails in [1, 3] {
        let sink = MemorySink::new();
        let mut parts = Parts::new(numbers(Some(1000), None), &sink);
        parts.sink = Arc::new(Reluctant { sink: sink.clone(), fails: Arc::new(AtomicU32::new(fails)) });
        let mut options = options(&Arc::default());
        options.checkpoints.interval = None;
        options.restart = at_once(5);
        let report = submit(&Runtime::with_workers(2), parts.job(), options).wait().unwrap();
        assert_eq!(report.status, JobStatus::Finished);
        assert!(report.restarts >= 1);
        assert_eq!(sorted(&sink), (0..1000).collect::<Vec<_>>());
    }
}

#[test]
fn what_is_given_at_the_end_is_given_once_when_the_last_commit_fails() {
    for fails in [1, 3] {
        let sink = MemorySink::new();
        let mut parts = Parts::new(numbers(Some(10), None), &sink);
        parts.at_end = Some(77);
        parts.sink = Arc::new(Reluctant { sink: sink.clone(), fails: Arc::new(AtomicU32::new(fails)) });
        let mut options = options(&Arc::default());
        options.checkpoints.interval = None;
        options.restart = at_once(5);
        let report = submit(&Runtime::with_workers(2), parts.job(), options).wait().unwrap();
        assert!(report.restarts >= 1);
        // One of each of the two subtasks.
        let rows: Vec<u64> = (0..10).chain([77, 77]).collect();
        assert_eq!(sorted(&sink), rows);
    }
}

#[test]
fn a_stop_whose_last_commit_fails_is_made_by_the_next_attempt() {
    let sink = MemorySink::new();
    let mut parts = Parts::new(numbers(None, Some(20_000.0)), &sink);
    parts.sink = Arc::new(Reluctant { sink: sink.clone(), fails: Arc::new(AtomicU32::new(1)) });
    let store = Arc::default();
    let mut options = options(&store);
    options.checkpoints.interval = None;
    options.restart = at_once(5);
    let job = submit(&Runtime::with_workers(2), parts.job(), options);
    job.wait_until(SOON, |report| report.status == JobStatus::Running);
    std::thread::park_timeout(Duration::from_millis(20));
    let path = job.stop_with_savepoint(false).wait().unwrap();
    let report = job.wait().unwrap();
    assert_eq!((report.status, report.restarts), (JobStatus::Canceled, 1));
    let newest = flugs_checkpoint::catalog::latest(store.as_ref(), "life").unwrap();
    assert_eq!(newest.map(|m| m.path()), Some(path));
    let rows = sorted(&sink);
    assert_eq!(rows.len(), sink.len());
    assert!(!rows.is_empty() && rows.windows(2).all(|two| two[0] < two[1]), "each once");
}

#[test]
fn a_last_commit_that_fails_for_good_is_no_success() {
    let sink = MemorySink::new();
    let mut parts = Parts::new(numbers(Some(10), None), &sink);
    parts.sink = Arc::new(Reluctant { sink: sink.clone(), fails: Arc::new(AtomicU32::new(u32::MAX)) });
    let error = submit(&Runtime::with_workers(1), parts.job(), options(&Arc::default())).wait().unwrap_err();
    assert!(error.to_string().contains("operator 'sink', subtask"), "{error}");
}

#[test]
fn the_final_checkpoint_is_tried_again_and_commits_all_once() {
    for late in [false, true] {
        let store = Arc::new(Held { late, refuse: Mutex::new(2), ..Held::default() });
        let sink = MemorySink::new();
        let mut options = options(&store);
        options.checkpoints.interval = None;
        options.checkpoints.tolerable_failed = 2;
        let job = Parts::new(numbers(Some(1000), None), &sink).job();
        let report = submit(&Runtime::with_workers(2), job, options).wait().unwrap();
        assert_eq!((report.status, report.restarts), (JobStatus::Finished, 0));
        assert_eq!((report.checkpoints, report.checkpoints_failed), (1, 2));
        assert_eq!(sorted(&sink), (0..1000).collect::<Vec<_>>());
    }
}

#[test]
fn failures_while_manifests_are_written_lose_and_repeat_nothing() {
    // A manifest that was refused may be there all the same.
    for late in [false, true] {
        let store = Arc::new(Held { late, refuse: Mutex::new(3), ..Held::default() });
        let sink = MemorySink::new();
        let mut parts = Parts::new(numbers(Some(5_000), Some(50_000.0)), &sink);
        let batches = Arc::new(AtomicU32::new(0));
        parts.look = Arc::new(move |_| match batches.fetch_add(1, Ordering::SeqCst) {
            20 | 60 | 100 => Err(Error::user("now and then")),
            _ => Ok(()),
        });
        let mut options = options(&store);
        options.restart = at_once(20);
        let report = submit(&Runtime::with_workers(2), parts.job(), options).wait().unwrap();
        assert_eq!(report.status, JobStatus::Finished);
        assert!(report.restarts >= 3 && report.checkpoints_failed >= 1, "{report:?}");
        assert_eq!(sorted(&sink), (0..5_000).collect::<Vec<_>>(), "late: {late}");
    }
}

#[test]
fn each_restart_strategy_ends_as_it_says() {
    let ms = Duration::from_millis;
    for (strategy, restarts) in [
        (RestartStrategy::None, 0),
        (RestartStrategy::FixedDelay { attempts: 3, delay: ms(1) }, 3),
        (RestartStrategy::FailureRate { failures_max: 2, interval: SOON, delay: ms(1) }, 2),
    ] {
        let mut parts = Parts::new(numbers(None, None), &MemorySink::new());
        parts.look = Arc::new(|_| panic!("each time"));
        let mut options = options(&Arc::default());
        options.restart = strategy.clone();
        let job = submit(&Runtime::with_workers(2), parts.job(), options);
        let error = job.wait().unwrap_err().to_string();
        assert!(error.contains("panicked: each time") && error.contains("'look', subtask"), "{error}");
        assert_eq!(job.report().restarts, restarts, "{strategy:?}");
        let again = job.wait().unwrap_err().to_string();
        assert!(again.contains("an earlier wait was told") && again.contains(&error), "{again}");
    }
}

#[test]
fn growing_delays_of_any_size_do_not_stop_a_job() {
    let mut parts = Parts::new(numbers(Some(10), None), &MemorySink::new());
    let failures = Arc::new(AtomicU32::new(0));
    parts.look = Arc::new(move |_| match failures.fetch_add(1, Ordering::SeqCst) {
        0..6 => Err(Error::user("six times")),
        _ => Ok(()),
    });
    let mut options = options(&Arc::default());
    options.restart = RestartStrategy::ExponentialDelay {
        initial: Duration::from_millis(1),
        max: Duration::from_millis(2),
        multiplier: f64::INFINITY,
        reset_after: SOON,
    };
    let report = submit(&Runtime::with_workers(2), parts.job(), options).wait().unwrap();
    assert_eq!(report.status, JobStatus::Finished);
}

#[test]
fn errors_that_a_restart_cannot_help_end_the_job_at_once() {
    for error in [Error::data as fn(&'static str) -> Error, Error::job, Error::state, Error::bug] {
        let mut parts = Parts::new(numbers(None, None), &MemorySink::new());
        parts.look = Arc::new(move |_| Err(error("hopeless")));
        let mut options = options(&Arc::default());
        options.restart = at_once(9);
        let job = submit(&Runtime::with_workers(1), parts.job(), options);
        assert!(job.wait().unwrap_err().to_string().contains("hopeless"));
        assert_eq!(job.report().restarts, 0);
    }
}

/// The system's clock, which can be set back by an hour.
#[derive(Default)]
struct SetBack(AtomicU32);

impl Clock for SetBack {
    fn now(&self) -> Timestamp {
        SystemClock.now() - Duration::from_secs(u64::from(self.0.load(Ordering::SeqCst)) * 3600)
    }

    fn monotonic(&self) -> Duration {
        SystemClock.monotonic()
    }
}

#[test]
fn a_clock_that_is_set_back_delays_neither_restarts_nor_checkpoints() {
    let clock = Arc::<SetBack>::default();
    let mut parts = Parts::new(numbers(None, None), &MemorySink::new());
    let failures = Arc::new(AtomicU32::new(0));
    parts.look = Arc::new(move |batch| match failures.fetch_add(1, Ordering::SeqCst) {
        0 => Err(Error::user("once")),
        // The reader would fill the sink's memory.
        _ if batch.values.iter().any(|i| *i > 100_000) => {
            std::thread::park_timeout(Duration::from_millis(1));
            Ok(())
        }
        _ => Ok(()),
    });
    let mut options = options(&Arc::default());
    options.restart = RestartStrategy::FixedDelay { attempts: 1, delay: Duration::from_millis(20) };
    let job = submit(&Runtime::with_clock(2, clock.clone()), parts.job(), options);
    let report = job.wait_until(SOON, |report| report.status == JobStatus::Restarting);
    assert_eq!(report.status, JobStatus::Restarting);
    clock.0.store(1, Ordering::SeqCst);
    let report = job.wait_until(Duration::from_secs(5), |report| report.checkpoints >= 2);
    assert!(report.checkpoints >= 2, "{report:?}");
    clock.0.store(2, Ordering::SeqCst);
    let report = job.wait_until(Duration::from_secs(5), |report| report.checkpoints >= 5);
    assert!(report.checkpoints >= 5, "{report:?}");
    job.cancel();
    job.wait().unwrap();
}
