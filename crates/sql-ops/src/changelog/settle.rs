//! Changes held until no more can come.

use crate::rank::columns::Encoded;
use crate::rank::late::LateRows;
use crate::rank::outgoing::{OUTPUT_ROWS, Outgoing};
use crate::rank::reached::Reached;
use crate::rank::time::read_micros;
use crate::row::RowBytes;
use arrow::datatypes::SchemaRef;
use flugs_batch::{Barrier, ChangeBatch};
use flugs_state::{PaneTable, SnapshotTable};
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, RowKind, Timestamp};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

/// What a [`Settle`] does.
#[derive(Debug, Clone)]
pub struct SettleSpec {
    /// The columns, of input and output.
    pub schema: SchemaRef,
    /// The columns by which the rows are partitioned.
    pub keys: Vec<usize>,
    /// The column of the event time.
    pub time: usize,
    /// How long behind its time a row may still be taken back.
    pub hold: Duration,
}

/// Holds rows until the watermark has passed their time by `hold`, and hands on as inserts those that were not taken back till then.
///
/// For operators that take inserts only, and give no result before that: they see the rows as a batch would. Rows whose time is over when
/// they come are handed on if they are inserts, to be found late there, and else counted as late and dropped: what they would take back
/// has gone on.
///
/// State: `rows`, `reached`.
pub struct Settle {
    spec: SettleSpec,
    opened: Option<Opened>,
}

/// In microseconds: event time ends with the last of them, as windows do.
const MILLISECOND: i64 = 1000;

/// By the microsecond with which its time is over, and by key: how often each row is there.
type Held = PaneTable<RowBytes, i64, BTreeMap<RowBytes, i64>>;

struct Opened {
    keys: Encoded,
    rows: Encoded,
    held: Held,
    reached: Reached,
    late: LateRows,
    outgoing: Outgoing,
    micros: Vec<i64>,
}

impl Settle {
    /// An operator that is not open yet.
    pub fn new(spec: SettleSpec) -> Self {
        Settle { spec, opened: None }
    }

    fn opened(&mut self) -> Result<&mut Opened> {
        self.opened.as_mut().ok_or_else(|| Error::bug("the operator is not open"))
    }
}

impl Opened {
    fn take_in(
        &mut self,
        spec: &SettleSpec,
        batch: &ChangeBatch,
        out: &mut Output<ChangeBatch>,
    ) -> Result<()> {
        let hold = i64::try_from(spec.hold.as_micros()).unwrap_or(i64::MAX);
        read_micros(batch, spec.time, &mut self.micros)?;
        self.keys.encode(batch)?;
        self.rows.encode(batch)?;
        for (row, time) in self.micros.iter().enumerate() {
            let (over, kind) = (time.saturating_add(hold).saturating_sub(MILLISECOND), batch.kind(row));
            if Timestamp(over) <= self.reached.time() {
                match kind {
                    RowKind::Insert => self.outgoing.push(kind, self.rows.row(row), 0),
                    _ => self.late.push(row),
                }
                continue;
            }
            let keys = self.keys.rows();
            let (hash, key) = (keys.hash(row), keys.to_key(row));
            let of_key = self.held.pane_mut(over).get_or_insert_hashed(hash, &key, BTreeMap::new);
            let mut count = match of_key.entry(self.rows.rows().to_key(row)) {
                Entry::Occupied(count) => count,
                Entry::Vacant(none) => none.insert_entry(0),
            };
            *count.get_mut() += if kind.is_addition() { 1 } else { -1 };
            if *count.get() == 0 {
                count.remove();
            }
        }
        self.late.hand_out(batch, out)
    }

    /// Gives the rows that stay.
    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        loop {
            let reached = self.reached.time();
            let is_due = self.held.first().is_some_and(|(over, _)| Timestamp(*over) <= reached);
            if (!is_due || self.outgoing.len() >= OUTPUT_ROWS) && !self.outgoing.send(out)? {
                return Ok(Progress::More);
            }
            let due = if is_due { self.held.take_first() } else { None };
            let Some((_, of_time)) = due else { return Ok(Progress::Done) };
            for (_, of_key) in of_time.iter() {
                for (row, count) in of_key {
                    (0..*count).for_each(|_| self.outgoing.push(RowKind::Insert, row, 0));
                }
            }
        }
    }
}

impl Operator for Settle {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        let rows = Encoded::all(&self.spec.schema)?;
        self.opened = Some(Opened {
            keys: Encoded::new(&self.spec.schema, &self.spec.keys)?,
            outgoing: Outgoing::new(rows.codec().clone(), self.spec.schema.clone(), false),
            rows,
            held: context.state.panes("rows")?,
            reached: Reached::open(context)?,
            late: LateRows::open(context, false),
            micros: Vec::new(),
        });
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let opened = self.opened.as_mut().ok_or_else(|| Error::bug("the operator is not open"))?;
        opened.take_in(&self.spec, &batch, out)?;
        opened.give(out)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened()?.give(out)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let opened = self.opened()?;
        opened.reached.advance(watermark);
        opened.give(out)
    }

    fn barrier(&mut self, _: Barrier, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened()?.reached.barrier();
        Ok(Progress::Done)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        let Some(opened) = &mut self.opened else { return Vec::new() };
        vec![&mut opened.held, opened.reached.table()]
    }
}
