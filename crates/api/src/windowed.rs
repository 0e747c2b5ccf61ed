//! Keyed streams grouped by windows.

mod results;

use crate::environment::Environment;
use crate::keyed::KeyedStream;
use crate::stream::DataStream;
use flugs_batch::{Data, Key};
use flugs_operators::{
    CountTrigger, DefaultTrigger, Evictor, KeySelector, OutputTag, PurgingTrigger, Trigger, WindowAssigner,
    WindowBuilder, WindowedOperator,
};
use std::sync::Arc;
use std::time::Duration;

/// Windows that never end were given no trigger.
pub(crate) fn refuse_silence(env: &Environment) {
    env.mistaken(
        "windows that never end have no trigger: they would never give a result",
        "give global windows a trigger, such as CountTrigger, or use GlobalWindows::end_of_stream()",
    );
}

type Build<T, F, G> = Arc<dyn Fn(F) -> WindowBuilder<T, F, G> + Send + Sync>;

/// A keyed stream whose rows are grouped by windows. The last call says what is made of each group.
///
/// Rows that come later than the allowed lateness are counted (`numLateRecordsDropped`) and go to a side output of the
/// stream that comes out; see [`late_tag`](Self::late_tag).
pub struct WindowedStream<T, F, G = DefaultTrigger> {
    stream: DataStream<T>,
    key: F,
    build: Build<T, F, G>,
    /// Whether nothing would ever fire.
    silent: bool,
}

impl<T: Data, K: Key, F: KeySelector<T, Key = K> + Clone + Sync> KeyedStream<T, K, F> {
    /// Groups the rows of each key by the windows of an assigner.
    ///
    /// ```
    /// # use flugs_api::Environment; use flugs_connector::{CollectionSource, MemorySink};
    /// # use flugs_operators::TumblingEventTimeWindows; use flugs_task::WatermarkStrategy;
    /// # use flugs_types::Timestamp; use std::time::Duration;
    /// # fn main() -> flugs_types::Result<()> {
    /// let env = Environment::new("clicks-by-minute");
    /// let counts = MemorySink::new();
    /// // User, and the second of the click.
    /// let clicks = CollectionSource::new([("ann".to_owned(), 5), ("ann".to_owned(), 59), ("ann".to_owned(), 60)]);
    /// let times = |(_, second): &(String, i64)| Timestamp::from_secs(*second);
    /// env.from_source(clicks, WatermarkStrategy::monotonous().with_timestamps(times), "clicks")
    ///     .parallelism(1)
    ///     .stream()
    ///     .key_by(|(user, _)| user.clone())
    ///     .window(TumblingEventTimeWindows::of(Duration::from_secs(60)))
    ///     .count()
    ///     .sink_to(counts.clone(), "counts");
    /// env.execute()?;
    /// assert_eq!(counts.rows(), [("ann".to_owned(), 2), ("ann".to_owned(), 1)]);
    /// # Ok(()) }
    /// ```
    pub fn window(&self, assigner: impl WindowAssigner<T> + Clone + Sync) -> WindowedStream<T, F> {
        let silent = assigner.default_trigger() == DefaultTrigger::Never;
        let windows = self.windowed(move |key| WindowBuilder::new(key, assigner.clone()));
        WindowedStream { silent, ..windows }
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
        WindowedStream {
            stream: self.partitioned().clone(),
            key: self.key().clone(),
            build: Arc::new(build),
            silent: false,
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

    /// Groups each `size` rows. One subtask does the work.
    pub fn count_window_all(
        &self,
        size: u64,
    ) -> WindowedStream<T, impl Fn(&T) + Clone + Send + Sync + 'static, PurgingTrigger<CountTrigger>> {
        self.key_by(|_| ()).count_window(size)
    }

    /// At each `slide` rows, groups the last `size` rows. One subtask does the work.
    pub fn sliding_count_window_all(
        &self,
        size: usize,
        slide: u64,
    ) -> WindowedStream<T, impl Fn(&T) + Clone + Send + Sync + 'static, CountTrigger> {
        self.key_by(|_| ()).sliding_count_window(size, slide)
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
        let WindowedStream { stream, key, build, silent } = self;
        WindowedStream { stream, key, build: Arc::new(move |key| change(build(key))), silent }
    }

    /// Puts this trigger in the place of the assigner's.
    #[must_use]
    pub fn trigger<H: Trigger<T> + Clone + Sync>(self, trigger: H) -> WindowedStream<T, F, H> {
        let windows = self.change(move |windows| windows.trigger(trigger.clone()));
        WindowedStream { silent: false, ..windows }
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

    /// Names the late rows among the side outputs of what comes out (Flink: `sideOutputLateData`).
    ///
    /// ```
    /// # use flugs_api::Environment; use flugs_connector::{CollectionSource, MemorySink};
    /// # use flugs_operators::TumblingEventTimeWindows; use flugs_task::WatermarkStrategy;
    /// # use flugs_types::Timestamp; use std::time::Duration;
    /// # fn main() -> flugs_types::Result<()> {
    /// # let env = Environment::new("late");
    /// # let (counts, late) = (MemorySink::new(), MemorySink::new());
    /// # let seconds = CollectionSource::new([5i64, 70, 59, 71]);
    /// # let strategy = WatermarkStrategy::monotonous().with_timestamps(|second: &i64| Timestamp::from_secs(*second));
    /// # let seconds = env.from_source(seconds, strategy, "seconds").parallelism(1).stream();
    /// let minutes = seconds.key_by(|_| ()).window(TumblingEventTimeWindows::of(Duration::from_secs(60)));
    /// let too_late = minutes.late_tag();
    /// let counted = minutes.count();
    /// counted.side(too_late).sink_to(late.clone(), "late");
    /// counted.sink_to(counts.clone(), "counts");
    /// # env.execute()?;
    /// # Ok(()) }
    /// ```
    pub fn late_tag(&self) -> OutputTag<T> {
        OutputTag::new(0)
    }

    fn finish<O: Data>(
        self,
        name: &str,
        finish: impl Fn(WindowBuilder<T, F, G>) -> WindowedOperator<T, O> + Send + Sync + 'static,
    ) -> DataStream<O> {
        if self.silent {
            refuse_silence(self.stream.environment());
        }
        let (key, build) = (self.key, self.build);
        self.stream.transform(name, true, move || finish(build(key.clone())))
    }
}
