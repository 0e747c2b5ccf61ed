//! Rows that carry their windows.

use super::clock::WindowClock;
use super::late::LateRows;
use super::shape::Span;
use super::time::{AttachedWindow, Run, attached_windows, runs_of_windows};
use crate::row::{EncodedRows, RowCodec};
use arrow::array::ArrayRef;
use arrow::datatypes::Schema;
use flugs_batch::{Batch, ChangeBatch};
use flugs_task::{OpenContext, Output};
use flugs_types::Result;

/// Finds windows and keys of rows, and sets late ones apart.
pub(super) struct AttachedRows {
    window: AttachedWindow,
    keys: Vec<usize>,
    codec: RowCodec,
    late: LateRows,
    windows: Vec<Span>,
    /// The keys of the batch that was placed last.
    pub(super) encoded: EncodedRows,
    /// Its rows that are on time, by window.
    pub(super) runs: Vec<Run>,
}

impl AttachedRows {
    /// `late_port` is the side output for late rows, if they are asked for.
    pub(super) fn open(
        context: &OpenContext<'_>,
        input: &Schema,
        window: AttachedWindow,
        keys: &[usize],
        late_port: Option<usize>,
    ) -> Result<Self> {
        let types: Vec<_> = keys.iter().map(|key| input.field(*key).data_type().clone()).collect();
        Ok(AttachedRows {
            window,
            keys: keys.to_vec(),
            codec: RowCodec::new(&types)?,
            late: LateRows::open(context, late_port),
            windows: Vec::new(),
            encoded: EncodedRows::default(),
            runs: Vec::new(),
        })
    }

    /// Makes `encoded` and `runs` those of the batch.
    pub(super) fn place<B: Send + 'static>(
        &mut self,
        batch: &ChangeBatch,
        clock: &WindowClock,
        out: &mut Output<B>,
    ) -> Result<()> {
        let columns: Vec<ArrayRef> = self.keys.iter().map(|key| batch.column(*key).clone()).collect();
        self.codec.encode_into(&columns, batch.len(), &mut self.encoded)?;
        attached_windows(self.window, batch, &mut self.windows)?;
        runs_of_windows(&self.windows, &mut self.runs);
        let mut late = Vec::new();
        self.runs.retain(|run| {
            let over = run.span.is_over(clock.reached());
            if over {
                late.extend(run.rows().map(|row| row as u64));
            }
            !over
        });
        self.late.hand_out(batch, &mut late, out)
    }
}
