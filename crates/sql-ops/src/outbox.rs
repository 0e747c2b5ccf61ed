//! Results that wait for the output to take them.

use flugs_batch::{Batch, ChangeBatch};
use flugs_task::{Output, Progress};
use flugs_types::{Result, RowKind};
use std::collections::VecDeque;

/// About how many rows a batch has at most that is handed on.
pub(crate) const BATCH_ROWS: usize = 4096;

/// Hands on batches in bounded pieces, stopping where the output asks for it.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: VecDeque<ChangeBatch>,
}

impl Outbox {
    /// Adds rows; a `-U` and its `+U` stay in one piece.
    pub(crate) fn put(&mut self, batch: ChangeBatch) {
        let mut start = 0;
        while batch.len() - start > BATCH_ROWS {
            let end = start + BATCH_ROWS;
            let end = end + usize::from(batch.kind(end - 1) == RowKind::UpdateBefore);
            self.waiting.push_back(batch.slice(start, end - start));
            start = end;
        }
        if start == 0 && !batch.is_empty() {
            self.waiting.push_back(batch);
        } else if start < batch.len() {
            self.waiting.push_back(batch.slice(start, batch.len() - start));
        }
    }

    /// Hands on what the output takes: `More` where some is left, to be called again in `resume`.
    pub(crate) fn hand_on(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        while let Some(batch) = self.waiting.pop_front() {
            let _ = out.push(batch)?;
            if !out.is_ready() && !self.waiting.is_empty() {
                return Ok(Progress::More);
            }
        }
        Ok(Progress::Done)
    }
}
