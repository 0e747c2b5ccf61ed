//! Rows whose windows are over.

use arrow::array::UInt64Array;
use flugs_batch::{ChangeBatch, Records};
use flugs_task::{Counter, OpenContext, Output};
use flugs_types::Result;

/// Counts late rows and hands them to a side output, if that is asked for.
pub(super) struct LateRows {
    dropped: Counter,
    port: Option<usize>,
}

impl LateRows {
    /// `port` is the side output, if they are asked for.
    pub(super) fn open(context: &OpenContext<'_>, port: Option<usize>) -> Self {
        LateRows { dropped: context.counter("numLateRecordsDropped"), port }
    }

    /// These rows of the batch are late. `rows` is empty afterwards.
    pub(super) fn hand_out<B: Send + 'static>(
        &self,
        batch: &ChangeBatch,
        rows: &mut Vec<u64>,
        out: &mut Output<B>,
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.dropped.add(rows.len());
        let rows = UInt64Array::from(std::mem::take(rows));
        if let Some(port) = self.port {
            let _ = out.push_side::<ChangeBatch>(port, Records::untimed(vec![batch.take(&rows)?]))?;
        }
        Ok(())
    }
}
