//! Two keyed streams that meet in windows: co-groups and window joins.

use crate::keyed::KeyedStream;
use crate::stream::DataStream;
use crate::windowed::refuse_silence;
use flugs_batch::{Data, Either, Key};
use flugs_operators::{
    CoGroupFunction, CoGroupOperator, DefaultTrigger, KeySelector, OutputTag, TimeWindow, Trigger,
    WindowAssigner, WindowOutput, co_group, join_pairs, left_late, right_late,
};
use std::time::Duration;

impl<T: Data, K: Key, F: KeySelector<T, Key = K> + Clone + Sync> KeyedStream<T, K, F> {
    /// Brings the rows of this and another keyed stream together, by equal keys and windows (Flink: `coGroup`, and
    /// `join` in windows).
    ///
    /// ```
    /// # use flugs_api::Environment; use flugs_connector::MemorySink; use flugs_operators::GlobalWindows;
    /// # fn main() -> flugs_types::Result<()> {
    /// let env = Environment::new("orders-and-names");
    /// let named = MemorySink::new();
    /// let orders = env.from_collection([(1, 10), (2, 20), (1, 11)]).key_by(|(person, _): &(u32, u64)| *person);
    /// let names = env.from_collection([(1, "Ada".to_owned())]).key_by(|(person, _): &(u32, String)| *person);
    /// orders
    ///     .co_group(&names)
    ///     .window(GlobalWindows::end_of_stream())
    ///     .join(|(_, amount), (_, name)| (name.clone(), *amount))
    ///     .sink_to(named.clone(), "named");
    /// env.execute()?;
    /// let mut named = named.rows();
    /// named.sort();
    /// assert_eq!(named, [("Ada".to_owned(), 10), ("Ada".to_owned(), 11)]);
    /// # Ok(()) }
    /// ```
    pub fn co_group<R: Data, F2>(&self, other: &KeyedStream<R, K, F2>) -> CoGrouping<T, R, F, F2>
    where
        F2: KeySelector<R, Key = K> + Clone + Sync,
    {
        CoGrouping {
            left: (self.partitioned().clone(), self.key().clone()),
            right: (other.partitioned().clone(), other.key().clone()),
        }
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
        let trigger = assigner.default_trigger();
        let silent = trigger == DefaultTrigger::Never;
        CoGroupedStreams { sides: self, assigner, trigger, lateness: Duration::ZERO, silent }
    }
}

/// Two keyed streams grouped by windows. The last call says what is made of each group.
///
/// Rows that come later than the allowed lateness are counted (`numLateRecordsDropped`) and go to side outputs of the
/// stream that comes out; see [`late_tags`](Self::late_tags).
pub struct CoGroupedStreams<L, R, F1, F2, W, G = DefaultTrigger> {
    sides: CoGrouping<L, R, F1, F2>,
    assigner: W,
    trigger: G,
    lateness: Duration,
    /// Whether nothing would ever fire.
    silent: bool,
}

impl<L, R, K, F1, F2, W, G> CoGroupedStreams<L, R, F1, F2, W, G>
where
    L: Data,
    R: Data,
    K: Key,
    F1: KeySelector<L, Key = K> + Clone + Sync,
    F2: KeySelector<R, Key = K> + Clone + Sync,
    W: WindowAssigner<Either<L, R>> + Clone + Sync,
    G: Trigger<Either<L, R>> + Clone + Sync,
{
    /// Puts this trigger in the place of the assigner's. It sees the rows of both streams.
    #[must_use]
    pub fn trigger<H: Trigger<Either<L, R>> + Clone + Sync>(
        self,
        trigger: H,
    ) -> CoGroupedStreams<L, R, F1, F2, W, H> {
        let CoGroupedStreams { sides, assigner, lateness, .. } = self;
        CoGroupedStreams { sides, assigner, trigger, lateness, silent: false }
    }

    /// Keeps event-time windows for this long after their end, and gives a new result for each row that comes meanwhile.
    #[must_use]
    pub fn allowed_lateness(mut self, lateness: Duration) -> Self {
        self.lateness = lateness;
        self
    }

    /// Name the late rows of the first stream and those of the second among the side outputs of what comes out:
    /// `joined.side(late_left)`.
    pub fn late_tags(&self) -> (OutputTag<L>, OutputTag<R>) {
        (left_late(), right_late())
    }

    /// Gives what a function makes of the rows of both sides, where at least one has a row.
    pub fn process<P>(self, function: P) -> DataStream<P::Out>
    where
        P: CoGroupFunction<K, L, R> + Clone + Sync,
        P::Out: Data,
    {
        self.finish("co_group", move || function.clone())
    }

    /// The same with a closure over key, window and the rows of both sides.
    pub fn apply<O: Data>(
        self,
        function: impl FnMut(&K, TimeWindow, &[L], &[R], &mut WindowOutput<'_, O>) + Clone + Send + Sync + 'static,
    ) -> DataStream<O> {
        self.finish("co_group", move || co_group(function.clone()))
    }

    /// Joins: what `pair` makes of each row of one side with each of the other.
    pub fn join<O: Data>(
        self,
        pair: impl FnMut(&L, &R) -> O + Clone + Send + Sync + 'static,
    ) -> DataStream<O> {
        self.finish("window_join", move || join_pairs(pair.clone()))
    }

    fn finish<P>(self, name: &str, make: impl Fn() -> P + Send + Sync + 'static) -> DataStream<P::Out>
    where
        P: CoGroupFunction<K, L, R>,
        P::Out: Data,
    {
        let CoGroupedStreams { sides, assigner, trigger, lateness, silent } = self;
        if silent {
            refuse_silence(sides.left.0.environment());
        }
        let ((left, key), (right, key2)) = (sides.left, sides.right);
        left.transform_two(&right, name, true, move || {
            let (assigner, trigger) = (assigner.clone(), trigger.clone());
            CoGroupOperator::with_trigger(key.clone(), key2.clone(), assigner, trigger, lateness, make())
        })
    }
}
