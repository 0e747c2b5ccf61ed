//! Functions over one or two streams that are not keyed.

use crate::collector::{Collector, for_each};
use crate::function::{Context, OpenFunction, RowFunction, RowOperator};
use crate::opening::Opening;
use crate::rows::{EitherRest, RecordsRest};
use crate::stateless::Outcome;
use flugs_batch::{Either, Record, Records};
use flugs_types::Result;
use std::marker::PhantomData;

/// A function over the rows of a stream, with time and side outputs (Flink: `ProcessFunction`).
pub trait ProcessFunction: Send + 'static {
    /// The rows that it takes.
    type In: Record;
    /// The rows that it makes.
    type Out: Record;

    /// Called once, before the first row.
    fn open(&mut self, open: &mut OpenFunction<'_, '_>) -> Result<()> {
        let _ = open;
        Ok(())
    }

    /// Takes a row.
    fn process(
        &mut self,
        value: Self::In,
        cx: &mut Context<'_>,
        out: &mut Collector<'_, Self::Out>,
    ) -> Result<()>;
}

/// Makes a function when its operator opens.
type Opens<F> = Box<dyn FnOnce(&mut OpenFunction<'_, '_>) -> Result<F> + Send>;

/// Calls a [`ProcessFunction`].
pub struct Process<F>(Opening<F, Opens<F>>);

impl<F: ProcessFunction> Process<F> {
    /// The operator of this function.
    pub fn operator(function: F) -> RowOperator<Self> {
        RowOperator::new(Process(Opening::Opened(function)))
    }

    /// The operator of the function that `make` makes when the operator opens, with the handles of its states.
    pub fn opened_by(
        make: impl FnOnce(&mut OpenFunction<'_, '_>) -> Result<F> + Send + 'static,
    ) -> RowOperator<Self> {
        RowOperator::new(Process(Opening::Later(Box::new(make))))
    }
}

impl<F: ProcessFunction> RowFunction for Process<F> {
    type In = Records<F::In>;
    type Out = F::Out;

    fn open(&mut self, open: &mut OpenFunction<'_, '_>) -> Result<()> {
        self.0.open_by(|make| make(open))?;
        self.0.opened()?.open(open)
    }

    fn rows(
        &mut self,
        rest: &mut RecordsRest<F::In>,
        cx: &mut Context<'_>,
        out: &mut Collector<'_, F::Out>,
    ) -> Result<()> {
        let function = self.0.opened()?;
        for_each(rest, out, |value, time, out| {
            cx.timestamp = time;
            function.process(value, cx, out)
        })
    }
}

/// A function over the rows of two streams (Flink: `CoProcessFunction`).
pub trait CoProcessFunction: Send + 'static {
    /// The rows of the first input.
    type In1: Record;
    /// The rows of the second input.
    type In2: Record;
    /// The rows that it makes.
    type Out: Record;

    /// Called once, before the first row.
    fn open(&mut self, open: &mut OpenFunction<'_, '_>) -> Result<()> {
        let _ = open;
        Ok(())
    }

    /// Takes a row of the first input.
    fn process1(
        &mut self,
        value: Self::In1,
        cx: &mut Context<'_>,
        out: &mut Collector<'_, Self::Out>,
    ) -> Result<()>;

    /// Takes a row of the second input.
    fn process2(
        &mut self,
        value: Self::In2,
        cx: &mut Context<'_>,
        out: &mut Collector<'_, Self::Out>,
    ) -> Result<()>;
}

/// Calls a [`CoProcessFunction`].
pub struct CoProcess<F>(Opening<F, Opens<F>>);

impl<F: CoProcessFunction> CoProcess<F> {
    /// The operator of this function.
    pub fn operator(function: F) -> RowOperator<Self> {
        RowOperator::new(CoProcess(Opening::Opened(function)))
    }

    /// The operator of the function that `make` makes when the operator opens, with the handles of its states.
    pub fn opened_by(
        make: impl FnOnce(&mut OpenFunction<'_, '_>) -> Result<F> + Send + 'static,
    ) -> RowOperator<Self> {
        RowOperator::new(CoProcess(Opening::Later(Box::new(make))))
    }
}

impl<F: CoProcessFunction> RowFunction for CoProcess<F> {
    type In = Either<Records<F::In1>, Records<F::In2>>;
    type Out = F::Out;

    fn open(&mut self, open: &mut OpenFunction<'_, '_>) -> Result<()> {
        self.0.open_by(|make| make(open))?;
        self.0.opened()?.open(open)
    }

    fn rows(
        &mut self,
        rest: &mut EitherRest<F::In1, F::In2>,
        cx: &mut Context<'_>,
        out: &mut Collector<'_, F::Out>,
    ) -> Result<()> {
        let function = self.0.opened()?;
        match rest {
            EitherRest::Left(rest) => for_each(rest, out, |value, time, out| {
                cx.timestamp = time;
                function.process1(value, cx, out)
            }),
            EitherRest::Right(rest) => for_each(rest, out, |value, time, out| {
                cx.timestamp = time;
                function.process2(value, cx, out)
            }),
        }
    }
}

/// A flat map of two streams into one, by a closure for each.
pub struct CoFlatMap<In, Out, F> {
    functions: F,
    types: PhantomData<fn(In) -> Out>,
}

impl<L, R, Out, F1, F2, O1, O2> CoFlatMap<(L, R), Out, (F1, F2)>
where
    L: Record,
    R: Record,
    Out: Record,
    F1: FnMut(L, &mut Collector<'_, Out>) -> O1 + Send + 'static,
    F2: FnMut(R, &mut Collector<'_, Out>) -> O2 + Send + 'static,
    O1: Outcome + 'static,
    O2: Outcome + 'static,
{
    /// The operator of these functions.
    pub fn operator(first: F1, second: F2) -> RowOperator<Self> {
        RowOperator::new(CoFlatMap { functions: (first, second), types: PhantomData })
    }
}

impl<L, R, Out, F1, F2, O1, O2> RowFunction for CoFlatMap<(L, R), Out, (F1, F2)>
where
    L: Record,
    R: Record,
    Out: Record,
    F1: FnMut(L, &mut Collector<'_, Out>) -> O1 + Send + 'static,
    F2: FnMut(R, &mut Collector<'_, Out>) -> O2 + Send + 'static,
    O1: Outcome + 'static,
    O2: Outcome + 'static,
{
    type In = Either<Records<L>, Records<R>>;
    type Out = Out;

    fn open(&mut self, _: &mut OpenFunction<'_, '_>) -> Result<()> {
        Ok(())
    }

    fn rows(
        &mut self,
        rest: &mut EitherRest<L, R>,
        _: &mut Context<'_>,
        out: &mut Collector<'_, Out>,
    ) -> Result<()> {
        let (first, second) = &mut self.functions;
        match rest {
            EitherRest::Left(rest) => for_each(rest, out, |value, _, out| first(value, out).outcome()),
            EitherRest::Right(rest) => for_each(rest, out, |value, _, out| second(value, out).outcome()),
        }
    }
}

/// A map of two streams into one, by a closure for each.
pub struct CoMap<In, Out, F> {
    functions: F,
    types: PhantomData<fn(In) -> Out>,
}

impl<L, R, Out, F1, F2> CoMap<(L, R), Out, (F1, F2)>
where
    L: Record,
    R: Record,
    Out: Record,
    F1: FnMut(L) -> Out + Send + 'static,
    F2: FnMut(R) -> Out + Send + 'static,
{
    /// The operator of these functions.
    pub fn operator(first: F1, second: F2) -> RowOperator<Self> {
        RowOperator::new(CoMap { functions: (first, second), types: PhantomData })
    }
}

impl<L, R, Out, F1, F2> RowFunction for CoMap<(L, R), Out, (F1, F2)>
where
    L: Record,
    R: Record,
    Out: Record,
    F1: FnMut(L) -> Out + Send + 'static,
    F2: FnMut(R) -> Out + Send + 'static,
{
    type In = Either<Records<L>, Records<R>>;
    type Out = Out;

    fn open(&mut self, _: &mut OpenFunction<'_, '_>) -> Result<()> {
        Ok(())
    }

    fn rows(
        &mut self,
        rest: &mut EitherRest<L, R>,
        _: &mut Context<'_>,
        out: &mut Collector<'_, Out>,
    ) -> Result<()> {
        let (first, second) = &mut self.functions;
        let given = |value, out: &mut Collector<'_, Out>| {
            out.collect(value);
            Ok(())
        };
        match rest {
            EitherRest::Left(rest) => for_each(rest, out, |value, _, out| given(first(value), out)),
            EitherRest::Right(rest) => for_each(rest, out, |value, _, out| given(second(value), out)),
        }
    }
}

#[cfg(test)]
mod tests;
