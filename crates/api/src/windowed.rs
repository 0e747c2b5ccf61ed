//! Keyed streams grouped by windows.

use crate::keyed::KeyedStream;
use crate::stream::DataStream;
use flugs_batch::{Data, Either, Key};
use flugs_operators::{
    AggregateFunction, CoGroupOperator, Count, CountTrigger, DefaultTrigger, Evictor, KeySelector,
    ProcessWindowFunction, PurgingTrigger, TimeWindow, Trigger, WindowAssigner, WindowBuilder, WindowOutput,
    WindowedOperator, co_group, join_pairs,
};
use std::sync::Arc;
use std::time::Duration;

type Build<T, F, G> = Arc<dyn Fn(F) -> WindowBuilder<T, F, G> + Send + Sync>;

/// A keyed stream whose rows are grouped by windows. The last call says what is made of each group.
///
/// Rows that come later than the allowed lateness are counted (`numLateRecordsDropped`) and go to side output 0 of
/// the stream that comes out: `results.side_output::<T>(0)`.
pub struct WindowedStream<T, F, G = DefaultTrigger> {
    stream: DataStream<T>,
    key: F,
    build: Build<T, F, G>,
}

impl<T: Data, K: Key, F: Fn(&T) -> K + Clone + Send + Sync + 'static> KeyedStream<T, K, F> {
    /// Groups the rows of each key by the windows of an assigner.
    pub fn window(&self, assigner: impl WindowAssigner<T> + Clone + Sync) -> WindowedStream<T, F> {
        self.windowed(move |key| WindowBuilder::new(key, assigner.clone()))
    }

    /// Groups each `size` rows of a key.
    pub fn count_window(&self, size: u64) -> WindowedStream<T, F, PurgingTrigger<CountTrigger>> {
        self.windowed(move |key| WindowBuilder::count(key, size))
    }

    /// At each `slide` rows of a key, groups its last `size` rows.
    pub fn sliding_count_window(&self, size: usize, slide: u64) -> WindowedStream<T, F, CountTrigger> {
        self.windowed(move |key| WindowBuilder::sliding_count(key, size, slide))
    }

    fn windowed<G>(
        &self,
        build: impl Fn(F) -> WindowBuilder<T, F, G> + Send + Sync + 'static,
    ) -> WindowedStream<T, F, G> {
        WindowedStream { stream: self.partitioned().clone(), key: self.key().clone(), build: Arc::new(build) }
    }

    /// Brings the rows of this and another keyed stream together, by equal keys and windows.
    pub fn co_group<R: Data, F2>(&self, other: &KeyedStream<R, K, F2>) -> CoGrouping<T, R, F, F2>
    where
        F2: Fn(&R) -> K + Clone + Send + Sync + 'static,
    {
        CoGrouping {
            left: (self.partitioned().clone(), self.key().clone()),
            right: (other.partitioned().clone(), other.key().clone()),
        }
    }
}

impl<T: Data> DataStream<T> {
    /// Groups all rows, whatever they are, by windows. One subtask does the work.
    pub fn window_all(
        &self,
        assigner: impl WindowAssigner<T> + Clone + Sync,
    ) -> WindowedStream<T, impl Fn(&T) + Clone + Send + Sync + 'static> {
        self.key_by(|_| ()).window(assigner)
    }
}

impl<T, F, G> WindowedStream<T, F, G>
where
    T: Data,
    F: KeySelector<T> + Clone + Sync,
    G: Trigger<T> + 'static,
{
    fn change<H>(
        self,
        change: impl Fn(WindowBuilder<T, F, G>) -> WindowBuilder<T, F, H> + Send + Sync + 'static,
    ) -> WindowedStream<T, F, H> {
        let build = self.build;
        WindowedStream { stream: self.stream, key: self.key, build: Arc::new(move |key| change(build(key))) }
    }

    /// Puts this trigger in the place of the assigner's.
    #[must_use]
    pub fn trigger<H: Trigger<T> + Clone + Sync>(self, trigger: H) -> WindowedStream<T, F, H> {
        self.change(move |windows| windows.trigger(trigger.clone()))
    }

    /// Removes rows before or after the function sees them.
    #[must_use]
    pub fn evictor(self, evictor: impl Evictor<T> + Clone + Sync) -> Self {
        self.change(move |windows| windows.evictor(evictor.clone()))
    }

    /// Keeps event-time windows for this long after their end, and gives a new result for each row that comes meanwhile.
    #[must_use]
    pub fn allowed_lateness(self, lateness: Duration) -> Self {
        self.change(move |windows| windows.allowed_lateness(lateness))
    }

    fn finish<O: Data>(
        self,
        name: &str,
        finish: impl Fn(WindowBuilder<T, F, G>) -> WindowedOperator<T, O> + Send + Sync + 'static,
    ) -> DataStream<O> {
        let (key, build) = (self.key, self.build);
        self.stream.transform(name, true, move || finish(build(key.clone())))
    }

    /// Aggregates each group: key and result.
    pub fn aggregate<A>(self, aggregate: A) -> DataStream<(F::Key, A::Out)>
    where
        A: AggregateFunction<In = T> + Clone,
        A::Out: Data,
    {
        self.aggregate_with(aggregate, |key: &F::Key, _, result| (key.clone(), result))
    }

    /// Aggregates each group: what `emit` makes of key, window and result.
    pub fn aggregate_with<A, O: Data>(
        self,
        aggregate: A,
        emit: impl FnMut(&F::Key, TimeWindow, A::Out) -> O + Clone + Send + Sync + 'static,
    ) -> DataStream<O>
    where
        A: AggregateFunction<In = T> + Clone,
    {
        self.finish("window_aggregate", move |windows| windows.aggregate(aggregate.clone(), emit.clone()))
    }

    /// Counts each group.
    pub fn count(self) -> DataStream<(F::Key, u64)> {
        self.aggregate(Count::new())
    }

    /// Reduces each group to one row: `reduce` adds its second row to the first.
    pub fn reduce(self, reduce: impl Fn(&mut T, T) + Clone + Send + Sync + 'static) -> DataStream<T> {
        self.finish("window_reduce", move |windows| windows.reduce(reduce.clone()))
    }

    /// Gives what a function makes of each group's rows, all of which are kept until then.
    pub fn process<P>(self, process: P) -> DataStream<P::Out>
    where
        P: ProcessWindowFunction<F::Key, T> + Clone + Sync,
        P::Out: Data,
    {
        self.finish("window_process", move |windows| windows.process(process.clone()))
    }

    /// Gives what a function makes of the aggregate of each group, which it sees as the group's only row.
    pub fn aggregate_process<A, P>(self, aggregate: A, process: P) -> DataStream<P::Out>
    where
        A: AggregateFunction<In = T> + Clone,
        P: ProcessWindowFunction<F::Key, A::Out> + Clone + Sync,
        P::Out: Data,
    {
        self.finish("window_aggregate", move |windows| {
            windows.aggregate_process(aggregate.clone(), process.clone())
        })
    }

    /// Likewise with a closure over key, window and rows.
    pub fn apply<O: Data>(
        self,
        function: impl FnMut(&F::Key, TimeWindow, &[T], &mut WindowOutput<'_, O>) + Clone + Send + Sync + 'static,
    ) -> DataStream<O> {
        self.finish("window_apply", move |windows| windows.apply(function.clone()))
    }
}

/// Two keyed streams that meet in windows; see [`KeyedStream::co_group`].
pub struct CoGrouping<L, R, F1, F2> {
    left: (DataStream<L>, F1),
    right: (DataStream<R>, F2),
}

impl<L: Data, R: Data, F1, F2> CoGrouping<L, R, F1, F2> {
    /// The windows in which they meet.
    pub fn window<W: WindowAssigner<Either<L, R>> + Clone + Sync>(
        self,
        assigner: W,
    ) -> CoGroupedStreams<L, R, F1, F2, W> {
        CoGroupedStreams { sides: self, assigner, lateness: Duration::ZERO }
    }
}

/// Two keyed streams grouped by windows.
///
/// Late rows are counted and go to side outputs 0 (the first stream's) and 1 (the second's).
pub struct CoGroupedStreams<L, R, F1, F2, W> {
    sides: CoGrouping<L, R, F1, F2>,
    assigner: W,
    lateness: Duration,
}

impl<L, R, K, F1, F2, W> CoGroupedStreams<L, R, F1, F2, W>
where
    L: Data,
    R: Data,
    K: Key,
    F1: KeySelector<L, Key = K> + Clone + Sync,
    F2: KeySelector<R, Key = K> + Clone + Sync,
    W: WindowAssigner<Either<L, R>> + Clone + Sync,
{
    /// Keeps windows for this long after their end.
    #[must_use]
    pub fn allowed_lateness(mut self, lateness: Duration) -> Self {
        self.lateness = lateness;
        self
    }

    /// Gives what a function makes of the rows of both sides, where at least one has a row.
    pub fn apply<O: Data>(
        self,
        function: impl FnMut(&K, TimeWindow, &[L], &[R], &mut WindowOutput<'_, O>) + Clone + Send + Sync + 'static,
    ) -> DataStream<O> {
        let ((left, key), (right, key2)) = (self.sides.left, self.sides.right);
        let (assigner, lateness) = (self.assigner, self.lateness);
        left.transform_two(&right, "co_group", true, move || {
            CoGroupOperator::new(
                key.clone(),
                key2.clone(),
                assigner.clone(),
                lateness,
                co_group(function.clone()),
            )
        })
    }

    /// Joins: what `pair` makes of each row of one side with each of the other.
    pub fn join<O: Data>(
        self,
        pair: impl FnMut(&L, &R) -> O + Clone + Send + Sync + 'static,
    ) -> DataStream<O> {
        let ((left, key), (right, key2)) = (self.sides.left, self.sides.right);
        let (assigner, lateness) = (self.assigner, self.lateness);
        left.transform_two(&right, "window_join", true, move || {
            CoGroupOperator::new(
                key.clone(),
                key2.clone(),
                assigner.clone(),
                lateness,
                join_pairs(pair.clone()),
            )
        })
    }
}
