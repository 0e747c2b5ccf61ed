//! Puts assigner, trigger, evictor and function together and chooses the operator.

use super::assigner::{GlobalWindows, WindowAssigner, WindowShape};
use super::contents::{Aggregated, AggregatedProcess, Evicted, Processed};
use super::end_of_stream::EndOfStreamOperator;
use super::evictor::{CountEvictor, Evictor};
use super::function::{Apply, ProcessWindowFunction, WindowContext, WindowOpenContext, WindowOutput, apply};
use super::general::WindowOperator;
use super::reduce::ReduceAggregate;
use super::sessions::SessionWindowOperator;
use super::sliced::SlicedWindowOperator;
use super::time_window::TimeWindow;
use super::trigger::{CountTrigger, DefaultTrigger, PurgingTrigger, Trigger};
use crate::TimeDomain;
use crate::{AggregateFunction, KeySelector};
use flugs_batch::{Barrier, Data, Key, Record, Records};
use flugs_state::SnapshotTable;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{CheckpointId, Result, Timestamp};
use std::marker::PhantomData;
use std::time::Duration;

/// How rows `T` are grouped by key and window; the last call says what is made of each group.
///
/// ```
/// # use flugs_operators::{Sum, TumblingEventTimeWindows, WindowBuilder};
/// # use flugs_testkit::OperatorHarness;
/// # use flugs_types::Timestamp;
/// # use std::time::Duration;
/// # fn main() -> flugs_types::Result<()> {
/// type Sale = (u32, u64);
/// let hours = TumblingEventTimeWindows::of(Duration::from_secs(3600));
/// let turnover = WindowBuilder::new(|sale: &Sale| sale.0, hours)
///     .aggregate(Sum::of(|sale: &Sale| sale.1), |shop, hour, sum| format!("shop {shop}, {}: {sum}", hour.start));
///
/// let mut turnover = OperatorHarness::new(turnover)?;
/// turnover.push([((4, 5), Timestamp::from_secs(10)), ((4, 7), Timestamp::from_secs(3599))])?;
/// turnover.watermark(Timestamp::from_secs(3600))?;
/// assert_eq!(turnover.output().values, ["shop 4, 1970-01-01T00:00:00Z: 12"]);
/// # Ok(())
/// # }
/// ```
pub struct WindowBuilder<T, S, G = DefaultTrigger> {
    key_of: S,
    assigner: Box<dyn WindowAssigner<T>>,
    trigger: G,
    by_default: bool,
    evictor: Option<Box<dyn Evictor<T>>>,
    lateness: Duration,
}

impl<T: Record, S: KeySelector<T>> WindowBuilder<T, S> {
    /// Groups rows by `key_of` and the windows of the assigner, each of which gives its result when its time is over.
    pub fn new(key_of: S, assigner: impl WindowAssigner<T>) -> Self {
        WindowBuilder {
            key_of,
            trigger: assigner.default_trigger(),
            assigner: Box::new(assigner),
            by_default: true,
            evictor: None,
            lateness: Duration::ZERO,
        }
    }
}

impl<T: Record, S: KeySelector<T>> WindowBuilder<T, S, PurgingTrigger<CountTrigger>> {
    /// Groups each `size` rows of a key (Flink: `countWindow(size)`).
    pub fn count(key_of: S, size: u64) -> Self {
        WindowBuilder::new(key_of, GlobalWindows::new()).trigger(PurgingTrigger::of(CountTrigger::of(size)))
    }
}

impl<T: Record, S: KeySelector<T>> WindowBuilder<T, S, CountTrigger> {
    /// At each `slide` rows of a key, groups its last `size` rows (Flink: `countWindow(size, slide)`).
    pub fn sliding_count(key_of: S, size: usize, slide: u64) -> Self {
        WindowBuilder::new(key_of, GlobalWindows::new())
            .trigger(CountTrigger::of(slide))
            .evictor(CountEvictor::of(size))
    }
}

impl<T: Record, S: KeySelector<T>, G: Trigger<T>> WindowBuilder<T, S, G> {
    /// Puts this trigger in the place of the assigner's.
    pub fn trigger<H: Trigger<T>>(self, trigger: H) -> WindowBuilder<T, S, H> {
        let WindowBuilder { key_of, assigner, evictor, lateness, .. } = self;
        WindowBuilder { key_of, assigner, trigger, by_default: false, evictor, lateness }
    }

    /// Removes rows before or after the function sees them. All rows of open windows are kept then.
    #[must_use]
    pub fn evictor(mut self, evictor: impl Evictor<T>) -> Self {
        self.evictor = Some(Box::new(evictor));
        self
    }

    /// Keeps event-time windows for this long after their end, and gives a new result for each row that comes meanwhile.
    #[must_use]
    pub fn allowed_lateness(mut self, lateness: Duration) -> Self {
        self.lateness = lateness;
        self
    }

    /// Gives `emit(key, window, result)` for the aggregate of a window's rows.
    pub fn aggregate<A, F, O>(self, aggregate: A, emit: F) -> WindowedOperator<T, O>
    where
        T: Data,
        A: AggregateFunction<In = T>,
        F: FnMut(&S::Key, TimeWindow, A::Out) -> O + Send + 'static,
        O: Record,
    {
        let WindowBuilder { key_of, assigner, trigger, by_default, evictor, lateness } = self;
        if let Some(evictor) = evictor {
            let contents = Evicted::new(evictor, Folded { aggregate, emit, key: PhantomData });
            return WindowedOperator::of(WindowOperator::new(key_of, assigner, trigger, lateness, contents));
        }
        match assigner.shape() {
            WindowShape::Sliced(slices) if by_default => WindowedOperator::of(
                SlicedWindowOperator::of_slices(key_of, assigner, slices, lateness, aggregate, emit),
            ),
            WindowShape::Sessions { gap }
                if by_default && lateness.is_zero() && assigner.domain() == TimeDomain::EventTime =>
            {
                WindowedOperator::of(SessionWindowOperator::with_gap(key_of, assigner, gap, aggregate, emit))
            }
            WindowShape::EndOfStream if by_default => {
                WindowedOperator::of(EndOfStreamOperator::new(key_of, aggregate, emit))
            }
            _ => {
                let contents = Aggregated::new(aggregate, emit);
                WindowedOperator::of(WindowOperator::new(key_of, assigner, trigger, lateness, contents))
            }
        }
    }

    /// Reduces a window's rows to one: `reduce` adds its second row to the first.
    pub fn reduce<F>(self, reduce: F) -> WindowedOperator<T, T>
    where
        T: Data,
        F: Fn(&mut T, T) + Send + Sync + 'static,
    {
        self.aggregate(ReduceAggregate::of(reduce), |_, _, row| row)
    }

    /// Gives what the function makes of the aggregate's result, which it sees as the window's only row.
    pub fn aggregate_process<A, P>(self, aggregate: A, process: P) -> WindowedOperator<T, P::Out>
    where
        T: Data,
        A: AggregateFunction<In = T>,
        P: ProcessWindowFunction<S::Key, A::Out>,
    {
        let WindowBuilder { key_of, assigner, trigger, evictor, lateness, .. } = self;
        match evictor {
            Some(evictor) => {
                let contents = Evicted::new(evictor, FoldedProcess { aggregate, process });
                WindowedOperator::of(WindowOperator::new(key_of, assigner, trigger, lateness, contents))
            }
            None => {
                let contents = AggregatedProcess::new(aggregate, process);
                WindowedOperator::of(WindowOperator::new(key_of, assigner, trigger, lateness, contents))
            }
        }
    }

    /// Gives what the function makes of a window's rows, all of which are kept until then. Prefer an aggregate where one
    /// will do.
    pub fn process<P>(self, process: P) -> WindowedOperator<T, P::Out>
    where
        T: Data,
        P: ProcessWindowFunction<S::Key, T>,
    {
        let WindowBuilder { key_of, assigner, trigger, evictor, lateness, .. } = self;
        match evictor {
            Some(evictor) => {
                let contents = Evicted::new(evictor, process);
                WindowedOperator::of(WindowOperator::new(key_of, assigner, trigger, lateness, contents))
            }
            None => {
                let contents = Processed::new(process);
                WindowedOperator::of(WindowOperator::new(key_of, assigner, trigger, lateness, contents))
            }
        }
    }

    /// Likewise with a closure over key, window and rows.
    pub fn apply<F, O>(self, function: F) -> WindowedOperator<T, O>
    where
        T: Data,
        O: Record,
        F: FnMut(&S::Key, TimeWindow, &[T], &mut WindowOutput<'_, O>) + Send + 'static,
    {
        let function: Apply<F, O> = apply::<S::Key, T, O, F>(function);
        self.process(function)
    }
}

/// An aggregate of rows that are all kept, because an evictor may remove some.
struct Folded<K, A, F> {
    aggregate: A,
    emit: F,
    key: PhantomData<fn(K)>,
}

fn fold<A: AggregateFunction>(aggregate: &A, rows: &[A::In]) -> Option<A::Out> {
    let mut acc = aggregate.create();
    rows.iter().for_each(|row| aggregate.add(&mut acc, row));
    (!rows.is_empty()).then(|| aggregate.result(&acc))
}

impl<K, A, F, O> ProcessWindowFunction<K, A::In> for Folded<K, A, F>
where
    K: Key,
    A: AggregateFunction,
    F: FnMut(&K, TimeWindow, A::Out) -> O + Send + 'static,
    O: Record,
{
    type Out = O;

    fn process(
        &mut self,
        context: &mut WindowContext<'_, K>,
        rows: &[A::In],
        out: &mut WindowOutput<'_, O>,
    ) -> Result<()> {
        if let Some(result) = fold(&self.aggregate, rows) {
            out.collect((self.emit)(context.key(), context.window(), result));
        }
        Ok(())
    }
}

/// The same in front of a function.
struct FoldedProcess<A, P> {
    aggregate: A,
    process: P,
}

impl<K, A, P> ProcessWindowFunction<K, A::In> for FoldedProcess<A, P>
where
    K: Key,
    A: AggregateFunction,
    P: ProcessWindowFunction<K, A::Out>,
{
    type Out = P::Out;

    fn open(&mut self, context: &mut WindowOpenContext<'_, K>) -> Result<()> {
        self.process.open(context)
    }

    fn process(
        &mut self,
        context: &mut WindowContext<'_, K>,
        rows: &[A::In],
        out: &mut WindowOutput<'_, P::Out>,
    ) -> Result<()> {
        match fold(&self.aggregate, rows) {
            Some(result) => self.process.process(context, std::slice::from_ref(&result), out),
            None => Ok(()),
        }
    }

    fn clear(&mut self, context: &mut WindowContext<'_, K>) -> Result<()> {
        self.process.clear(context)
    }
}

/// A window operator, whichever was chosen.
pub struct WindowedOperator<T: Record, O: Record> {
    chosen: Box<dyn Operator<In = Records<T>, Out = Records<O>>>,
}

impl<T: Record, O: Record> WindowedOperator<T, O> {
    fn of(chosen: impl Operator<In = Records<T>, Out = Records<O>>) -> Self {
        WindowedOperator { chosen: Box::new(chosen) }
    }
}

impl<T: Record, O: Record> Operator for WindowedOperator<T, O> {
    type In = Records<T>;
    type Out = Records<O>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.chosen.open(context)
    }

    fn process(&mut self, batch: Records<T>, out: &mut Output<Records<O>>) -> Result<Progress> {
        self.chosen.process(batch, out)
    }

    fn resume(&mut self, out: &mut Output<Records<O>>) -> Result<Progress> {
        self.chosen.resume(out)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<Records<O>>) -> Result<Progress> {
        self.chosen.advance(watermark, out)
    }

    fn forwards_watermarks(&self) -> bool {
        self.chosen.forwards_watermarks()
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.chosen.next_tick()
    }

    fn tick(&mut self, now: Timestamp, out: &mut Output<Records<O>>) -> Result<Progress> {
        self.chosen.tick(now, out)
    }

    fn polls(&self) -> bool {
        self.chosen.polls()
    }

    fn poll(&mut self, out: &mut Output<Records<O>>) -> Result<Progress> {
        self.chosen.poll(out)
    }

    fn barrier(&mut self, barrier: Barrier, out: &mut Output<Records<O>>) -> Result<Progress> {
        self.chosen.barrier(barrier, out)
    }

    fn end(&mut self, out: &mut Output<Records<O>>) -> Result<Progress> {
        self.chosen.end(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.chosen.tables()
    }

    fn committed(&mut self, checkpoint: CheckpointId) -> Result<()> {
        self.chosen.committed(checkpoint)
    }
}
