//! Rolling aggregates: one row out for each row in, under its key.
//!
//! They have one state and no timers, so they look up a batch of keys at once instead of going through contexts.

use crate::aggregate::{AggregateFunction, Number};
use crate::collector::Traffic;
use crate::key::KeySelector;
use flugs_batch::{Data, Records};
use flugs_state::{KeyedTable, SnapshotTable};
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result};

/// Folds the rows of a key into one, and emits it after each.
pub struct KeyedReduce<T, S: KeySelector<T>, F> {
    selector: S,
    function: F,
    folded: Option<KeyedTable<S::Key, Option<T>>>,
    traffic: Traffic,
}

impl<T: Data, S: KeySelector<T>, F: FnMut(&mut T, T)> KeyedReduce<T, S, F> {
    /// An operator that folds by `function`: the second row into the first.
    pub fn new(selector: S, function: F) -> Self {
        KeyedReduce { selector, function, folded: None, traffic: Traffic::default() }
    }
}

impl<T, S, F> Operator for KeyedReduce<T, S, F>
where
    T: Data,
    S: KeySelector<T>,
    F: FnMut(&mut T, T) + Send + 'static,
{
    type In = Records<T>;
    type Out = Records<T>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.traffic.open(context);
        self.folded = Some(context.state.keyed("reduce")?);
        Ok(())
    }

    fn process(&mut self, batch: Records<T>, out: &mut Output<Records<T>>) -> Result<Progress> {
        let KeyedReduce { selector, function, folded, traffic } = self;
        let folded = folded.as_mut().ok_or_else(|| Error::bug("the operator is not open"))?;
        let rows = batch.len();
        traffic.took(rows);
        traffic.gave(rows);
        let keys: Vec<S::Key> = batch.values.iter().map(|value| selector.key(value)).collect();
        let mut values = batch.values.into_iter();
        let mut sums = Vec::with_capacity(rows);
        let fold = |_, folded: &mut Option<T>| {
            let value = values.next().expect("each row is visited once, in order");
            let sum = match folded {
                Some(sum) => {
                    function(sum, value);
                    &*sum
                }
                None => folded.insert(value),
            };
            sums.push(sum.clone());
        };
        folded.for_each_row_ref(rows, |row| &keys[row], || None, fold);
        let _ = out.push(Records { values: sums, times: batch.times })?;
        Ok(Progress::Done)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.folded.iter_mut().map(|table| table as &mut dyn SnapshotTable).collect()
    }
}

/// Aggregates the rows of a key, and emits the key and the result after each.
pub struct KeyedAggregate<A: AggregateFunction, S: KeySelector<A::In>> {
    selector: S,
    function: A,
    accumulators: Option<KeyedTable<S::Key, A::Acc>>,
    traffic: Traffic,
}

impl<A: AggregateFunction, S: KeySelector<A::In>> KeyedAggregate<A, S> {
    /// An operator that aggregates by `function`.
    pub fn new(selector: S, function: A) -> Self {
        KeyedAggregate { selector, function, accumulators: None, traffic: Traffic::default() }
    }
}

impl<A: AggregateFunction, S: KeySelector<A::In>> Operator for KeyedAggregate<A, S> {
    type In = Records<A::In>;
    type Out = Records<(S::Key, A::Out)>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.traffic.open(context);
        self.accumulators = Some(context.state.keyed("aggregate")?);
        Ok(())
    }

    fn process(&mut self, batch: Records<A::In>, out: &mut Output<Self::Out>) -> Result<Progress> {
        let KeyedAggregate { selector, function, accumulators, traffic } = self;
        let accumulators = accumulators.as_mut().ok_or_else(|| Error::bug("the operator is not open"))?;
        let rows = batch.len();
        traffic.took(rows);
        traffic.gave(rows);
        let values = &batch.values;
        let keys: Vec<S::Key> = values.iter().map(|value| selector.key(value)).collect();
        let mut results = Vec::with_capacity(rows);
        let add = |row: usize, acc: &mut A::Acc| {
            function.add(acc, &values[row]);
            results.push(function.result(acc));
        };
        accumulators.for_each_row_ref(rows, |row| &keys[row], || function.create(), add);
        let values = keys.into_iter().zip(results).collect();
        let _ = out.push(Records { values, times: batch.times })?;
        Ok(Progress::Done)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.accumulators.iter_mut().map(|table| table as &mut dyn SnapshotTable).collect()
    }
}

/// Functions for [`KeyedReduce`].
pub mod rolling {
    use super::Number;

    /// Sums a field into the first row of the key; its other fields stay (Flink: `sum`). Integers wrap around.
    pub fn sum<T, N: Number>(field: impl Fn(&mut T) -> &mut N) -> impl FnMut(&mut T, T) {
        move |sum, mut row| {
            let value = *field(&mut row);
            let sum = field(sum);
            *sum = sum.plus(value);
        }
    }

    /// Keeps the smallest value of a field in the first row of the key; its other fields stay (Flink: `min`).
    pub fn min<T, N: PartialOrd>(field: impl Fn(&mut T) -> &mut N) -> impl FnMut(&mut T, T) {
        move |best, mut row| {
            let (best, value) = (field(best), field(&mut row));
            if *value < *best {
                std::mem::swap(best, value);
            }
        }
    }

    /// Keeps the largest value of a field in the first row of the key; its other fields stay (Flink: `max`).
    pub fn max<T, N: PartialOrd>(field: impl Fn(&mut T) -> &mut N) -> impl FnMut(&mut T, T) {
        move |best, mut row| {
            let (best, value) = (field(best), field(&mut row));
            if *value > *best {
                std::mem::swap(best, value);
            }
        }
    }

    /// Keeps the row with the smallest value, the first of equal ones (Flink: `minBy`).
    pub fn min_by<T, N: PartialOrd>(value: impl Fn(&T) -> N) -> impl FnMut(&mut T, T) {
        move |best, row| {
            if value(&row) < value(best) {
                *best = row;
            }
        }
    }

    /// Keeps the row with the largest value, the first of equal ones (Flink: `maxBy`).
    pub fn max_by<T, N: PartialOrd>(value: impl Fn(&T) -> N) -> impl FnMut(&mut T, T) {
        move |best, row| {
            if value(&row) > value(best) {
                *best = row;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Avg, Count};
    use flugs_testkit::{Case, OperatorHarness, Route};
    use flugs_types::{Timestamp, hash_key};

    type Row = (u32, i64, char);

    fn rows() -> Records<Row> {
        let rows = [(1, 5, 'a'), (2, 7, 'b'), (1, -3, 'c'), (1, 9, 'd'), (2, 7, 'e'), (1, -3, 'f')];
        rows.into_iter().enumerate().map(|(i, row)| (row, Timestamp(i as i64))).collect()
    }

    fn key(row: &Row) -> u32 {
        row.0
    }

    fn reduced<F: FnMut(&mut Row, Row) + Send + 'static>(function: impl Fn() -> F + 'static) -> Vec<String> {
        let out = Case::new(move || KeyedReduce::new(key, function()))
            .route(|batch| Route::Key(hash_key(&batch.values[0].0)))
            .batch(rows())
            .end()
            .run();
        out[0].clone()
    }

    #[test]
    fn fields_are_folded() {
        let expected = |values: [(i64, char); 6]| -> Vec<String> {
            let keys = [1, 2, 1, 1, 2, 1];
            let line = |(i, (value, tag))| format!("{i} ({}, {value}, {tag:?})", keys[i]);
            values.into_iter().enumerate().map(line).collect()
        };
        let (a, b) = ('a', 'b');
        assert_eq!(
            reduced(|| rolling::sum(|row: &mut Row| &mut row.1)),
            expected([(5, a), (7, b), (2, a), (11, a), (14, b), (8, a)])
        );
        assert_eq!(
            reduced(|| rolling::min(|row: &mut Row| &mut row.1)),
            expected([(5, a), (7, b), (-3, a), (-3, a), (7, b), (-3, a)])
        );
        assert_eq!(
            reduced(|| rolling::max(|row: &mut Row| &mut row.1)),
            expected([(5, a), (7, b), (5, a), (9, a), (7, b), (9, a)])
        );
        assert_eq!(
            reduced(|| rolling::min_by(|row: &Row| row.1)),
            expected([(5, a), (7, b), (-3, 'c'), (-3, 'c'), (7, b), (-3, 'c')])
        );
        assert_eq!(
            reduced(|| rolling::max_by(|row: &Row| row.1)),
            expected([(5, a), (7, b), (5, a), (9, 'd'), (7, b), (9, 'd')])
        );
    }

    #[test]
    fn aggregates_come_with_their_key() {
        let mut harness =
            OperatorHarness::new(KeyedAggregate::new(key, (Count::new(), Avg::of(|row: &Row| row.1))))
                .unwrap();
        harness.push(rows()).unwrap();
        let out = harness.output();
        let expected =
            [(1, (1, 5.0)), (2, (1, 7.0)), (1, (2, 1.0)), (1, (3, 11.0 / 3.0)), (2, (2, 7.0)), (1, (4, 2.0))];
        assert_eq!(out.values, expected);
        assert_eq!(out.times, rows().times);
        assert_eq!(harness.stored_entries().unwrap(), 2);
    }
}
