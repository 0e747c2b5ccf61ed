//! A stream beside another that every subtask gets: rules beside data.

use crate::keyed::KeyedStream;
use crate::stream::DataStream;
use flugs_batch::{Data, Key};
use flugs_operators::{
    BroadcastProcess, BroadcastProcessFunction, KeySelector, KeyedBroadcastProcess,
    KeyedBroadcastProcessFunction, OpenBroadcast, OpenFunction, OpenKeyed,
};
use flugs_types::Result;
use std::sync::Arc;

/// A stream, and one that every subtask gets.
pub struct BroadcastConnectedStream<T, B> {
    data: DataStream<T>,
    rules: DataStream<B>,
}

impl<T: Data> DataStream<T> {
    /// Puts this stream and one that every subtask gets into one operator, which the next call gives.
    ///
    /// ```
    /// # use flugs_api::Environment;
    /// # use flugs_connector::MemorySink;
    /// # use flugs_operators::{BroadcastProcessFunction, BroadcastState, BroadcastStates, Collector, Context};
    /// # use flugs_types::Result;
    /// /// Lets the numbers pass that are below the limit, once there is one.
    /// struct Limit {
    ///     limit: BroadcastState<(), i64>,
    /// }
    ///
    /// impl BroadcastProcessFunction for Limit {
    ///     type In = i64;
    ///     type Broadcast = i64;
    ///     type Out = i64;
    ///
    ///     fn process(
    ///         &mut self,
    ///         x: i64,
    ///         states: &BroadcastStates,
    ///         _: &mut Context,
    ///         out: &mut Collector<i64>,
    ///     ) -> Result<()> {
    ///         if self.limit.get(states, &()).is_none_or(|limit| x < *limit) {
    ///             out.collect(x);
    ///         }
    ///         Ok(())
    ///     }
    ///
    ///     fn process_broadcast(
    ///         &mut self,
    ///         limit: i64,
    ///         states: &mut BroadcastStates,
    ///         _: &mut Context,
    ///         _: &mut Collector<i64>,
    ///     ) -> Result<()> {
    ///         self.limit.put(states, (), limit);
    ///         Ok(())
    ///     }
    /// }
    ///
    /// # fn main() -> Result<()> {
    /// let env = Environment::new("limits");
    /// let passed = MemorySink::new();
    /// let limits = env.from_collection([100]);
    /// env.from_collection([1, 2, 3])
    ///     .connect_broadcast(&limits)
    ///     .process_with(|open| Ok(Limit { limit: open.broadcast("limit")? }))
    ///     .sink_to(passed.clone(), "passed");
    /// env.execute()?;
    /// assert_eq!(passed.rows(), [1, 2, 3]);
    /// # Ok(()) }
    /// ```
    pub fn connect_broadcast<B: Data>(&self, rules: &DataStream<B>) -> BroadcastConnectedStream<T, B> {
        BroadcastConnectedStream { data: self.clone(), rules: rules.broadcast() }
    }
}

impl<T: Data, B: Data> BroadcastConnectedStream<T, B> {
    /// Runs a function over both.
    pub fn process<P>(&self, function: P) -> DataStream<P::Out>
    where
        P: BroadcastProcessFunction<In = T, Broadcast = B> + Clone + Sync,
        P::Out: Data,
    {
        self.data.transform_two(&self.rules, "broadcast_process", true, move || {
            BroadcastProcess::operator(function.clone())
        })
    }

    /// Runs a function that each subtask makes when it opens, so that the handles of its states are plain fields.
    pub fn process_with<P>(
        &self,
        make: impl Fn(&mut OpenBroadcast<'_, OpenFunction<'_, '_>>) -> Result<P> + Send + Sync + 'static,
    ) -> DataStream<P::Out>
    where
        P: BroadcastProcessFunction<In = T, Broadcast = B>,
        P::Out: Data,
    {
        let make = Arc::new(make);
        self.data.transform_two(&self.rules, "broadcast_process", true, move || {
            let make = make.clone();
            BroadcastProcess::opened_by(move |open| make(open))
        })
    }
}

/// A keyed stream, and one that every subtask gets.
pub struct KeyedBroadcastConnectedStream<T, B, F> {
    data: (DataStream<T>, F),
    rules: DataStream<B>,
}

impl<T: Data, K: Key, F: KeySelector<T, Key = K> + Clone + Sync> KeyedStream<T, K, F> {
    /// Puts this stream and one that every subtask gets into one operator, whose function has state and timers for the
    /// keys of this one.
    pub fn connect_broadcast<B: Data>(
        &self,
        rules: &DataStream<B>,
    ) -> KeyedBroadcastConnectedStream<T, B, F> {
        KeyedBroadcastConnectedStream {
            data: (self.partitioned().clone(), self.key().clone()),
            rules: rules.broadcast(),
        }
    }
}

impl<T: Data, B: Data, F: Clone + Send + Sync + 'static> KeyedBroadcastConnectedStream<T, B, F> {
    /// Runs a function over both.
    pub fn process<K, P>(&self, function: P) -> DataStream<P::Out>
    where
        K: Key,
        F: KeySelector<T, Key = K>,
        P: KeyedBroadcastProcessFunction<Key = K, In = T, Broadcast = B> + Clone + Sync,
        P::Out: Data,
    {
        let key = self.data.1.clone();
        self.data.0.transform_two(&self.rules, "broadcast_process", true, move || {
            KeyedBroadcastProcess::operator(function.clone(), key.clone())
        })
    }

    /// Runs a function that each subtask makes when it opens, so that the handles of its states are plain fields.
    pub fn process_with<K, P>(
        &self,
        make: impl Fn(&mut OpenBroadcast<'_, OpenKeyed<'_, '_, K>>) -> Result<P> + Send + Sync + 'static,
    ) -> DataStream<P::Out>
    where
        K: Key,
        F: KeySelector<T, Key = K>,
        P: KeyedBroadcastProcessFunction<Key = K, In = T, Broadcast = B>,
        P::Out: Data,
    {
        let (make, key) = (Arc::new(make), self.data.1.clone());
        self.data.0.transform_two(&self.rules, "broadcast_process", true, move || {
            let make = make.clone();
            KeyedBroadcastProcess::opened_by(move |open| make(open), key.clone())
        })
    }
}
