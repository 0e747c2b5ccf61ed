//! Map, filter and flat map.

use crate::collector::{Collector, Traffic, for_each};
use crate::function::{Context, OpenFunction, RowFunction, RowOperator};
use crate::rows::RecordsRest;
use flugs_batch::{Record, Records};
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::Result;
use std::marker::PhantomData;

/// Makes one row of each.
pub struct Map<T, U, F> {
    function: F,
    traffic: Traffic,
    types: PhantomData<fn(T) -> U>,
}

impl<T, U, F: FnMut(T) -> U> Map<T, U, F> {
    /// A map by this function.
    pub fn new(function: F) -> Self {
        Map { function, traffic: Traffic::default(), types: PhantomData }
    }
}

impl<T: Record, U: Record, F: FnMut(T) -> U + Send + 'static> Operator for Map<T, U, F> {
    type In = Records<T>;
    type Out = Records<U>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.traffic.open(context);
        Ok(())
    }

    fn process(&mut self, batch: Records<T>, out: &mut Output<Records<U>>) -> Result<Progress> {
        self.traffic.took(batch.len());
        self.traffic.gave(batch.len());
        let values = batch.values.into_iter().map(&mut self.function).collect();
        let _ = out.push(Records { values, times: batch.times })?;
        Ok(Progress::Done)
    }
}

/// Makes one row of each, or fails the job.
pub struct TryMap<T, U, F> {
    function: F,
    traffic: Traffic,
    types: PhantomData<fn(T) -> U>,
}

impl<T, U, F: FnMut(T) -> Result<U>> TryMap<T, U, F> {
    /// A map by this function.
    pub fn new(function: F) -> Self {
        TryMap { function, traffic: Traffic::default(), types: PhantomData }
    }
}

impl<T: Record, U: Record, F: FnMut(T) -> Result<U> + Send + 'static> Operator for TryMap<T, U, F> {
    type In = Records<T>;
    type Out = Records<U>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.traffic.open(context);
        Ok(())
    }

    fn process(&mut self, batch: Records<T>, out: &mut Output<Records<U>>) -> Result<Progress> {
        self.traffic.took(batch.len());
        let values = batch.values.into_iter().map(&mut self.function).collect::<Result<Vec<_>>>()?;
        self.traffic.gave(values.len());
        let _ = out.push(Records { values, times: batch.times })?;
        Ok(Progress::Done)
    }
}

/// Keeps the rows for which a predicate holds.
pub struct Filter<T, F> {
    predicate: F,
    traffic: Traffic,
    rows: PhantomData<fn(T)>,
}

impl<T, F: FnMut(&T) -> bool> Filter<T, F> {
    /// A filter by this predicate.
    pub fn new(predicate: F) -> Self {
        Filter { predicate, traffic: Traffic::default(), rows: PhantomData }
    }
}

impl<T: Record, F: FnMut(&T) -> bool + Send + 'static> Operator for Filter<T, F> {
    type In = Records<T>;
    type Out = Records<T>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.traffic.open(context);
        Ok(())
    }

    fn process(&mut self, mut batch: Records<T>, out: &mut Output<Records<T>>) -> Result<Progress> {
        self.traffic.took(batch.len());
        let mut kept = 0;
        for row in 0..batch.len() {
            if (self.predicate)(&batch.values[row]) {
                if kept != row {
                    batch.values.swap(kept, row);
                    batch.times[kept] = batch.times[row];
                }
                kept += 1;
            }
        }
        batch.values.truncate(kept);
        batch.times.truncate(kept);
        self.traffic.gave(kept);
        if !batch.is_empty() {
            let _ = out.push(batch)?;
        }
        Ok(Progress::Done)
    }
}

/// What a function that hands its rows to a collector may return: nothing, or whether it failed.
pub trait Outcome {
    /// As a result.
    fn outcome(self) -> Result<()>;
}

impl Outcome for () {
    fn outcome(self) -> Result<()> {
        Ok(())
    }
}

impl Outcome for Result<()> {
    fn outcome(self) -> Result<()> {
        self
    }
}

/// Makes any number of rows of each.
pub struct FlatMap<T, U, F> {
    function: F,
    types: PhantomData<fn(T) -> U>,
}

impl<T, U, F, R> FlatMap<T, U, F>
where
    T: Record,
    U: Record,
    F: FnMut(T, &mut Collector<'_, U>) -> R + Send + 'static,
    R: Outcome + 'static,
{
    /// A flat map by this function.
    pub fn operator(function: F) -> RowOperator<Self> {
        RowOperator::new(FlatMap { function, types: PhantomData })
    }
}

impl<T, U, F, R> RowFunction for FlatMap<T, U, F>
where
    T: Record,
    U: Record,
    F: FnMut(T, &mut Collector<'_, U>) -> R + Send + 'static,
    R: Outcome + 'static,
{
    type In = Records<T>;
    type Out = U;

    fn open(&mut self, _: &mut OpenFunction<'_, '_>) -> Result<()> {
        Ok(())
    }

    fn rows(
        &mut self,
        rest: &mut RecordsRest<T>,
        _: &mut Context<'_>,
        out: &mut Collector<'_, U>,
    ) -> Result<()> {
        for_each(rest, out, |value, _, out| (self.function)(value, out).outcome())
    }
}

#[cfg(test)]
mod tests;
