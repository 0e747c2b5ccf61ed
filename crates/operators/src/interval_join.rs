//! Joins the rows of two keyed streams whose event times lie within an interval of each other.
//!
//! A row of the left at `t` meets those of the right in `[t + lower, t + upper]`. Rows are kept in panes of time, and a
//! pane is dropped as a whole once the watermark says that nothing can meet it any more: there are no timers, and nothing is
//! left when the input has ended. As in Flink, a row is late when its time is before the watermark, and a joined row has the
//! later of both times.
//!
//! The rows that one row meets come in the order of their times, and of their arrival where times are equal.

mod side;

use crate::collector::{Collector, OutputTag, Traffic, for_each};
use crate::key::KeySelector;
use crate::rows::{EitherRest, Rows};
use flugs_batch::{Batch, Data, Either, Record, Records};
use flugs_state::SnapshotTable;
use flugs_task::{Counter, OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, Timestamp, hash_key};
use side::JoinSide;

/// How many panes are dropped in one slice.
const PANES_PER_SLICE: usize = 16;

/// How far a row of the right may be from a row of the left, in microseconds, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    lower: i64,
    upper: i64,
}

impl Interval {
    /// From `lower` to `upper` microseconds after the row of the left; negative is before it.
    pub const fn micros(lower: i64, upper: i64) -> Self {
        Interval { lower, upper }
    }

    /// Likewise in milliseconds; saturates.
    pub const fn millis(lower: i64, upper: i64) -> Self {
        Self::micros(lower.saturating_mul(1000), upper.saturating_mul(1000))
    }

    /// Likewise in seconds; saturates.
    pub const fn seconds(lower: i64, upper: i64) -> Self {
        Self::millis(lower.saturating_mul(1000), upper.saturating_mul(1000))
    }

    /// The same without its lower end.
    #[must_use]
    pub const fn lower_exclusive(self) -> Self {
        Interval { lower: self.lower.saturating_add(1), ..self }
    }

    /// The same without its upper end.
    #[must_use]
    pub const fn upper_exclusive(self) -> Self {
        Interval { upper: self.upper.saturating_sub(1), ..self }
    }

    /// As it is seen from the right.
    fn mirrored(self) -> Self {
        Interval { lower: self.upper.saturating_neg(), upper: self.lower.saturating_neg() }
    }
}

/// Side output 0 of an interval join: late rows of the left, which are joined with nothing.
pub const fn left_late<L>() -> OutputTag<L> {
    OutputTag::new(0)
}

/// Side output 1 of an interval join: late rows of the right.
pub const fn right_late<R>() -> OutputTag<R> {
    OutputTag::new(1)
}

/// The event times of two rows that meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinTimes {
    /// Of the row of the left.
    pub left: Timestamp,
    /// Of the row of the right.
    pub right: Timestamp,
}

/// Makes rows of two that meet (Flink: `ProcessJoinFunction`).
pub trait JoinFunction<L, R>: Send + 'static {
    /// The rows that it makes.
    type Out: Record;

    /// Takes two rows that meet. What is collected has the later of their times.
    fn join(
        &mut self,
        left: &L,
        right: &R,
        times: JoinTimes,
        out: &mut Collector<'_, Self::Out>,
    ) -> Result<()>;
}

/// A closure that makes one row of two that meet.
pub struct JoinRows<F>(pub F);

impl<L, R, O: Record, F: FnMut(&L, &R) -> O + Send + 'static> JoinFunction<L, R> for JoinRows<F> {
    type Out = O;

    fn join(&mut self, left: &L, right: &R, _: JoinTimes, out: &mut Collector<'_, O>) -> Result<()> {
        out.collect((self.0)(left, right));
        Ok(())
    }
}

type Sides<K, L, R> = (JoinSide<K, L>, JoinSide<K, R>);

/// Joins the rows of two keyed streams whose event times lie within an [`Interval`] of each other.
///
/// As in Flink, a row is late when its time is before the watermark: it is joined with nothing and goes to side output
/// [0](left_late) or [1](right_late). A joined row has the later of both times. The rows that one row meets come in the order
/// of their times. State is dropped as the watermark passes; nothing is left when the input has ended.
pub struct IntervalJoin<L, R, S1, S2, F>
where
    L: Data,
    R: Data,
    S1: KeySelector<L>,
    S2: KeySelector<R, Key = S1::Key>,
    F: JoinFunction<L, R>,
{
    selectors: (S1, S2),
    interval: Interval,
    function: F,
    sides: Option<Sides<S1::Key, L, R>>,
    rest: EitherRest<L, R>,
    watermark: Timestamp,
    traffic: Traffic,
    late: Option<Counter>,
}

impl<L, R, S1, S2, F> IntervalJoin<L, R, S1, S2, F>
where
    L: Data,
    R: Data,
    S1: KeySelector<L>,
    S2: KeySelector<R, Key = S1::Key>,
    F: JoinFunction<L, R>,
{
    /// A join of rows with equal keys whose times lie within `interval` of each other.
    pub fn new(left: S1, right: S2, interval: Interval, function: F) -> Self {
        IntervalJoin {
            selectors: (left, right),
            interval,
            function,
            sides: None,
            rest: EitherRest::default(),
            watermark: Timestamp::MIN,
            traffic: Traffic::default(),
            late: None,
        }
    }

    fn drop_panes(&mut self) -> Progress {
        let Some((left, right)) = &mut self.sides else { return Progress::Done };
        for _ in 0..PANES_PER_SLICE {
            if !left.drop_pane(self.watermark) && !right.drop_pane(self.watermark) {
                return Progress::Done;
            }
        }
        Progress::More
    }

    fn rows(&mut self, out: &mut Collector<'_, F::Out>) -> Result<()> {
        let IntervalJoin { selectors, interval, function, sides, watermark, .. } = self;
        let (lefts, rights) = sides.as_mut().ok_or_else(|| Error::bug("the operator is not open"))?;
        let is_late = |time: Timestamp| is_late(time, *watermark);
        let mut late = 0;
        match &mut self.rest {
            EitherRest::Left(rest) => for_each(rest, out, |row, time, out| {
                if is_late(time)? {
                    late += 1;
                    out.side(left_late(), row);
                    return Ok(());
                }
                let key = selectors.0.key(&row);
                let hash = hash_key(&key);
                rights.within(hash, &key, time, *interval, |right, met| {
                    out.set_time(time.max(right));
                    function.join(&row, met, JoinTimes { left: time, right }, out)
                })?;
                lefts.keep(hash, &key, row, time, *watermark);
                Ok(())
            })?,
            EitherRest::Right(rest) => for_each(rest, out, |row, time, out| {
                if is_late(time)? {
                    late += 1;
                    out.side(right_late(), row);
                    return Ok(());
                }
                let key = selectors.1.key(&row);
                let hash = hash_key(&key);
                lefts.within(hash, &key, time, interval.mirrored(), |left, met| {
                    out.set_time(time.max(left));
                    function.join(met, &row, JoinTimes { left, right: time }, out)
                })?;
                rights.keep(hash, &key, row, time, *watermark);
                Ok(())
            })?,
        }
        if let Some(counter) = self.late.as_ref().filter(|_| late > 0) {
            counter.add(late);
        }
        Ok(())
    }
}

/// Flink's rule: strictly before the watermark.
fn is_late(time: Timestamp, watermark: Timestamp) -> Result<bool> {
    if time == Timestamp::MIN {
        return Err(Error::job("an interval join got a row without an event time")
            .mend("give both streams timestamps and watermarks before they are joined"));
    }
    Ok(time < watermark)
}

impl<L, R, S1, S2, F> Operator for IntervalJoin<L, R, S1, S2, F>
where
    L: Data,
    R: Data,
    S1: KeySelector<L>,
    S2: KeySelector<R, Key = S1::Key>,
    F: JoinFunction<L, R>,
{
    type In = Either<Records<L>, Records<R>>;
    type Out = Records<F::Out>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.traffic.open(context);
        self.late = Some(context.counter("numLateRecordsDropped"));
        let Interval { lower, upper } = self.interval;
        if lower > upper {
            return Err(Error::job(format!(
                "the interval of a join ends {upper} us after a row and begins {lower} us after it"
            ))
            .mend("give the lower bound first"));
        }
        let left = JoinSide::open(context.state, "left", self.interval)?;
        let right = JoinSide::open(context.state, "right", self.interval.mirrored())?;
        self.sides = Some((left, right));
        Ok(())
    }

    fn process(&mut self, batch: Self::In, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.traffic.took(batch.len());
        self.rest = batch.into_rest();
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Output<Self::Out>) -> Result<Progress> {
        if <Self::In as Rows>::is_done(&self.rest) {
            return Ok(self.drop_panes());
        }
        let mut out = Collector::new(out);
        self.rows(&mut out)?;
        self.traffic.gave(out.finish()?);
        Ok(if <Self::In as Rows>::is_done(&self.rest) { Progress::Done } else { Progress::More })
    }

    fn advance(&mut self, watermark: Timestamp, _: &mut Output<Self::Out>) -> Result<Progress> {
        self.watermark = watermark;
        Ok(self.drop_panes())
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        match &mut self.sides {
            Some((left, right)) => vec![left.table(), right.table()],
            None => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
