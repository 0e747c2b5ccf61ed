//! All rows of a bounded input in order.

use super::single;
use super::spec::StreamSortSpec;
use crate::rank::columns::Encoded;
use crate::rank::outgoing::{OUTPUT_ROWS, Outgoing};
use crate::row::RowBytes;
use flugs_batch::{Batch, ChangeBatch};
use flugs_state::{KeyedTable, SnapshotTable};
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, RowKind};

/// Sorts the table that a bounded input describes at its end. See [`StreamSortSpec`].
///
/// An input without end never gives anything. Checkpoints hold all rows that have come.
pub struct StreamSort {
    spec: StreamSortSpec,
    open: Option<Open>,
}

/// How many of a key's bytes are the order, and how often the row is there: a changelog may delete before it inserts.
type Stored = (u32, i64);

struct Open {
    order: Encoded,
    rows: Encoded,
    /// By the bytes of the order and then those of the row.
    stored: KeyedTable<RowBytes, Stored>,
    /// At the end: all rows, the last one first.
    sorted: Vec<(RowBytes, Stored)>,
    skip: u64,
    left: u64,
    outgoing: Outgoing,
}

impl StreamSort {
    /// A sort of all rows.
    pub fn new(spec: StreamSortSpec) -> Self {
        StreamSort { spec, open: None }
    }

    fn opened(&mut self) -> Result<&mut Open> {
        self.open.as_mut().ok_or_else(|| Error::bug("the sort operator is not open"))
    }
}

impl Open {
    fn take_in(&mut self, batch: &ChangeBatch) -> Result<()> {
        self.order.encode(batch)?;
        self.rows.encode(batch)?;
        let mut key = Vec::new();
        for row in 0..batch.len() {
            let order = self.order.row(row);
            key.clear();
            key.extend_from_slice(order);
            key.extend_from_slice(self.rows.row(row));
            let key = RowBytes::new(&key);
            let by = if batch.kind(row).is_addition() { 1 } else { -1 };
            self.stored.update_hashed(flugs_types::hash_key(&key), &key, |stored| {
                let count = stored.map_or(0, |(_, count)| count) + by;
                *stored = (count != 0).then_some((order.len() as u32, count));
            });
        }
        Ok(())
    }

    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        loop {
            let more = !self.sorted.is_empty() && self.left > 0;
            if (!more || self.outgoing.len() >= OUTPUT_ROWS) && !self.outgoing.send(out)? {
                return Ok(Progress::More);
            }
            if !more {
                self.sorted = Vec::new();
                return Ok(Progress::Done);
            }
            let Some((key, (order, count))) = self.sorted.last_mut() else { continue };
            let skipped = self.skip.min(*count as u64);
            self.skip -= skipped;
            *count -= skipped as i64;
            let row = &key[*order as usize..];
            while *count > 0 && self.left > 0 && self.outgoing.len() < OUTPUT_ROWS {
                self.outgoing.push(RowKind::Insert, row, 0);
                *count -= 1;
                self.left -= 1;
            }
            if *count == 0 {
                self.sorted.pop();
            }
        }
    }
}

impl Operator for StreamSort {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        single(context, "a sort")?;
        let rows = Encoded::all(&self.spec.input)?;
        self.open = Some(Open {
            order: Encoded::ordered(&self.spec.input, &self.spec.order)?,
            outgoing: Outgoing::new(rows.codec().clone(), self.spec.input.clone(), false),
            rows,
            stored: context.state.keyed("rows")?,
            sorted: Vec::new(),
            skip: self.spec.offset,
            left: self.spec.fetch.unwrap_or(u64::MAX),
        });
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened()?.take_in(&batch)?;
        Ok(Progress::Done)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened()?.give(out)
    }

    fn end(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let open = self.opened()?;
        open.sorted = open.stored.drain().filter(|(_, (_, count))| *count > 0).collect();
        open.sorted.sort_unstable_by(|a, b| b.0.cmp(&a.0));
        open.give(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.open.iter_mut().map(|open| &mut open.stored as &mut dyn SnapshotTable).collect()
    }
}
