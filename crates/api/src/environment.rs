//! The context of a program: its graph as it grows, and how it is to be run.

use crate::source::SourceStream;
use crate::stream::DataStream;
use flugs_batch::Data;
use flugs_checkpoint::{BlobStore, CheckpointOptions, MemoryStore};
use flugs_cluster::{
    EdgeKey, JobHandle, JobOptions, JobReport, JobSpec, RestartStrategy, Restore, Runtime, submit,
};
use flugs_connector::{CollectionSource, Source};
use flugs_graph::{Edge, JobGraph, LogicalGraph, Node, NodeId, Partitioning};
use flugs_task::{EdgeFactory, NodeFactory, WatermarkStrategy};
use flugs_types::{Error, OperatorUid, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often checkpoints are taken where the program does not say.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(10);

struct Inner {
    graph: LogicalGraph,
    nodes: HashMap<NodeId, Arc<dyn NodeFactory>>,
    edges: HashMap<EdgeKey, Arc<dyn EdgeFactory>>,
    parallelism: u32,
    store: Option<Arc<dyn BlobStore>>,
    checkpoints: CheckpointOptions,
    retained: usize,
    restore: Restore,
    allow_non_restored_state: bool,
    restart: Option<RestartStrategy>,
    runtime: Option<Runtime>,
    /// The first thing that the program said and that makes no sense, with its mend.
    mistake: Option<(&'static str, &'static str)>,
}

/// A program under construction. Clones share it.
///
/// Checkpoints are on by default: every 10 s, in memory unless [`checkpoint_store`](Self::checkpoint_store) says
/// where else. With a store of its own, a job that fails is started again after growing delays; without, it fails, unless
/// [`restart_strategy`](Self::restart_strategy) says otherwise. Checkpoints that nobody can start from hold no state: they
/// cost next to nothing, and are there for what exactly-once sinks commit with them.
#[derive(Clone)]
pub struct Environment(Arc<Mutex<Inner>>);

impl Default for Environment {
    fn default() -> Self {
        Self::new("flugs-job")
    }
}

impl Environment {
    /// A program without operators. The name is the job's name in its checkpoint store, so two jobs that share a
    /// store need different names.
    pub fn new(name: impl Into<String>) -> Self {
        let parallelism = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        Environment(Arc::new(Mutex::new(Inner {
            graph: LogicalGraph::new(name),
            nodes: HashMap::new(),
            edges: HashMap::new(),
            parallelism,
            store: None,
            checkpoints: CheckpointOptions {
                interval: Some(DEFAULT_INTERVAL),
                ..CheckpointOptions::default()
            },
            retained: 3,
            restore: Restore::No,
            allow_non_restored_state: false,
            restart: None,
            runtime: None,
            mistake: None,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The parallelism of operators that are added from now on, unless they say otherwise. Default: the number of cores.
    pub fn set_parallelism(&self, parallelism: u32) -> &Self {
        self.lock().parallelism = parallelism;
        self
    }

    /// The current default parallelism.
    pub fn parallelism(&self) -> u32 {
        self.lock().parallelism
    }

    /// Where checkpoints go. Default: memory, which survives failures of the job but not of the process.
    pub fn checkpoint_store(&self, store: Arc<dyn BlobStore>) -> &Self {
        self.lock().store = Some(store);
        self
    }

    /// From the start of a checkpoint to that of the next; `None` for no periodic checkpoints (there is still one at the end
    /// of all input, with which the results are committed).
    pub fn checkpoint_interval(&self, interval: impl Into<Option<Duration>>) -> &Self {
        self.lock().checkpoints.interval = interval.into();
        self
    }

    /// All checkpoint options at once.
    pub fn checkpoint_options(&self, options: CheckpointOptions) -> &Self {
        self.lock().checkpoints = options;
        self
    }

    /// How many checkpoints are kept; default 3.
    pub fn retained_checkpoints(&self, retained: usize) -> &Self {
        self.lock().retained = retained;
        self
    }

    /// What the job starts from; default: nothing.
    pub fn restore(&self, restore: Restore) -> &Self {
        self.lock().restore = restore;
        self
    }

    /// Lets a restore drop state of operators or names that the program no longer has.
    pub fn allow_non_restored_state(&self, allow: bool) -> &Self {
        self.lock().allow_non_restored_state = allow;
        self
    }

    /// What happens after a failure. Default: [`RestartStrategy::exponential`] with a checkpoint store, otherwise none.
    pub fn restart_strategy(&self, strategy: RestartStrategy) -> &Self {
        self.lock().restart = Some(strategy);
        self
    }

    /// Runs the job on this runtime, together with others. Default: one of its own, with a worker for each core.
    pub fn runtime(&self, runtime: &Runtime) -> &Self {
        self.lock().runtime = Some(runtime.clone());
        self
    }

    /// A stream from a source.
    pub fn from_source<S: Source>(
        &self,
        source: S,
        strategy: WatermarkStrategy<S::Item>,
        name: impl Into<String>,
    ) -> SourceStream<S>
    where
        S::Item: Data,
    {
        SourceStream::new(self, source, strategy, name.into())
    }

    /// A bounded stream of these rows, without event times, from one reader.
    pub fn from_collection<T: Data>(&self, rows: impl IntoIterator<Item = T>) -> DataStream<T> {
        let source = CollectionSource::new(rows);
        self.from_source(source, WatermarkStrategy::none(), "collection").parallelism(1).stream()
    }

    /// The plan: tasks, chains, exchanges.
    pub fn explain(&self) -> Result<String> {
        Ok(self.job_graph()?.explain())
    }

    /// The chained graph of the program as it is now.
    pub fn job_graph(&self) -> Result<JobGraph> {
        let mut graph = {
            let inner = self.lock();
            if let Some((mistake, mend)) = inner.mistake {
                return Err(Error::job(mistake).mend(mend));
            }
            inner.graph.clone()
        };
        rebalance_between_unequal(&mut graph);
        graph.to_job_graph()
    }

    /// Runs the program to its end. An unbounded program ends only when it fails or the process does.
    pub fn execute(&self) -> Result<JobReport> {
        self.execute_async()?.wait()
    }

    /// Starts the program and returns at once. The handle asks for savepoints, drains or cancels the job, and waits for it.
    ///
    /// ```
    /// # use flugs_api::Environment;
    /// # use flugs_cluster::JobStatus;
    /// # use flugs_connector::{MemorySink, channel_source};
    /// # use flugs_task::WatermarkStrategy;
    /// # fn main() -> flugs_types::Result<()> {
    /// let env = Environment::new("doubles");
    /// let (numbers, source) = channel_source(16);
    /// let doubles = MemorySink::new();
    /// env.from_source(source, WatermarkStrategy::none(), "numbers")
    ///     .stream()
    ///     .map(|n: u64| n * 2)
    ///     .sink_to(doubles.clone(), "doubles");
    /// let job = env.execute_async()?;
    /// numbers.send(21).expect("the job runs");
    /// let savepoint = job.trigger_savepoint().wait()?; // what `Restore::Path` takes
    /// assert!(savepoint.starts_with("doubles/chk-"));
    /// job.drain();
    /// assert_eq!(job.wait()?.status, JobStatus::Finished);
    /// assert_eq!(doubles.rows(), [42]);
    /// # Ok(()) }
    /// ```
    pub fn execute_async(&self) -> Result<JobHandle> {
        let graph = self.job_graph()?;
        let inner = self.lock();
        let durable = inner.store.is_some();
        let default = || if durable { RestartStrategy::exponential() } else { RestartStrategy::None };
        let restart = inner.restart.clone().unwrap_or_else(default);
        let options = JobOptions {
            store: inner.store.clone().unwrap_or_else(|| Arc::new(MemoryStore::default())),
            recoverable: durable || !matches!(restart, RestartStrategy::None),
            checkpoints: inner.checkpoints.clone(),
            retained: inner.retained,
            restore: inner.restore.clone(),
            allow_non_restored_state: inner.allow_non_restored_state,
            restart,
        };
        let job = JobSpec { graph, nodes: inner.nodes.clone(), edges: inner.edges.clone() };
        let runtime = inner.runtime.clone().unwrap_or_default();
        Ok(submit(&runtime, job, options))
    }

    /// Adds an operator by its graph node: for whoever builds programs by other means than streams, as SQL does.
    pub fn add_node(&self, node: Node, factory: Arc<dyn NodeFactory>) -> NodeId {
        let mut inner = self.lock();
        let id = inner.graph.add_node(node);
        inner.nodes.insert(id, factory);
        id
    }

    /// Keeps what is wrong with the program until it is planned: calls that build it return no results.
    pub(crate) fn mistaken(&self, mistake: &'static str, mend: &'static str) {
        self.lock().mistake.get_or_insert((mistake, mend));
    }

    /// Whether both are one program, as clones of an environment are.
    pub fn is_same(&self, other: &Environment) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn expect_same(&self, other: &Environment) {
        if !self.is_same(other) {
            let mistake = "two streams of different environments are brought together";
            let mend = "make all streams of a job from one environment or its clones";
            self.mistaken(mistake, mend);
            other.mistaken(mistake, mend);
        }
    }

    pub(crate) fn replace_factory(&self, id: NodeId, factory: Arc<dyn NodeFactory>) {
        self.lock().nodes.insert(id, factory);
    }

    /// Adds a stream between two operators that were added by [`add_node`](Self::add_node).
    pub fn add_edge(&self, edge: Edge, factory: Arc<dyn EdgeFactory>) {
        let mut inner = self.lock();
        inner.graph.add_edge(edge);
        inner.edges.insert((edge.from, edge.output, edge.to, edge.input), factory);
    }

    pub(crate) fn node(&self, id: NodeId, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.lock().graph.nodes.get_mut(id.0 as usize) {
            change(node);
        }
    }

    /// How many subtasks an operator has.
    pub fn parallelism_of(&self, id: NodeId) -> u32 {
        self.lock().graph.node(id).map_or(1, |n| n.parallelism)
    }

    pub(crate) fn set_uid(&self, id: NodeId, uid: impl AsRef<str>) {
        self.node(id, |n| n.uid = Some(OperatorUid::new(uid)));
    }
}

/// As in Flink, a stream between operators of different parallelism that was not told how to be distributed is rebalanced.
fn rebalance_between_unequal(graph: &mut LogicalGraph) {
    let parallelism: Vec<u32> = graph.nodes.iter().map(|n| n.parallelism).collect();
    for edge in &mut graph.edges {
        let equal = parallelism[edge.from.0 as usize] == parallelism[edge.to.0 as usize];
        if edge.partitioning == Partitioning::Forward && !equal {
            edge.partitioning = Partitioning::Rebalance;
        }
    }
}
