//! Streams and what can be done with them without a key.

use crate::environment::Environment;
use crate::keyed::KeyedStream;
use flugs_batch::{Data, Either, Key, Records};
use flugs_connector::{PrintSink, Sink};
use flugs_graph::{Chaining, Edge, Node, NodeId, NodeKind, Partitioning};
use flugs_operators::{Collector, Filter, FlatMap, KeyRef, Map, Outcome};
use flugs_task::{
    BroadcastRoute, CustomRoute, GlobalRoute, OneInput, Operator, RebalanceRoute, RecordEdge, SinkOperator,
    TwoInputs,
};
use flugs_types::OperatorUid;
use std::marker::PhantomData;
use std::sync::Arc;

/// How a stream reaches its next operator.
pub(crate) struct Way<T> {
    pub(crate) partitioning: Partitioning,
    pub(crate) edge: Arc<RecordEdge<T>>,
}

impl<T> Clone for Way<T> {
    fn clone(&self) -> Self {
        Way { partitioning: self.partitioning, edge: self.edge.clone() }
    }
}

impl<T: Data> Way<T> {
    fn forward() -> Self {
        // The route serves where the parallelisms turn out to differ.
        Way { partitioning: Partitioning::Forward, edge: rebalancing() }
    }
}

fn rebalancing<T: Data>() -> Arc<RecordEdge<T>> {
    Arc::new(RecordEdge::new(|sender| Box::new(RebalanceRoute::new(sender))))
}

/// Where a stream comes from: an output of a node.
struct Origin<T> {
    node: NodeId,
    output: u16,
    way: Way<T>,
}

impl<T> Clone for Origin<T> {
    fn clone(&self) -> Self {
        Origin { node: self.node, output: self.output, way: self.way.clone() }
    }
}

/// A stream of rows `T`. Cheap to clone; each use reads the whole stream.
pub struct DataStream<T> {
    env: Environment,
    /// More than one after a union.
    origins: Vec<Origin<T>>,
}

impl<T> Clone for DataStream<T> {
    fn clone(&self) -> Self {
        DataStream { env: self.env.clone(), origins: self.origins.clone() }
    }
}

impl<T: Data> DataStream<T> {
    pub(crate) fn new(env: &Environment, node: NodeId, output: u16) -> Self {
        DataStream { env: env.clone(), origins: vec![Origin { node, output, way: Way::forward() }] }
    }

    /// The stream of an operator that was added by [`Environment::add_node`]: its rows where `output` is 0, else a side output.
    /// What comes out there must be `Records<T>`: `execute` fails otherwise.
    pub fn from_node(env: &Environment, node: NodeId, output: u16) -> Self {
        DataStream::new(env, node, output)
    }

    /// The program that the stream is part of.
    pub fn environment(&self) -> &Environment {
        &self.env
    }

    // ---- names and places of the operator that makes the stream ----

    /// Names the operator that makes this stream, for plans and messages.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.maker(|n| n.name = name);
        self
    }

    /// Sets the stable name under which the operator's state is stored. Give one to every operator with state whose
    /// state should survive changes of the program.
    #[must_use]
    pub fn uid(self, uid: impl AsRef<str>) -> Self {
        self.maker(|n| n.uid = Some(OperatorUid::new(uid)));
        self
    }

    /// Sets how many subtasks the operator has.
    #[must_use]
    pub fn parallelism(self, parallelism: u32) -> Self {
        self.maker(|n| n.parallelism = parallelism);
        self
    }

    /// Starts a new chain with this operator: it runs in another task than its input.
    ///
    /// ```
    /// # use flugs_api::Environment; use flugs_connector::BlackholeSink;
    /// # fn main() -> flugs_types::Result<()> {
    /// let env = Environment::new("chains");
    /// env.set_parallelism(1);
    /// let rows = env.from_collection([1u64]).map(|n| n + 1).name("cheap").map(|n| n * 2).name("dear");
    /// rows.start_new_chain().sink_to(BlackholeSink::new(), "out");
    /// assert_eq!(env.job_graph()?.tasks.len(), 2); // collection and cheap; dear and out
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn start_new_chain(self) -> Self {
        self.maker(|n| n.chaining = Chaining::Head);
        self
    }

    /// Runs this operator in a task of its own.
    #[must_use]
    pub fn disable_chaining(self) -> Self {
        self.maker(|n| n.chaining = Chaining::Never);
        self
    }

    fn maker(&self, change: impl FnOnce(&mut Node)) {
        match &self.origins[..] {
            [only] => self.env.node(only.node, change),
            _ => self.env.mistaken(
                "a union is given a name, a uid, a parallelism or a place",
                "give them to the streams before the union, or to the operator behind it",
            ),
        }
    }

    // ---- one row at a time ----

    /// Makes one row of each.
    ///
    /// ```
    /// # use flugs_api::Environment; use flugs_connector::MemorySink; use flugs_operators::Collector;
    /// # fn main() -> flugs_types::Result<()> {
    /// let env = Environment::new("lengths");
    /// let lengths = MemorySink::new();
    /// env.from_collection(["to be", "or not"].map(String::from))
    ///     .flat_map(|line: String, out: &mut Collector<String>| {
    ///         line.split(' ').for_each(|word| out.collect(word.to_owned()));
    ///     })
    ///     .filter(|word| word != "or")
    ///     .map(|word| word.len() as u64)
    ///     .sink_to(lengths.clone(), "lengths");
    /// env.execute()?;
    /// assert_eq!(lengths.rows(), [2, 2, 3]);
    /// # Ok(()) }
    /// ```
    pub fn map<U: Data>(&self, f: impl FnMut(T) -> U + Clone + Send + Sync + 'static) -> DataStream<U> {
        self.transform("map", false, move || Map::new(f.clone()))
    }

    /// Keeps the rows for which `f` holds; see [`map`](Self::map).
    pub fn filter(&self, f: impl FnMut(&T) -> bool + Clone + Send + Sync + 'static) -> DataStream<T> {
        self.transform("filter", false, move || Filter::new(f.clone()))
    }

    /// Makes any number of rows of each; see [`map`](Self::map).
    ///
    /// The function returns `()`, or a `Result<()>` whose error fails the job.
    pub fn flat_map<U: Data, R: Outcome + 'static>(
        &self,
        f: impl FnMut(T, &mut Collector<U>) -> R + Clone + Send + Sync + 'static,
    ) -> DataStream<U> {
        self.transform("flat_map", false, move || FlatMap::operator(f.clone()))
    }

    // ---- distribution ----

    /// Partitions the stream by a key: rows of equal keys go to the same subtask.
    pub fn key_by<K: Key, F: Fn(&T) -> K + Clone + Send + Sync + 'static>(
        &self,
        key: F,
    ) -> KeyedStream<T, K, F> {
        KeyedStream::new(self.clone(), key)
    }

    /// Partitions the stream by a key that stands in the row, without cloning it for each: `key_by_ref(|word| word)`,
    /// `key_by_ref(|order| &order.customer)`. Worth it for keys that are strings.
    pub fn key_by_ref<K: Key, F: Fn(&T) -> &K + Clone + Send + Sync + 'static>(
        &self,
        key: F,
    ) -> KeyedStream<T, K, KeyRef<F>> {
        KeyedStream::new(self.clone(), KeyRef(key))
    }

    /// All rows of both streams, in no order between them. It is no operator: it has no name, uid or parallelism.
    ///
    /// ```
    /// # use flugs_api::Environment; use flugs_connector::MemorySink;
    /// # fn main() -> flugs_types::Result<()> {
    /// let env = Environment::new("all");
    /// let all = MemorySink::new();
    /// env.from_collection([1u64, 2]).union(&env.from_collection([3])).sink_to(all.clone(), "all");
    /// env.execute()?;
    /// let mut all = all.rows();
    /// all.sort();
    /// assert_eq!(all, [1, 2, 3]);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn union(&self, other: &DataStream<T>) -> DataStream<T> {
        self.env.expect_same(&other.env);
        let origins = self.origins.iter().chain(&other.origins).cloned().collect();
        DataStream { env: self.env.clone(), origins }
    }

    fn on_the_way(&self, partitioning: Partitioning, edge: RecordEdge<T>) -> DataStream<T> {
        let way = Way { partitioning, edge: Arc::new(edge) };
        self.by_way(&way)
    }

    pub(crate) fn by_way(&self, way: &Way<T>) -> DataStream<T> {
        let origins = self.origins.iter().map(|o| Origin { way: way.clone(), ..o.clone() }).collect();
        DataStream { env: self.env.clone(), origins }
    }

    /// Deals the rows out in turn to all subtasks of the next operator.
    #[must_use]
    pub fn rebalance(&self) -> DataStream<T> {
        self.by_way(&Way { partitioning: Partitioning::Rebalance, edge: rebalancing() })
    }

    /// Deals the rows out in turn to a fixed share of the next operator's subtasks.
    #[must_use]
    pub fn rescale(&self) -> DataStream<T> {
        self.by_way(&Way { partitioning: Partitioning::Rescale, edge: rebalancing() })
    }

    /// Gives every row to every subtask of the next operator.
    #[must_use]
    pub fn broadcast(&self) -> DataStream<T> {
        self.on_the_way(Partitioning::Broadcast, RecordEdge::new(|_| Box::new(BroadcastRoute)))
    }

    /// Gives all rows to the first subtask of the next operator.
    #[must_use]
    pub fn global(&self) -> DataStream<T> {
        self.on_the_way(Partitioning::Global, RecordEdge::new(|_| Box::new(GlobalRoute)))
    }

    /// Gives each row to the subtask that `f` names, of the number it is told. A number that is too large fails the job.
    ///
    /// ```
    /// # use flugs_api::Environment; use flugs_connector::BlackholeSink;
    /// let env = Environment::new("by-size");
    /// env.from_collection([3u64, 5_000])
    ///     .partition_custom(|n, subtasks| if *n < 1_000 { 0 } else { subtasks - 1 })
    ///     .map(|n| n + 1)
    ///     .parallelism(4)
    ///     .sink_to(BlackholeSink::new(), "out");
    /// ```
    #[must_use]
    pub fn partition_custom(
        &self,
        f: impl Fn(&T, u32) -> u32 + Clone + Send + Sync + 'static,
    ) -> DataStream<T> {
        self.on_the_way(Partitioning::Custom, RecordEdge::new(move |_| Box::new(CustomRoute(f.clone()))))
    }

    // ---- operators and sinks of one's own ----

    /// Adds an operator: `make` makes one for each subtask.
    pub fn transform<U: Data, O: Operator<In = Records<T>, Out = Records<U>>>(
        &self,
        name: &str,
        stateful: bool,
        make: impl Fn() -> O + Send + Sync + 'static,
    ) -> DataStream<U> {
        let node = self.next_node(name, NodeKind::Operator, stateful);
        let id = self.env.add_node(node, Arc::new(OneInput::new(make)));
        self.connect_to(id, 0);
        DataStream::new(&self.env, id, 0)
    }

    /// Adds an operator over this stream and another.
    pub fn transform_two<
        R: Data,
        U: Data,
        O: Operator<In = Either<Records<T>, Records<R>>, Out = Records<U>>,
    >(
        &self,
        other: &DataStream<R>,
        name: &str,
        stateful: bool,
        make: impl Fn() -> O + Send + Sync + 'static,
    ) -> DataStream<U> {
        self.env.expect_same(&other.env);
        let node = self.next_node(name, NodeKind::Operator, stateful);
        let id = self.env.add_node(node, Arc::new(TwoInputs::<O, Records<T>, Records<R>>::new(make)));
        self.connect_to(id, 0);
        other.connect_to(id, 1);
        DataStream::new(&self.env, id, 0)
    }

    /// A side output of the operator that makes this stream: `port` counted from 0. Where there is a tag,
    /// [`side`](Self::side) knows the type.
    pub fn side_output<S: Data>(&self, port: u16) -> DataStream<S> {
        if self.origins.len() > 1 {
            self.env.mistaken(
                "a union is asked for a side output",
                "take the side outputs of the streams before the union, and unite those",
            );
        }
        let node = self.origins[0].node;
        DataStream::new(&self.env, node, port + 1)
    }

    /// Writes the stream to a sink.
    pub fn sink_to<S: Sink<Item = T>>(&self, sink: S, name: impl Into<String>) -> SinkHandle {
        let sink: Arc<dyn Sink<Item = T>> = Arc::new(sink);
        let node = self.next_node(name, NodeKind::Sink, true);
        let id = self.env.add_node(node, Arc::new(OneInput::new(move || SinkOperator::new(sink.clone()))));
        self.connect_to(id, 0);
        SinkHandle { env: self.env.clone(), node: id }
    }

    /// Prints the rows, for a look.
    pub fn print(&self) -> SinkHandle
    where
        T: std::fmt::Debug,
    {
        self.sink_to(PrintSink::debug(), "print")
    }

    /// A node for an operator that is to be connected to the stream: it has the parallelism that an operator behind it has.
    pub fn next_node(&self, name: impl Into<String>, kind: NodeKind, stateful: bool) -> Node {
        let mut node = Node::new(name, kind);
        // As in Flink, an operator has the environment's parallelism, whatever its input has.
        node.parallelism = match &self.origins[..] {
            [only] if only.way.partitioning == Partitioning::Forward => self.env.parallelism_of(only.node),
            _ => self.env.parallelism(),
        };
        node.stateful = stateful;
        node
    }

    /// Gives the rows to an input of an operator that was added by [`Environment::add_node`] to the same program, on the way that
    /// the stream was told ([`rebalance`](Self::rebalance) and its like). The operator must take `Records<T>`.
    pub fn connect_to(&self, to: NodeId, input: u16) {
        for origin in &self.origins {
            let Way { partitioning, edge } = origin.way.clone();
            let way = Edge { from: origin.node, output: origin.output, to, input, partitioning };
            self.env.add_edge(way, edge);
        }
    }
}

/// A sink within a program.
pub struct SinkHandle {
    env: Environment,
    node: NodeId,
}

impl SinkHandle {
    /// The stable name under which what the sink has not committed is stored.
    pub fn uid(self, uid: impl AsRef<str>) -> Self {
        self.env.set_uid(self.node, uid);
        self
    }

    /// How many writers there are.
    pub fn parallelism(self, parallelism: u32) -> Self {
        self.env.node(self.node, |n| n.parallelism = parallelism);
        self
    }

    /// Runs the sink in a task of its own.
    pub fn disable_chaining(self) -> Self {
        self.env.node(self.node, |n| n.chaining = Chaining::Never);
        self
    }
}

/// Marks a type parameter that a handle carries for its users.
pub(crate) type Carries<T> = PhantomData<fn(T) -> T>;
