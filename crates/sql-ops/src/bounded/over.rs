//! Functions over the rows around each row, partition by partition.
//!
//! Rows are sorted by partition and order; so many whole partitions as make a batch go through the operator over rows in memory, which
//! is empty again behind each. Its rows come to it in order, which is the order in which it keeps them.

use super::operator::{Bounded, Work, inserts_only, not_open, progress};
use super::spec::BoundedOverSpec;
use super::spill::{Kept, STEP_BYTES, Sorter, grouped, ungrouped};
use crate::outbox::BATCH_ROWS;
use crate::over::{OverAggregate, OverMode, OverSpec};
use crate::rank::columns::Encoded;
use crate::rank::outgoing::record_batch;
use flugs_batch::{Batch, ChangeBatch};
use flugs_state::SnapshotTable;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::Result;

/// Carries out a [`BoundedOverSpec`].
pub type BoundedOver = Bounded<OverWork>;

impl BoundedOver {
    /// An operator that is not open yet.
    pub fn new(spec: BoundedOverSpec) -> Self {
        let inner = OverSpec {
            input: spec.input.clone(),
            keys: spec.keys.clone(),
            mode: OverMode::Bounded,
            order: spec.order.clone(),
            calls: spec.calls.clone(),
            output: spec.output.clone(),
            emit_update_before: false,
            ttl: None,
            retract_on_expiry: false,
            late_output: false,
        };
        Bounded::of(OverWork { spec, inner: OverAggregate::new(inner), opened: None })
    }
}

/// See [`BoundedOver`].
pub struct OverWork {
    spec: BoundedOverSpec,
    inner: OverAggregate,
    opened: Option<Opened>,
}

struct Opened {
    keys: Encoded,
    order: Encoded,
    rows: Encoded,
    sorter: Sorter,
    stage: Stage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Stage {
    /// Rows go in; so many have, the last of them of this partition.
    Filling { rows: usize, group: Option<Vec<u8>> },
    /// Results come out; whether there are more rows.
    Emptying { more: bool },
}

impl OverWork {
    /// Hands a slice of rows to the operator inside.
    fn fill(
        &mut self,
        mut rows: usize,
        mut group: Option<Vec<u8>>,
        out: &mut Output<ChangeBatch>,
    ) -> Result<()> {
        let Opened { sorter, rows: encoded, stage, .. } = self.opened.as_mut().ok_or_else(not_open)?;
        let (mut bytes, mut ends) = (Vec::new(), vec![0]);
        let whole = loop {
            let Some(record) = sorter.next()? else { break Some(false) };
            let (of, row) = ungrouped(record)?;
            if group.as_deref() != Some(of) {
                if rows >= BATCH_ROWS {
                    break Some(true);
                }
                group = Some(of.to_vec());
            }
            if ends.len() > BATCH_ROWS || bytes.len() >= STEP_BYTES {
                break None;
            }
            bytes.extend_from_slice(row);
            ends.push(bytes.len());
            rows += 1;
            sorter.advance()?;
        };
        let columns = encoded.codec().decode(ends.windows(2).map(|ends| &bytes[ends[0]..ends[1]]))?;
        let batch = ChangeBatch::inserts(record_batch(&self.spec.input, columns, ends.len() - 1)?);
        *stage = match whole {
            Some(more) => Stage::Emptying { more },
            None => Stage::Filling { rows, group },
        };
        if !batch.is_empty() {
            let _ = self.inner.process(batch, out)?;
        }
        if whole.is_some() {
            return self.inner.end(out).map(drop);
        }
        Ok(())
    }
}

impl Work for OverWork {
    type In = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        let spec = &self.spec;
        self.opened = Some(Opened {
            keys: Encoded::new(&spec.input, &spec.keys)?,
            order: Encoded::ordered(&spec.input, &spec.order)?,
            rows: Encoded::all(&spec.input)?,
            sorter: Sorter::new(&spec.spill, Kept::All),
            stage: Stage::Filling { rows: 0, group: None },
        });
        self.inner.open(context)
    }

    fn take(&mut self, batch: ChangeBatch) -> Result<()> {
        inserts_only(&batch)?;
        let Opened { keys, order, rows, sorter, .. } = self.opened.as_mut().ok_or_else(not_open)?;
        keys.encode(&batch)?;
        order.encode(&batch)?;
        rows.encode(&batch)?;
        for row in 0..batch.len() {
            let key = keys.row(row);
            sorter.push(&[key, order.row(row)], &[&grouped(key), rows.row(row)])?;
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
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        match opened.stage.clone() {
            Stage::Filling { rows, group } => {
                self.fill(rows, group, out)?;
                Ok(Progress::More)
            }
            Stage::Emptying { more } => {
                if self.inner.resume(out)? != Progress::Done {
                    return Ok(Progress::More);
                }
                opened.stage = Stage::Filling { rows: 0, group: None };
                Ok(progress(!more))
            }
        }
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.inner.tables()
    }
}
