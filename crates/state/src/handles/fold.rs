//! States that keep what was added to them folded into one value.

use super::{ValueCell, handle};
use crate::access::KeyedAccess;
use crate::cell::StateCell;
use crate::open::OpenState;
use crate::snapshot::{Fuel, SnapshotTable};
use crate::ttl::{StateTime, Ttl};
use flugs_batch::{Data, Key};
use flugs_types::Result;

/// A value cell and the functions that are applied to it.
pub(crate) struct FoldCell<K: Key, T: Data, F> {
    value: ValueCell<K, T>,
    functions: F,
}

type Reduce<T> = Box<dyn Fn(&mut T, T) + Send>;

pub(crate) type ReduceCell<K, T> = FoldCell<K, T, Reduce<T>>;

type Init<Acc> = Box<dyn Fn() -> Acc + Send>;
type Add<In, Acc> = Box<dyn Fn(&mut Acc, In) + Send>;
type Output<Acc, Out> = Box<dyn Fn(&Acc) -> Out + Send>;

pub(crate) struct Aggregate<In, Acc, Out> {
    pub(crate) init: Init<Acc>,
    pub(crate) add: Add<In, Acc>,
    pub(crate) result: Output<Acc, Out>,
}

pub(crate) type AggregateCell<K, In, Acc, Out> = FoldCell<K, Acc, Aggregate<In, Acc, Out>>;

impl<K: Key, T: Data> ReduceCell<K, T> {
    pub(crate) fn open(
        from: &mut OpenState,
        name: &str,
        ttl: Option<Ttl>,
        reduce: Reduce<T>,
    ) -> Result<Self> {
        Ok(FoldCell { value: ValueCell::open(from, name, ttl)?, functions: reduce })
    }
}

impl<K: Key, In: 'static, Acc: Data, Out: 'static> AggregateCell<K, In, Acc, Out> {
    pub(crate) fn open(
        from: &mut OpenState,
        name: &str,
        ttl: Option<Ttl>,
        functions: Aggregate<In, Acc, Out>,
    ) -> Result<Self> {
        Ok(FoldCell { value: ValueCell::open(from, name, ttl)?, functions })
    }
}

impl<K: Key, T: Data, F: Send + 'static> StateCell<K> for FoldCell<K, T, F> {
    fn table(&mut self) -> &mut dyn SnapshotTable {
        self.value.table()
    }

    fn sweep(&mut self, fuel: &mut Fuel, time: StateTime) -> bool {
        self.value.sweep(fuel, time)
    }

    fn bytes(&self) -> usize {
        self.value.bytes()
    }

    fn expired(&self) -> u64 {
        self.value.expired()
    }

    fn prefetch(&self, hash: u64) {
        self.value.prefetch(hash);
    }

    fn keys_from(&self, cursor: &mut u64, keys: &mut Vec<K>) -> bool {
        self.value.keys_from(cursor, keys)
    }
}

handle! {
    /// A state that keeps the sum, under any reduce function, of what is added.
    ReducingState<T>
}

impl<T: Data> ReducingState<T> {
    /// Adds a value: the first is the sum, later ones are reduced into it.
    pub fn add<K: Key>(&self, access: &mut KeyedAccess<'_, K>, value: T) {
        let (cell, hash, key, time) = access.cell::<ReduceCell<K, T>>(self.index);
        let FoldCell { value: sums, functions: reduce } = cell;
        let mut value = Some(value);
        let sum = sums.get_or_insert_with(hash, key, time, || value.take().expect("made once"));
        if let Some(value) = value {
            reduce(sum, value);
        }
    }

    /// The sum.
    pub fn get<'s, K: Key>(&self, access: &'s mut KeyedAccess<'_, K>) -> Option<&'s T> {
        let (cell, hash, key, time) = access.cell::<ReduceCell<K, T>>(self.index);
        cell.value.get(hash, key, time)
    }

    /// Removes the sum.
    pub fn clear<K: Key>(&self, access: &mut KeyedAccess<'_, K>) {
        let (cell, hash, key, _) = access.cell::<ReduceCell<K, T>>(self.index);
        cell.value.clear(hash, key);
    }
}

handle! {
    /// A state that keeps an accumulator of what is added, whose type is not that of what is added or read.
    AggregatingState<In, Acc, Out>
}

impl<In: 'static, Acc: Data, Out: 'static> AggregatingState<In, Acc, Out> {
    /// Adds a value to the accumulator.
    pub fn add<K: Key>(&self, access: &mut KeyedAccess<'_, K>, value: In) {
        let (cell, hash, key, time) = access.cell::<AggregateCell<K, In, Acc, Out>>(self.index);
        let FoldCell { value: accumulators, functions } = cell;
        (functions.add)(accumulators.get_or_insert_with(hash, key, time, &functions.init), value);
    }

    /// The result of what was added; `None` where nothing was.
    pub fn get<K: Key>(&self, access: &mut KeyedAccess<'_, K>) -> Option<Out> {
        let (cell, hash, key, time) = access.cell::<AggregateCell<K, In, Acc, Out>>(self.index);
        let FoldCell { value: accumulators, functions } = cell;
        accumulators.get(hash, key, time).map(&functions.result)
    }

    /// Removes the accumulator.
    pub fn clear<K: Key>(&self, access: &mut KeyedAccess<'_, K>) {
        let (cell, hash, key, _) = access.cell::<AggregateCell<K, In, Acc, Out>>(self.index);
        cell.value.clear(hash, key);
    }
}
