//! What a window holds for a key, and what it gives when it fires.

use super::evictor::{Evictor, WindowRows};
use super::function::{ProcessWindowFunction, WindowContext, WindowOpenContext, WindowOutput};
use super::time_window::TimeWindow;
use crate::AggregateFunction;
use flugs_batch::{Data, Key, Record};
use flugs_types::{Result, Timestamp};
use std::marker::PhantomData;

/// How rows are kept in a window and turned into results.
pub trait WindowContents: Send + 'static {
    /// The keys.
    type Key: Key;
    /// The rows.
    type In: Record;
    /// What is kept of them for a key and window.
    type State: Data;
    /// The results.
    type Out: Record;

    /// Opens the function's own state.
    fn open(&mut self, context: &mut WindowOpenContext<'_, Self::Key>) -> Result<()> {
        let _ = context;
        Ok(())
    }

    /// What is kept of no rows.
    fn create(&self) -> Self::State;

    /// Adds a row with its event time.
    fn add(&self, state: &mut Self::State, row: &Self::In, time: Timestamp);

    /// Adds what another window held.
    fn merge(&self, state: &mut Self::State, other: Self::State);

    /// Gives the results. What is left in `state` is what the window holds from then on.
    fn fire(
        &mut self,
        state: &mut Self::State,
        context: &mut WindowContext<'_, Self::Key>,
        out: &mut WindowOutput<'_, Self::Out>,
    ) -> Result<()>;

    /// The window is removed.
    fn clear(&mut self, context: &mut WindowContext<'_, Self::Key>) -> Result<()> {
        let _ = context;
        Ok(())
    }
}

/// An accumulator, and a closure that makes the result row.
pub struct Aggregated<K, A, F> {
    aggregate: A,
    emit: F,
    key: PhantomData<fn(K)>,
}

impl<K, A, F> Aggregated<K, A, F> {
    /// Gives `emit(key, window, result)`.
    pub fn new(aggregate: A, emit: F) -> Self {
        Aggregated { aggregate, emit, key: PhantomData }
    }
}

impl<K, A, F, O> WindowContents for Aggregated<K, A, F>
where
    K: Key,
    A: AggregateFunction,
    F: FnMut(&K, TimeWindow, A::Out) -> O + Send + 'static,
    O: Record,
{
    type Key = K;
    type In = A::In;
    type State = A::Acc;
    type Out = O;

    fn create(&self) -> A::Acc {
        self.aggregate.create()
    }

    fn add(&self, state: &mut A::Acc, row: &A::In, _: Timestamp) {
        self.aggregate.add(state, row);
    }

    fn merge(&self, state: &mut A::Acc, other: A::Acc) {
        self.aggregate.merge(state, other);
    }

    fn fire(
        &mut self,
        state: &mut A::Acc,
        context: &mut WindowContext<'_, K>,
        out: &mut WindowOutput<'_, O>,
    ) -> Result<()> {
        out.collect((self.emit)(context.key, context.window, self.aggregate.result(state)));
        Ok(())
    }
}

/// An accumulator, and a function over its result.
pub struct AggregatedProcess<K, A, P> {
    aggregate: A,
    process: P,
    key: PhantomData<fn(K)>,
}

impl<K, A, P> AggregatedProcess<K, A, P> {
    /// Gives what `process` makes of the aggregate's result, which it sees as the window's only row.
    pub fn new(aggregate: A, process: P) -> Self {
        AggregatedProcess { aggregate, process, key: PhantomData }
    }
}

impl<K, A, P> WindowContents for AggregatedProcess<K, A, P>
where
    K: Key,
    A: AggregateFunction,
    P: ProcessWindowFunction<K, A::Out>,
{
    type Key = K;
    type In = A::In;
    type State = A::Acc;
    type Out = P::Out;

    fn open(&mut self, context: &mut WindowOpenContext<'_, K>) -> Result<()> {
        self.process.open(context)
    }

    fn create(&self) -> A::Acc {
        self.aggregate.create()
    }

    fn add(&self, state: &mut A::Acc, row: &A::In, _: Timestamp) {
        self.aggregate.add(state, row);
    }

    fn merge(&self, state: &mut A::Acc, other: A::Acc) {
        self.aggregate.merge(state, other);
    }

    fn fire(
        &mut self,
        state: &mut A::Acc,
        context: &mut WindowContext<'_, K>,
        out: &mut WindowOutput<'_, P::Out>,
    ) -> Result<()> {
        let result = self.aggregate.result(state);
        self.process.process(context, std::slice::from_ref(&result), out)
    }

    fn clear(&mut self, context: &mut WindowContext<'_, K>) -> Result<()> {
        self.process.clear(context)
    }
}

/// All rows, and a function over them.
pub struct Processed<K, T, P> {
    process: P,
    types: PhantomData<fn(K, T)>,
}

impl<K, T, P> Processed<K, T, P> {
    /// Gives what `process` makes of the rows.
    pub fn new(process: P) -> Self {
        Processed { process, types: PhantomData }
    }
}

impl<K: Key, T: Data, P: ProcessWindowFunction<K, T>> WindowContents for Processed<K, T, P> {
    type Key = K;
    type In = T;
    type State = Vec<T>;
    type Out = P::Out;

    fn open(&mut self, context: &mut WindowOpenContext<'_, K>) -> Result<()> {
        self.process.open(context)
    }

    fn create(&self) -> Vec<T> {
        Vec::new()
    }

    fn add(&self, state: &mut Vec<T>, row: &T, _: Timestamp) {
        state.push(row.clone());
    }

    fn merge(&self, state: &mut Vec<T>, mut other: Vec<T>) {
        state.append(&mut other);
    }

    fn fire(
        &mut self,
        state: &mut Vec<T>,
        context: &mut WindowContext<'_, K>,
        out: &mut WindowOutput<'_, P::Out>,
    ) -> Result<()> {
        self.process.process(context, state, out)
    }

    fn clear(&mut self, context: &mut WindowContext<'_, K>) -> Result<()> {
        self.process.clear(context)
    }
}

/// All rows with their times, an evictor and a function over the rows that it leaves.
pub struct Evicted<K, T, P> {
    evictor: Box<dyn Evictor<T>>,
    process: P,
    key: PhantomData<fn(K)>,
}

impl<K, T, P> Evicted<K, T, P> {
    /// Gives what `process` makes of the rows that `evictor` leaves.
    pub fn new(evictor: Box<dyn Evictor<T>>, process: P) -> Self {
        Evicted { evictor, process, key: PhantomData }
    }
}

impl<K: Key, T: Data, P: ProcessWindowFunction<K, T>> WindowContents for Evicted<K, T, P> {
    type Key = K;
    type In = T;
    type State = (Vec<T>, Vec<Timestamp>);
    type Out = P::Out;

    fn open(&mut self, context: &mut WindowOpenContext<'_, K>) -> Result<()> {
        self.process.open(context)
    }

    fn create(&self) -> Self::State {
        (Vec::new(), Vec::new())
    }

    fn add(&self, (values, times): &mut Self::State, row: &T, time: Timestamp) {
        values.push(row.clone());
        times.push(time);
    }

    fn merge(&self, (values, times): &mut Self::State, mut other: Self::State) {
        values.append(&mut other.0);
        times.append(&mut other.1);
    }

    fn fire(
        &mut self,
        (values, times): &mut Self::State,
        context: &mut WindowContext<'_, K>,
        out: &mut WindowOutput<'_, P::Out>,
    ) -> Result<()> {
        self.evictor.evict_before(&mut WindowRows { values, times }, context.window);
        self.process.process(context, values, out)?;
        self.evictor.evict_after(&mut WindowRows { values, times }, context.window);
        Ok(())
    }

    fn clear(&mut self, context: &mut WindowContext<'_, K>) -> Result<()> {
        self.process.clear(context)
    }
}
