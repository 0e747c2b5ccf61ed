//! Aggregates of sessions.
//!
//! The sessions of a batch's rows are found row by row, the rows are then aggregated together. So while a batch is worked on, a
//! session's state stands in [`States`], under the number of its group.

use super::operator::{Sessions, Work};
use super::sessions::Gather;
use super::state::SessionState;
use crate::aggregate::{AggState, AggregateCall, Aggregator, AggregatorOptions, States};
use crate::row::RowBytes;
use crate::window::OUTPUT_ROWS;
use crate::window::clock::not_open;
use crate::window::time::{WindowColumn, WindowTime};
use arrow::array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use flugs_batch::data::{DecodeError, Reader, Schema};
use flugs_batch::{Batch, ChangeBatch, Data};
use flugs_task::{OpenContext, Output, Progress};
use flugs_types::{Error, Result};

/// Aggregates rows by key and session: rows of a key that follow each other within the gap. Results come when a session is over, by
/// its end and then by the bytes of the key.
///
/// Takes inserts only: a row that is taken back could cut a session in two, for which all of its rows would have to be kept. Rows
/// must be partitioned by the keys.
#[derive(Debug, Clone)]
pub struct SessionAggregateSpec {
    /// The columns of the input.
    pub input: SchemaRef,
    /// The longest time between two rows of a session, in milliseconds; positive. Rows exactly that far apart are of one session.
    pub gap_ms: i64,
    /// By which time.
    pub time: WindowTime,
    /// The session's zone, of which `window_start` and `window_end` are local times; see [`WindowAggregateSpec::zone`](crate::window::WindowAggregateSpec::zone).
    pub zone: Option<String>,
    /// The key columns; none: one group.
    pub keys: Vec<usize>,
    /// The aggregates, all of which must be mergeable.
    pub calls: Vec<AggregateCall>,
    /// The window's columns behind the aggregates.
    pub window_columns: Vec<WindowColumn>,
    /// Keys, aggregates, and the window's columns.
    pub output: SchemaRef,
    /// Whether late rows are handed to side output 0.
    pub late_output: bool,
}

impl SessionAggregateSpec {
    /// An error where an aggregate is not supported: for the planner, before the job runs.
    pub fn check(&self) -> Result<()> {
        self.aggregator().map(drop)
    }

    fn aggregator(&self) -> Result<Aggregator> {
        Aggregator::new(&self.calls, self.input.fields(), AggregatorOptions::default())
    }
}

/// The state of a session.
#[derive(Debug, Clone, Default)]
pub struct Held {
    state: AggState,
    /// While a batch is worked on: the group that has the state, and the one that rows are added to. They differ where sessions have
    /// become one: rows that follow come behind those of both.
    groups: Option<(u32, u32)>,
}

impl Data for Held {
    const BYTES_MIN: usize = AggState::BYTES_MIN;

    fn schema() -> Schema {
        AggState::schema()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.state.encode(out);
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Held { state: AggState::decode(input)?, groups: None })
    }

    fn heap_bytes(&self) -> usize {
        self.state.heap_bytes()
    }
}

/// The sessions that a batch touches.
struct Touched {
    states: States,
    /// The group of each row that is not late.
    of_rows: Vec<u32>,
    /// The first row of each session that was touched.
    rows: Vec<usize>,
    /// Groups that belong behind others, in order.
    merges: Vec<(u32, u32)>,
    /// The row whose turn it is.
    row: usize,
}

impl Touched {
    /// The groups of a session, which is loaded if it is not.
    #[inline(always)]
    fn groups(&mut self, held: &mut Held) -> (u32, u32) {
        match held.groups {
            Some(groups) => groups,
            None => {
                let group = self.states.len() as u32;
                self.states.load(&mut held.state);
                self.rows.push(self.row);
                held.groups = Some((group, group));
                (group, group)
            }
        }
    }
}

impl Gather<Held> for Touched {
    #[inline(always)]
    fn begin(&mut self, row: usize) {
        self.row = row;
    }

    fn create(&mut self) -> Held {
        Held::default()
    }

    fn merge(&mut self, earlier: &mut Held, mut later: Held) {
        let (state, _) = self.groups(earlier);
        let (behind, _) = self.groups(&mut later);
        let next = self.states.len() as u32;
        self.states.push_new();
        self.merges.extend([(behind, state), (next, state)]);
        earlier.groups = Some((state, next));
    }

    #[inline(always)]
    fn add(&mut self, held: &mut Held) {
        let (_, group) = self.groups(held);
        self.of_rows.push(group);
    }
}

/// Carries out a [`SessionAggregateSpec`].
pub type SessionAggregate = Sessions<AggregateWork>;

impl SessionAggregate {
    /// An operator that is not open yet.
    pub fn new(spec: SessionAggregateSpec) -> Self {
        Sessions::of(AggregateWork { spec, aggregator: None })
    }
}

/// See [`SessionAggregate`].
pub struct AggregateWork {
    spec: SessionAggregateSpec,
    aggregator: Option<Aggregator>,
}

impl Work for AggregateWork {
    type Kept = Held;

    const NAME: &'static str = "an aggregate of sessions";

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<SessionState<Held>> {
        let spec = &self.spec;
        self.aggregator = Some(spec.aggregator()?);
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
        state: &mut SessionState<Held>,
        batch: &ChangeBatch,
        out: &mut Output<ChangeBatch>,
    ) -> Result<()> {
        let aggregator = self.aggregator.as_ref().ok_or_else(not_open)?;
        let mut touched = Touched {
            states: aggregator.states(),
            of_rows: Vec::with_capacity(batch.len()),
            rows: Vec::new(),
            merges: Vec::new(),
            row: 0,
        };
        let late = state.add(batch, out, &mut touched)?;
        let Touched { mut states, of_rows, rows, merges, .. } = touched;
        if late.is_empty() {
            aggregator.update(batch, &of_rows, &mut states)?;
        } else {
            let mut keep = vec![true; batch.len()];
            late.iter().for_each(|row| keep[*row] = false);
            aggregator.update(&batch.filter(&BooleanArray::from(keep))?, &of_rows, &mut states)?;
        }
        for (from, to) in merges {
            let mut source = aggregator.states();
            source.load(&mut states.take(from as usize));
            aggregator.merge(&mut source, &[to], &mut states)?;
        }
        state.for_each_content(&rows, |held| {
            if let Some((group, _)) = held.groups.take() {
                states.store(group as usize, &mut held.state);
            }
        });
        Ok(())
    }

    fn give(&mut self, state: &mut SessionState<Held>, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let aggregator = self.aggregator.as_ref().ok_or_else(not_open)?;
        loop {
            let (mut keys, mut sessions, mut states) = (Vec::new(), Vec::new(), aggregator.states());
            while keys.len() < OUTPUT_ROWS
                && let Some((key, session, mut held)) = state.pop_over()
            {
                keys.push(key);
                sessions.push(session);
                states.load(&mut held.state);
            }
            if keys.is_empty() {
                state.caught_up();
                return Ok(Progress::Done);
            }
            let mut columns = state.codec().decode(keys.iter().map(RowBytes::as_slice))?;
            columns.extend(aggregator.values(&states)?);
            columns.extend(state.columns(&self.spec.window_columns, &sessions));
            let options = RecordBatchOptions::new().with_row_count(Some(keys.len()));
            let rows = RecordBatch::try_new_with_options(self.spec.output.clone(), columns, &options)
                .map_err(|e| Error::bug("results do not fit their schema").caused_by(e))?;
            let _ = out.push(ChangeBatch::inserts(rows))?;
            if !out.is_ready() {
                return Ok(Progress::More);
            }
        }
    }
}
