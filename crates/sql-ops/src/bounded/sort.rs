//! `ORDER BY` of more rows than fit into memory.

use super::operator::{Bounded, Work, give_sorted, inserts_only, not_open, progress};
use super::spec::ExternalSortSpec;
use super::spill::{Kept, Sorter, grouped, ungrouped};
use crate::rank::columns::Encoded;
use crate::rank::outgoing::Outgoing;
use flugs_batch::{Batch, ChangeBatch};
use flugs_task::{OpenContext, Output, Progress};
use flugs_types::{Result, RowKind};

/// Carries out an [`ExternalSortSpec`].
pub type ExternalSort = Bounded<SortWork>;

impl ExternalSort {
    /// An operator that is not open yet.
    pub fn new(spec: ExternalSortSpec) -> Self {
        Bounded::of(SortWork { spec, opened: None })
    }
}

/// See [`ExternalSort`].
pub struct SortWork {
    spec: ExternalSortSpec,
    opened: Option<Opened>,
}

struct Opened {
    order: Encoded,
    rows: Encoded,
    sorter: Sorter,
    /// How many rows are left out yet.
    skip: u64,
    outgoing: Outgoing,
}

impl Work for SortWork {
    type In = ChangeBatch;

    fn open(&mut self, _: &mut OpenContext<'_>) -> Result<()> {
        let spec = &self.spec;
        let rows = Encoded::all(&spec.input)?;
        let kept = match spec.fetch {
            Some(fetch) => Kept::First(spec.offset.saturating_add(fetch)),
            None => Kept::All,
        };
        self.opened = Some(Opened {
            order: Encoded::ordered(&spec.input, &spec.order)?,
            outgoing: Outgoing::new(rows.codec().clone(), spec.input.clone(), false),
            rows,
            sorter: Sorter::new(&spec.spill, kept),
            skip: spec.offset,
        });
        Ok(())
    }

    fn take(&mut self, batch: ChangeBatch) -> Result<()> {
        inserts_only(&batch)?;
        let Opened { order, rows, sorter, .. } = self.opened.as_mut().ok_or_else(not_open)?;
        order.encode(&batch)?;
        rows.encode(&batch)?;
        for row in 0..batch.len() {
            let order = order.row(row);
            sorter.push(&[order, rows.row(row)], &[&grouped(order)])?;
        }
        Ok(())
    }

    fn settle(&mut self, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened.as_mut().ok_or_else(not_open)?.sorter.settle().map(progress)
    }

    fn finish(&mut self) -> Result<()> {
        self.opened.as_mut().ok_or_else(not_open)?.sorter.finish()
    }

    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let Opened { sorter, skip, outgoing, .. } = self.opened.as_mut().ok_or_else(not_open)?;
        give_sorted(sorter, outgoing, out, |record, outgoing| {
            if *skip > 0 {
                *skip -= 1;
            } else {
                let (order, _) = ungrouped(record)?;
                outgoing.push(RowKind::Insert, &record.key[order.len()..], 0);
            }
            Ok(())
        })
    }
}
