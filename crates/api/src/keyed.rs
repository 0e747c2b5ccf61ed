//! Streams with a key.

use crate::stream::{Carries, DataStream, Way};
use flugs_batch::{Data, Key, Records};
use flugs_graph::Partitioning;
use flugs_operators::{KeySelector, KeyedProcess, KeyedProcessFunction};
use flugs_task::{KeyGroupRoute, Operator, RecordEdge};
use std::marker::PhantomData;
use std::sync::Arc;

/// A stream partitioned by a key. `F` takes the key out of a row; it must give the same key for the same row always.
pub struct KeyedStream<T, K, F> {
    stream: DataStream<T>,
    key: F,
    types: Carries<K>,
}

impl<T, K, F: Clone> Clone for KeyedStream<T, K, F> {
    fn clone(&self) -> Self {
        KeyedStream { stream: self.stream.clone(), key: self.key.clone(), types: PhantomData }
    }
}

impl<T: Data, K: Key, F: KeySelector<T, Key = K> + Clone + Sync> KeyedStream<T, K, F> {
    pub(crate) fn new(stream: DataStream<T>, key: F) -> Self {
        let route = key.clone();
        let edge = RecordEdge::new(move |_| {
            let key = route.clone();
            Box::new(KeyGroupRoute::by_hash(move |row: &T| key.hash(row)))
        });
        let way = Way { partitioning: Partitioning::KeyGroup, edge: Arc::new(edge) };
        KeyedStream { stream: stream.by_way(&way), key, types: PhantomData }
    }

    /// The function that takes the key out of a row.
    pub fn key(&self) -> &F {
        &self.key
    }

    /// The stream as it reaches the next operator: partitioned by key group.
    pub fn partitioned(&self) -> &DataStream<T> {
        &self.stream
    }

    /// Runs a function over the rows of each key, with state and timers.
    pub fn process<P>(&self, function: P) -> DataStream<P::Out>
    where
        P: KeyedProcessFunction<Key = K, In = T> + Clone + Sync,
        P::Out: Data,
    {
        self.transform("process", move |key| KeyedProcess::operator(function.clone(), key))
    }

    /// Adds an operator over the keyed stream: `make` makes one for each subtask, from the key function.
    pub fn transform<U: Data, O: Operator<In = Records<T>, Out = Records<U>>>(
        &self,
        name: &str,
        make: impl Fn(F) -> O + Send + Sync + 'static,
    ) -> DataStream<U> {
        let key = self.key.clone();
        self.stream.transform(name, true, move || make(key.clone()))
    }
}
