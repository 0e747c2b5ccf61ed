//! The first rows of each partition.

use crate::rank::outgoing::{OUTPUT_ROWS, Outgoing};
use crate::rank::ranks::Ranks;
use crate::rank::spec::TopNSpec;
use flugs_batch::ChangeBatch;
use flugs_state::SnapshotTable;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Clock, Error, Result, Timestamp};
use std::sync::Arc;

/// Gives the rows of each partition whose rank is in a range, and takes them back. See [`TopNSpec`].
///
/// A row that loses costs a look at its partition: its columns are not encoded. Those of a row that wins are, once, at the end of
/// its bundle.
pub struct TopN {
    spec: TopNSpec,
    open: Option<Open>,
}

struct Open {
    ranks: Ranks,
    clock: Arc<dyn Clock>,
    outgoing: Outgoing,
}

impl TopN {
    /// The first rows of each partition.
    pub fn new(spec: TopNSpec) -> Self {
        TopN { spec, open: None }
    }

    fn opened(&mut self) -> Result<&mut Open> {
        self.open.as_mut().ok_or_else(|| Error::bug("the rank operator is not open"))
    }
}

impl Open {
    /// Gives the changes that are left of the bundle.
    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        loop {
            let more = self.ranks.give_changes(&mut self.outgoing);
            if (!more || self.outgoing.len() >= OUTPUT_ROWS) && !self.outgoing.send(out)? {
                return Ok(Progress::More);
            }
            if !more {
                return Ok(Progress::Done);
            }
        }
    }
}

impl Operator for TopN {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        let ranks = Ranks::open(&self.spec, context)?;
        let outgoing = ranks.outgoing(&self.spec);
        self.open = Some(Open { ranks, clock: Arc::clone(context.clock), outgoing });
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let open = self.opened()?;
        let now = open.clock.now();
        open.ranks.take_in(&batch, now)?;
        open.give(out)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened()?.give(out)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.open.as_ref().and_then(|open| open.ranks.next_tick())
    }

    fn tick(&mut self, now: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let open = self.opened()?;
        open.ranks.sweep(now, &mut open.outgoing);
        open.give(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.open.iter_mut().map(|open| open.ranks.table()).collect()
    }
}

#[cfg(test)]
mod tests;
