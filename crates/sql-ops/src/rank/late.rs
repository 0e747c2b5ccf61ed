//! Rows that came when their time was over.

use arrow::array::UInt64Array;
use flugs_batch::{ChangeBatch, Records};
use flugs_task::{Counter, OpenContext, Output};
use flugs_types::Result;

/// Counts late rows of a batch, and hands them to side output 0 where that is asked for.
pub(crate) struct LateRows {
    dropped: Counter,
    output: bool,
    rows: Vec<u64>,
}

impl LateRows {
    pub(crate) fn open(context: &OpenContext<'_>, output: bool) -> Self {
        LateRows { dropped: context.counter("numLateRecordsDropped"), output, rows: Vec::new() }
    }

    /// This row of the batch is late.
    pub(crate) fn push(&mut self, row: usize) {
        self.rows.push(row as u64);
    }

    /// Hands out those of the batch.
    pub(crate) fn hand_out(&mut self, batch: &ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.dropped.add(self.rows.len());
        let rows = UInt64Array::from(std::mem::take(&mut self.rows));
        if self.output {
            let _ = out.push_side::<ChangeBatch>(0, Records::untimed(vec![batch.take(&rows)?]))?;
        }
        Ok(())
    }
}
