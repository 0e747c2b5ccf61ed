//! Functions over the rows around each row, partition by partition.
//!
//! Rows are sorted by partition and order; so many whole partitions as make a batch go through the operator over rows in memory, which
//! is empty again behind each. Its rows come to it in order, which is the order in which it keeps them. A partition that is [`Large`]
//! goes to files, where the functions allow for it.

mod large;
mod rows;

use super::operator::{Bounded, Work, inserts_only, not_open, progress};
use super::spec::BoundedOverSpec;
use super::spill::{Kept, Record, STEP_BYTES, Sorter, grouped, ungrouped};
use crate::outbox::BATCH_ROWS;
use crate::over::{OverAggregate, OverMode, OverSpec};
use crate::rank::columns::Encoded;
use crate::rank::outgoing::record_batch;
use flugs_batch::{Batch, ChangeBatch};
use flugs_state::SnapshotTable;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::Result;
use large::{Large, can_stream};
use rows::Rows;

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
    can_stream: bool,
    stage: Stage,
}

enum Stage {
    /// Whole partitions are collected, and the one at hand.
    Filling(Filling),
    /// Their results come out, then it goes on with this.
    Emptying(Filling),
    /// A large partition is read.
    Spooling(Box<Large>, Vec<u8>),
    /// It is given.
    Giving(Box<Large>),
    Over,
}

#[derive(Default)]
struct Filling {
    /// Of partitions that are whole.
    whole: Rows,
    /// Of the partition at hand.
    last: Rows,
    group: Vec<u8>,
}

impl Filling {
    fn close(&mut self) {
        let last = std::mem::take(&mut self.last);
        match self.whole.is_empty() {
            true => self.whole = last,
            false => last.iter().for_each(|record| self.whole.push(record)),
        }
    }
}

impl OverWork {
    /// Collects a slice of rows.
    fn fill(&mut self, mut filling: Filling, out: &mut Output<ChangeBatch>) -> Result<Stage> {
        let Opened { sorter, rows, can_stream, .. } = self.opened.as_mut().ok_or_else(not_open)?;
        let limit = (self.spec.spill.memory_bytes / 2).max(1 << 10);
        for _ in 0..BATCH_ROWS {
            let record = sorter.next()?;
            let group = record.map(ungrouped).transpose()?.map(|(group, _)| group);
            if group != Some(&filling.group[..]) && !filling.last.is_empty() {
                filling.close();
            }
            let (Some(record), Some(group)) = (record, group) else {
                return match filling.whole.is_empty() {
                    true => Ok(Stage::Over),
                    false => self.evaluate(filling, out),
                };
            };
            if filling.last.is_empty() {
                if filling.whole.len() >= BATCH_ROWS || filling.whole.bytes() >= STEP_BYTES {
                    return self.evaluate(filling, out);
                }
                filling.group = group.to_vec();
            }
            filling.last.push(row_of(record)?);
            sorter.advance()?;
            if *can_stream && filling.last.bytes() >= limit {
                if !filling.whole.is_empty() {
                    return self.evaluate(filling, out);
                }
                let mut large = Large::new(&self.spec, rows.codec())?;
                large.add(&filling.last)?;
                return Ok(Stage::Spooling(Box::new(large), filling.group));
            }
        }
        Ok(Stage::Filling(filling))
    }

    /// Lets whole partitions through the operator inside.
    fn evaluate(&mut self, mut filling: Filling, out: &mut Output<ChangeBatch>) -> Result<Stage> {
        let rows = std::mem::take(&mut filling.whole);
        let codec = self.opened.as_ref().ok_or_else(not_open)?.rows.codec();
        let columns = codec.decode(rows.iter().map(|record| record.value))?;
        let batch = ChangeBatch::inserts(record_batch(&self.spec.input, columns, rows.len())?);
        let _ = self.inner.process(batch, out)?;
        let _ = self.inner.end(out)?;
        Ok(Stage::Emptying(filling))
    }

    /// Puts a slice of a large partition into its spools.
    fn spool(&mut self, mut large: Box<Large>, group: Vec<u8>) -> Result<Stage> {
        let sorter = &mut self.opened.as_mut().ok_or_else(not_open)?.sorter;
        if !large.settle()? {
            return Ok(Stage::Spooling(large, group));
        }
        let mut rows = Rows::default();
        let mut more = true;
        while more && rows.len() < BATCH_ROWS && rows.bytes() < STEP_BYTES {
            match sorter.next()? {
                Some(record) if ungrouped(record)?.0 == group => {
                    rows.push(row_of(record)?);
                    sorter.advance()?;
                }
                _ => more = false,
            }
        }
        large.add(&rows)?;
        if more {
            return Ok(Stage::Spooling(large, group));
        }
        large.finish()?;
        Ok(Stage::Giving(large))
    }
}

/// The record without what says which group it is of.
fn row_of(record: Record<'_>) -> Result<Record<'_>> {
    let (_, value) = ungrouped(record)?;
    Ok(Record { key: record.key, value })
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
            can_stream: can_stream(&spec.calls),
            stage: Stage::Filling(Filling::default()),
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
        let next = match std::mem::replace(&mut opened.stage, Stage::Over) {
            Stage::Filling(filling) => self.fill(filling, out)?,
            Stage::Emptying(filling) => match self.inner.resume(out)? {
                Progress::Done => Stage::Filling(filling),
                _ => Stage::Emptying(filling),
            },
            Stage::Spooling(large, group) => self.spool(large, group)?,
            Stage::Giving(mut large) => match large.give(out)? {
                true => Stage::Giving(large),
                false => Stage::Filling(Filling::default()),
            },
            Stage::Over => return Ok(Progress::Done),
        };
        self.opened.as_mut().ok_or_else(not_open)?.stage = next;
        Ok(Progress::More)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.inner.tables()
    }
}
