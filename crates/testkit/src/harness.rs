//! Drives one operator in a plain test, under virtual time.
//!
//! The operator stands in the same shell ([`Link`]) as in a task, and its snapshots are taken as a task takes them.
//! What it hands on is recorded. Whatever the operator leaves unfinished is resumed until it is done, or until it says
//! that it waits for something outside.

mod batch;
mod case;
mod probe;

pub use batch::{CaseBatch, Route};
pub use case::{Case, Segment};

use bytes::Bytes;
use flugs_batch::{Barrier, BarrierKind, Batch, Control, Either, Flow, Push, Records};
use flugs_state::{Fuel, OpenState, RunReader, RunWriter};
use flugs_task::{
    Counter, Link, LinkPort, Metrics, OpenContext, Operator, OperatorIdent, Output, Side, SidePort,
};
use flugs_types::{
    Attempt, Background, CheckpointId, Clock, Error, Generation, ManualClock, OperatorUid, Result, SubtaskId,
    Timestamp,
};
use probe::{Offers, Probe, Recorded};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

/// How often an operator is resumed, or ticked, before the harness calls it stuck.
const RESUMES_MAX: usize = 10_000_000;

/// A slice of a snapshot, small so that tests see several.
const SLICE_BYTES: usize = 1024;

/// What an operator is put into a harness with.
pub struct HarnessBuilder {
    subtask: SubtaskId,
    now: Timestamp,
    refuse_every_other: bool,
    sides: Vec<Option<Box<dyn SidePort>>>,
    side_records: Vec<Option<Box<dyn Any + Send>>>,
    restored: Vec<Bytes>,
}

impl Default for HarnessBuilder {
    fn default() -> Self {
        HarnessBuilder {
            subtask: SubtaskId::new(0, 1),
            now: Timestamp::EPOCH,
            refuse_every_other: false,
            sides: Vec::new(),
            side_records: Vec::new(),
            restored: Vec::new(),
        }
    }
}

impl HarnessBuilder {
    /// Subtask 1/1 at processing time 0, without side outputs and state.
    pub fn new() -> Self {
        Self::default()
    }

    /// Which parallel instance it is.
    #[must_use]
    pub fn subtask(mut self, subtask: SubtaskId) -> Self {
        self.subtask = subtask;
        self
    }

    /// The processing time at which it opens.
    #[must_use]
    pub fn processing_time(mut self, now: Timestamp) -> Self {
        self.now = now;
        self
    }

    /// Its output answers every other push with "full".
    #[must_use]
    pub fn refusing(mut self) -> Self {
        self.refuse_every_other = true;
        self
    }

    /// Records side output `port`; see [`OperatorHarness::side`].
    #[must_use]
    pub fn side<T: Send + 'static>(mut self, port: usize) -> Self {
        let recorded = Recorded::<Records<T>>::default();
        let probe = Probe::new(recorded.clone(), Offers::default());
        if self.sides.len() <= port {
            self.sides.resize_with(port + 1, || None);
            self.side_records.resize_with(port + 1, || None);
        }
        self.sides[port] = Some(Box::new(Side(Box::new(probe))));
        self.side_records[port] = Some(Box::new(recorded));
        self
    }

    /// Restores from these snapshots, those of all old subtasks.
    #[must_use]
    pub fn restore(mut self, snapshots: impl IntoIterator<Item = Bytes>) -> Self {
        self.restored.extend(snapshots);
        self
    }

    /// Opens the operator.
    pub fn open<O: Operator>(self, mut operator: O) -> Result<OperatorHarness<O>> {
        let ident = Arc::new(OperatorIdent {
            uid: OperatorUid::new("operator"),
            name: "operator".to_owned(),
            subtask: self.subtask,
        });
        let runs = self.restored.into_iter().map(|run| RunReader::open(run, "snapshot").map(Arc::new));
        let mut state = OpenState::new(self.subtask, runs.collect::<Result<_>>()?);
        let clock = ManualClock::new(self.now);
        let shared_clock: Arc<dyn Clock> = Arc::new(clock.clone());
        let background: Arc<dyn Background> = Arc::new(AtOnce);
        let woken = Arc::new(Woken::default());
        let metrics = Arc::new(Metrics::default());
        operator.open(&mut OpenContext {
            job: "job",
            ident: &ident,
            state: &mut state,
            clock: &shared_clock,
            background: &background,
            waker: &Waker::from(woken.clone()),
            generation: Generation(1),
            attempt: Attempt(1),
            metrics: &metrics,
        })?;
        check_state(&state, &mut operator)?;
        let offers = if self.refuse_every_other { Offers::refusing() } else { Offers::default() };
        let recorded = Recorded::default();
        let output = Output::new(Box::new(Probe::new(recorded.clone(), offers.clone())), self.sides);
        Ok(OperatorHarness {
            link: Link::new(operator, output, ident.clone()),
            ident,
            clock,
            metrics,
            woken,
            recorded,
            sides: self.side_records,
            offers,
            flow: Flow::Ready,
            checkpoint: CheckpointId(0),
        })
    }
}

/// As the task does when it opens an operator: what was opened is shown, what is stored was opened.
fn check_state<O: Operator>(state: &OpenState, operator: &mut O) -> Result<()> {
    let shown: Vec<String> = operator.tables().iter().map(|t| t.name().to_owned()).collect();
    if let Some((name, _)) = state.opened().iter().find(|(name, _)| !shown.contains(name)) {
        return Err(Error::bug(format!("state '{name}' was opened but is not among the operator's tables")));
    }
    match state.unclaimed().first() {
        Some(name) => Err(Error::state(format!("the snapshot holds state '{name}', which was not opened"))),
        None => Ok(()),
    }
}

/// One opened operator, driven in a plain test under virtual time.
///
/// It stands in the same shell as in a task, and its snapshots are taken as a task takes them. Whatever it leaves unfinished is
/// resumed until it is done, or until it says that it waits for something outside ([`is_blocked`](Self::is_blocked)).
///
/// ```
/// use flugs_batch::Records;
/// use flugs_task::{Operator, Output, Progress};
/// use flugs_testkit::OperatorHarness;
/// use flugs_types::{Result, Timestamp};
///
/// struct Double;
///
/// impl Operator for Double {
///     type In = Records<i64>;
///     type Out = Records<i64>;
///
///     fn process(&mut self, mut rows: Records<i64>, out: &mut Output<Records<i64>>) -> Result<Progress> {
///         rows.values.iter_mut().for_each(|x| *x *= 2);
///         let _ = out.push(rows)?;
///         Ok(Progress::Done)
///     }
/// }
///
/// # fn main() -> Result<()> {
/// let mut harness = OperatorHarness::new(Double)?;
/// harness.push([(1, Timestamp(10)), (2, Timestamp(20))])?;
/// harness.watermark(Timestamp(20))?;
/// assert_eq!(harness.output().values, [2, 4]);
/// assert_eq!(harness.watermarks(), [Timestamp(20)]);
/// # Ok(()) }
/// ```
pub struct OperatorHarness<O: Operator> {
    link: Link<O>,
    ident: Arc<OperatorIdent>,
    clock: ManualClock,
    metrics: Arc<Metrics>,
    woken: Arc<Woken>,
    recorded: Recorded<O::Out>,
    sides: Vec<Option<Box<dyn Any + Send>>>,
    offers: Offers,
    flow: Flow,
    checkpoint: CheckpointId,
}

impl<O: Operator> OperatorHarness<O> {
    /// A new operator as the only subtask, at processing time 0.
    pub fn new(operator: O) -> Result<Self> {
        HarnessBuilder::new().open(operator)
    }

    /// Hands it a batch.
    pub fn push_batch(&mut self, batch: O::In) -> Result<()> {
        self.expect_ready("a batch")?;
        self.flow = self.link.push(batch)?;
        self.settle()
    }

    /// Advances event time.
    pub fn watermark(&mut self, watermark: Timestamp) -> Result<()> {
        self.control(Control::Watermark(watermark))
    }

    /// Ends the input. The caller sends the last watermark before it.
    pub fn end(&mut self) -> Result<()> {
        self.control(Control::End)
    }

    fn control(&mut self, control: Control) -> Result<()> {
        self.expect_ready("a control item")?;
        self.flow = self.link.control(control)?;
        self.settle()
    }

    fn expect_ready(&self, what: &str) -> Result<()> {
        match self.flow {
            Flow::Ready => Ok(()),
            _ => Err(Error::bug(format!("the operator is blocked and cannot take {what}"))),
        }
    }

    /// Moves processing time, never back, and fires what is due.
    pub fn set_processing_time(&mut self, now: Timestamp) -> Result<()> {
        self.clock.advance_to(now);
        self.settle()
    }

    /// Lets it look for what came in from outside.
    pub fn poll(&mut self) -> Result<()> {
        self.settle()
    }

    /// Resumes, polls and ticks, as a task does in its steps, until there is nothing left to do.
    fn settle(&mut self) -> Result<()> {
        for _ in 0..RESUMES_MAX {
            if self.flow != Flow::Ready {
                let refused = self.offers.is_full();
                let before = self.flow;
                self.flow = self.link.resume()?;
                let blocked = self.flow == Flow::Full && before == Flow::Full;
                if blocked && !refused && !self.offers.is_full() && !self.take_woken() {
                    return Ok(());
                }
                continue;
            }
            if self.link.polls() {
                self.flow = self.link.poll()?;
            }
            let due = self.link.next_tick().is_some_and(|t| t <= self.clock.now());
            if self.flow == Flow::Ready && due {
                self.flow = self.link.tick(self.clock.now())?;
            } else if self.flow == Flow::Ready && !self.take_woken() {
                return Ok(());
            }
        }
        Err(Error::bug("the operator is never done"))
    }

    /// Whether it waits for something outside and takes nothing.
    pub fn is_blocked(&self) -> bool {
        self.flow != Flow::Ready
    }

    /// Whether it woke its task since it was called last.
    pub fn take_woken(&self) -> bool {
        self.woken.0.swap(false, Ordering::AcqRel)
    }

    /// The processing time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// When it wants to be ticked.
    pub fn next_tick(&self) -> Option<Timestamp> {
        self.link.next_tick()
    }

    /// One of its counters.
    pub fn counter(&self, name: &str) -> Counter {
        self.metrics.counter(&self.ident, name)
    }

    /// A checkpoint: its barrier passes, and the state is captured in slices and encoded.
    pub fn snapshot(&mut self) -> Result<Bytes> {
        self.checkpoint = self.checkpoint.next();
        self.control(Control::Barrier(Barrier {
            checkpoint: self.checkpoint,
            kind: BarrierKind::Checkpoint,
        }))?;
        self.expect_ready("another barrier")?;
        self.capture()
    }

    fn capture(&mut self) -> Result<Bytes> {
        let mut writer = RunWriter::new(self.ident.uid.as_str(), self.ident.subtask);
        let tables = self.link.tables();
        let sections: Vec<_> = tables.iter().map(|t| writer.section(t.name(), &t.schema())).collect();
        loop {
            let mut complete = true;
            let mut fuel = Fuel(SLICE_BYTES);
            for (table, section) in self.link.tables().into_iter().zip(&sections) {
                let mut pieces = Vec::new();
                complete &= table.capture(&mut fuel, &mut pieces);
                pieces.iter().for_each(|piece| writer.piece(*section, piece.as_ref()));
            }
            if complete {
                return Ok(writer.finish());
            }
        }
    }

    /// The number of entries stored in all of its tables: takes a snapshot.
    pub fn stored_entries(&mut self) -> Result<u64> {
        let run = RunReader::open(self.snapshot()?, "snapshot")?;
        Ok(run.sections().iter().map(|section| section.entries()).sum())
    }

    /// Tells it that the last checkpoint is complete.
    pub fn committed(&mut self) -> Result<()> {
        self.link.committed(self.checkpoint)
    }

    /// Takes the batches that it has handed on.
    pub fn batches(&mut self) -> Vec<O::Out> {
        self.recorded.take_batches()
    }

    /// The watermarks that it has handed on, all of them since it was opened.
    pub fn watermarks(&self) -> Vec<Timestamp> {
        self.recorded.watermarks()
    }

    /// How many rows the largest batch had that it has handed on since it was opened.
    pub fn largest_batch(&self) -> usize {
        self.recorded.largest()
    }
}

impl<O: Operator<Out = Records<T>>, T: Send + 'static> OperatorHarness<O> {
    /// Takes the rows that it has handed on.
    pub fn output(&mut self) -> Records<T> {
        joined(self.batches())
    }
}

impl<O: Operator> OperatorHarness<O> {
    /// Takes the rows of side output `port`, which the [builder](HarnessBuilder::side) was told of with the same type.
    ///
    /// # Panics
    /// If it was not.
    pub fn side<T: Send + 'static>(&mut self, port: usize) -> Records<T> {
        let side = self.sides.get(port).and_then(Option::as_ref);
        let recorded = side.and_then(|side| side.downcast_ref::<Recorded<Records<T>>>());
        joined(recorded.expect("the harness was built with this side output").take_batches())
    }
}

fn joined<T>(batches: Vec<Records<T>>) -> Records<T> {
    batches.into_iter().flatten().collect()
}

impl<O: Operator<In = Records<T>>, T: Send + 'static> OperatorHarness<O> {
    /// Hands it a batch of these rows with their event times.
    pub fn push(&mut self, rows: impl IntoIterator<Item = (T, Timestamp)>) -> Result<()> {
        self.push_batch(rows.into_iter().collect())
    }
}

impl<O, L, R> OperatorHarness<O>
where
    O: Operator<In = Either<Records<L>, Records<R>>>,
    Records<L>: Batch,
    Records<R>: Batch,
{
    /// Hands it a batch of its first input.
    pub fn push_left(&mut self, rows: impl IntoIterator<Item = (L, Timestamp)>) -> Result<()> {
        self.push_batch(Either::Left(rows.into_iter().collect()))
    }

    /// Hands it a batch of its second input.
    pub fn push_right(&mut self, rows: impl IntoIterator<Item = (R, Timestamp)>) -> Result<()> {
        self.push_batch(Either::Right(rows.into_iter().collect()))
    }
}

/// Background work is done at once: a test has one thread.
struct AtOnce;

impl Background for AtOnce {
    fn run(&self, work: Box<dyn FnOnce() + Send + 'static>) {
        work();
    }
}

/// Notes that the task was woken.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
