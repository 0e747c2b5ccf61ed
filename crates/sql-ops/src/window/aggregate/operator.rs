//! The operator.

use super::early::{Columns, Early};
use super::firing::{Firing, Gathered, Groups, add_up};
use super::sliding::Sliding;
use super::windows::Windows;
use super::{Emit, WindowAggregateSpec, WindowInput};
use crate::aggregate::Aggregator;
use crate::outbox::Outbox;
use crate::phases::{Part, parts};
use crate::row::{EncodedRows, RowBytes, RowCodec};
use crate::window::STEP_STRIPES;
use crate::window::cells::{Cells, Panes};
use crate::window::clock::{WindowClock, not_open};
use crate::window::late::LateRows;
use crate::window::shape::{Slices, Span};
use crate::window::time::{Run, attached_windows, local_times, runs_of_windows, window_columns};
use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::Int64Type;
use flugs_batch::{Barrier, Batch, ChangeBatch};
use flugs_state::{Fuel, SnapshotTable};
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, Timestamp};

/// Carries out a [`WindowAggregateSpec`].
///
/// State: `slices`, `reached`, and `emitted` with early results.
pub struct WindowAggregate {
    spec: WindowAggregateSpec,
    /// Whether the input is of a [`LocalWindowAggregate`](super::LocalWindowAggregate).
    partial: bool,
    opened: Option<Opened>,
    work: Work,
    outbox: Outbox,
}

struct Opened {
    windows: Windows,
    aggregator: Aggregator,
    codec: RowCodec,
    panes: Panes,
    clock: WindowClock,
    /// Whether windows are spans of local time.
    local: bool,
    late: LateRows,
    early: Option<Early>,
    /// All windows have fired that were over then.
    fired: i64,
    /// The first window to fire that has rows.
    next: Option<Span>,
    firing: Option<Firing>,
    /// In place of it, where windows have many slices.
    sliding: Option<Sliding>,
}

/// How much is read of state in one step where windows have many slices.
const SLIDING_FUEL: Fuel = Fuel(1 << 16);

/// Memory that is used again from batch to batch.
#[derive(Default)]
struct Work {
    times: Vec<i64>,
    windows: Vec<Span>,
    runs: Vec<Run>,
    encoded: EncodedRows,
    cells: Cells,
}

impl WindowAggregate {
    /// Over rows.
    pub fn new(spec: WindowAggregateSpec) -> Self {
        WindowAggregate {
            spec,
            partial: false,
            opened: None,
            work: Work::default(),
            outbox: Outbox::default(),
        }
    }

    /// Over what [`LocalWindowAggregate`](super::LocalWindowAggregate)s of the same spec give. The edge between them is by the
    /// keys.
    pub fn merging(spec: WindowAggregateSpec) -> Self {
        WindowAggregate { partial: true, ..WindowAggregate::new(spec) }
    }

    /// Adds rows, or partial states.
    fn add(&mut self, batch: ChangeBatch, partial: bool, out: &mut Output<ChangeBatch>) -> Result<()> {
        self.place(&batch, partial)?;
        let batch = self.set_apart(&batch, out)?.unwrap_or(batch);
        if batch.is_empty() { Ok(()) } else { self.take(&batch, partial) }
    }

    /// Finds the panes of the rows.
    fn place(&mut self, batch: &ChangeBatch, partial: bool) -> Result<()> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        let Work { times, windows, runs, .. } = &mut self.work;
        match self.spec.windows {
            _ if partial => {
                let width = self.spec.input.fields().len();
                let bound = |at| batch.column(width + at).as_primitive_opt::<Int64Type>();
                let (Some(starts), Some(ends)) = (bound(0), bound(1)) else {
                    return Err(Error::bug("partial states come with the bounds of their slices"));
                };
                let bounds = starts.values().iter().zip(ends.values());
                windows.clear();
                windows.extend(bounds.map(|(start, end)| Span::new(*start, *end)));
                runs_of_windows(windows, runs);
            }
            WindowInput::Attached(attached) => {
                attached_windows(attached, batch, windows)?;
                runs_of_windows(windows, runs);
            }
            WindowInput::Assigned { time, .. } => {
                let now = if time.is_processing() { opened.clock.now() } else { 0 };
                local_times(time, batch, opened.clock.zone(), now, times)?;
                let Windows::Sliced(slices) = &opened.windows else { return Err(not_open()) };
                runs_of_slices(slices, times, runs);
            }
        }
        Ok(())
    }

    /// Sets apart the rows that are late for all of their windows, and those that have none; gives back the others where there are
    /// such rows.
    fn set_apart(
        &mut self,
        batch: &ChangeBatch,
        out: &mut Output<ChangeBatch>,
    ) -> Result<Option<ChangeBatch>> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        let reached = opened.clock.reached();
        let (mut late, mut keep, mut kept) = (Vec::new(), Vec::with_capacity(batch.len()), 0);
        self.work.runs.retain_mut(|run| {
            let last_end = opened.windows.last_end(run.span);
            let counts = last_end.is_some_and(|end| end - 1 > reached);
            keep.resize(run.to, counts);
            if counts {
                let rows = run.to - run.from;
                *run = Run { span: opened.windows.home(run.span, reached), from: kept, to: kept + rows };
                kept += rows;
            } else if last_end.is_some() {
                late.extend(run.rows().map(|row| row as u64));
            }
            counts
        });
        opened.late.hand_out(batch, &mut late, out)?;
        match kept == batch.len() {
            true => Ok(None),
            false => batch.filter(&BooleanArray::from(keep)).map(Some),
        }
    }

    fn take(&mut self, batch: &ChangeBatch, partial: bool) -> Result<()> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        let Work { runs, encoded, cells, .. } = &mut self.work;
        let keys: Vec<ArrayRef> = self.spec.keys.iter().map(|key| batch.column(*key).clone()).collect();
        opened.codec.encode_into(&keys, batch.len(), encoded)?;
        cells.assign(encoded, runs);
        let mut states = opened.aggregator.states();
        cells.load(&mut opened.panes, &mut states);
        if partial {
            let mut partials = opened.aggregator.partials(batch)?;
            add_up(&opened.aggregator, self.spec.retract, &mut partials, &cells.of_rows, &mut states)?;
        } else {
            if self.spec.retract {
                states.count_rows(batch, &cells.of_rows);
            }
            opened.aggregator.update(batch, &cells.of_rows, &mut states)?;
        }
        cells.store(&mut opened.panes, &mut states);
        let reached = opened.clock.reached();
        for (pane, _) in &cells.panes {
            let first = opened.windows.first_window(*pane, reached);
            opened.next = opened.next.into_iter().chain(first).min();
        }
        if let Some(sliding) = &mut opened.sliding {
            for (pane, of_pane) in &cells.panes {
                let hashes = &cells.hashes[of_pane.clone()];
                sliding.note(*pane, hashes.iter().zip(&cells.keys[of_pane.clone()]));
            }
        }
        if let Some(early) = &mut opened.early {
            early.note(cells, opened.clock.machine_time());
            if early.is_eager() {
                early.begin(&opened.windows, reached);
            }
        }
        Ok(())
    }

    /// Gives what is to be given: changes of windows that are not over, then windows that are.
    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let mut stripes = 0;
        loop {
            if self.outbox.hand_on(out)? == Progress::More {
                return Ok(Progress::More);
            }
            let opened = self.opened.as_mut().ok_or_else(not_open)?;
            if !opened.has_work() {
                opened.clock.caught_up();
                opened.fired = opened.fired.max(opened.clock.reached());
                return Ok(Progress::Done);
            }
            if !out.is_ready() || stripes == STEP_STRIPES {
                return Ok(Progress::More);
            }
            stripes += 1;
            let results = opened.step(&self.spec)?;
            if !results.is_empty() {
                self.outbox.put(results);
            }
        }
    }
}

/// Splits rows by the slices that they are in.
pub(super) fn runs_of_slices(slices: &Slices, times: &[i64], runs: &mut Vec<Run>) {
    runs.clear();
    let mut from = 0;
    while let Some(first) = times.get(from) {
        let span = slices.slice(*first);
        let to = from + times[from..].iter().take_while(|time| span.contains(**time)).count();
        runs.push(Run { span, from, to });
        from = to;
    }
}

impl Opened {
    fn has_work(&self) -> bool {
        self.early.as_ref().is_some_and(Early::has_work)
            || self.firing.is_some()
            || self.next.is_some_and(|window| window.is_over(self.clock.reached()))
    }

    /// The next results, perhaps none.
    fn step(&mut self, spec: &WindowAggregateSpec) -> Result<ChangeBatch> {
        if let Some(early) = &mut self.early
            && let Some(groups) = early.next(&self.windows, &self.panes, &self.aggregator, spec.retract)?
        {
            return self.results(spec, &groups);
        }
        if self.sliding.is_some() {
            return self.slide(spec);
        }
        let reached = self.clock.reached();
        let begin = || {
            let window = self.next.filter(|window| window.is_over(reached))?;
            Some(Firing::new(window, &self.windows, &self.panes))
        };
        let Some(mut firing) = self.firing.take().or_else(begin) else { return Ok(ChangeBatch::default()) };
        let (mut groups, ended) = firing.next(&mut self.panes, &self.aggregator, spec.retract)?;
        let results = self.results(spec, &groups)?;
        if let Windows::Sliced(slices) = self.windows
            && self.windows.is_cumulative()
        {
            firing.keep(&mut groups, &mut self.panes, slices.first_slice(firing.window));
        }
        match ended {
            true => self.move_on(firing.window, firing.panes()),
            false => self.firing = Some(firing),
        }
        Ok(results)
    }

    /// The next results of windows of many slices, perhaps of several windows.
    fn slide(&mut self, spec: &WindowAggregateSpec) -> Result<ChangeBatch> {
        let (mut gathered, mut fuel) = (Gathered::new(&self.aggregator, 0), SLIDING_FUEL);
        let reached = self.clock.reached();
        while let Some(window) = self.next.filter(|window| window.is_over(reached)) {
            let Some(sliding) = &mut self.sliding else { break };
            if !sliding.next(window, &mut self.panes, &mut gathered, &mut fuel)? {
                break;
            }
            self.move_on(window, &[]);
        }
        let groups = gathered.finish(&self.aggregator, spec.retract)?;
        self.results(spec, &groups)
    }

    /// The rows of these groups, or how they have changed.
    fn results(&mut self, spec: &WindowAggregateSpec, groups: &Groups) -> Result<ChangeBatch> {
        let is_there = |at: usize| {
            let has_rows = !spec.retract || groups.states.words(at)[0] as i64 > 0;
            has_rows && !self.clock.has_fired(groups.hashes[at], groups.windows[at])
        };
        let there: Vec<bool> = (0..groups.len()).map(is_there).collect();
        let keys = self.codec.decode(groups.keys.iter().map(RowBytes::as_slice))?;
        let values = self.aggregator.values(&groups.states)?;
        let windows = window_columns(&spec.window_columns, &groups.windows, self.clock.zone(), self.local);
        if let Some(early) = &mut self.early {
            return early.changes(groups, &there, &spec.output, Columns { keys, values, windows });
        }
        let columns = keys.into_iter().chain(values).chain(windows).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(groups.len()));
        let misfit = |e| Error::bug("results do not fit their schema").caused_by(e);
        let rows =
            RecordBatch::try_new_with_options(spec.output.clone(), columns, &options).map_err(misfit)?;
        if there.iter().all(|there| *there) {
            return Ok(ChangeBatch::inserts(rows));
        }
        filter_record_batch(&rows, &BooleanArray::from(there)).map(ChangeBatch::inserts).map_err(misfit)
    }

    /// Drops what no window needs any more now that this one has fired, and finds the next.
    fn move_on(&mut self, fired: Span, panes: &[Span]) {
        self.fired = self.fired.max(fired.end - 1);
        if let Windows::Sliced(slices) = self.windows
            && self.windows.is_cumulative()
        {
            let first = slices.first_slice(fired);
            for pane in panes.iter().filter(|pane| **pane != first) {
                self.panes.discard(pane);
            }
        }
        if let Some(early) = &mut self.early {
            early.emitted.discard(&fired);
        }
        if matches!(self.windows, Windows::Attached) {
            self.panes.discard(&fired);
        } else {
            while let Some((pane, _)) = self.panes.first() {
                let pane = *pane;
                if self.windows.last_end(pane).is_some_and(|end| end - 1 > self.fired) {
                    break;
                }
                self.panes.discard(&pane);
            }
        }
        self.find_next();
    }

    fn find_next(&mut self) {
        self.next = match self.windows {
            Windows::Attached => self.panes.namespaces().next().copied(),
            // Later slices have no earlier windows.
            _ => self.panes.namespaces().find_map(|pane| self.windows.first_window(*pane, self.fired)),
        };
    }
}

impl Operator for WindowAggregate {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        let spec = &self.spec;
        spec.check(self.partial)?;
        let (zone, local) = spec.local_time()?;
        let aggregator = spec.aggregator()?;
        let panes: Panes = context.state.panes("slices")?;
        let windows = spec.windows()?;
        if let Windows::Sliced(slices) = &windows {
            refuse_other_slices(slices, &panes)?;
        }
        let clock = WindowClock::open(context, zone, spec.is_processing())?;
        let early = Early::open(context, spec.emit, spec.emit_update_before, &aggregator, &panes)?;
        let slides = matches!(spec.emit, Emit::OnWatermark);
        let sliding = Sliding::new(&windows, &aggregator, spec.retract).filter(|_| slides);
        let mut opened = Opened {
            windows,
            aggregator,
            codec: spec.key_codec()?,
            panes,
            local,
            late: LateRows::open(context, (spec.late_output && !self.partial).then_some(0)),
            early,
            fired: clock.reached(),
            clock,
            next: None,
            firing: None,
            sliding,
        };
        opened.find_next();
        self.opened = Some(opened);
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if batch.is_empty() {
            return Ok(Progress::Done);
        }
        if self.partial {
            for part in parts(&batch, &self.spec.input)? {
                match part {
                    Part::Rows(rows) => self.add(rows, false, out)?,
                    Part::Partials(partials) => self.add(partials, true, out)?,
                }
            }
        } else {
            self.add(batch, false, out)?;
        }
        match self.opened.as_ref().is_some_and(Opened::has_work) {
            true => self.give(out),
            false => Ok(Progress::Done),
        }
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.give(out)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        match self.opened.as_mut().ok_or_else(not_open)?.clock.advance(watermark) {
            true => self.give(out),
            false => Ok(Progress::Done),
        }
    }

    fn next_tick(&self) -> Option<Timestamp> {
        let opened = self.opened.as_ref()?;
        let fires = opened.clock.tick_for(opened.next.map(|window| window.end));
        let early = opened.early.as_ref().and_then(Early::due);
        fires.into_iter().chain(early).min()
    }

    fn tick(&mut self, now: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        opened.clock.tick(now);
        let reached = opened.clock.reached();
        if let Some(early) = opened.early.as_mut().filter(|early| early.due().is_some_and(|due| due <= now)) {
            early.begin(&opened.windows, reached);
        }
        self.give(out)
    }

    fn barrier(&mut self, _: Barrier, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened.as_mut().ok_or_else(not_open)?.clock.barrier();
        Ok(Progress::Done)
    }

    fn end(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        match self.opened.as_mut().ok_or_else(not_open)?.clock.end() {
            true => self.give(out),
            false => Ok(Progress::Done),
        }
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        let Some(opened) = &mut self.opened else { return Vec::new() };
        let mut tables: Vec<&mut dyn SnapshotTable> = vec![&mut opened.panes, opened.clock.table()];
        if let Some(early) = &mut opened.early {
            tables.push(&mut early.emitted);
        }
        tables
    }
}

/// Refuses stored slices that the windows of the query do not consist of: rows could not be told apart any more.
fn refuse_other_slices(slices: &Slices, panes: &Panes) -> Result<()> {
    let Some(other) = panes.namespaces().find(|pane| slices.slice(pane.start) != **pane) else {
        return Ok(());
    };
    let asked = slices.slice(other.start);
    Err(Error::state(format!(
        "the stored windows are cut at {} and {} ms, those of the query at {} and {} ms",
        other.start, other.end, asked.start, asked.end
    ))
    .mend("keep size, slide, step and offset of the windows, or give the query a new name so that it starts empty"))
}
