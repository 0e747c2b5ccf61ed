//! Functions over a keyed stream and a broadcast one.

use super::ahead::for_each_keyed;
use super::{KeyedContext, KeyedFunction, KeyedOperator, KeyedRuntime, OpenKeyed, Timer};
use crate::broadcast::{BroadcastStates, OpenBroadcast, OpensState};
use crate::collector::{Collector, for_each};
use crate::key::KeySelector;
use crate::opening::Opening;
use crate::rows::EitherRest;
use flugs_batch::{Either, Key, Record, Records};
use flugs_state::{Handle, KeyedAccess, OpenState, SnapshotTable};
use flugs_types::{Result, Timestamp};

impl<K: Key> OpensState for OpenKeyed<'_, '_, K> {
    fn open_state(&mut self) -> &mut OpenState {
        self.state()
    }
}

/// A function over the rows of a keyed stream, with state and timers, and of a broadcast one
/// (Flink: `KeyedBroadcastProcessFunction`).
pub trait KeyedBroadcastProcessFunction: Send + 'static {
    /// The key of the data.
    type Key: Key;
    /// The rows of the data.
    type In: Record;
    /// The rows of the broadcast input.
    type Broadcast: Record;
    /// The rows that it makes.
    type Out: Record;

    /// Called once, before the first row.
    fn open(&mut self, open: &mut OpenBroadcast<'_, OpenKeyed<'_, '_, Self::Key>>) -> Result<()> {
        let _ = open;
        Ok(())
    }

    /// Takes a row of the data.
    fn process(
        &mut self,
        value: Self::In,
        states: &BroadcastStates,
        cx: &mut KeyedContext<'_, Self::Key>,
        out: &mut Collector<'_, Self::Out>,
    ) -> Result<()>;

    /// Takes a row of the broadcast input. What it does to the states must depend on the row and the states alone.
    fn process_broadcast(
        &mut self,
        value: Self::Broadcast,
        states: &mut BroadcastStates,
        cx: &mut KeyedBroadcastContext<'_, Self::Key>,
        out: &mut Collector<'_, Self::Out>,
    ) -> Result<()>;

    /// A timer fires.
    fn on_timer(
        &mut self,
        timer: Timer,
        states: &BroadcastStates,
        cx: &mut KeyedContext<'_, Self::Key>,
        out: &mut Collector<'_, Self::Out>,
    ) -> Result<()> {
        let _ = (timer, states, cx, out);
        Ok(())
    }
}

/// What a function knows besides a row of the broadcast input.
pub struct KeyedBroadcastContext<'a, K> {
    runtime: &'a mut KeyedRuntime<K>,
    timestamp: Timestamp,
}

impl<K: Key> KeyedBroadcastContext<'_, K> {
    /// The event time of the row, if it has one.
    pub fn timestamp(&self) -> Option<Timestamp> {
        (self.timestamp != Timestamp::MIN).then_some(self.timestamp)
    }

    /// How far event time has come; [`Timestamp::MIN`] before the first watermark.
    pub fn current_watermark(&self) -> Timestamp {
        self.runtime.time.watermark
    }

    /// The time of the machine, read once a batch.
    pub fn processing_time(&self) -> Timestamp {
        self.runtime.time.processing_time
    }

    /// Calls `f` for each key of this subtask that has something in `state`, ordered by key group; `f` may change any state of
    /// that key. It takes as long as there are keys (Flink: `applyToKeyedState`).
    pub fn apply_to_keyed_state(&mut self, state: impl Handle, f: impl FnMut(&mut KeyedAccess<'_, K>)) {
        let (store, time) = self.runtime.store();
        store.for_each_key(state, time, f);
    }
}

type Opens<F, K> = Box<dyn FnOnce(&mut OpenBroadcast<'_, OpenKeyed<'_, '_, K>>) -> Result<F> + Send>;

/// Calls a [`KeyedBroadcastProcessFunction`].
pub struct KeyedBroadcastProcess<F: KeyedBroadcastProcessFunction, S> {
    function: Opening<F, Opens<F, F::Key>>,
    states: BroadcastStates,
    selector: S,
}

impl<F, S> KeyedBroadcastProcess<F, S>
where
    F: KeyedBroadcastProcessFunction,
    S: KeySelector<F::In, Key = F::Key>,
{
    /// The operator of this function over data that is keyed by `selector`.
    pub fn operator(function: F, selector: S) -> KeyedOperator<Self> {
        Self::of(Opening::Opened(function), selector)
    }

    /// The same, where the function is made when the operator opens, with the handles of its states.
    pub fn opened_by(
        make: impl FnOnce(&mut OpenBroadcast<'_, OpenKeyed<'_, '_, F::Key>>) -> Result<F> + Send + 'static,
        selector: S,
    ) -> KeyedOperator<Self> {
        Self::of(Opening::Later(Box::new(make)), selector)
    }

    fn of(function: Opening<F, Opens<F, F::Key>>, selector: S) -> KeyedOperator<Self> {
        let states = BroadcastStates::default();
        KeyedOperator::new(KeyedBroadcastProcess { function, states, selector })
    }
}

impl<F, S> KeyedFunction for KeyedBroadcastProcess<F, S>
where
    F: KeyedBroadcastProcessFunction,
    S: KeySelector<F::In, Key = F::Key>,
{
    type In = Either<Records<F::In>, Records<F::Broadcast>>;
    type Key = F::Key;
    type Out = F::Out;

    fn open(&mut self, open: &mut OpenKeyed<'_, '_, F::Key>) -> Result<()> {
        let mut open = OpenBroadcast::new(open, &mut self.states);
        self.function.open_by(|make| make(&mut open))?;
        self.function.opened()?.open(&mut open)
    }

    fn rows(
        &mut self,
        rest: &mut EitherRest<F::In, F::Broadcast>,
        runtime: &mut KeyedRuntime<F::Key>,
        out: &mut Collector<'_, F::Out>,
    ) -> Result<()> {
        let function = self.function.opened()?;
        match rest {
            EitherRest::Left(rest) => for_each_keyed(rest, &self.selector, runtime, out, |value, cx, out| {
                function.process(value, &self.states, cx, out)
            }),
            EitherRest::Right(rest) => for_each(rest, out, |value, timestamp, out| {
                let mut cx = KeyedBroadcastContext { runtime, timestamp };
                function.process_broadcast(value, &mut self.states, &mut cx, out)
            }),
        }
    }

    fn on_timer(
        &mut self,
        timer: Timer,
        cx: &mut KeyedContext<'_, F::Key>,
        out: &mut Collector<'_, F::Out>,
    ) -> Result<()> {
        self.function.opened()?.on_timer(timer, &self.states, cx, out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.states.tables().collect()
    }
}
