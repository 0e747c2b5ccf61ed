//! Rows in the order of their times.

use super::single;
use super::spec::{SortTime, TemporalSortSpec};
use crate::rank::columns::Encoded;
use crate::rank::late::LateRows;
use crate::rank::outgoing::{OUTPUT_ROWS, Outgoing};
use crate::rank::reached::Reached;
use crate::rank::time::read_micros;
use crate::row::{RowBytes, SortOptions};
use arrow::array::UInt64Array;
use flugs_batch::{Barrier, Batch, ChangeBatch};
use flugs_state::{KeyedTable, SnapshotTable};
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, RowKind, Timestamp};
use std::collections::BTreeSet;

/// Sorts by time and then by other columns. See [`TemporalSortSpec`].
///
/// The last watermark of a bounded input lets all rows out.
pub struct TemporalSort {
    spec: TemporalSortSpec,
    open: Option<Open>,
}

struct Open {
    /// The time and the other columns of the order.
    order: Encoded,
    rows: Encoded,
    /// For each time the rows that wait, with their order, as they came.
    waiting: KeyedTable<i64, Vec<(RowBytes, RowBytes)>>,
    /// The keys of that table in order.
    times: BTreeSet<i64>,
    reached: Reached,
    late: LateRows,
    outgoing: Outgoing,
    micros: Vec<i64>,
}

impl TemporalSort {
    /// A sort by time.
    pub fn new(spec: TemporalSortSpec) -> Self {
        TemporalSort { spec, open: None }
    }

    fn opened(&mut self) -> Result<&mut Open> {
        self.open.as_mut().ok_or_else(|| Error::bug("the sort operator is not open"))
    }
}

impl Open {
    fn take_in(&mut self, column: usize, batch: &ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<()> {
        read_micros(batch, column, &mut self.micros)?;
        self.order.encode(batch)?;
        self.rows.encode(batch)?;
        for (row, time) in self.micros.iter().enumerate() {
            if Timestamp(*time) <= self.reached.time() {
                self.late.push(row);
                continue;
            }
            let (order, bytes) = (self.order.rows().to_key(row), self.rows.rows().to_key(row));
            let of_time = self.waiting.get_or_insert_with(*time, Vec::new);
            if of_time.is_empty() {
                self.times.insert(*time);
            }
            of_time.push((order, bytes));
        }
        self.late.hand_out(batch, out)
    }

    /// Gives the rows whose time has come.
    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        loop {
            let due = self.times.first().copied().filter(|time| Timestamp(*time) <= self.reached.time());
            if (due.is_none() || self.outgoing.len() >= OUTPUT_ROWS) && !self.outgoing.send(out)? {
                return Ok(Progress::More);
            }
            let Some(time) = due else { return Ok(Progress::Done) };
            self.times.remove(&time);
            let mut rows = self.waiting.remove(&time).unwrap_or_default();
            rows.sort_by(|a, b| a.0.cmp(&b.0));
            rows.iter().for_each(|(_, row)| self.outgoing.push(RowKind::Insert, row, 0));
        }
    }

    /// Sorts the rows of a batch, which came at one time.
    fn sort(&mut self, batch: ChangeBatch) -> Result<ChangeBatch> {
        self.order.encode(&batch)?;
        let orders = self.order.rows();
        if (1..batch.len()).all(|row| orders.row(row - 1) <= orders.row(row)) {
            return Ok(batch);
        }
        let mut rows: Vec<u64> = (0..batch.len() as u64).collect();
        rows.sort_by_key(|row| orders.row(*row as usize));
        batch.take(&UInt64Array::from(rows))
    }
}

impl Operator for TemporalSort {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        single(context, "a sort by time")?;
        let time = match self.spec.time {
            SortTime::Event { column } => Some((column, SortOptions::default())),
            SortTime::Processing => None,
        };
        let order: Vec<(usize, SortOptions)> = time.into_iter().chain(self.spec.order.clone()).collect();
        let rows = Encoded::all(&self.spec.input)?;
        let waiting: KeyedTable<i64, Vec<(RowBytes, RowBytes)>> = context.state.keyed("waiting")?;
        self.open = Some(Open {
            order: Encoded::ordered(&self.spec.input, &order)?,
            outgoing: Outgoing::new(rows.codec().clone(), self.spec.input.clone(), false),
            rows,
            times: waiting.iter().map(|(time, _)| *time).collect(),
            waiting,
            reached: Reached::open(context)?,
            late: LateRows::open(context, self.spec.late_output),
            micros: Vec::new(),
        });
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if !batch.is_insert_only() {
            return Err(Error::bug("a sort by time takes inserts only"));
        }
        match self.spec.time {
            SortTime::Event { column } => self.opened()?.take_in(column, &batch, out)?,
            SortTime::Processing => {
                let sorted = self.opened()?.sort(batch)?;
                let _ = out.push(sorted)?;
            }
        }
        Ok(Progress::Done)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened()?.give(out)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let open = self.opened()?;
        open.reached.advance(watermark);
        open.give(out)
    }

    fn barrier(&mut self, _: Barrier, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened()?.reached.barrier();
        Ok(Progress::Done)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        let Some(open) = &mut self.open else { return Vec::new() };
        vec![&mut open.waiting, open.reached.table()]
    }
}
