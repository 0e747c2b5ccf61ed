//! What is made of the groups of a windowed stream.

use super::WindowedStream;
use crate::stream::DataStream;
use flugs_batch::Data;
use flugs_operators::{
    AggregateFunction, Count, KeySelector, Number, ProcessWindowFunction, ReduceAggregate, TimeWindow,
    Trigger, WindowOutput, rolling,
};

impl<T, F, G> WindowedStream<T, F, G>
where
    T: Data,
    F: KeySelector<T> + Clone + Sync,
    G: Trigger<T> + 'static,
{
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

    /// Sums a field of the rows of each group into its first row. Integers wrap around.
    pub fn sum<N: Number>(
        self,
        field: impl Fn(&mut T) -> &mut N + Clone + Send + Sync + 'static,
    ) -> DataStream<T> {
        self.reduce(move |sum: &mut T, row| rolling::sum(&field)(sum, row))
    }

    /// Keeps the smallest value of a field in the first row of each group.
    pub fn min<N: PartialOrd + 'static>(
        self,
        field: impl Fn(&mut T) -> &mut N + Clone + Send + Sync + 'static,
    ) -> DataStream<T> {
        self.reduce(move |best: &mut T, row| rolling::min(&field)(best, row))
    }

    /// Keeps the largest value of a field in the first row of each group.
    pub fn max<N: PartialOrd + 'static>(
        self,
        field: impl Fn(&mut T) -> &mut N + Clone + Send + Sync + 'static,
    ) -> DataStream<T> {
        self.reduce(move |best: &mut T, row| rolling::max(&field)(best, row))
    }

    /// Gives the row of each group with the smallest value, the first of equal ones.
    pub fn min_by<N: PartialOrd + 'static>(
        self,
        value: impl Fn(&T) -> N + Clone + Send + Sync + 'static,
    ) -> DataStream<T> {
        self.reduce(move |best: &mut T, row| rolling::min_by(&value)(best, row))
    }

    /// Gives the row of each group with the largest value, the first of equal ones.
    pub fn max_by<N: PartialOrd + 'static>(
        self,
        value: impl Fn(&T) -> N + Clone + Send + Sync + 'static,
    ) -> DataStream<T> {
        self.reduce(move |best: &mut T, row| rolling::max_by(&value)(best, row))
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

    /// Gives what a function makes of the aggregate of each group, which it sees as the group's only row. Only the
    /// aggregate is kept until then.
    ///
    /// ```
    /// # use flugs_types::Result;
    /// # use flugs_api::Environment;
    /// # use flugs_connector::MemorySink;
    /// # use flugs_operators::{Count, GlobalWindows, ProcessWindowFunction, WindowContext, WindowOutput};
    /// #[derive(Clone)]
    /// struct Report;
    ///
    /// impl ProcessWindowFunction<char, u64> for Report {
    ///     type Out = String;
    ///
    ///     fn process(
    ///         &mut self,
    ///         cx: &mut WindowContext<'_, char>,
    ///         counts: &[u64],
    ///         out: &mut WindowOutput<'_, String>,
    ///     ) -> Result<()> {
    ///         counts.iter().for_each(|count| out.collect(format!("{}: {count}", cx.key())));
    ///         Ok(())
    ///     }
    /// }
    ///
    /// # fn main() -> flugs_types::Result<()> {
    /// let env = Environment::new("reports");
    /// let reports = MemorySink::new();
    /// env.from_collection(["ape", "ant"].map(String::from))
    ///     .key_by(|word| word.chars().next().unwrap_or(' '))
    ///     .window(GlobalWindows::end_of_stream())
    ///     .aggregate_process(Count::new(), Report)
    ///     .sink_to(reports.clone(), "reports");
    /// env.execute()?;
    /// assert_eq!(reports.rows(), ["a: 2"]);
    /// # Ok(()) }
    /// ```
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

    /// Gives what a function makes of the row to which each group is reduced. Only that row is kept until then.
    pub fn reduce_process<P>(
        self,
        reduce: impl Fn(&mut T, T) + Clone + Send + Sync + 'static,
        process: P,
    ) -> DataStream<P::Out>
    where
        P: ProcessWindowFunction<F::Key, T> + Clone + Sync,
        P::Out: Data,
    {
        self.aggregate_process(ReduceAggregate::of(reduce), process)
    }

    /// The same as [`process`](Self::process) with a closure over key, window and rows.
    pub fn apply<O: Data>(
        self,
        function: impl FnMut(&F::Key, TimeWindow, &[T], &mut WindowOutput<'_, O>) + Clone + Send + Sync + 'static,
    ) -> DataStream<O> {
        self.finish("window_apply", move |windows| windows.apply(function.clone()))
    }
}
