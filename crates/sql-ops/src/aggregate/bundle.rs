//! Bundles of several batches, so that hot groups change less often.

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use flugs_batch::{Batch, ChangeBatch};
use flugs_types::{Error, Result, Timestamp};
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
    /// What all batches have, of which some may say more than the others about NULLs.
    schema: SchemaRef,
    batches: Vec<ChangeBatch>,
    rows: usize,
    due: Option<Timestamp>,
}

impl Bundle {
    pub(super) fn new(spec: BundleSpec, schema: SchemaRef) -> Self {
        Bundle { spec, schema, batches: Vec::new(), rows: 0, due: None }
    }

    /// Adds a batch; gives the bundle where it is full.
    pub(super) fn add(&mut self, batch: ChangeBatch, now: Timestamp) -> Result<Option<ChangeBatch>> {
        self.rows += batch.len();
        self.batches.push(if batch.schema() == self.schema { batch } else { self.fitted(&batch)? });
        if self.rows >= self.spec.rows {
            return self.take();
        }
        self.due.get_or_insert(now + self.spec.latency);
        Ok(None)
    }

    fn fitted(&self, batch: &ChangeBatch) -> Result<ChangeBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(batch.len()));
        let columns = batch.rows().columns().to_vec();
        let rows = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options);
        batch.with_rows(rows.map_err(|e| Error::bug("a batch does not fit its bundle").caused_by(e))?)
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
