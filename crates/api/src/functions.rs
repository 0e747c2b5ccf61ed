//! Functions over one stream: process functions, rolling aggregates, times given in the middle.

use crate::keyed::KeyedStream;
use crate::stream::DataStream;
use flugs_batch::{Data, Key};
use flugs_operators::{
    AggregateFunction, AssignTimestamps, Count, KeySelector, KeyedAggregate, KeyedProcess,
    KeyedProcessFunction, KeyedReduce, Number, OpenFunction, OpenKeyed, OutputTag, Process, ProcessFunction,
    TryMap, rolling,
};
use flugs_task::WatermarkStrategy;
use flugs_types::Result;
use std::sync::Arc;

impl<T: Data> DataStream<T> {
    /// Makes one row of each, or fails the job.
    pub fn try_map<U: Data>(
        &self,
        f: impl FnMut(T) -> Result<U> + Clone + Send + Sync + 'static,
    ) -> DataStream<U> {
        self.transform("try_map", false, move || TryMap::new(f.clone()))
    }

    /// Runs a function over the rows, with time, side outputs and operator state.
    ///
    /// ```
    /// # use flugs_types::Result;
    /// # use flugs_api::{DataStream, Environment};
    /// # use flugs_connector::MemorySink;
    /// # use flugs_operators::{Collector, Context, OutputTag, ProcessFunction};
    /// const ODD: OutputTag<String> = OutputTag::new(0);
    ///
    /// #[derive(Clone)]
    /// struct Halve;
    ///
    /// impl ProcessFunction for Halve {
    ///     type In = i64;
    ///     type Out = i64;
    ///
    ///     fn process(&mut self, x: i64, _: &mut Context, out: &mut Collector<i64>) -> Result<()> {
    ///         match x % 2 {
    ///             0 => out.collect(x / 2),
    ///             _ => out.side(ODD, format!("{x} is odd")),
    ///         }
    ///         Ok(())
    ///     }
    /// }
    ///
    /// # fn main() -> flugs_types::Result<()> {
    /// let env = Environment::new("halves");
    /// let (halves, odd) = (MemorySink::new(), MemorySink::new());
    /// let halved = env.from_collection([2i64, 3]).process(Halve);
    /// halved.side(ODD).sink_to(odd.clone(), "odd");
    /// halved.sink_to(halves.clone(), "halves");
    /// env.execute()?;
    /// assert_eq!(halves.rows(), [1]);
    /// assert_eq!(odd.rows(), ["3 is odd"]);
    /// # Ok(()) }
    /// ```
    pub fn process<P>(&self, function: P) -> DataStream<P::Out>
    where
        P: ProcessFunction<In = T> + Clone + Sync,
        P::Out: Data,
    {
        self.transform("process", true, move || Process::operator(function.clone()))
    }

    /// Runs a function that each subtask makes when it opens, so that the handles of its operator state are plain fields.
    pub fn process_with<P>(
        &self,
        make: impl Fn(&mut OpenFunction<'_, '_>) -> Result<P> + Send + Sync + 'static,
    ) -> DataStream<P::Out>
    where
        P: ProcessFunction<In = T>,
        P::Out: Data,
    {
        let make = Arc::new(make);
        self.transform("process", true, move || {
            let make = make.clone();
            Process::opened_by(move |open| make(open))
        })
    }

    /// The side output of the operator that makes this stream which its function names by this tag.
    pub fn side<S: Data>(&self, tag: OutputTag<S>) -> DataStream<S> {
        self.side_output(u16::try_from(tag.port()).unwrap_or(u16::MAX - 1))
    }

    /// Gives the rows new event times, and the stream new watermarks. Those of the input are dropped, but for the end.
    #[must_use]
    pub fn assign_timestamps_and_watermarks(&self, strategy: WatermarkStrategy<T>) -> DataStream<T> {
        self.transform("timestamps", false, move || AssignTimestamps::new(strategy.clone()))
    }
}

impl<T: Data, K: Key, F: KeySelector<T, Key = K> + Clone + Sync> KeyedStream<T, K, F> {
    /// Runs a function that each subtask makes when it opens, so that the handles of its states are plain fields.
    ///
    /// ```
    /// # use flugs_api::Environment;
    /// # use flugs_connector::MemorySink;
    /// # use flugs_operators::{Collector, KeyedContext, KeyedProcessFunction, Timer};
    /// # use flugs_state::ValueState;
    /// # use flugs_types::{Result, Timestamp};
    /// /// Says how many rows a key had, at the end.
    /// struct CountAtEnd {
    ///     count: ValueState<u64>,
    /// }
    ///
    /// impl KeyedProcessFunction for CountAtEnd {
    ///     type Key = String;
    ///     type In = String;
    ///     type Out = (String, u64);
    ///
    ///     fn process(&mut self, _: String, cx: &mut KeyedContext<String>, _: &mut Collector<Self::Out>) -> Result<()> {
    ///         *self.count.get_or_insert_with(cx, || 0) += 1;
    ///         cx.register_event_time_timer(Timestamp::MAX);
    ///         Ok(())
    ///     }
    ///
    ///     fn on_timer(&mut self, _: Timer, cx: &mut KeyedContext<String>, out: &mut Collector<Self::Out>) -> Result<()> {
    ///         let count = self.count.get(cx).copied().unwrap_or_default();
    ///         out.collect((cx.key().clone(), count));
    ///         Ok(())
    ///     }
    /// }
    ///
    /// # fn main() -> Result<()> {
    /// let env = Environment::new("counts");
    /// let counts = MemorySink::new();
    /// env.from_collection(["a", "b", "a"].map(String::from))
    ///     .key_by(|word| word.clone())
    ///     .process_with(|open| Ok(CountAtEnd { count: open.value("count")? }))
    ///     .sink_to(counts.clone(), "counts");
    /// env.execute()?;
    /// let mut counts = counts.rows();
    /// counts.sort();
    /// assert_eq!(counts, [("a".to_owned(), 2), ("b".to_owned(), 1)]);
    /// # Ok(()) }
    /// ```
    pub fn process_with<P>(
        &self,
        make: impl Fn(&mut OpenKeyed<'_, '_, K>) -> Result<P> + Send + Sync + 'static,
    ) -> DataStream<P::Out>
    where
        P: KeyedProcessFunction<Key = K, In = T>,
        P::Out: Data,
    {
        let make = Arc::new(make);
        self.transform("process", move |key| {
            let make = make.clone();
            KeyedProcess::opened_by(move |open| make(open), key)
        })
    }

    /// Folds the rows of each key into one, the second into the first, and emits it after each row.
    ///
    /// ```
    /// # use flugs_api::Environment; use flugs_connector::MemorySink;
    /// # fn main() -> flugs_types::Result<()> {
    /// let env = Environment::new("longest");
    /// let longest = MemorySink::new();
    /// env.from_collection(["ab", "a", "abc"].map(String::from))
    ///     .key_by(|_| ())
    ///     .reduce(|longest, word| {
    ///         if word.len() > longest.len() {
    ///             *longest = word;
    ///         }
    ///     })
    ///     .sink_to(longest.clone(), "longest");
    /// env.execute()?;
    /// assert_eq!(longest.rows(), ["ab", "ab", "abc"]);
    /// # Ok(()) }
    /// ```
    pub fn reduce(&self, function: impl FnMut(&mut T, T) + Clone + Send + Sync + 'static) -> DataStream<T> {
        self.transform("reduce", move |key| KeyedReduce::new(key, function.clone()))
    }

    /// Aggregates the rows of each key, and emits the key and the result after each row.
    pub fn aggregate<A>(&self, function: A) -> DataStream<(K, A::Out)>
    where
        A: AggregateFunction<In = T>,
        A::Out: Data,
    {
        let function = Arc::new(function);
        self.transform("aggregate", move |key| KeyedAggregate::new(key, function.clone()))
    }

    /// Counts the rows of each key, and emits the key and the count after each row.
    pub fn count(&self) -> DataStream<(K, u64)> {
        self.aggregate(Count::new()).name("count")
    }

    /// Sums a field of the rows of each key into its first row, and emits that after each row. Integers wrap around.
    ///
    /// ```
    /// # use flugs_api::Environment; use flugs_connector::MemorySink;
    /// # fn main() -> flugs_types::Result<()> {
    /// let env = Environment::new("word-count");
    /// let counts = MemorySink::new();
    /// env.from_collection(["a", "b", "a"].map(String::from))
    ///     .map(|word| (word, 1))
    ///     .key_by(|(word, _)| word.clone())
    ///     .sum(|(_, count): &mut (String, u64)| count)
    ///     .sink_to(counts.clone(), "counts");
    /// env.execute()?;
    /// let mut counts = counts.rows();
    /// counts.sort();
    /// assert_eq!(counts, [("a".to_owned(), 1), ("a".to_owned(), 2), ("b".to_owned(), 1)]);
    /// # Ok(()) }
    /// ```
    pub fn sum<N: Number>(
        &self,
        field: impl Fn(&mut T) -> &mut N + Clone + Send + Sync + 'static,
    ) -> DataStream<T> {
        self.transform("sum", move |key| KeyedReduce::new(key, rolling::sum(field.clone())))
    }

    /// Keeps the smallest value of a field in the first row of each key, and emits that after each row.
    pub fn min<N: PartialOrd + 'static>(
        &self,
        field: impl Fn(&mut T) -> &mut N + Clone + Send + Sync + 'static,
    ) -> DataStream<T> {
        self.transform("min", move |key| KeyedReduce::new(key, rolling::min(field.clone())))
    }

    /// Keeps the largest value of a field in the first row of each key, and emits that after each row.
    pub fn max<N: PartialOrd + 'static>(
        &self,
        field: impl Fn(&mut T) -> &mut N + Clone + Send + Sync + 'static,
    ) -> DataStream<T> {
        self.transform("max", move |key| KeyedReduce::new(key, rolling::max(field.clone())))
    }

    /// Keeps the row of each key with the smallest value, the first of equal ones, and emits it after each row.
    pub fn min_by<N: PartialOrd + 'static>(
        &self,
        value: impl Fn(&T) -> N + Clone + Send + Sync + 'static,
    ) -> DataStream<T> {
        self.transform("min_by", move |key| KeyedReduce::new(key, rolling::min_by(value.clone())))
    }

    /// Keeps the row of each key with the largest value, the first of equal ones, and emits it after each row.
    pub fn max_by<N: PartialOrd + 'static>(
        &self,
        value: impl Fn(&T) -> N + Clone + Send + Sync + 'static,
    ) -> DataStream<T> {
        self.transform("max_by", move |key| KeyedReduce::new(key, rolling::max_by(value.clone())))
    }
}
