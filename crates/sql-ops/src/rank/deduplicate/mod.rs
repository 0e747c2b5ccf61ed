//! The first or last row of each key.
//!
//! Three operators behind one: `first` gives a row as it comes, `waiting` when the watermark has reached it, `last` updates.

mod first;
mod last;
mod waiting;

use super::spec::{DeduplicateSpec, DeduplicateTime, Keep};
use first::First;
use flugs_batch::{Barrier, ChangeBatch};
use flugs_state::SnapshotTable;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, Timestamp};
use last::Last;
use waiting::Waiting;

/// Rows whose places in a table are fetched together.
const GROUP: usize = 64;

/// Gives one row of each key. See [`DeduplicateSpec`].
pub struct Deduplicate {
    spec: DeduplicateSpec,
    open: Option<Box<dyn Rows>>,
}

impl Deduplicate {
    /// The first or last row of each key.
    pub fn new(spec: DeduplicateSpec) -> Self {
        Deduplicate { spec, open: None }
    }

    fn opened(&mut self) -> Result<&mut Box<dyn Rows>> {
        self.open.as_mut().ok_or_else(|| Error::bug("the deduplication is not open"))
    }
}

/// What the three have in common: parts of [`Operator`].
trait Rows: Send {
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

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable>;
}

impl Operator for Deduplicate {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        let spec = &self.spec;
        self.open = Some(match (spec.keep, spec.time) {
            (Keep::First, DeduplicateTime::Processing) => Box::new(First::open(spec, context)?),
            (Keep::First, DeduplicateTime::Event { column }) => {
                Box::new(Waiting::open(spec, column, context)?)
            }
            (Keep::Last, DeduplicateTime::Processing) => Box::new(Last::open(spec, None, context)?),
            (Keep::Last, DeduplicateTime::Event { column }) => {
                Box::new(Last::open(spec, Some(column), context)?)
            }
        });
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if !batch.is_insert_only() {
            return Err(Error::bug("a deduplication takes inserts only"));
        }
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

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.open.as_mut().map_or(Vec::new(), |open| open.tables())
    }
}

#[cfg(test)]
mod tests;
