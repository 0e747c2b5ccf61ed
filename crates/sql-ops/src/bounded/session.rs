//! Sessions over rows that are sorted by time first.
//!
//! The operator of streams does the work: event time follows the rows, so that sessions come out and are forgotten as soon as they
//! are over.

use super::operator::{Bounded, Work, inserts_only, not_open, progress};
use super::spec::{BoundedSessionSpec, SessionResult};
use super::spill::{Kept, STEP_BYTES, Sorter};
use crate::outbox::BATCH_ROWS;
use crate::rank::columns::Encoded;
use crate::rank::outgoing::record_batch;
use crate::rank::time::read_micros;
use crate::row::SortOptions;
use crate::window::{SessionAggregate, SessionAssign, WindowTime};
use arrow::datatypes::SchemaRef;
use flugs_batch::{Batch, ChangeBatch};
use flugs_state::SnapshotTable;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, Timestamp};

/// Carries out a [`BoundedSessionSpec`].
pub type BoundedSession = Bounded<SessionWork>;

impl BoundedSession {
    /// An operator that is not open yet.
    pub fn new(spec: BoundedSessionSpec) -> Self {
        let (input, time) = match &spec.result {
            SessionResult::Aggregate(of) => (of.input.clone(), of.time),
            SessionResult::Rows(of) => (of.input.clone(), of.time),
        };
        let inner = match spec.result.clone() {
            SessionResult::Aggregate(of) => Sessions::Aggregate(SessionAggregate::new(of)),
            SessionResult::Rows(of) => Sessions::Rows(SessionAssign::new(of)),
        };
        Bounded::of(SessionWork { spec, input, time, inner, opened: None })
    }
}

/// See [`BoundedSession`].
pub struct SessionWork {
    spec: BoundedSessionSpec,
    input: SchemaRef,
    time: WindowTime,
    inner: Sessions,
    opened: Option<Opened>,
}

enum Sessions {
    Aggregate(SessionAggregate),
    Rows(SessionAssign),
}

struct Opened {
    time: usize,
    order: Encoded,
    rows: Encoded,
    sorter: Sorter,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Rows go in.
    Filling,
    /// Sessions come out that are over; whether there are more rows.
    Emptying { more: bool },
}

impl Sessions {
    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        match self {
            Sessions::Aggregate(of) => of.process(batch, out),
            Sessions::Rows(of) => of.process(batch, out),
        }
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        match self {
            Sessions::Aggregate(of) => of.advance(watermark, out),
            Sessions::Rows(of) => of.advance(watermark, out),
        }
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        match self {
            Sessions::Aggregate(of) => of.resume(out),
            Sessions::Rows(of) => of.resume(out),
        }
    }
}

impl SessionWork {
    fn fill(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let Opened { time, rows, sorter, stage, .. } = self.opened.as_mut().ok_or_else(not_open)?;
        let (mut bytes, mut ends) = (Vec::new(), vec![0]);
        let mut more = true;
        while ends.len() <= BATCH_ROWS && bytes.len() < STEP_BYTES {
            let Some(record) = sorter.next()? else {
                more = false;
                break;
            };
            bytes.extend_from_slice(record.value);
            ends.push(bytes.len());
            sorter.advance()?;
        }
        let columns = rows.codec().decode(ends.windows(2).map(|ends| &bytes[ends[0]..ends[1]]))?;
        let batch = ChangeBatch::inserts(record_batch(&self.input, columns, ends.len() - 1)?);
        let mut watermark = Timestamp::MAX;
        if more {
            let mut times = Vec::new();
            read_micros(&batch, *time, &mut times)?;
            // Rows of the last row's time, and of its millisecond, may follow.
            let last = times.last().copied().unwrap_or(i64::MIN);
            watermark = Timestamp(last.div_euclid(1000).saturating_mul(1000).saturating_sub(1));
        }
        *stage = Stage::Emptying { more };
        if !batch.is_empty() {
            let _ = self.inner.process(batch, out)?;
        }
        self.inner.advance(watermark, out)
    }
}

impl Work for SessionWork {
    type In = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        let WindowTime::Event { column } = self.time else {
            return Err(Error::job("sessions of a bounded input cannot be by the machine's clock")
                .mend("use an event-time column"));
        };
        self.opened = Some(Opened {
            time: column,
            order: Encoded::ordered(&self.input, &[(column, SortOptions::default())])?,
            rows: Encoded::all(&self.input)?,
            sorter: Sorter::new(&self.spec.spill, Kept::All),
            stage: Stage::Filling,
        });
        match &mut self.inner {
            Sessions::Aggregate(of) => of.open(context),
            Sessions::Rows(of) => of.open(context),
        }
    }

    fn take(&mut self, batch: ChangeBatch) -> Result<()> {
        inserts_only(&batch)?;
        let Opened { order, rows, sorter, .. } = self.opened.as_mut().ok_or_else(not_open)?;
        order.encode(&batch)?;
        rows.encode(&batch)?;
        (0..batch.len()).try_for_each(|row| sorter.push(&[order.row(row)], &[rows.row(row)]))
    }

    fn settle(&mut self, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened.as_mut().ok_or_else(not_open)?.sorter.settle().map(progress)
    }

    fn finish(&mut self) -> Result<()> {
        self.opened.as_mut().ok_or_else(not_open)?.sorter.finish()
    }

    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let stage = self.opened.as_ref().ok_or_else(not_open)?.stage;
        let (given, more) = match stage {
            Stage::Filling => (self.fill(out)?, true),
            Stage::Emptying { more } => (self.inner.resume(out)?, more),
        };
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        if given != Progress::Done || stage == Stage::Filling {
            return Ok(Progress::More);
        }
        opened.stage = Stage::Filling;
        Ok(progress(!more))
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        match &mut self.inner {
            Sessions::Aggregate(of) => of.tables(),
            Sessions::Rows(of) => of.tables(),
        }
    }
}
