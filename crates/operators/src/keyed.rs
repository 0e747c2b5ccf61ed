//! The shell of operators that are called row by row under a key: state, timers, time to live.
//!
//! The shell owns what belongs to keys ([`KeyedRuntime`]) and decides when to stop: rows, timers and sweeps are worked
//! on in bounded slices, and no further while the output is full. A [`KeyedFunction`] is called within and knows nothing
//! of slices.
//!
//! Timers fire in the order of their times, ties in the order of keys, for every time at or before the watermark (or the
//! clock), those too that are set while others fire. A timer is set once for a key and time, however often it is asked for.

mod ahead;
mod broadcast;
mod co_process;
mod context;
mod open;
mod process;
mod runtime;
mod sweep;

pub use broadcast::{KeyedBroadcastContext, KeyedBroadcastProcess, KeyedBroadcastProcessFunction};
pub use co_process::{KeyedCoProcess, KeyedCoProcessFunction};
pub use context::KeyedContext;
pub use open::OpenKeyed;
pub use process::{KeyedProcess, KeyedProcessFunction};
pub use runtime::KeyedRuntime;

use crate::collector::{Collector, Traffic};
use crate::rows::Rows;
use flugs_batch::{Batch, Key, Record, Records};
use flugs_state::{KeyedStore, SnapshotTable};
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, Timestamp, hash_key};

/// How many timers fire in one slice.
const TIMERS_PER_SLICE: usize = 1024;

/// Which clock a timer runs by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeDomain {
    /// The watermark.
    EventTime,
    /// The time of the machine.
    ProcessingTime,
}

/// A timer that fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timer {
    /// The time that it was set for.
    pub time: Timestamp,
    /// By which clock.
    pub domain: TimeDomain,
}

/// A function over keyed rows, as the shell calls it.
pub trait KeyedFunction: Send + 'static {
    /// The batches of its input.
    type In: Rows;
    /// The key.
    type Key: Key;
    /// The rows of its output.
    type Out: Record;

    /// Opens it.
    fn open(&mut self, open: &mut OpenKeyed<'_, '_, Self::Key>) -> Result<()>;

    /// Works through what is left, until nothing is or the collector is not ready.
    fn rows(
        &mut self,
        rest: &mut <Self::In as Rows>::Rest,
        runtime: &mut KeyedRuntime<Self::Key>,
        out: &mut Collector<'_, Self::Out>,
    ) -> Result<()>;

    /// A timer of the context's key fires.
    fn on_timer(
        &mut self,
        timer: Timer,
        cx: &mut KeyedContext<'_, Self::Key>,
        out: &mut Collector<'_, Self::Out>,
    ) -> Result<()>;

    /// The tables that it opened beside the keyed state.
    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        Vec::new()
    }
}

/// What the shell stopped in the middle of.
enum Work<R> {
    Nothing,
    Rows(R),
    Timers(TimeDomain, Timestamp),
}

/// The operator around a [`KeyedFunction`].
pub struct KeyedOperator<F: KeyedFunction> {
    function: F,
    runtime: Option<KeyedRuntime<F::Key>>,
    work: Work<<F::In as Rows>::Rest>,
    traffic: Traffic,
}

impl<F: KeyedFunction> KeyedOperator<F> {
    pub(crate) fn new(function: F) -> Self {
        KeyedOperator { function, runtime: None, work: Work::Nothing, traffic: Traffic::default() }
    }

    fn go_on(&mut self, out: &mut Output<Records<F::Out>>) -> Result<Progress> {
        let runtime = self.runtime.as_mut().ok_or_else(|| Error::bug("the operator is not open"))?;
        let mut out = Collector::new(out);
        let done = match &mut self.work {
            Work::Nothing => true,
            Work::Rows(rest) => {
                self.function.rows(rest, runtime, &mut out)?;
                F::In::is_done(rest)
            }
            Work::Timers(domain, upto) => fire(&mut self.function, runtime, *domain, *upto, &mut out)?,
        };
        self.traffic.gave(out.finish()?);
        if !done {
            return Ok(Progress::More);
        }
        self.work = Work::Nothing;
        Ok(Progress::Done)
    }

    fn runtime(&mut self) -> Result<&mut KeyedRuntime<F::Key>> {
        self.runtime.as_mut().ok_or_else(|| Error::bug("the operator is not open"))
    }
}

/// Fires timers up to `upto`. Says whether none is left.
fn fire<F: KeyedFunction>(
    function: &mut F,
    runtime: &mut KeyedRuntime<F::Key>,
    domain: TimeDomain,
    upto: Timestamp,
    out: &mut Collector<'_, F::Out>,
) -> Result<bool> {
    for _ in 0..TIMERS_PER_SLICE {
        let Some((time, key)) = runtime.timers(domain).pop_due(upto) else { return Ok(true) };
        // As in Flink, what a processing-time timer collects has no event time.
        out.set_time(if domain == TimeDomain::EventTime { time } else { Timestamp::MIN });
        function.on_timer(Timer { time, domain }, &mut runtime.context(&key, hash_key(&key), time), out)?;
        if !out.is_ready() {
            break;
        }
    }
    Ok(false)
}

impl<F: KeyedFunction> Operator for KeyedOperator<F> {
    type In = F::In;
    type Out = Records<F::Out>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.traffic.open(context);
        let mut store = KeyedStore::new();
        let mut ttls = Vec::new();
        self.function.open(&mut OpenKeyed::new(context, &mut store, &mut ttls))?;
        self.runtime = Some(KeyedRuntime::open(context, store, &ttls)?);
        Ok(())
    }

    fn process(&mut self, batch: F::In, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.traffic.took(batch.len());
        self.runtime()?.begin();
        self.work = Work::Rows(batch.into_rest());
        self.go_on(out)
    }

    fn resume(&mut self, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.runtime()?.begin();
        self.go_on(out)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.runtime()?.advance(watermark);
        self.work = Work::Timers(TimeDomain::EventTime, watermark);
        self.go_on(out)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.runtime.as_ref()?.next_tick()
    }

    fn tick(&mut self, now: Timestamp, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.runtime()?.tick(now);
        self.work = Work::Timers(TimeDomain::ProcessingTime, now);
        self.go_on(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        let runtime = self.runtime.as_mut().map(KeyedRuntime::tables);
        runtime.into_iter().flatten().chain(self.function.tables()).collect()
    }
}

#[cfg(test)]
mod tests;
