//! Functions over a keyed stream.

use super::ahead::for_each_keyed;
use super::open::Opens;
use super::{KeyedContext, KeyedFunction, KeyedOperator, KeyedRuntime, OpenKeyed, Timer};
use crate::collector::Collector;
use crate::key::KeySelector;
use crate::opening::Opening;
use crate::rows::RecordsRest;
use flugs_batch::{Key, Record, Records};
use flugs_types::Result;

/// A function over the rows of a keyed stream, with state, timers and side outputs (Flink: `KeyedProcessFunction`).
///
/// State is that of the row's key. Its handles are best made before the function is, so that they are plain fields of it:
/// `KeyedStream::process_with` (and [`KeyedProcess::opened_by`]) calls a closure that opens them and makes the function.
/// `KeyedStream::process` takes a function that is there already, which gets its handles in [`open`](Self::open) and
/// has to keep them as options.
pub trait KeyedProcessFunction: Send + 'static {
    /// The key.
    type Key: Key;
    /// The rows that it takes.
    type In: Record;
    /// The rows that it makes.
    type Out: Record;

    /// Called once, before the first row.
    fn open(&mut self, open: &mut OpenKeyed<'_, '_, Self::Key>) -> Result<()> {
        let _ = open;
        Ok(())
    }

    /// Takes a row.
    fn process(
        &mut self,
        value: Self::In,
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

/// Calls a [`KeyedProcessFunction`].
pub struct KeyedProcess<F: KeyedProcessFunction, S> {
    function: Opening<F, Opens<F::Key, F>>,
    selector: S,
}

impl<F, S> KeyedProcess<F, S>
where
    F: KeyedProcessFunction,
    S: KeySelector<F::In, Key = F::Key>,
{
    /// The operator of this function over rows that are keyed by `selector`.
    pub fn operator(function: F, selector: S) -> KeyedOperator<Self> {
        KeyedOperator::new(KeyedProcess { function: Opening::Opened(function), selector })
    }

    /// The same, where the function is made when the operator opens, with the handles of its states.
    pub fn opened_by(
        make: impl FnOnce(&mut OpenKeyed<'_, '_, F::Key>) -> Result<F> + Send + 'static,
        selector: S,
    ) -> KeyedOperator<Self> {
        KeyedOperator::new(KeyedProcess { function: Opening::Later(Box::new(make)), selector })
    }
}

impl<F, S> KeyedFunction for KeyedProcess<F, S>
where
    F: KeyedProcessFunction,
    S: KeySelector<F::In, Key = F::Key>,
{
    type In = Records<F::In>;
    type Key = F::Key;
    type Out = F::Out;

    fn open(&mut self, open: &mut OpenKeyed<'_, '_, F::Key>) -> Result<()> {
        self.function.open_by(|make| make(open))?;
        self.function.opened()?.open(open)
    }

    fn rows(
        &mut self,
        rest: &mut RecordsRest<F::In>,
        runtime: &mut KeyedRuntime<F::Key>,
        out: &mut Collector<'_, F::Out>,
    ) -> Result<()> {
        let function = self.function.opened()?;
        for_each_keyed(rest, &self.selector, runtime, out, |value, cx, out| function.process(value, cx, out))
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
