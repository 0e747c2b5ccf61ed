//! Aggregates of sessions.
//!
//! The sessions of a batch's rows are found row by row, the rows are then aggregated together. So while a batch is worked on, a
//! session's state stands in [`States`], under the number of its group.

use super::sessions::Gather;
use super::state::SessionState;
use crate::aggregate::{AggState, AggregateCall, Aggregator, AggregatorOptions, States};
use crate::row::RowBytes;
use crate::window::OUTPUT_ROWS;
use crate::window::clock::not_open;
use crate::window::time::{WindowColumn, WindowTime, inserts_only};
use arrow::array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use flugs_batch::data::{DecodeError, Reader, Schema};
use flugs_batch::{Barrier, Batch, ChangeBatch, Data};
use flugs_state::SnapshotTable;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, Timestamp};

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
struct Held {
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
///
/// State: `sessions` and `reached`.
pub struct SessionAggregate {
    spec: SessionAggregateSpec,
    opened: Option<Opened>,
}

struct Opened {
    state: SessionState<Held>,
    aggregator: Aggregator,
}

impl SessionAggregate {
    /// An operator that is not open yet.
    pub fn new(spec: SessionAggregateSpec) -> Self {
        SessionAggregate { spec, opened: None }
    }

    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let Opened { state, aggregator } = self.opened.as_mut().ok_or_else(not_open)?;
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

impl Opened {
    fn add(&mut self, batch: &ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<()> {
        let mut touched = Touched {
            states: self.aggregator.states(),
            of_rows: Vec::with_capacity(batch.len()),
            rows: Vec::new(),
            merges: Vec::new(),
            row: 0,
        };
        let late = self.state.add(batch, out, &mut touched)?;
        let Touched { mut states, of_rows, rows, merges, .. } = touched;
        if late.is_empty() {
            self.aggregator.update(batch, &of_rows, &mut states)?;
        } else {
            let mut keep = vec![true; batch.len()];
            late.iter().for_each(|row| keep[*row] = false);
            self.aggregator.update(&batch.filter(&BooleanArray::from(keep))?, &of_rows, &mut states)?;
        }
        for (from, to) in merges {
            let mut source = self.aggregator.states();
            source.load(&mut states.take(from as usize));
            self.aggregator.merge(&mut source, &[to], &mut states)?;
        }
        self.state.for_each_content(&rows, |held| {
            if let Some((group, _)) = held.groups.take() {
                states.store(group as usize, &mut held.state);
            }
        });
        Ok(())
    }
}

impl Operator for SessionAggregate {
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
        self.opened = Some(Opened { state, aggregator: spec.aggregator()? });
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        inserts_only(&batch, "an aggregate of sessions")?;
        if !batch.is_empty() {
            self.opened.as_mut().ok_or_else(not_open)?.add(&batch, out)?;
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
