//! Functions over what a window holds, and what they see of it.

use super::side_rows::SideRows;
use super::time_window::TimeWindow;
use crate::OutputTag;
use flugs_batch::{Data, Key, Record, Records};
use flugs_state::{
    AggregatingState, KeyedAccess, KeyedStore, ListState, MapState, OpenState, ReducingState, StateTime, Ttl,
    ValueState,
};
use flugs_types::{Error, Result, Timestamp, hash_key};
use std::marker::PhantomData;

/// Gives a window's results from all its rows, or from the one result of its aggregate.
///
/// Called each time that the window's trigger fires. State that is kept for one window goes with the window; what is kept
/// for the key over all windows stays until the function removes it or its time to live is over.
pub trait ProcessWindowFunction<K: Key, T>: Send + 'static {
    /// The results.
    type Out: Record;

    /// Opens state.
    fn open(&mut self, context: &mut WindowOpenContext<'_, K>) -> Result<()> {
        let _ = context;
        Ok(())
    }

    /// The window fires. `rows` stand in the order in which they came.
    fn process(
        &mut self,
        context: &mut WindowContext<'_, K>,
        rows: &[T],
        out: &mut WindowOutput<'_, Self::Out>,
    ) -> Result<()>;

    /// The window is removed.
    fn clear(&mut self, context: &mut WindowContext<'_, K>) -> Result<()> {
        let _ = context;
        Ok(())
    }
}

/// A window function that is a closure over key, window and rows (Flink: `WindowFunction`); see [`apply`].
pub struct Apply<F, O> {
    function: F,
    out: PhantomData<fn() -> O>,
}

impl<F: Clone, O> Clone for Apply<F, O> {
    fn clone(&self) -> Self {
        Apply { function: self.function.clone(), out: PhantomData }
    }
}

/// A window function from a closure.
pub fn apply<K, T, O, F>(function: F) -> Apply<F, O>
where
    F: FnMut(&K, TimeWindow, &[T], &mut WindowOutput<'_, O>) + Send + 'static,
{
    Apply { function, out: PhantomData }
}

impl<K, T, O, F> ProcessWindowFunction<K, T> for Apply<F, O>
where
    K: Key,
    O: Record,
    F: FnMut(&K, TimeWindow, &[T], &mut WindowOutput<'_, O>) + Send + 'static,
{
    type Out = O;

    fn process(
        &mut self,
        context: &mut WindowContext<'_, K>,
        rows: &[T],
        out: &mut WindowOutput<'_, O>,
    ) -> Result<()> {
        (self.function)(context.key(), context.window(), rows, out);
        Ok(())
    }
}

/// Where a window function puts its results. They get the window's last instant as their time.
pub struct WindowOutput<'a, O> {
    pub(crate) rows: &'a mut Records<O>,
    pub(crate) sides: &'a mut SideRows<O>,
    pub(crate) time: Timestamp,
}

impl<O: 'static> WindowOutput<'_, O> {
    /// Gives a result.
    #[inline]
    pub fn collect(&mut self, result: O) {
        self.rows.push(result, self.time);
    }

    /// Gives a row to a side output. Port 0 is that of late rows, and port 1 too where there are two streams; a function's own
    /// follow.
    pub fn side<S: Send + 'static>(&mut self, tag: OutputTag<S>, row: S) {
        self.sides.push(tag, row, self.time);
    }
}

/// Removes what one state holds for a window.
pub(crate) type Closer<K> = Box<dyn Fn(&mut KeyedAccess<'_, K>, &TimeWindow) + Send>;

/// What a window function opens its state with.
pub struct WindowOpenContext<'a, K> {
    pub(crate) store: &'a mut KeyedStore<K>,
    pub(crate) from: &'a mut OpenState,
    pub(crate) closers: &'a mut Vec<Closer<K>>,
    pub(crate) merging: bool,
}

/// The names of a window operator's own states begin so.
pub(crate) const OWN_STATE: &str = "window.";

impl<K: Key> WindowOpenContext<'_, K> {
    /// A value for each key and window, removed with the window. Refused where windows merge, since nobody could say what
    /// becomes of two values then.
    pub fn window_value<V: Data>(&mut self, name: &str) -> Result<WindowValueState<V>> {
        if self.merging {
            return Err(Error::job(format!(
                "state '{name}' is kept for each window, and these windows merge"
            ))
            .mend("keep it for each key, or use windows that do not merge"));
        }
        let values = self.map::<TimeWindow, V>(name, None)?;
        self.closers.push(Box::new(move |access, window| {
            values.remove(access, window);
        }));
        Ok(WindowValueState { values })
    }

    /// A value for each key, over all its windows.
    pub fn value<V: Data>(&mut self, name: &str, ttl: Option<Ttl>) -> Result<ValueState<V>> {
        self.store.value(self.from, own(name)?, ttl)
    }

    /// A list for each key, over all its windows.
    pub fn list<V: Data>(&mut self, name: &str, ttl: Option<Ttl>) -> Result<ListState<V>> {
        self.store.list(self.from, own(name)?, ttl)
    }

    /// A map for each key, over all its windows.
    pub fn map<MK: Data + Ord, MV: Data>(
        &mut self,
        name: &str,
        ttl: Option<Ttl>,
    ) -> Result<MapState<MK, MV>> {
        self.store.map(self.from, own(name)?, ttl)
    }

    /// A reduced value for each key, over all its windows.
    pub fn reducing<V: Data>(
        &mut self,
        name: &str,
        ttl: Option<Ttl>,
        reduce: impl Fn(&mut V, V) + Send + 'static,
    ) -> Result<ReducingState<V>> {
        self.store.reducing(self.from, own(name)?, ttl, reduce)
    }

    /// An accumulator for each key, over all its windows.
    pub fn aggregating<In: 'static, Acc: Data, Out: 'static>(
        &mut self,
        name: &str,
        ttl: Option<Ttl>,
        init: impl Fn() -> Acc + Send + 'static,
        add: impl Fn(&mut Acc, In) + Send + 'static,
        result: impl Fn(&Acc) -> Out + Send + 'static,
    ) -> Result<AggregatingState<In, Acc, Out>> {
        self.store.aggregating(self.from, own(name)?, ttl, init, add, result)
    }
}

fn own(name: &str) -> Result<&str> {
    if name.starts_with(OWN_STATE) {
        return Err(Error::job(format!("the name '{name}' of a state belongs to the window operator"))
            .mend(format!("choose a name that does not begin with '{OWN_STATE}'")));
    }
    Ok(name)
}

/// What a window function sees: the key, its window, the clocks and the key's state.
pub struct WindowContext<'a, K> {
    pub(crate) key: &'a K,
    pub(crate) window: TimeWindow,
    pub(crate) time: StateTime,
    pub(crate) store: &'a mut KeyedStore<K>,
}

impl<'a, K: Key> WindowContext<'a, K> {
    /// The key.
    pub fn key(&self) -> &'a K {
        self.key
    }

    /// The window.
    pub fn window(&self) -> TimeWindow {
        self.window
    }

    /// The operator's watermark.
    pub fn watermark(&self) -> Timestamp {
        self.time.watermark
    }

    /// The time of the machine.
    pub fn processing_time(&self) -> Timestamp {
        self.time.processing_time
    }

    /// The key's state over all its windows, for the handles that were opened.
    pub fn state(&mut self) -> KeyedAccess<'_, K> {
        KeyedAccess::with_hash(self.store, self.key, hash_key(self.key), self.time)
    }
}

/// A state of one value for each key and window.
pub struct WindowValueState<V> {
    values: MapState<TimeWindow, V>,
}

impl<V> Clone for WindowValueState<V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for WindowValueState<V> {}

impl<V: Data> WindowValueState<V> {
    /// The window's value.
    pub fn get<K: Key>(&self, context: &mut WindowContext<'_, K>) -> Option<V> {
        let window = context.window;
        self.values.get(&mut context.state(), &window).cloned()
    }

    /// Sets the window's value; returns the former one.
    pub fn set<K: Key>(&self, context: &mut WindowContext<'_, K>, value: V) -> Option<V> {
        let window = context.window;
        self.values.put(&mut context.state(), window, value)
    }

    /// Removes the window's value; returns it.
    pub fn clear<K: Key>(&self, context: &mut WindowContext<'_, K>) -> Option<V> {
        let window = context.window;
        self.values.remove(&mut context.state(), &window)
    }
}
