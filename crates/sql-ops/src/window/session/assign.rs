//! The `SESSION` table function whose rows are used as they are.

use super::sessions::Gather;
use super::state::SessionState;
use crate::row::{EncodedRows, RowBytes, RowCodec};
use crate::window::OUTPUT_ROWS;
use crate::window::clock::not_open;
use crate::window::shape::Span;
use crate::window::time::{WindowTime, inserts_only};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use flugs_batch::{Barrier, Batch, ChangeBatch};
use flugs_state::SnapshotTable;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, Timestamp};

/// `SESSION` as a table: rows are kept until their session is over, then each comes with the bounds of its session. Sessions come
/// by their ends and then by the bytes of their keys; the rows of a session as they came, but where a row made one session of
/// several, all rows of the earlier ones stand before those of the later ones. Takes inserts only. Rows must be partitioned by the keys.
#[derive(Debug, Clone)]
pub struct SessionAssignSpec {
    /// The columns of the input.
    pub input: SchemaRef,
    /// The columns of `PARTITION BY`; none: one session for all.
    pub keys: Vec<usize>,
    /// The longest time between two rows of a session, in milliseconds; positive. Rows exactly that far apart are of one session.
    pub gap_ms: i64,
    /// By which time.
    pub time: WindowTime,
    /// The session's zone; see [`WindowAssignSpec::zone`](crate::window::WindowAssignSpec::zone).
    pub zone: Option<String>,
    /// The columns of the input and the three of the window.
    pub output: SchemaRef,
    /// Whether late rows are handed to side output 0.
    pub late_output: bool,
}

/// Carries out a [`SessionAssignSpec`].
pub struct SessionAssign {
    spec: SessionAssignSpec,
    opened: Option<Opened>,
    /// The session whose rows are given, and how many were.
    rest: Option<(Span, Vec<RowBytes>, usize)>,
}

struct Opened {
    state: SessionState<Vec<RowBytes>>,
    rows: RowCodec,
    encoded: EncodedRows,
}

/// Keeps all rows, which are encoded here.
struct AllRows<'a> {
    encoded: &'a EncodedRows,
    row: usize,
}

impl Gather<Vec<RowBytes>> for AllRows<'_> {
    fn begin(&mut self, row: usize) {
        self.row = row;
    }

    fn create(&mut self) -> Vec<RowBytes> {
        Vec::new()
    }

    fn merge(&mut self, earlier: &mut Vec<RowBytes>, later: Vec<RowBytes>) {
        earlier.extend(later);
    }

    fn add(&mut self, rows: &mut Vec<RowBytes>) {
        rows.push(self.encoded.to_key(self.row));
    }
}

impl SessionAssign {
    /// An operator that is not open yet.
    pub fn new(spec: SessionAssignSpec) -> Self {
        SessionAssign { spec, opened: None, rest: None }
    }

    fn add(&mut self, batch: &ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<()> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        opened.rows.encode_into(batch.rows().columns(), batch.len(), &mut opened.encoded)?;
        opened.state.add(batch, out, &mut AllRows { encoded: &opened.encoded, row: 0 }).map(drop)
    }

    /// Gives the rows of sessions that are over.
    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        loop {
            // Whole small sessions, or a part of a large one.
            let (mut rows, mut windows) = (Vec::new(), Vec::new());
            while rows.len() < OUTPUT_ROWS {
                let rest =
                    self.rest.take().or_else(|| opened.state.pop_over().map(|(_, s, rows)| (s, rows, 0)));
                let Some((session, mut of_session, given)) = rest else { break };
                let to = of_session.len().min(given + OUTPUT_ROWS - rows.len());
                rows.extend(of_session[given..to].iter_mut().map(std::mem::take));
                windows.resize(rows.len(), session);
                if to < of_session.len() {
                    self.rest = Some((session, of_session, to));
                }
            }
            if rows.is_empty() {
                opened.state.caught_up();
                return Ok(Progress::Done);
            }
            let columns = opened.rows.decode(rows.iter().map(RowBytes::as_slice))?;
            let batch = RecordBatch::try_new(self.spec.input.clone(), columns)
                .map_err(|e| Error::bug("stored rows are not those of the input").caused_by(e))?;
            let batch =
                opened.state.with_windows(&ChangeBatch::inserts(batch), &windows, &self.spec.output)?;
            let _ = out.push(batch)?;
            if !out.is_ready() {
                return Ok(Progress::More);
            }
        }
    }
}

impl Operator for SessionAssign {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        let spec = &self.spec;
        let state = SessionState::open(
            context,
            &spec.input,
            &spec.keys,
            spec.gap_ms,
            spec.time,
            spec.zone.as_deref(),
            spec.late_output,
        )?;
        let types: Vec<_> = spec.input.fields().iter().map(|field| field.data_type().clone()).collect();
        self.opened = Some(Opened { state, rows: RowCodec::new(&types)?, encoded: EncodedRows::default() });
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        inserts_only(&batch, "a table of sessions")?;
        if !batch.is_empty() {
            self.add(&batch, out)?;
        }
        Ok(Progress::Done)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.give(out)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        match self.opened.as_mut().ok_or_else(not_open)?.state.clock.advance(watermark) {
            true => self.give(out),
            false => Ok(Progress::Done),
        }
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.opened.as_ref()?.state.next_tick()
    }

    fn tick(&mut self, now: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        match self.opened.as_mut().ok_or_else(not_open)?.state.clock.tick(now) {
            true => self.give(out),
            false => Ok(Progress::Done),
        }
    }

    fn barrier(&mut self, _: Barrier, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened.as_mut().ok_or_else(not_open)?.state.clock.barrier();
        Ok(Progress::Done)
    }

    fn end(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        match self.opened.as_mut().ok_or_else(not_open)?.state.clock.end() {
            true => self.give(out),
            false => Ok(Progress::Done),
        }
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.opened.as_mut().map_or_else(Vec::new, |opened| opened.state.tables())
    }
}
