//! Functions over the rows around each row: aggregates over frames, ranks, neighbours.
//!
//! Rows keep their columns, and results stand behind them. State is kept by partition, so it follows its key groups when the
//! parallelism changes. `timed` lets rows out once, in the order of time, and keeps what frames need; `changing` keeps all rows and
//! updates their results. Both move frames by a `script`, for many partitions at a time.

mod calls;
mod changing;
mod history;
mod places;
mod script;
mod spec;
mod timed;

pub use spec::{Frame, FrameBound, FrameUnit, OverCall, OverMode, OverSpec};

use changing::Changing;
use flugs_batch::{Barrier, ChangeBatch};
use flugs_state::SnapshotTable;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, Timestamp};
use timed::Timed;

/// Gives rows with the results of functions over the rows around them. See [`OverSpec`].
///
/// By time, rows that a watermark lets out come partition by partition, by the time of the first that waited. At the end of a
/// bounded input the last watermark lets out all.
pub struct OverAggregate {
    spec: OverSpec,
    open: Option<Box<dyn Mode>>,
}

/// Parts of [`Operator`] that differ by mode.
trait Mode: Send {
    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress>;

    /// Gives what is left, after `More`.
    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress>;

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let _ = (watermark, out);
        Ok(Progress::Done)
    }

    fn next_tick(&self) -> Option<Timestamp>;

    fn tick(&mut self, now: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress>;

    fn barrier(&mut self) {}

    fn end(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let _ = out;
        Ok(Progress::Done)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable>;
}

impl OverAggregate {
    /// Functions over the rows around each row.
    pub fn new(spec: OverSpec) -> Self {
        OverAggregate { spec, open: None }
    }

    fn opened(&mut self) -> Result<&mut Box<dyn Mode>> {
        self.open.as_mut().ok_or_else(|| Error::bug("the OVER operator is not open"))
    }
}

impl Operator for OverAggregate {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.open = Some(match self.spec.mode {
            OverMode::EventTime { .. } | OverMode::ProcessingTime => {
                Box::new(Timed::open(&self.spec, context)?)
            }
            OverMode::Changing | OverMode::Bounded => Box::new(Changing::open(&self.spec, context)?),
        });
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened()?.process(batch, out)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened()?.give(out)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened()?.advance(watermark, out)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.open.as_ref().and_then(|open| open.next_tick())
    }

    fn tick(&mut self, now: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened()?.tick(now, out)
    }

    fn barrier(&mut self, _: Barrier, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened()?.barrier();
        Ok(Progress::Done)
    }

    fn end(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened()?.end(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.open.as_mut().map_or(Vec::new(), |open| open.tables())
    }
}

#[cfg(test)]
mod tests;
