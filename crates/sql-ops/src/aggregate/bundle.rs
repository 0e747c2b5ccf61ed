//! Bundles of several batches, so that hot groups change less often.

use flugs_batch::{Batch, ChangeBatch};
use flugs_types::{Result, Timestamp};
use std::time::Duration;

/// How much is collected before it is aggregated: Flink's mini-batch. A bundle also ends at a watermark, a barrier and the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundleSpec {
    /// At most about so many rows.
    pub rows: usize,
    /// For at most this long, in processing time.
    pub latency: Duration,
}

/// Batches that wait for more.
#[derive(Debug)]
pub(super) struct Bundle {
    spec: BundleSpec,
    batches: Vec<ChangeBatch>,
    rows: usize,
    due: Option<Timestamp>,
}

impl Bundle {
    pub(super) fn new(spec: BundleSpec) -> Self {
        Bundle { spec, batches: Vec::new(), rows: 0, due: None }
    }

    /// Adds a batch; gives the bundle where it is full.
    pub(super) fn add(&mut self, batch: ChangeBatch, now: Timestamp) -> Result<Option<ChangeBatch>> {
        self.rows += batch.len();
        self.batches.push(batch);
        if self.rows >= self.spec.rows {
            return self.take();
        }
        self.due.get_or_insert(now + self.spec.latency);
        Ok(None)
    }

    /// The bundle, if there is anything.
    pub(super) fn take(&mut self) -> Result<Option<ChangeBatch>> {
        (self.rows, self.due) = (0, None);
        let batches = std::mem::take(&mut self.batches);
        match batches.len() {
            0 => Ok(None),
            1 => Ok(batches.into_iter().next()),
            _ => ChangeBatch::concat(&batches).map(Some),
        }
    }

    /// When it must be taken.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.due
    }
}
