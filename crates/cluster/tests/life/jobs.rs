//! Jobs of three nodes over numbers, whose parts a test chooses; and a store that can be held up.

use bytes::Bytes;
use flugs_batch::Records;
use flugs_checkpoint::{BlobStore, CheckpointOptions, MemoryStore};
use flugs_cluster::{JobOptions, JobSpec, RestartStrategy, Restore};
use flugs_connector::{GeneratorSource, MemorySink, Sink, Source};
use flugs_graph::{Edge, LogicalGraph, Node, NodeKind, Partitioning};
use flugs_task::{
    EdgeFactory, KeyGroupRoute, NodeFactory, OnMalformed, OneInput, OpenContext, Operator, Output, Progress,
    RebalanceRoute, RecordEdge, SinkOperator, SourceNode, WatermarkStrategy,
};
use flugs_types::{Error, Result, Timestamp};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

pub const SOON: Duration = Duration::from_secs(20);

type Do = Arc<dyn Fn(&Records<u64>) -> Result<()> + Send + Sync>;

/// Hands on what it gets, after it was looked at.
pub struct Look {
    open: Arc<dyn Fn() -> Result<()> + Send + Sync>,
    look: Do,
    at_end: Option<u64>,
}

impl Operator for Look {
    type In = Records<u64>;
    type Out = Records<u64>;

    fn open(&mut self, _: &mut OpenContext<'_>) -> Result<()> {
        (self.open)()
    }

    fn process(&mut self, batch: Records<u64>, out: &mut Output<Records<u64>>) -> Result<Progress> {
        (self.look)(&batch)?;
        let _ = out.push(batch)?;
        Ok(Progress::Done)
    }

    fn end(&mut self, out: &mut Output<Records<u64>>) -> Result<Progress> {
        if let Some(row) = self.at_end {
            let _ = out.push(Records::untimed(vec![row]))?;
        }
        Ok(Progress::Done)
    }
}

/// The parts of a job.
pub struct Parts {
    pub source: Arc<dyn NodeFactory>,
    pub parallelism: u32,
    pub open: Arc<dyn Fn() -> Result<()> + Send + Sync>,
    pub look: Do,
    /// What each subtask gives at the end.
    pub at_end: Option<u64>,
    pub sink: Arc<dyn Sink<Item = u64>>,
}

impl Parts {
    pub fn new(source: Arc<dyn NodeFactory>, sink: &MemorySink<u64>) -> Self {
        Parts {
            source,
            parallelism: 2,
            open: Arc::new(|| Ok(())),
            look: Arc::new(|_| Ok(())),
            at_end: None,
            sink: Arc::new(sink.clone()),
        }
    }

    pub fn job(self) -> JobSpec {
        let mut graph = LogicalGraph::new("life");
        let mut node = |name: &str, kind| {
            let mut node = Node::new(name, kind);
            node.parallelism = self.parallelism;
            node.stateful = true;
            graph.add_node(node)
        };
        let source = node("numbers", NodeKind::Source);
        let look = node("look", NodeKind::Operator);
        let sink = node("sink", NodeKind::Sink);
        let edge = |from, to, partitioning| Edge { from, output: 0, to, input: 0, partitioning };
        graph.add_edge(edge(source, look, Partitioning::KeyGroup));
        graph.add_edge(edge(look, sink, Partitioning::Rebalance));
        let (open, does, at_end, into) = (self.open, self.look, self.at_end, self.sink);
        let nodes: [(_, Arc<dyn NodeFactory>); 3] = [
            (source, self.source),
            (look, Arc::new(OneInput::new(move || Look { open: open.clone(), look: does.clone(), at_end }))),
            (sink, Arc::new(OneInput::new(move || SinkOperator::new(into.clone())))),
        ];
        let keyed: Arc<dyn EdgeFactory> =
            Arc::new(RecordEdge::<u64>::new(|_| Box::new(KeyGroupRoute::new(|n: &u64| *n))));
        let dealt: Arc<dyn EdgeFactory> =
            Arc::new(RecordEdge::<u64>::new(|sender| Box::new(RebalanceRoute::new(sender))));
        let edges = HashMap::from([((source, 0, look, 0), keyed), ((look, 0, sink, 0), dealt)]);
        let graph = graph.to_job_graph().expect("a graph without mistakes");
        JobSpec { graph, nodes: HashMap::from(nodes), edges }
    }
}

/// The numbers below `count`, or all, at a rate.
pub fn numbers(count: Option<u64>, rate: Option<f64>) -> Arc<dyn NodeFactory> {
    let numbers = GeneratorSource::timed(count, |i| (i, Timestamp(i as i64)));
    of(match rate {
        Some(rate) => numbers.rate(rate),
        None => numbers,
    })
}

pub fn of<S: Source>(source: S) -> Arc<dyn NodeFactory> {
    Arc::new(SourceNode::new(Arc::new(source), WatermarkStrategy::monotonous(), OnMalformed::Fail))
}

pub fn options(store: &Arc<Held>) -> JobOptions {
    JobOptions {
        store: store.clone(),
        recoverable: true,
        checkpoints: CheckpointOptions {
            interval: Some(Duration::from_millis(10)),
            ..CheckpointOptions::default()
        },
        retained: 2,
        restore: Restore::No,
        allow_non_restored_state: false,
        restart: RestartStrategy::None,
    }
}

pub fn at_once(attempts: u32) -> RestartStrategy {
    RestartStrategy::FixedDelay { attempts, delay: Duration::ZERO }
}

pub fn sorted(sink: &MemorySink<u64>) -> Vec<u64> {
    let mut rows = sink.rows();
    rows.sort_unstable();
    rows
}

/// Somewhere that waits until it is let go.
#[derive(Default)]
pub struct Gate(Mutex<(bool, usize)>, Condvar);

impl Gate {
    pub fn close(&self) {
        self.0.lock().unwrap().0 = true;
    }

    pub fn open(&self) {
        self.0.lock().unwrap().0 = false;
        self.1.notify_all();
    }

    /// Passes, when it is open.
    pub fn pass(&self) {
        let mut state = self.0.lock().unwrap();
        state.1 += 1;
        self.1.notify_all();
        drop(self.1.wait_timeout_while(state, SOON, |(closed, _)| *closed).unwrap());
    }

    /// Waits until somebody has come so often.
    pub fn reached(&self, times: usize) {
        let state = self.0.lock().unwrap();
        let (state, _) = self.1.wait_timeout_while(state, SOON, |(_, reached)| *reached < times).unwrap();
        assert!(state.1 >= times, "nobody came");
    }
}

/// A store whose claims, manifests and states can be held up or refused.
#[derive(Default)]
pub struct Held {
    pub store: MemoryStore,
    pub claims: Gate,
    pub manifests: Gate,
    /// Manifests fail so often.
    pub refuse: Mutex<usize>,
    /// Those that fail are there all the same.
    pub late: bool,
}

impl BlobStore for Held {
    fn put(&self, path: &str, bytes: Bytes) -> Result<()> {
        self.store.put(path, bytes)
    }

    fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool> {
        if !path.ends_with("/manifest") {
            self.claims.pass();
            return self.store.put_if_absent(path, bytes);
        }
        self.manifests.pass();
        let mut refuse = self.refuse.lock().unwrap();
        if *refuse == 0 {
            return self.store.put_if_absent(path, bytes);
        }
        *refuse -= 1;
        if self.late {
            self.store.put_if_absent(path, bytes)?;
        }
        Err(Error::transient("the store is away"))
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        self.store.get(path)
    }

    fn list(&self, prefix: &str) -> Result<Vec<String>> {
        self.store.list(prefix)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.store.delete(path)
    }

    fn describe(&self) -> String {
        self.store.describe()
    }
}
