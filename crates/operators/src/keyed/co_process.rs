//! Functions over two streams that are keyed alike.

use super::ahead::for_each_keyed;
use super::open::Opens;
use super::{KeyedContext, KeyedFunction, KeyedOperator, KeyedRuntime, OpenKeyed, Timer};
use crate::collector::Collector;
use crate::key::KeySelector;
use crate::opening::Opening;
use crate::rows::EitherRest;
use flugs_batch::{Either, Key, Record, Records};
use flugs_types::Result;

/// A function over the rows of two keyed streams, which share state and timers (Flink: `KeyedCoProcessFunction`).
pub trait KeyedCoProcessFunction: Send + 'static {
    /// The key of both.
    type Key: Key;
    /// The rows of the first input.
    type In1: Record;
    /// The rows of the second input.
    type In2: Record;
    /// The rows that it makes.
    type Out: Record;

    /// Called once, before the first row.
    fn open(&mut self, open: &mut OpenKeyed<'_, '_, Self::Key>) -> Result<()> {
        let _ = open;
        Ok(())
    }

    /// Takes a row of the first input.
    fn process1(
        &mut self,
        value: Self::In1,
        cx: &mut KeyedContext<'_, Self::Key>,
        out: &mut Collector<'_, Self::Out>,
    ) -> Result<()>;

    /// Takes a row of the second input.
    fn process2(
        &mut self,
        value: Self::In2,
        cx: &mut KeyedContext<'_, Self::Key>,
        out: &mut Collector<'_, Self::Out>,
    ) -> Result<()>;

    /// A timer fires.
    fn on_timer(
        &mut self,
        timer: Timer,
        cx: &mut KeyedContext<'_, Self::Key>,
        out: &mut Collector<'_, Self::Out>,
    ) -> Result<()> {
        let _ = (timer, cx, out);
        Ok(())
    }
}

/// Calls a [`KeyedCoProcessFunction`].
pub struct KeyedCoProcess<F: KeyedCoProcessFunction, S1, S2> {
    function: Opening<F, Opens<F::Key, F>>,
    selectors: (S1, S2),
}

impl<F, S1, S2> KeyedCoProcess<F, S1, S2>
where
    F: KeyedCoProcessFunction,
    S1: KeySelector<F::In1, Key = F::Key>,
    S2: KeySelector<F::In2, Key = F::Key>,
{
    /// The operator of this function over rows that are keyed by `first` and `second`.
    pub fn operator(function: F, first: S1, second: S2) -> KeyedOperator<Self> {
        KeyedOperator::new(KeyedCoProcess { function: Opening::Opened(function), selectors: (first, second) })
    }

    /// The same, where the function is made when the operator opens, with the handles of its states.
    pub fn opened_by(
        make: impl FnOnce(&mut OpenKeyed<'_, '_, F::Key>) -> Result<F> + Send + 'static,
        first: S1,
        second: S2,
    ) -> KeyedOperator<Self> {
        KeyedOperator::new(KeyedCoProcess {
            function: Opening::Later(Box::new(make)),
            selectors: (first, second),
        })
    }
}

impl<F, S1, S2> KeyedFunction for KeyedCoProcess<F, S1, S2>
where
    F: KeyedCoProcessFunction,
    S1: KeySelector<F::In1, Key = F::Key>,
    S2: KeySelector<F::In2, Key = F::Key>,
{
    type In = Either<Records<F::In1>, Records<F::In2>>;
    type Key = F::Key;
    type Out = F::Out;

    fn open(&mut self, open: &mut OpenKeyed<'_, '_, F::Key>) -> Result<()> {
        self.function.open_by(|make| make(open))?;
        self.function.opened()?.open(open)
    }

    fn rows(
        &mut self,
        rest: &mut EitherRest<F::In1, F::In2>,
        runtime: &mut KeyedRuntime<F::Key>,
        out: &mut Collector<'_, F::Out>,
    ) -> Result<()> {
        let function = self.function.opened()?;
        let (first, second) = &self.selectors;
        match rest {
            EitherRest::Left(rest) => {
                for_each_keyed(rest, first, runtime, out, |value, cx, out| function.process1(value, cx, out))
            }
            EitherRest::Right(rest) => {
                for_each_keyed(rest, second, runtime, out, |value, cx, out| function.process2(value, cx, out))
            }
        }
    }

    fn on_timer(
        &mut self,
        timer: Timer,
        cx: &mut KeyedContext<'_, F::Key>,
        out: &mut Collector<'_, F::Out>,
    ) -> Result<()> {
        self.function.opened()?.on_timer(timer, cx, out)
    }
}
