//! Reducing the rows of a window to one.

use crate::AggregateFunction;
use flugs_batch::Data;
use std::marker::PhantomData;

/// Reduces rows to one row, which is all that a window keeps (Flink: `ReduceFunction`).
#[derive(Clone)]
pub struct ReduceAggregate<T, F> {
    reduce: F,
    rows: PhantomData<fn(T)>,
}

impl<T: Data, F: Fn(&mut T, T) + Send + Sync + 'static> ReduceAggregate<T, F> {
    /// `reduce` adds its second row to the first.
    pub fn of(reduce: F) -> Self {
        ReduceAggregate { reduce, rows: PhantomData }
    }
}

impl<T: Data, F: Fn(&mut T, T) + Send + Sync + 'static> AggregateFunction for ReduceAggregate<T, F> {
    type In = T;
    type Acc = Option<T>;
    type Out = T;

    fn create(&self) -> Option<T> {
        None
    }

    #[inline]
    fn add(&self, acc: &mut Option<T>, row: &T) {
        self.merge(acc, Some(row.clone()));
    }

    fn result(&self, acc: &Option<T>) -> T {
        acc.clone().expect("a window that fires has a row")
    }

    #[inline]
    fn merge(&self, acc: &mut Option<T>, other: Option<T>) {
        match (acc, other) {
            (Some(acc), Some(other)) => (self.reduce)(acc, other),
            (acc @ None, other) => *acc = other,
            (Some(_), None) => {}
        }
    }
}
