//! The keyed states of one operator.

use crate::access::KeyedAccess;
use crate::cell::StateCell;
use crate::handles::{
    Aggregate, AggregateCell, AggregatingState, Handle, ListCell, ListState, MapCell, MapState, ReduceCell,
    ReducingState, ValueCell, ValueState,
};
use crate::open::OpenState;
use crate::snapshot::{Fuel, SnapshotTable};
use crate::ttl::{StateTime, Ttl};
use flugs_batch::{Data, Key};
use flugs_types::Result;

/// Owns the keyed states of an operator. States are made when the operator opens; the handles got then
/// are used with a [`KeyedAccess`] of this store.
pub struct KeyedStore<K> {
    cells: Vec<Box<dyn StateCell<K>>>,
    /// The state that is swept next.
    sweep_at: usize,
}

impl<K: Key> Default for KeyedStore<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Key> KeyedStore<K> {
    /// A store without states.
    pub fn new() -> Self {
        KeyedStore { cells: Vec::new(), sweep_at: 0 }
    }

    /// Opens a state of one value a key.
    pub fn value<T: Data>(
        &mut self,
        from: &mut OpenState,
        name: &str,
        ttl: Option<Ttl>,
    ) -> Result<ValueState<T>> {
        let cell = ValueCell::<K, T>::open(from, name, ttl)?;
        Ok(ValueState::new(self.push(cell)))
    }

    /// Opens a state of a list a key.
    pub fn list<T: Data>(
        &mut self,
        from: &mut OpenState,
        name: &str,
        ttl: Option<Ttl>,
    ) -> Result<ListState<T>> {
        let cell = ListCell::<K, T>::open(from, name, ttl)?;
        Ok(ListState::new(self.push(cell)))
    }

    /// Opens a state of a map a key, which iterates in the order of its keys.
    pub fn map<MK: Data + Ord, MV: Data>(
        &mut self,
        from: &mut OpenState,
        name: &str,
        ttl: Option<Ttl>,
    ) -> Result<MapState<MK, MV>> {
        let cell = MapCell::<K, MK, MV>::open(from, name, ttl)?;
        Ok(MapState::new(self.push(cell)))
    }

    /// Opens a state that keeps the sum of what is added, where `reduce` adds the second value to the first.
    pub fn reducing<T: Data>(
        &mut self,
        from: &mut OpenState,
        name: &str,
        ttl: Option<Ttl>,
        reduce: impl Fn(&mut T, T) + Send + 'static,
    ) -> Result<ReducingState<T>> {
        let cell = ReduceCell::<K, T>::open(from, name, ttl, Box::new(reduce))?;
        Ok(ReducingState::new(self.push(cell)))
    }

    /// Opens a state that keeps an accumulator of what is added: `init` makes it, `add` adds to it, `result` reads it.
    pub fn aggregating<In: 'static, Acc: Data, Out: 'static>(
        &mut self,
        from: &mut OpenState,
        name: &str,
        ttl: Option<Ttl>,
        init: impl Fn() -> Acc + Send + 'static,
        add: impl Fn(&mut Acc, In) + Send + 'static,
        result: impl Fn(&Acc) -> Out + Send + 'static,
    ) -> Result<AggregatingState<In, Acc, Out>> {
        let functions = Aggregate { init: Box::new(init), add: Box::new(add), result: Box::new(result) };
        let cell = AggregateCell::<K, In, Acc, Out>::open(from, name, ttl, functions)?;
        Ok(AggregatingState::new(self.push(cell)))
    }

    fn push(&mut self, cell: impl StateCell<K>) -> u32 {
        self.cells.push(Box::new(cell));
        (self.cells.len() - 1) as u32
    }

    #[inline]
    pub(crate) fn cell_mut(&mut self, index: u32) -> &mut dyn StateCell<K> {
        &mut *self.cells[index as usize]
    }

    /// The tables of all states, for snapshots.
    pub fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.cells.iter_mut().map(|cell| cell.table()).collect()
    }

    /// Asks the processor to fetch the states of the key with this hash. A function that works through many keys calls it for
    /// some 64 of them before it works on the first, where state is larger than the processor's caches.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        self.cells.iter().for_each(|cell| cell.prefetch(hash));
    }

    /// What all states take, in bytes.
    pub fn bytes(&self) -> usize {
        self.cells.iter().map(|cell| cell.bytes()).sum()
    }

    /// Removes expired values until `fuel` is spent or all states were looked through once; goes on where it stopped
    /// the last time. Returns how many values it removed.
    pub fn sweep(&mut self, fuel: &mut Fuel, time: StateTime) -> u64 {
        let before = self.expired();
        for _ in 0..self.cells.len() {
            self.sweep_at %= self.cells.len();
            if fuel.is_spent() || !self.cells[self.sweep_at].sweep(fuel, time) {
                break;
            }
            self.sweep_at += 1;
        }
        self.expired() - before
    }

    /// How many values have expired and were removed so far, by sweeps and by accesses that found them.
    pub fn expired(&self) -> u64 {
        self.cells.iter().map(|cell| cell.expired()).sum()
    }

    /// Calls `f` with an access for each key that has an entry in the state, ordered by key group; `f` may change any state of
    /// that key. This is how a broadcast function applies a change to all keyed state (Flink: `applyToKeyedState`).
    pub fn for_each_key(
        &mut self,
        state: impl Handle,
        time: StateTime,
        mut f: impl FnMut(&mut KeyedAccess<'_, K>),
    ) {
        let mut cursor = 0;
        let mut keys = Vec::new();
        loop {
            let more = self.cells[state.index() as usize].keys_from(&mut cursor, &mut keys);
            for key in keys.drain(..) {
                f(&mut KeyedAccess::new(self, &key, time.watermark, time.processing_time));
            }
            if !more {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
