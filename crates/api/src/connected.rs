//! Two streams of different rows that one operator takes.

use crate::keyed::KeyedStream;
use crate::stream::DataStream;
use flugs_batch::{Data, Key};
use flugs_operators::{
    CoFlatMap, CoMap, CoProcess, CoProcessFunction, Collector, KeySelector, KeyedCoProcess,
    KeyedCoProcessFunction, OpenFunction, OpenKeyed, Outcome,
};
use flugs_types::Result;
use std::sync::Arc;

/// Two streams, to be made into one.
pub struct ConnectedStreams<L, R> {
    left: DataStream<L>,
    right: DataStream<R>,
}

impl<L: Data> DataStream<L> {
    /// Puts this stream and another into one operator, which the next call gives.
    ///
    /// ```
    /// # use flugs_api::Environment; use flugs_connector::MemorySink;
    /// # fn main() -> flugs_types::Result<()> {
    /// let env = Environment::new("both");
    /// let texts = MemorySink::new();
    /// let numbers = env.from_collection([1i64, 2]);
    /// let words = env.from_collection(["a".to_owned()]);
    /// numbers.connect(&words).map(|n| n.to_string(), |word| word).sink_to(texts.clone(), "texts");
    /// env.execute()?;
    /// let mut texts = texts.rows();
    /// texts.sort();
    /// assert_eq!(texts, ["1", "2", "a"]);
    /// # Ok(()) }
    /// ```
    pub fn connect<R: Data>(&self, other: &DataStream<R>) -> ConnectedStreams<L, R> {
        ConnectedStreams { left: self.clone(), right: other.clone() }
    }
}

impl<L: Data, R: Data> ConnectedStreams<L, R> {
    /// Makes one row of each, by a function for each stream.
    pub fn map<U: Data>(
        &self,
        first: impl FnMut(L) -> U + Clone + Send + Sync + 'static,
        second: impl FnMut(R) -> U + Clone + Send + Sync + 'static,
    ) -> DataStream<U> {
        self.left.transform_two(&self.right, "co_map", false, move || {
            CoMap::operator(first.clone(), second.clone())
        })
    }

    /// Makes any number of rows of each, by a function for each stream.
    pub fn flat_map<U: Data, O1: Outcome + 'static, O2: Outcome + 'static>(
        &self,
        first: impl FnMut(L, &mut Collector<U>) -> O1 + Clone + Send + Sync + 'static,
        second: impl FnMut(R, &mut Collector<U>) -> O2 + Clone + Send + Sync + 'static,
    ) -> DataStream<U> {
        self.left.transform_two(&self.right, "co_flat_map", false, move || {
            CoFlatMap::operator(first.clone(), second.clone())
        })
    }

    /// Runs a function over both streams, with time, side outputs and operator state.
    pub fn process<P>(&self, function: P) -> DataStream<P::Out>
    where
        P: CoProcessFunction<In1 = L, In2 = R> + Clone + Sync,
        P::Out: Data,
    {
        self.left
            .transform_two(&self.right, "co_process", true, move || CoProcess::operator(function.clone()))
    }

    /// Runs a function that each subtask makes when it opens, so that the handles of its operator state are plain fields.
    pub fn process_with<P>(
        &self,
        make: impl Fn(&mut OpenFunction<'_, '_>) -> Result<P> + Send + Sync + 'static,
    ) -> DataStream<P::Out>
    where
        P: CoProcessFunction<In1 = L, In2 = R>,
        P::Out: Data,
    {
        let make = Arc::new(make);
        self.left.transform_two(&self.right, "co_process", true, move || {
            let make = make.clone();
            CoProcess::opened_by(move |open| make(open))
        })
    }
}

/// Two keyed streams, to be made into one by a function that sees both under the same key.
pub struct KeyedConnectedStreams<L, R, F1, F2> {
    left: (DataStream<L>, F1),
    right: (DataStream<R>, F2),
}

impl<L: Data, K: Key, F1: KeySelector<L, Key = K> + Clone + Sync> KeyedStream<L, K, F1> {
    /// Puts this stream and another with the same kind of key into one operator, whose function sees both under the
    /// same key.
    ///
    /// ```
    /// # use flugs_api::Environment;
    /// # use flugs_connector::MemorySink;
    /// # use flugs_operators::{Collector, KeyedContext, KeyedCoProcessFunction};
    /// # use flugs_state::{ListState, ValueState};
    /// # use flugs_types::Result;
    /// /// Adds the name of a person to each order, in whatever order they come.
    /// struct WithName {
    ///     name: ValueState<String>,
    ///     unnamed: ListState<u64>,
    /// }
    ///
    /// impl KeyedCoProcessFunction for WithName {
    ///     type Key = u32;
    ///     type In1 = (u32, u64);
    ///     type In2 = (u32, String);
    ///     type Out = (String, u64);
    ///
    ///     fn process1(
    ///         &mut self,
    ///         (_, amount): (u32, u64),
    ///         cx: &mut KeyedContext<u32>,
    ///         out: &mut Collector<Self::Out>,
    ///     ) -> Result<()> {
    ///         match self.name.get(cx) {
    ///             Some(name) => out.collect((name.clone(), amount)),
    ///             None => self.unnamed.add(cx, amount),
    ///         }
    ///         Ok(())
    ///     }
    ///
    ///     fn process2(
    ///         &mut self,
    ///         (_, name): (u32, String),
    ///         cx: &mut KeyedContext<u32>,
    ///         out: &mut Collector<Self::Out>,
    ///     ) -> Result<()> {
    ///         for amount in self.unnamed.iter(cx) {
    ///             out.collect((name.clone(), *amount));
    ///         }
    ///         self.unnamed.clear(cx);
    ///         self.name.set(cx, name);
    ///         Ok(())
    ///     }
    /// }
    ///
    /// # fn main() -> Result<()> {
    /// let env = Environment::new("names");
    /// let named = MemorySink::new();
    /// let orders = env.from_collection([(1, 10), (2, 20), (1, 11)]).key_by(|(person, _): &(u32, u64)| *person);
    /// let names = env.from_collection([(1, "Ada".to_owned())]).key_by(|(person, _): &(u32, String)| *person);
    /// orders
    ///     .connect(&names)
    ///     .process_with(|open| Ok(WithName { name: open.value("name")?, unnamed: open.list("unnamed")? }))
    ///     .sink_to(named.clone(), "named");
    /// env.execute()?;
    /// let mut named = named.rows();
    /// named.sort();
    /// assert_eq!(named, [("Ada".to_owned(), 10), ("Ada".to_owned(), 11)]);
    /// # Ok(()) }
    /// ```
    pub fn connect<R: Data, F2>(&self, other: &KeyedStream<R, K, F2>) -> KeyedConnectedStreams<L, R, F1, F2>
    where
        F2: KeySelector<R, Key = K> + Clone + Sync,
    {
        KeyedConnectedStreams {
            left: (self.partitioned().clone(), self.key().clone()),
            right: (other.partitioned().clone(), other.key().clone()),
        }
    }
}

impl<L, R, F1, F2> KeyedConnectedStreams<L, R, F1, F2>
where
    L: Data,
    R: Data,
    F1: Clone + Send + Sync + 'static,
    F2: Clone + Send + Sync + 'static,
{
    /// Runs a function over both streams, with state and timers.
    pub fn process<K, P>(&self, function: P) -> DataStream<P::Out>
    where
        K: Key,
        F1: KeySelector<L, Key = K>,
        F2: KeySelector<R, Key = K>,
        P: KeyedCoProcessFunction<Key = K, In1 = L, In2 = R> + Clone + Sync,
        P::Out: Data,
    {
        let (first, second) = (self.left.1.clone(), self.right.1.clone());
        self.left.0.transform_two(&self.right.0, "co_process", true, move || {
            KeyedCoProcess::operator(function.clone(), first.clone(), second.clone())
        })
    }

    /// Runs a function that each subtask makes when it opens, so that the handles of its states are plain fields.
    pub fn process_with<K, P>(
        &self,
        make: impl Fn(&mut OpenKeyed<'_, '_, K>) -> Result<P> + Send + Sync + 'static,
    ) -> DataStream<P::Out>
    where
        K: Key,
        F1: KeySelector<L, Key = K>,
        F2: KeySelector<R, Key = K>,
        P: KeyedCoProcessFunction<Key = K, In1 = L, In2 = R>,
        P::Out: Data,
    {
        let (make, first, second) = (Arc::new(make), self.left.1.clone(), self.right.1.clone());
        self.left.0.transform_two(&self.right.0, "co_process", true, move || {
            let make = make.clone();
            KeyedCoProcess::opened_by(move |open| make(open), first.clone(), second.clone())
        })
    }
}
