//! What a keyed function is opened with.

use crate::aggregate::AggregateFunction;
use flugs_batch::{Data, Key};
use flugs_state::{
    AggregatingState, KeyedStore, ListState, MapState, OpenState, ReducingState, Ttl, ValueState,
};
use flugs_task::{Counter, OpenContext};
use flugs_types::{Result, SubtaskId};
use std::sync::Arc;

/// Mints the handles of a function's keyed states, each under a name of its own.
///
/// ```
/// # use flugs_operators::OpenKeyed; use flugs_state::{Ttl, ValueState, ListState}; use std::time::Duration;
/// # fn open(open: &mut OpenKeyed<'_, '_, u64>) -> flugs_types::Result<()> {
/// let count: ValueState<u64> = open.value("count")?;
/// let recent: ListState<String> = open.with_ttl(Ttl::new(Duration::from_secs(3600))).list("recent")?;
/// # Ok(()) }
/// ```
pub struct OpenKeyed<'a, 'b, K> {
    context: &'a mut OpenContext<'b>,
    store: &'a mut KeyedStore<K>,
    ttls: &'a mut Vec<Ttl>,
    ttl: Option<Ttl>,
}

impl<'a, 'b, K: Key> OpenKeyed<'a, 'b, K> {
    pub(crate) fn new(
        context: &'a mut OpenContext<'b>,
        store: &'a mut KeyedStore<K>,
        ttls: &'a mut Vec<Ttl>,
    ) -> Self {
        OpenKeyed { context, store, ttls, ttl: None }
    }

    /// The same, but states opened through it have this time to live.
    pub fn with_ttl(&mut self, ttl: Ttl) -> OpenKeyed<'_, 'b, K> {
        self.ttls.push(ttl);
        OpenKeyed { context: self.context, store: self.store, ttls: self.ttls, ttl: Some(ttl) }
    }

    /// A state of one value a key.
    pub fn value<T: Data>(&mut self, name: &str) -> Result<ValueState<T>> {
        self.store.value(self.context.state, name, self.ttl)
    }

    /// A state of a list a key.
    pub fn list<T: Data>(&mut self, name: &str) -> Result<ListState<T>> {
        self.store.list(self.context.state, name, self.ttl)
    }

    /// A state of a map a key, which iterates in the order of its keys.
    pub fn map<MK: Data + Ord, MV: Data>(&mut self, name: &str) -> Result<MapState<MK, MV>> {
        self.store.map(self.context.state, name, self.ttl)
    }

    /// A state that keeps what `reduce` makes of all values added.
    pub fn reducing<T: Data>(
        &mut self,
        name: &str,
        reduce: impl Fn(&mut T, T) + Send + 'static,
    ) -> Result<ReducingState<T>> {
        self.store.reducing(self.context.state, name, self.ttl, reduce)
    }

    /// A state that keeps what an aggregate function makes of all values added.
    pub fn aggregating<A: AggregateFunction>(
        &mut self,
        name: &str,
        function: A,
    ) -> Result<AggregatingState<A::In, A::Acc, A::Out>> {
        let (create, add, result) = {
            let function = Arc::new(function);
            (function.clone(), function.clone(), function)
        };
        self.store.aggregating(
            self.context.state,
            name,
            self.ttl,
            move || create.create(),
            move |acc, value: A::In| add.add(acc, &value),
            move |acc| result.result(acc),
        )
    }

    /// Which parallel instance it is.
    pub fn subtask(&self) -> SubtaskId {
        self.context.ident.subtask
    }

    /// A counter of this subtask.
    pub fn counter(&self, name: &str) -> Counter {
        self.context.counter(name)
    }

    pub(crate) fn state(&mut self) -> &mut OpenState {
        self.context.state
    }
}

/// Makes a function when its operator opens.
pub(crate) type Opens<K, F> = Box<dyn FnOnce(&mut OpenKeyed<'_, '_, K>) -> Result<F> + Send>;
