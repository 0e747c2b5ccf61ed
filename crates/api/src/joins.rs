//! Joins of keyed streams by the distance of their event times. Joins by windows stand with the windows.

use crate::keyed::KeyedStream;
use crate::stream::DataStream;
use flugs_batch::{Data, Key};
use flugs_operators::{
    Interval, IntervalJoin, JoinFunction, JoinRows, KeySelector, OutputTag, left_late, right_late,
};

/// Two keyed streams and an interval; the last call says what is made of two rows that meet.
///
/// Rows behind the watermark are counted (`numLateRecordsDropped`) and go to side outputs of the stream that comes
/// out; see [`late_tags`](Self::late_tags).
pub struct IntervalJoined<L, R, F1, F2> {
    left: (DataStream<L>, F1),
    right: (DataStream<R>, F2),
    interval: Interval,
}

impl<L: Data, K: Key, F1: KeySelector<L, Key = K> + Clone + Sync> KeyedStream<L, K, F1> {
    /// Brings each row together with the rows of `other` that have the same key and whose event time lies within
    /// `interval` of it.
    ///
    /// ```
    /// # use flugs_api::Environment; use flugs_connector::{CollectionSource, MemorySink};
    /// # use flugs_operators::Interval; use flugs_task::WatermarkStrategy; use flugs_types::Timestamp;
    /// # fn main() -> flugs_types::Result<()> {
    /// let env = Environment::new("paid-in-time");
    /// // Order, and the second at which it was made or paid.
    /// let timed = |rows: Vec<(u32, i64)>| {
    ///     let times = |(_, second): &(u32, i64)| Timestamp::from_secs(*second);
    ///     let strategy = WatermarkStrategy::monotonous().with_timestamps(times);
    ///     env.from_source(CollectionSource::new(rows), strategy, "rows").parallelism(1).stream()
    /// };
    /// let orders = timed(vec![(1, 100), (2, 200)]).key_by(|(order, _)| *order);
    /// let payments = timed(vec![(1, 130), (2, 300)]).key_by(|(order, _)| *order);
    /// let paid = MemorySink::new();
    /// orders
    ///     .interval_join(&payments, Interval::seconds(0, 60))
    ///     .join(|order, payment| (order.0, payment.1 - order.1))
    ///     .sink_to(paid.clone(), "paid");
    /// env.execute()?;
    /// assert_eq!(paid.rows(), [(1, 30)]);
    /// # Ok(()) }
    /// ```
    pub fn interval_join<R: Data, F2>(
        &self,
        other: &KeyedStream<R, K, F2>,
        interval: Interval,
    ) -> IntervalJoined<L, R, F1, F2>
    where
        F2: KeySelector<R, Key = K> + Clone + Sync,
    {
        IntervalJoined {
            left: (self.partitioned().clone(), self.key().clone()),
            right: (other.partitioned().clone(), other.key().clone()),
            interval,
        }
    }
}

impl<L, R, F1, F2> IntervalJoined<L, R, F1, F2>
where
    L: Data,
    R: Data,
    F1: Clone + Send + Sync + 'static,
    F2: Clone + Send + Sync + 'static,
{
    /// Name the late rows of the left and those of the right among the side outputs of what comes out:
    /// `joined.side(late_left)`.
    pub fn late_tags(&self) -> (OutputTag<L>, OutputTag<R>) {
        (left_late(), right_late())
    }

    /// Makes one row of two that meet. It has the later of their times.
    pub fn join<K: Key, U: Data>(
        &self,
        function: impl FnMut(&L, &R) -> U + Clone + Send + Sync + 'static,
    ) -> DataStream<U>
    where
        F1: KeySelector<L, Key = K>,
        F2: KeySelector<R, Key = K>,
    {
        self.process(move || JoinRows(function.clone()))
    }

    /// Makes any number of rows of two that meet, by a function that `make` makes for each subtask.
    pub fn process<K: Key, J>(&self, make: impl Fn() -> J + Send + Sync + 'static) -> DataStream<J::Out>
    where
        F1: KeySelector<L, Key = K>,
        F2: KeySelector<R, Key = K>,
        J: JoinFunction<L, R>,
        J::Out: Data,
    {
        let (first, second, interval) = (self.left.1.clone(), self.right.1.clone(), self.interval);
        self.left.0.transform_two(&self.right.0, "interval_join", true, move || {
            IntervalJoin::new(first.clone(), second.clone(), interval, make())
        })
    }
}
