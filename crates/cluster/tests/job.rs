//! Jobs put together by hand: a generator, a keyed count behind an exchange, a sink in memory.
#![allow(clippy::unwrap_used, reason = "tests")]

use bytes::Bytes;
use flugs_batch::Records;
use flugs_checkpoint::{BlobStore, CheckpointOptions, MemoryStore};
use flugs_cluster::{JobOptions, JobSpec, JobStatus, RestartStrategy, Restore, Runtime, submit};
use flugs_connector::{GeneratorSource, MemorySink};
use flugs_graph::{Edge, LogicalGraph, Node, NodeKind, Partitioning};
use flugs_state::{KeyedTable, SnapshotTable};
use flugs_task::{
    EdgeFactory, KeyGroupRoute, NodeFactory, OnMalformed, OneInput, OpenContext, Operator, Output, Progress,
    RebalanceRoute, RecordEdge, SinkOperator, SourceNode, WatermarkStrategy,
};
use flugs_types::{Error, Result, Timestamp};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const KEYS: u64 = 100;

/// Emits (key, how often it was seen so far) for each row; fails once at a row number of its own choosing.
struct Count {
    counts: Option<KeyedTable<u64, u64>>,
    seen: u64,
    fail_at: Arc<AtomicU64>,
}

impl Operator for Count {
    type In = Records<u64>;
    type Out = Records<(u64, u64)>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.counts = Some(context.state.keyed("counts")?);
        Ok(())
    }

    fn process(&mut self, batch: Records<u64>, out: &mut Output<Self::Out>) -> Result<Progress> {
        let counts = self.counts.as_mut().expect("open");
        let keys = batch.values;
        let mut results = Vec::with_capacity(keys.len());
        counts.for_each_row(
            keys.len(),
            |i| keys[i] % KEYS,
            || 0,
            |i, n| {
                *n += 1;
                results.push((keys[i] % KEYS, *n));
            },
        );
        self.seen += keys.len() as u64;
        let fail_at = self.fail_at.load(Ordering::Relaxed);
        if self.seen >= fail_at {
            self.fail_at.store(u64::MAX, Ordering::Relaxed);
            return Err(Error::user("this was to be expected"));
        }
        let _ = out.push(Records { values: results, times: batch.times })?;
        Ok(Progress::Done)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.counts.iter_mut().map(|t| t as &mut dyn SnapshotTable).collect()
    }
}

fn job(
    rows: u64,
    rate: Option<f64>,
    parallelism: u32,
    fail_at: u64,
    sink: &MemorySink<(u64, u64)>,
) -> JobSpec {
    let mut graph = LogicalGraph::new("count");
    let mut node = |name: &str, kind| {
        let mut node = Node::new(name, kind);
        node.parallelism = parallelism;
        node.stateful = true;
        graph.add_node(node)
    };
    let source = node("numbers", NodeKind::Source);
    let count = node("count", NodeKind::Operator);
    let out = node("out", NodeKind::Sink);
    graph.add_edge(Edge {
        from: source,
        output: 0,
        to: count,
        input: 0,
        partitioning: Partitioning::KeyGroup,
    });
    graph.add_edge(Edge { from: count, output: 0, to: out, input: 0, partitioning: Partitioning::Forward });
    let mut numbers = GeneratorSource::timed(Some(rows), |i| (i, Timestamp::from_millis(i as i64)));
    if let Some(rate) = rate {
        numbers = numbers.rate(rate);
    }
    let fail_at = Arc::new(AtomicU64::new(fail_at));
    let sink = sink.clone();
    let sink: Arc<dyn flugs_connector::Sink<Item = (u64, u64)>> = Arc::new(sink);
    let nodes: [(_, Arc<dyn NodeFactory>); 3] = [
        (
            source,
            Arc::new(SourceNode::new(Arc::new(numbers), WatermarkStrategy::monotonous(), OnMalformed::Fail)),
        ),
        (count, Arc::new(OneInput::new(move || Count { counts: None, seen: 0, fail_at: fail_at.clone() }))),
        (out, Arc::new(OneInput::new(move || SinkOperator::new(sink.clone())))),
    ];
    let key = |n: &u64| n % KEYS;
    let keyed: Arc<dyn EdgeFactory> = Arc::new(RecordEdge::new(move |_| Box::new(KeyGroupRoute::new(key))));
    let forward: Arc<dyn EdgeFactory> =
        Arc::new(RecordEdge::<(u64, u64)>::new(|sender| Box::new(RebalanceRoute::new(sender))));
    let edges = HashMap::from([((source, 0, count, 0), keyed), ((count, 0, out, 0), forward)]);
    JobSpec { graph: graph.to_job_graph().unwrap(), nodes: HashMap::from(nodes), edges }
}

fn options(store: &Arc<MemoryStore>, restore: Restore, restart: RestartStrategy) -> JobOptions {
    JobOptions {
        store: store.clone(),
        recoverable: true,
        checkpoints: CheckpointOptions {
            interval: Some(Duration::from_millis(20)),
            ..CheckpointOptions::default()
        },
        retained: 2,
        restore,
        allow_non_restored_state: false,
        restart,
    }
}

/// Each key is seen so often, and each of its counts is emitted once.
fn expected(rows: u64) -> Vec<(u64, u64)> {
    let mut all: Vec<_> = (0..rows).map(|i| (i % KEYS, i / KEYS + 1)).collect();
    all.sort_unstable();
    all
}

fn sorted(sink: &MemorySink<(u64, u64)>) -> Vec<(u64, u64)> {
    let mut rows = sink.rows();
    rows.sort_unstable();
    rows
}

#[test]
fn counts_at_each_parallelism_and_on_each_scheduler() {
    for (runtime, parallelism) in [
        (Runtime::with_workers(1), 1),
        (Runtime::with_workers(2), 2),
        (Runtime::with_workers(2), 5),
        (Runtime::thread_per_task(), 3),
    ] {
        let sink = MemorySink::new();
        let store = Arc::new(MemoryStore::default());
        let job = job(200_000, None, parallelism, u64::MAX, &sink);
        let report =
            submit(&runtime, job, options(&store, Restore::No, RestartStrategy::None)).wait().unwrap();
        assert_eq!(report.status, JobStatus::Finished);
        assert!(report.checkpoints >= 1);
        assert!(sorted(&sink) == expected(200_000), "parallelism {parallelism}");
    }
}

#[test]
fn a_failure_restarts_from_the_last_checkpoint_exactly_once() {
    let sink = MemorySink::new();
    let store = Arc::new(MemoryStore::default());
    let restart = RestartStrategy::FixedDelay { attempts: 3, delay: Duration::from_millis(1) };
    let job = job(40_000, Some(200_000.0), 2, 15_000, &sink);
    let report =
        submit(&Runtime::with_workers(2), job, options(&store, Restore::No, restart)).wait().unwrap();
    assert_eq!((report.status, report.restarts), (JobStatus::Finished, 1));
    assert!(report.failure.unwrap().contains("operator 'count', subtask"));
    assert!(sorted(&sink) == expected(40_000));
}

#[test]
fn a_failure_without_restarts_fails_the_job_with_its_place() {
    let sink = MemorySink::new();
    let job = job(40_000, None, 2, 1, &sink);
    let options = options(&Arc::new(MemoryStore::default()), Restore::No, RestartStrategy::None);
    let error = submit(&Runtime::with_workers(2), job, options).wait().unwrap_err().to_string();
    assert!(
        error.contains("this was to be expected") && error.contains("operator 'count', subtask"),
        "{error}"
    );
    assert!(sink.rows().is_empty());
}

#[test]
fn a_cancelled_job_goes_on_from_its_checkpoint_at_another_parallelism() {
    let runtime = Runtime::with_workers(2);
    let sink = MemorySink::new();
    let store = Arc::new(MemoryStore::default());
    let job_at = |parallelism, rate| job(60_000, rate, parallelism, u64::MAX, &sink);
    let first =
        submit(&runtime, job_at(3, Some(100_000.0)), options(&store, Restore::Latest, RestartStrategy::None));
    let report = first.wait_until(Duration::from_secs(10), |r| r.checkpoints >= 3);
    assert!(report.checkpoints >= 3, "{report:?}");
    first.cancel();
    assert_eq!(first.wait().unwrap().status, JobStatus::Canceled);
    let second = submit(&runtime, job_at(2, None), options(&store, Restore::Latest, RestartStrategy::None))
        .wait()
        .unwrap();
    assert_eq!(second.status, JobStatus::Finished);
    assert!(second.restored_from.is_some());
    assert!(sorted(&sink) == expected(60_000));
}

#[test]
fn a_job_whose_newest_checkpoint_was_deleted_does_not_go_on_from_the_one_before() {
    let runtime = Runtime::with_workers(2);
    let sink = MemorySink::new();
    let store = Arc::new(MemoryStore::default());
    let first = job(60_000, Some(100_000.0), 2, u64::MAX, &sink);
    let first = submit(&runtime, first, options(&store, Restore::No, RestartStrategy::None));
    first.wait_until(Duration::from_secs(10), |r| r.checkpoints >= 3);
    first.cancel();
    first.wait().unwrap();
    let committed = sorted(&sink);
    let entries = flugs_checkpoint::catalog::list(store.as_ref(), "count").unwrap();
    store.delete(&entries[0].path).unwrap();
    let again = |restore| {
        let job = job(60_000, None, 2, u64::MAX, &sink);
        submit(&runtime, job, options(&store, restore, RestartStrategy::None)).wait()
    };
    let error = again(Restore::Latest).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&entries[0].path) && text.contains(&entries[1].path), "{text}");
    assert!(sorted(&sink) == committed, "nothing came twice");
    // What the error names is a way on, with its price.
    assert_eq!(again(Restore::Path(entries[1].path.clone())).unwrap().status, JobStatus::Finished);
    let mut rows = sorted(&sink);
    rows.dedup();
    assert!(rows == expected(60_000));
    assert_eq!(again(Restore::Latest).unwrap().status, JobStatus::Finished);
}

#[test]
fn what_to_restore_is_read_from_a_command_line() {
    assert_eq!("latest".parse::<Restore>().unwrap(), Restore::Latest);
    assert_eq!("none".parse::<Restore>().unwrap(), Restore::No);
    assert_eq!("a/chk-1-1".parse::<Restore>().unwrap(), Restore::Path("a/chk-1-1".to_owned()));
    assert!("".parse::<Restore>().unwrap_err().to_string().contains("say `latest`"));
}

#[test]
fn a_job_goes_on_from_a_checkpoint_that_is_named() {
    let runtime = Runtime::with_workers(2);
    let (first_rows, second_rows) = (MemorySink::new(), MemorySink::new());
    let store = Arc::new(MemoryStore::default());
    let first = job(60_000, Some(100_000.0), 2, u64::MAX, &first_rows);
    let first = submit(&runtime, first, options(&store, Restore::No, RestartStrategy::None));
    first.wait_until(Duration::from_secs(10), |r| r.checkpoints >= 2);
    first.trigger_savepoint();
    let saved = || {
        let entries = flugs_checkpoint::catalog::list(store.as_ref(), "count").unwrap();
        entries.into_iter().find(|e| {
            let manifest = flugs_checkpoint::catalog::open(store.as_ref(), &e.path);
            manifest.is_ok_and(|m| m.kind == flugs_checkpoint::Kind::Savepoint)
        })
    };
    first.wait_until(Duration::from_secs(10), |_| saved().is_some());
    first.wait().unwrap();
    assert!(sorted(&first_rows) == expected(60_000));
    // The job goes on from the savepoint though it had ended since, and gives what came after it once more.
    let path = saved().expect("retention keeps savepoints").path;
    let second = job(60_000, None, 3, u64::MAX, &second_rows);
    let report =
        submit(&runtime, second, options(&store, Restore::Path(path), RestartStrategy::None)).wait().unwrap();
    assert_eq!(report.status, JobStatus::Finished);
    let (all, again) = (expected(60_000), sorted(&second_rows));
    assert!(!again.is_empty() && again.len() < all.len());
    let last = all.iter().filter(|(_, n)| *n == 60_000 / KEYS).count();
    assert_eq!(
        again.iter().filter(|(_, n)| *n == 60_000 / KEYS).count(),
        last,
        "the last count of each key comes again"
    );
    assert!(again.iter().all(|row| all.binary_search(row).is_ok()) && again.windows(2).all(|w| w[0] != w[1]));
}

/// A store that cannot be reached at first.
struct Away {
    inner: Arc<MemoryStore>,
    calls_that_fail: AtomicU64,
}

impl Away {
    fn reach(&self) -> Result<&MemoryStore> {
        let left =
            self.calls_that_fail.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        if left.is_ok() { Err(Error::transient("no answer")) } else { Ok(self.inner.as_ref()) }
    }
}

impl BlobStore for Away {
    fn put(&self, path: &str, bytes: Bytes) -> Result<()> {
        self.reach()?.put(path, bytes)
    }
    fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool> {
        self.reach()?.put_if_absent(path, bytes)
    }
    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        self.reach()?.get(path)
    }
    fn list(&self, prefix: &str) -> Result<Vec<String>> {
        self.reach()?.list(prefix)
    }
    fn delete(&self, path: &str) -> Result<()> {
        self.reach()?.delete(path)
    }
    fn describe(&self) -> String {
        "away".to_owned()
    }
}

#[test]
fn a_store_that_cannot_be_reached_at_the_start_is_tried_again_by_the_restart_strategy() {
    for (attempts, ends) in [(2, JobStatus::Failed), (5, JobStatus::Finished)] {
        let sink = MemorySink::new();
        let away = Away { inner: Arc::default(), calls_that_fail: AtomicU64::new(4) };
        let restart = RestartStrategy::FixedDelay { attempts, delay: Duration::from_millis(1) };
        let options =
            JobOptions { store: Arc::new(away), ..options(&Arc::default(), Restore::Latest, restart) };
        let handle = submit(&Runtime::with_workers(1), job(1000, None, 1, u64::MAX, &sink), options);
        let waited = handle.wait();
        assert_eq!(handle.status(), ends, "{waited:?}");
        assert_eq!(sink.rows().len(), if ends == JobStatus::Finished { 1000 } else { 0 });
    }
}
