//! What the operators have in common that hand on what each batch, or each bundle of batches, means.

use super::bundle::{Bundle, BundleSpec};
use crate::outbox::Outbox;
use arrow::datatypes::SchemaRef;
use flugs_batch::{Barrier, Batch, ChangeBatch};
use flugs_state::SnapshotTable;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Clock, Error, Result, Timestamp};
use std::sync::Arc;

/// What one of the operators does.
pub trait Work: Send + 'static {
    /// Opens what it needs.
    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()>;

    /// What a batch, which has rows, means; none where it is nothing.
    fn aggregate(&mut self, batch: &ChangeBatch) -> Result<Option<ChangeBatch>>;

    /// The tables of its state.
    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        Vec::new()
    }
}

/// An operator over batches or bundles. What waits goes out at watermarks, barriers and the end, so it is no state.
pub struct Bundled<W> {
    pub(super) work: W,
    bundle: Option<Bundle>,
    clock: Option<Arc<dyn Clock>>,
    outbox: Outbox,
}

impl<W: Work> Bundled<W> {
    pub(super) fn of(work: W, bundle: Option<BundleSpec>, input: SchemaRef) -> Self {
        let bundle = bundle.map(|bundle| Bundle::new(bundle, input));
        Bundled { work, bundle, clock: None, outbox: Outbox::default() }
    }

    fn aggregate(&mut self, batch: Option<ChangeBatch>, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if let Some(batch) = batch.filter(|batch| !batch.is_empty())
            && let Some(given) = self.work.aggregate(&batch)?
        {
            self.outbox.put(given);
        }
        self.outbox.hand_on(out)
    }

    fn flush(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let bundle = self.bundle.as_mut().map(Bundle::take).transpose()?.flatten();
        self.aggregate(bundle, out)
    }
}

impl<W: Work> Operator for Bundled<W> {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.clock = Some(context.clock.clone());
        self.work.open(context)
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let bundle = match &mut self.bundle {
            Some(bundle) => {
                let clock = self.clock.as_ref().ok_or_else(|| Error::bug("the operator is not open"))?;
                bundle.add(batch, clock.now())?
            }
            None => Some(batch),
        };
        self.aggregate(bundle, out)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.outbox.hand_on(out)
    }

    fn advance(&mut self, _: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.flush(out)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.bundle.as_ref().and_then(Bundle::due)
    }

    fn tick(&mut self, _: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.flush(out)
    }

    fn barrier(&mut self, _: Barrier, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.flush(out)
    }

    fn end(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.flush(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.work.tables()
    }
}
