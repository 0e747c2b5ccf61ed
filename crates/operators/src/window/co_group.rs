//! The rows of two streams that fall into the same window under the same key (Flink: `coGroup` and window `join`).

use super::assigner::WindowAssigner;
use super::contents::WindowContents;
use super::function::{WindowContext, WindowOpenContext, WindowOutput};
use super::general::WindowOperator;
use super::time_window::TimeWindow;
use super::trigger::{DefaultTrigger, Trigger};
use crate::KeySelector;
use flugs_batch::{Barrier, Data, Either, Key, Record, Records};
use flugs_state::SnapshotTable;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Result, Timestamp};
use std::marker::PhantomData;
use std::time::Duration;

/// Gives a window's results from the rows of both streams. Called where at least one of them has a row.
pub trait CoGroupFunction<K: Key, L, R>: Send + 'static {
    /// The results.
    type Out: Record;

    /// Opens state.
    fn open(&mut self, context: &mut WindowOpenContext<'_, K>) -> Result<()> {
        let _ = context;
        Ok(())
    }

    /// The window fires. The rows of each stream stand in the order in which they came.
    fn co_group(
        &mut self,
        context: &mut WindowContext<'_, K>,
        left: &[L],
        right: &[R],
        out: &mut WindowOutput<'_, Self::Out>,
    ) -> Result<()>;
}

/// A function over both sides that is a closure; see [`co_group`].
pub struct CoGroup<F, O> {
    function: F,
    out: PhantomData<fn() -> O>,
}

/// A function over key, window and the rows of both streams from a closure.
pub fn co_group<K, L, R, O, F>(function: F) -> CoGroup<F, O>
where
    F: FnMut(&K, TimeWindow, &[L], &[R], &mut WindowOutput<'_, O>) + Send + 'static,
{
    CoGroup { function, out: PhantomData }
}

impl<K, L, R, O, F> CoGroupFunction<K, L, R> for CoGroup<F, O>
where
    K: Key,
    O: Record,
    F: FnMut(&K, TimeWindow, &[L], &[R], &mut WindowOutput<'_, O>) + Send + 'static,
{
    type Out = O;

    fn co_group(
        &mut self,
        context: &mut WindowContext<'_, K>,
        left: &[L],
        right: &[R],
        out: &mut WindowOutput<'_, O>,
    ) -> Result<()> {
        (self.function)(context.key(), context.window(), left, right, out);
        Ok(())
    }
}

/// A join of both sides; see [`join_pairs`].
pub struct JoinPairs<F> {
    pair: F,
}

/// Gives `pair(left, right)` for each row of the first stream with each of the second: nothing where one has none.
pub fn join_pairs<L, R, O, F>(pair: F) -> JoinPairs<F>
where
    F: FnMut(&L, &R) -> O + Send + 'static,
{
    JoinPairs { pair }
}

impl<K, L, R, O, F> CoGroupFunction<K, L, R> for JoinPairs<F>
where
    K: Key,
    O: Record,
    F: FnMut(&L, &R) -> O + Send + 'static,
{
    type Out = O;

    fn co_group(
        &mut self,
        _: &mut WindowContext<'_, K>,
        left: &[L],
        right: &[R],
        out: &mut WindowOutput<'_, O>,
    ) -> Result<()> {
        for l in left {
            right.iter().for_each(|r| out.collect((self.pair)(l, r)));
        }
        Ok(())
    }
}

/// The rows of both streams.
pub struct CoGrouped<K, L, R, P> {
    function: P,
    types: PhantomData<fn(K, L, R)>,
}

impl<K: Key, L: Data, R: Data, P: CoGroupFunction<K, L, R>> WindowContents for CoGrouped<K, L, R, P> {
    type Key = K;
    type In = Either<L, R>;
    type State = (Vec<L>, Vec<R>);
    type Out = P::Out;

    fn open(&mut self, context: &mut WindowOpenContext<'_, K>) -> Result<()> {
        self.function.open(context)
    }

    fn create(&self) -> Self::State {
        (Vec::new(), Vec::new())
    }

    fn add(&self, state: &mut Self::State, row: &Self::In, _: Timestamp) {
        match row {
            Either::Left(row) => state.0.push(row.clone()),
            Either::Right(row) => state.1.push(row.clone()),
        }
    }

    fn merge(&self, state: &mut Self::State, mut other: Self::State) {
        state.0.append(&mut other.0);
        state.1.append(&mut other.1);
    }

    fn fire(
        &mut self,
        state: &mut Self::State,
        context: &mut WindowContext<'_, K>,
        out: &mut WindowOutput<'_, P::Out>,
    ) -> Result<()> {
        self.function.co_group(context, &state.0, &state.1, out)
    }
}

/// Finds the key of a row of either stream.
struct EitherKey<A, B> {
    left: A,
    right: B,
}

impl<K, L, R, A, B> KeySelector<Either<L, R>> for EitherKey<A, B>
where
    K: Key,
    L: 'static,
    R: 'static,
    A: KeySelector<L, Key = K>,
    B: KeySelector<R, Key = K>,
{
    type Key = K;

    fn key(&self, row: &Either<L, R>) -> K {
        match row {
            Either::Left(row) => self.left.key(row),
            Either::Right(row) => self.right.key(row),
        }
    }
}

/// Groups the rows of two streams by key and window.
///
/// Late rows are counted (`numLateRecordsDropped`) and handed to side output 0 (the first stream's) and 1 (the second's).
pub struct CoGroupOperator<C: WindowContents, G: Trigger<C::In> = DefaultTrigger> {
    windows: WindowOperator<C, G>,
}

impl<K, L, R, P> CoGroupOperator<CoGrouped<K, L, R, P>>
where
    K: Key,
    L: Data,
    R: Data,
    P: CoGroupFunction<K, L, R>,
{
    /// Groups by the two keys and the windows of the assigner, each of which fires when its time is over.
    pub fn new(
        left: impl KeySelector<L, Key = K>,
        right: impl KeySelector<R, Key = K>,
        assigner: impl WindowAssigner<Either<L, R>>,
        lateness: Duration,
        function: P,
    ) -> Self {
        let trigger = assigner.default_trigger();
        Self::with_trigger(left, right, assigner, trigger, lateness, function)
    }
}

impl<K, L, R, P, G> CoGroupOperator<CoGrouped<K, L, R, P>, G>
where
    K: Key,
    L: Data,
    R: Data,
    P: CoGroupFunction<K, L, R>,
    G: Trigger<Either<L, R>>,
{
    /// Likewise, with another trigger.
    pub fn with_trigger(
        left: impl KeySelector<L, Key = K>,
        right: impl KeySelector<R, Key = K>,
        assigner: impl WindowAssigner<Either<L, R>>,
        trigger: G,
        lateness: Duration,
        function: P,
    ) -> Self {
        let contents = CoGrouped { function, types: PhantomData };
        let windows = WindowOperator::new(EitherKey { left, right }, assigner, trigger, lateness, contents);
        CoGroupOperator { windows }
    }
}

impl<L, R, C, G> Operator for CoGroupOperator<C, G>
where
    L: Record,
    R: Record,
    C: WindowContents<In = Either<L, R>>,
    G: Trigger<Either<L, R>>,
{
    type In = Either<Records<L>, Records<R>>;
    type Out = Records<C::Out>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.windows.open(context)
    }

    fn process(&mut self, batch: Self::In, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.windows.begin(match batch {
            Either::Left(rows) => {
                Records { values: rows.values.into_iter().map(Either::Left).collect(), times: rows.times }
            }
            Either::Right(rows) => {
                Records { values: rows.values.into_iter().map(Either::Right).collect(), times: rows.times }
            }
        })?;
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Output<Self::Out>) -> Result<Progress> {
        let progress = self.windows.work(out)?;
        let (mut left, mut right) = (Records::new(), Records::new());
        for (row, time) in self.windows.take_late() {
            match row {
                Either::Left(row) => left.push(row, time),
                Either::Right(row) => right.push(row, time),
            }
        }
        if !left.is_empty() {
            let _ = out.push_side(0, left)?;
        }
        if !right.is_empty() {
            let _ = out.push_side(1, right)?;
        }
        Ok(progress)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.windows.advance(watermark, out)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.windows.next_tick()
    }

    fn tick(&mut self, now: Timestamp, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.windows.tick(now, out)
    }

    fn barrier(&mut self, barrier: Barrier, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.windows.barrier(barrier, out)
    }

    fn end(&mut self, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.windows.end(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.windows.tables()
    }
}
