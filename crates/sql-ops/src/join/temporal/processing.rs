//! The newest version of a table when a row comes.

use super::versions::Versions;
use super::{Clocked, ROWS_AT_A_TIME, put_found};
use crate::join::attach::{Beside, kinds_of, piece};
use crate::join::spec::TemporalJoinSpec;
use crate::row::RowBytes;
use crate::ttl::TimeToLive;
use flugs_batch::{Batch, ChangeBatch};
use flugs_state::SnapshotTable;
use flugs_task::{OpenContext, Output, Progress};
use flugs_types::{Result, RowKind};

/// Rows of the left are not kept: what has been given out is not corrected when the table changes later. An update of the left of
/// which only one row has a match comes out as a deletion or an insertion.
pub(super) struct AsTheyCome {
    beside: Beside,
    /// The newest row of each key.
    newest: Versions<RowBytes>,
    batch: ChangeBatch,
    /// How many of its rows are joined.
    at: usize,
}

impl AsTheyCome {
    pub(super) fn open(
        spec: &TemporalJoinSpec,
        beside: Beside,
        context: &mut OpenContext<'_>,
    ) -> Result<Self> {
        let newest = Versions::open(spec.ttl, context)?;
        Ok(AsTheyCome { beside, newest, batch: ChangeBatch::default(), at: 0 })
    }

    /// Joins the next rows of the batch.
    fn join(&mut self) -> Result<()> {
        let batch = piece(&self.batch, self.at, ROWS_AT_A_TIME);
        self.at += batch.len();
        let plan = &self.beside.plan.left;
        let (left, keys) = (plan.columns(batch.rows()), plan.keys(batch.rows())?);
        keys.hashes.iter().for_each(|hash| self.newest.prefetch(*hash));
        let found = (0..batch.len()).map(|row| match keys.is_null(row) {
            true => None,
            false => self.newest.get(keys.hashes[row], &keys.keys[row]).map(RowBytes::as_slice),
        });
        put_found(&mut self.beside, kinds_of(&batch), left, found)
    }
}

impl Clocked for AsTheyCome {
    fn rows(&mut self, batch: ChangeBatch, _: &mut Output<ChangeBatch>) -> Result<()> {
        (self.batch, self.at) = (batch, 0);
        Ok(())
    }

    fn changes(&mut self, batch: &ChangeBatch) -> Result<()> {
        let plan = &self.beside.plan.right;
        let keys = plan.keys(batch.rows())?;
        let rows = plan.codec.encode(&plan.columns(batch.rows()), batch.len())?;
        for row in (0..batch.len()).filter(|row| !keys.is_null(*row)) {
            let (hash, key) = (keys.hashes[row], &keys.keys[row]);
            match batch.kind(row) {
                RowKind::UpdateBefore => {}
                RowKind::Delete => self.newest.remove(hash, key),
                RowKind::Insert | RowKind::UpdateAfter => {
                    *self.newest.changed(hash, key) = rows.to_key(row);
                }
            }
        }
        Ok(())
    }

    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        while self.beside.give(out)? {
            if self.at >= self.batch.len() {
                (self.batch, self.at) = (ChangeBatch::default(), 0);
                return Ok(Progress::Done);
            }
            self.join()?;
        }
        Ok(Progress::More)
    }

    fn ttl(&self) -> Option<&TimeToLive> {
        self.newest.ttl()
    }

    fn sweep(&mut self) {
        self.newest.sweep();
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        vec![self.newest.table()]
    }
}
