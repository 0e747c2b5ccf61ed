//! One input of a join.

use crate::row::{EncodedRows, RowBytes, RowCodec, null_keys};
use crate::window::attached::AttachedRows;
use crate::window::clock::WindowClock;
use crate::window::shape::Span;
use crate::window::time::inserts_only;
use flugs_batch::{Batch, ChangeBatch};
use flugs_state::PaneTable;
use flugs_task::Output;
use flugs_types::Result;

/// The rows of one input by window and key, in order of arrival.
pub(super) struct Input {
    pub(super) table: PaneTable<RowBytes, Span, Vec<RowBytes>>,
    pub(super) rows: AttachedRows,
    pub(super) encoded: EncodedRows,
    /// The key columns in which NULL equals nothing.
    pub(super) never_null: Vec<usize>,
    /// Whether rows come out that have no partner.
    pub(super) keeps_lonely: bool,
}

impl Input {
    /// Keeps the rows that are not late and may come out.
    pub(super) fn add(
        &mut self,
        codec: &RowCodec,
        batch: &ChangeBatch,
        clock: &WindowClock,
        out: &mut Output<ChangeBatch>,
    ) -> Result<()> {
        inserts_only(batch, "a join within windows")?;
        self.rows.place(batch, clock, out)?;
        let columns: Vec<_> = self.never_null.iter().map(|column| batch.column(*column).clone()).collect();
        let never = null_keys(&columns).filter(|_| !self.keeps_lonely);
        codec.encode_into(batch.rows().columns(), batch.len(), &mut self.encoded)?;
        for run in &self.rows.runs {
            let pane = self.table.pane_mut(run.span);
            for row in run.rows().filter(|row| never.as_ref().is_none_or(|never| never.is_valid(*row))) {
                let (hash, key) = (self.rows.encoded.hash(row), self.rows.encoded.to_key(row));
                pane.get_or_insert_hashed(hash, &key, Vec::new).push(self.encoded.to_key(row));
            }
        }
        Ok(())
    }

    /// The first window that is over.
    pub(super) fn first_over(&self, reached: i64) -> Option<Span> {
        self.table.namespaces().next().filter(|window| window.is_over(reached)).copied()
    }

    /// Whether a key's rows of this input may come out.
    pub(super) fn matters(&self, own: &[RowBytes], others: &[RowBytes]) -> bool {
        !own.is_empty() && (self.keeps_lonely || !others.is_empty())
    }
}
