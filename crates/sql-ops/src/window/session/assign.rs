//! The `SESSION` table function whose rows are used as they are.

use super::operator::{Sessions, Work};
use super::sessions::Gather;
use super::state::SessionState;
use crate::row::{EncodedRows, RowBytes, RowCodec};
use crate::window::OUTPUT_ROWS;
use crate::window::clock::not_open;
use crate::window::shape::Span;
use crate::window::time::WindowTime;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use flugs_batch::{Batch, ChangeBatch};
use flugs_task::{OpenContext, Output, Progress};
use flugs_types::{Error, Result};

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
pub type SessionAssign = Sessions<AssignWork>;

impl SessionAssign {
    /// An operator that is not open yet.
    pub fn new(spec: SessionAssignSpec) -> Self {
        Sessions::of(AssignWork { spec, codec: None, encoded: EncodedRows::default(), rest: None })
    }
}

/// See [`SessionAssign`].
pub struct AssignWork {
    spec: SessionAssignSpec,
    /// Of whole rows.
    codec: Option<RowCodec>,
    encoded: EncodedRows,
    /// The session whose rows are given, and how many were.
    rest: Option<(Span, Vec<RowBytes>, usize)>,
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

impl Work for AssignWork {
    type Kept = Vec<RowBytes>;

    const NAME: &'static str = "a table of sessions";

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<SessionState<Vec<RowBytes>>> {
        let spec = &self.spec;
        let types: Vec<_> = spec.input.fields().iter().map(|field| field.data_type().clone()).collect();
        self.codec = Some(RowCodec::new(&types)?);
        SessionState::open(
            context,
            &spec.input,
            &spec.keys,
            spec.gap_ms,
            spec.time,
            spec.zone.as_deref(),
            spec.late_output,
        )
    }

    fn add(
        &mut self,
        state: &mut SessionState<Vec<RowBytes>>,
        batch: &ChangeBatch,
        out: &mut Output<ChangeBatch>,
    ) -> Result<()> {
        let codec = self.codec.as_ref().ok_or_else(not_open)?;
        codec.encode_into(batch.rows().columns(), batch.len(), &mut self.encoded)?;
        state.add(batch, out, &mut AllRows { encoded: &self.encoded, row: 0 }).map(drop)
    }

    fn give(
        &mut self,
        state: &mut SessionState<Vec<RowBytes>>,
        out: &mut Output<ChangeBatch>,
    ) -> Result<Progress> {
        let codec = self.codec.as_ref().ok_or_else(not_open)?;
        loop {
            // Whole small sessions, or a part of a large one.
            let (mut rows, mut windows) = (Vec::new(), Vec::new());
            while rows.len() < OUTPUT_ROWS {
                let rest = self.rest.take().or_else(|| state.pop_over().map(|(_, s, rows)| (s, rows, 0)));
                let Some((session, mut of_session, given)) = rest else { break };
                let to = of_session.len().min(given + OUTPUT_ROWS - rows.len());
                rows.extend(of_session[given..to].iter_mut().map(std::mem::take));
                windows.resize(rows.len(), session);
                if to < of_session.len() {
                    self.rest = Some((session, of_session, to));
                }
            }
            if rows.is_empty() {
                state.caught_up();
                return Ok(Progress::Done);
            }
            let columns = codec.decode(rows.iter().map(RowBytes::as_slice))?;
            let batch = RecordBatch::try_new(self.spec.input.clone(), columns)
                .map_err(|e| Error::bug("stored rows are not those of the input").caused_by(e))?;
            let batch = state.with_windows(&ChangeBatch::inserts(batch), &windows, &self.spec.output)?;
            let _ = out.push(batch)?;
            if !out.is_ready() {
                return Ok(Progress::More);
            }
        }
    }
}
