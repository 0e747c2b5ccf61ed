//! Broadcast state: rules that every subtask has, changed by one stream and read while the other is processed.
//!
//! The first input is the data, the second the broadcast one. Every subtask must make the same changes in the same order, so
//! functions get the states to be changed with rows of the broadcast input alone, and to be read otherwise.

use crate::collector::{Collector, for_each};
use crate::function::{Context, OpenFunction, RowFunction, RowOperator};
use crate::opening::Opening;
use crate::rows::EitherRest;
use flugs_batch::{Data, Either, Record, Records};
use flugs_state::{BroadcastTable, OpenState, SnapshotTable};
use flugs_types::Result;
use std::any::Any;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

trait BroadcastCell: Any + SnapshotTable {}

impl<K: Data + Ord, V: Data> BroadcastCell for BroadcastTable<K, V> {}

/// The broadcast states of a function.
#[derive(Default)]
pub struct BroadcastStates(Vec<Box<dyn BroadcastCell>>);

impl BroadcastStates {
    pub(crate) fn tables(&mut self) -> impl Iterator<Item = &mut dyn SnapshotTable> {
        self.0.iter_mut().map(|cell| &mut **cell as &mut dyn SnapshotTable)
    }
}

/// The handle of a broadcast state: a map that iterates in the order of its keys.
pub struct BroadcastState<K, V> {
    index: usize,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K, V> Clone for BroadcastState<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for BroadcastState<K, V> {}

impl<K: Data + Ord, V: Data> BroadcastState<K, V> {
    fn table(self, states: &BroadcastStates) -> &BroadcastTable<K, V> {
        let cell = &*states.0[self.index] as &dyn Any;
        cell.downcast_ref().expect("a handle is used with the states that it is of")
    }

    fn table_mut(self, states: &mut BroadcastStates) -> &mut BroadcastTable<K, V> {
        let cell = &mut *states.0[self.index] as &mut dyn Any;
        cell.downcast_mut().expect("a handle is used with the states that it is of")
    }

    /// The value of the key.
    pub fn get<'s>(&self, states: &'s BroadcastStates, key: &K) -> Option<&'s V> {
        self.table(states).get(key)
    }

    /// Whether the key has a value.
    pub fn contains(&self, states: &BroadcastStates, key: &K) -> bool {
        self.get(states, key).is_some()
    }

    /// The entries in the order of keys.
    pub fn iter<'s>(
        &self,
        states: &'s BroadcastStates,
    ) -> impl Iterator<Item = (&'s K, &'s V)> + use<'s, K, V> {
        self.table(states).iter()
    }

    /// Sets the value of the key; returns the former one.
    pub fn put(&self, states: &mut BroadcastStates, key: K, value: V) -> Option<V> {
        self.table_mut(states).put(key, value)
    }

    /// Removes the key; returns its value.
    pub fn remove(&self, states: &mut BroadcastStates, key: &K) -> Option<V> {
        self.table_mut(states).remove(key)
    }

    /// Removes all keys.
    pub fn clear(&self, states: &mut BroadcastStates) {
        self.table_mut(states).map_mut().clear();
    }
}

/// What gives access to the state of an operator that opens.
pub trait OpensState {
    #[doc(hidden)]
    fn open_state(&mut self) -> &mut OpenState;
}

impl OpensState for OpenFunction<'_, '_> {
    fn open_state(&mut self) -> &mut OpenState {
        self.state()
    }
}

/// Mints the handles of broadcast states, and stands for what the function is opened with besides.
pub struct OpenBroadcast<'a, O> {
    open: &'a mut O,
    states: &'a mut BroadcastStates,
}

impl<'a, O: OpensState> OpenBroadcast<'a, O> {
    pub(crate) fn new(open: &'a mut O, states: &'a mut BroadcastStates) -> Self {
        OpenBroadcast { open, states }
    }

    /// A broadcast state.
    pub fn broadcast<K: Data + Ord, V: Data>(&mut self, name: &str) -> Result<BroadcastState<K, V>> {
        let table: BroadcastTable<K, V> = self.open.open_state().broadcast(name)?;
        self.states.0.push(Box::new(table));
        Ok(BroadcastState { index: self.states.0.len() - 1, types: PhantomData })
    }
}

impl<O> Deref for OpenBroadcast<'_, O> {
    type Target = O;

    fn deref(&self) -> &O {
        self.open
    }
}

impl<O> DerefMut for OpenBroadcast<'_, O> {
    fn deref_mut(&mut self) -> &mut O {
        self.open
    }
}

/// A function over a stream and a broadcast one (Flink: `BroadcastProcessFunction`).
pub trait BroadcastProcessFunction: Send + 'static {
    /// The rows of the data.
    type In: Record;
    /// The rows of the broadcast input.
    type Broadcast: Record;
    /// The rows that it makes.
    type Out: Record;

    /// Called once, before the first row.
    fn open(&mut self, open: &mut OpenBroadcast<'_, OpenFunction<'_, '_>>) -> Result<()> {
        let _ = open;
        Ok(())
    }

    /// Takes a row of the data.
    fn process(
        &mut self,
        value: Self::In,
        states: &BroadcastStates,
        cx: &mut Context<'_>,
        out: &mut Collector<'_, Self::Out>,
    ) -> Result<()>;

    /// Takes a row of the broadcast input. What it does to the states must depend on the row and the states alone.
    fn process_broadcast(
        &mut self,
        value: Self::Broadcast,
        states: &mut BroadcastStates,
        cx: &mut Context<'_>,
        out: &mut Collector<'_, Self::Out>,
    ) -> Result<()>;
}

type Opens<F> = Box<dyn FnOnce(&mut OpenBroadcast<'_, OpenFunction<'_, '_>>) -> Result<F> + Send>;

/// Calls a [`BroadcastProcessFunction`].
pub struct BroadcastProcess<F> {
    function: Opening<F, Opens<F>>,
    states: BroadcastStates,
}

impl<F: BroadcastProcessFunction> BroadcastProcess<F> {
    /// The operator of this function.
    pub fn operator(function: F) -> RowOperator<Self> {
        Self::of(Opening::Opened(function))
    }

    /// The operator of the function that `make` makes when the operator opens, with the handles of its states.
    pub fn opened_by(
        make: impl FnOnce(&mut OpenBroadcast<'_, OpenFunction<'_, '_>>) -> Result<F> + Send + 'static,
    ) -> RowOperator<Self> {
        Self::of(Opening::Later(Box::new(make)))
    }

    fn of(function: Opening<F, Opens<F>>) -> RowOperator<Self> {
        RowOperator::new(BroadcastProcess { function, states: BroadcastStates::default() })
    }
}

impl<F: BroadcastProcessFunction> RowFunction for BroadcastProcess<F> {
    type In = Either<Records<F::In>, Records<F::Broadcast>>;
    type Out = F::Out;

    fn open(&mut self, open: &mut OpenFunction<'_, '_>) -> Result<()> {
        let mut open = OpenBroadcast::new(open, &mut self.states);
        self.function.open_by(|make| make(&mut open))?;
        self.function.opened()?.open(&mut open)
    }

    fn rows(
        &mut self,
        rest: &mut EitherRest<F::In, F::Broadcast>,
        cx: &mut Context<'_>,
        out: &mut Collector<'_, F::Out>,
    ) -> Result<()> {
        let function = self.function.opened()?;
        match rest {
            EitherRest::Left(rest) => for_each(rest, out, |value, time, out| {
                cx.timestamp = time;
                function.process(value, &self.states, cx, out)
            }),
            EitherRest::Right(rest) => for_each(rest, out, |value, time, out| {
                cx.timestamp = time;
                function.process_broadcast(value, &mut self.states, cx, out)
            }),
        }
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.states.tables().collect()
    }
}

#[cfg(test)]
mod tests;
