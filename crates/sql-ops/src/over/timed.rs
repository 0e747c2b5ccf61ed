//! Functions over rows that are ordered by time: a row comes out once.

use super::Mode;
use super::calls::Calls;
use super::history::{History, NONE, PASSED, Passing, Places};
use super::spec::{FrameBound, FrameUnit, OverMode, OverSpec};
use crate::rank::columns::Encoded;
use crate::rank::expiry::Expiry;
use crate::rank::late::LateRows;
use crate::rank::outgoing::{OUTPUT_ROWS, record_batch};
use crate::rank::reached::Reached;
use crate::rank::time::read_micros;
use crate::row::RowBytes;
use arrow::array::{Array, ArrayRef, Int64Array, RecordBatch, UInt32Array, new_null_array};
use arrow::compute::{interleave, take};
use arrow::datatypes::SchemaRef;
use flugs_batch::{Batch, ChangeBatch};
use flugs_state::{KeyedTable, SnapshotTable};
use flugs_task::{OpenContext, Output, Progress};
use flugs_types::{Clock, Error, Result, Timestamp, hash_key};
use std::collections::BTreeSet;
use std::sync::Arc;

/// See the module.
pub(super) struct Timed {
    /// The column of the event time.
    column: Option<usize>,
    calls: Calls,
    keys: Encoded,
    rows: Encoded,
    input: SchemaRef,
    output: SchemaRef,
    partitions: KeyedTable<RowBytes, History>,
    /// For each partition with rows that wait the time of the first; for others, where frames let go of all rows after some time, when
    /// they do.
    due: BTreeSet<(i64, RowBytes)>,
    /// After how many microseconds that is.
    horizon: Option<u64>,
    reached: Reached,
    late: LateRows,
    expiry: Option<Expiry>,
    clock: Arc<dyn Clock>,
    micros: Vec<i64>,
    /// The newest time by the machine's clock.
    newest: i64,
}

impl Timed {
    pub(super) fn open(spec: &OverSpec, context: &mut OpenContext<'_>) -> Result<Self> {
        let column = match spec.mode {
            OverMode::EventTime { column } => Some(column),
            _ => None,
        };
        let calls = Calls::new(spec)?;
        let partitions: KeyedTable<RowBytes, History> = context.state.keyed("partitions")?;
        let mut timed = Timed {
            column,
            keys: Encoded::new(&spec.input, &spec.keys)?,
            rows: Encoded::all(&spec.input)?,
            input: spec.input.clone(),
            output: spec.output.clone(),
            due: BTreeSet::new(),
            horizon: horizon(&calls),
            calls,
            partitions,
            reached: Reached::open(context)?,
            late: LateRows::open(context, spec.late_output),
            expiry: Expiry::open(context, spec.ttl),
            clock: Arc::clone(context.clock),
            micros: Vec::new(),
            newest: i64::MIN,
        };
        let next =
            |(key, history): (&RowBytes, &History)| Some((next_time(history, timed.horizon)?, key.clone()));
        timed.due = timed.partitions.iter().filter_map(next).collect();
        Ok(timed)
    }

    /// Up to which time rows are let through: all that have come, by the machine's clock.
    fn upto(&self) -> i64 {
        match self.column {
            Some(_) => self.reached.time().0,
            None => self.newest,
        }
    }

    fn wait(&mut self, row: usize, time: i64, now: Timestamp) {
        let key = self.keys.rows().to_key(row);
        let history =
            self.partitions.get_or_insert_hashed(self.keys.rows().hash(row), &key, History::default);
        let former = next_time(history, self.horizon);
        if let Some(expiry) = &mut self.expiry {
            if history.waiting.is_empty() && !history.is_new() && expiry.is_over(history.touched, now) {
                expiry.count();
                *history = History::default();
            }
            expiry.touch(now);
            history.touched = now;
        }
        // The machine's clock may have been set back.
        let time = if self.column.is_none() { time.max(history.last_time()) } else { time };
        self.newest = self.newest.max(time);
        history.wait((time, self.rows.rows().to_key(row)));
        let next = next_time(history, self.horizon);
        if next != former {
            if let Some(former) = former {
                self.due.remove(&(former, key.clone()));
            }
            self.due.extend(next.map(|next| (next, key)));
        }
    }

    /// Gives rows that may pass, until there are none or the output is full.
    fn pass(&mut self, upto: i64, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        loop {
            let mut passing = Passing::new(&self.calls);
            let mut keys = Vec::new();
            while passing.rows.len() < OUTPUT_ROWS
                && self.due.first().is_some_and(|(time, _)| *time <= upto)
                && let Some((time, key)) = self.due.pop_first()
            {
                let hash = hash_key(&key);
                let Some(history) = self.partitions.get_mut_hashed(hash, &key) else { continue };
                if next_time(history, self.horizon) != Some(time) {
                    continue;
                }
                if history.waiting.is_empty() {
                    self.partitions.remove_hashed(hash, &key);
                    continue;
                }
                history.pass(&self.calls, upto, OUTPUT_ROWS - passing.rows.len(), &mut passing);
                self.due.extend(next_time(history, self.horizon).map(|next| (next, key.clone())));
                keys.push((hash, key));
            }
            if keys.is_empty() {
                return Ok(Progress::Done);
            }
            let batch = self.evaluate(passing, &keys)?;
            let _ = out.push(batch)?;
            if !out.is_ready() {
                return Ok(Progress::More);
            }
        }
    }

    /// Rows that pass, with their results.
    fn evaluate(&mut self, mut passing: Passing, keys: &[(u64, RowBytes)]) -> Result<ChangeBatch> {
        let count = passing.rows.len();
        let place = |row: &mut u32| {
            if *row != NONE && *row & PASSED != 0 {
                *row = (*row & !PASSED) + count as u32;
            }
        };
        let all = passing.rows.iter().chain(&passing.former).map(RowBytes::as_slice);
        let columns = self.rows.codec().decode(all)?;
        let rows = record_batch(&self.input, columns, count + passing.former.len())?;
        let arguments = self.calls.arguments(&rows)?;
        let mut results: Vec<Option<ArrayRef>> = vec![None; self.calls.len];
        let (scripts, states) = (std::mem::take(&mut passing.scripts), std::mem::take(&mut passing.states));
        for (at, ((mut script, states), set)) in
            scripts.into_iter().zip(states).zip(&self.calls.sets).enumerate()
        {
            script.for_each_row(place);
            let (values, states) = script.run(&set.aggregator, &arguments, states)?;
            set.calls.iter().zip(values).for_each(|(call, value)| results[*call] = Some(value));
            for ((hash, key), state) in keys.iter().zip(states) {
                if let Some(history) = self.partitions.get_mut_hashed(*hash, key) {
                    history.frames[at].state = state;
                }
            }
        }
        for (placed, places) in self.calls.placed.iter().zip(passing.placed) {
            results[placed.call] = Some(match places {
                Places::Numbers(numbers) => Arc::new(Int64Array::from(numbers)),
                Places::Rows(mut found) => {
                    found.iter_mut().for_each(place);
                    let own: Vec<u32> = (0..count as u32).collect();
                    pick(&rows, &placed.arguments, &found, &own)?
                }
            });
        }
        let passed = rows.slice(0, count);
        let columns = passed.columns().iter().cloned().chain(results.into_iter().flatten()).collect();
        Ok(ChangeBatch::inserts(record_batch(&self.output, columns, count)?))
    }
}

/// The values of the first argument in the rows that were found; where there is none, those of the second in the `own` ones, or NULL.
pub(super) fn pick(rows: &RecordBatch, arguments: &[usize], found: &[u32], own: &[u32]) -> Result<ArrayRef> {
    let wrong = |e| Error::bug("a function looks at a row that is not there").caused_by(e);
    let [value, default @ ..] = arguments else {
        return Err(Error::bug("a function that looks at other rows has no argument"));
    };
    let value = rows.column(*value);
    let Some(default) = default.first() else {
        let places: UInt32Array = found.iter().map(|row| Some(*row).filter(|row| *row != NONE)).collect();
        return take(value, &places, None).map_err(wrong);
    };
    if found.is_empty() {
        return Ok(new_null_array(value.data_type(), 0));
    }
    let default = rows.column(*default);
    let places: Vec<(usize, usize)> = found
        .iter()
        .zip(own)
        .map(|(row, own)| if *row == NONE { (1, *own as usize) } else { (0, *row as usize) })
        .collect();
    interleave(&[value, default], &places).map_err(wrong)
}

/// When a partition is to be looked at again: a row may pass, or all rows have left all frames.
fn next_time(history: &History, horizon: Option<u64>) -> Option<i64> {
    match history.waiting.front() {
        Some((time, _)) => Some(*time),
        None if history.is_new() => None,
        None => horizon.map(|horizon| history.last_time().saturating_add_unsigned(horizon)),
    }
}

/// How long after a row all frames have let go of it, in microseconds; `None` where one does not.
fn horizon(calls: &Calls) -> Option<u64> {
    let of_frame = |unit, start| match (unit, start) {
        (FrameUnit::Range, FrameBound::Preceding(n)) => Some(n.saturating_add(1)),
        (FrameUnit::Range, FrameBound::CurrentRow) => Some(1),
        _ => None,
    };
    if !calls.placed.is_empty() {
        return None;
    }
    let mut longest = 0;
    for set in &calls.sets {
        longest = longest.max(of_frame(set.frame.unit, set.frame.start)?);
    }
    Some(longest)
}

impl Mode for Timed {
    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if !batch.is_insert_only() {
            return Err(Error::bug("functions over rows by time take inserts only"));
        }
        let now = self.clock.now();
        match self.column {
            Some(column) => read_micros(&batch, column, &mut self.micros)?,
            None => {
                self.micros.clear();
                self.micros.resize(batch.len(), now.0);
            }
        }
        self.keys.encode(&batch)?;
        self.rows.encode(&batch)?;
        for row in 0..batch.len() {
            let time = self.micros[row];
            if self.column.is_some() && Timestamp(time) <= self.reached.time() {
                self.late.push(row);
            } else {
                self.wait(row, time, now);
            }
        }
        self.late.hand_out(&batch, out)?;
        match self.column {
            Some(_) => Ok(Progress::Done),
            None => self.give(out),
        }
    }

    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.pass(self.upto(), out)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.reached.advance(watermark);
        match self.column {
            Some(_) => self.give(out),
            None => Ok(Progress::Done),
        }
    }

    fn next_tick(&self) -> Option<Timestamp> {
        let cleaned = self.due.first().filter(|_| self.column.is_none()).map(|(time, _)| Timestamp(*time));
        let expired = self.expiry.as_ref().and_then(Expiry::next_tick);
        cleaned.into_iter().chain(expired).min()
    }

    fn tick(&mut self, now: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if let Some(expiry) = &mut self.expiry {
            let touched = |history: &History| history.waiting.is_empty().then_some(history.touched);
            expiry.sweep(&mut self.partitions, now, touched, |_| {});
        }
        match self.column {
            Some(_) => Ok(Progress::Done),
            None => {
                self.newest = self.newest.max(now.0);
                self.give(out)
            }
        }
    }

    fn barrier(&mut self) {
        self.reached.barrier();
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        vec![&mut self.partitions, self.reached.table()]
    }
}
