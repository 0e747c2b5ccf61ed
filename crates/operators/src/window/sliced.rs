//! Windows that are the same for all keys, with an aggregate.
//!
//! Rows are added to the slice that they are in ([`Slices`]): a table of keys that is found once for a run of rows. When the
//! watermark passes a window's end, its slices are merged, stripe by stripe (one slice is read as it stands), and the results are
//! handed on in bounded batches; then slices that no window needs any more are dropped as a whole. No key is looked at
//! before its window fires.
//!
//! With allowed lateness, slices stay until it is over, and a row of a window that has fired gives the key's new result at once,
//! as Flink's default trigger does.

use super::assigner::{WindowAssigner, WindowShape};
use super::reached::{Ahead, Reached};
use super::results::Results;
use super::slices::Slices;
use super::time_window::TimeWindow;
use super::{LATE_RECORDS, OUTPUT_ROWS, TIME_MIN, refuse_time};
use crate::TimeDomain;
use crate::collector::Traffic;
use crate::{AggregateFunction, KeySelector};
use flugs_batch::{Barrier, Data, Key, Record, Records};
use flugs_state::{Fuel, PaneTable, SnapshotTable};
use flugs_task::{Counter, OpenContext, Operator, Output, Progress};
use flugs_types::{Clock, Error, KeyHasher, Result, Timestamp, hash_key};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::time::Duration;

/// How much of the tables is read in one step while a window fires, in bytes.
const STEP_BYTES: usize = 512 * 1024;

/// Rows that stand in turn and are of the same slice.
#[derive(Debug, Clone, Copy)]
struct Run {
    slice: TimeWindow,
    from: usize,
    to: usize,
}

/// A window that is giving its results.
struct Firing {
    window: TimeWindow,
    /// Its slices and how far each was read.
    slices: Vec<Reading>,
}

/// How far a slice was read.
struct Reading {
    slice: TimeWindow,
    /// The place in the table, as [`KeyedTable::sweep`] counts; [`ENDED`] at the end.
    cursor: u64,
}

const ENDED: u64 = u64::MAX;

/// A sweep with this ends at the first border.
const ONE_SHARD: Fuel = Fuel(1);

/// The rows of a batch that change results which were given already.
struct Updates<T> {
    batch: Records<T>,
    rows: std::vec::IntoIter<u32>,
}

struct Opened<K, Acc> {
    slices: PaneTable<K, TimeWindow, Acc>,
    reached: Reached,
    clock: Arc<dyn Clock>,
    late_dropped: Counter,
}

/// Aggregates the rows of each key and window, for windows on a grid that fire once their time is over. See the module's text
/// for how. Late rows are counted (`numLateRecordsDropped`) and handed to side output 0.
pub struct SlicedWindowOperator<S: KeySelector<A::In>, A: AggregateFunction, F> {
    key_of: S,
    aggregate: A,
    emit: F,
    layout: Slices,
    domain: TimeDomain,
    lateness: Duration,
    assigner: Box<dyn WindowAssigner<A::In>>,
    opened: Option<Opened<S::Key, A::Acc>>,
    /// The watermark, or the machine's time. All windows whose last instant it has reached have fired, but for `firing`.
    time: Timestamp,
    /// Rows by the machine's clock come after this.
    ticked: Timestamp,
    /// Keys for which windows have fired that `time` has not reached.
    ahead: Ahead,
    /// The first window to fire that has rows.
    next: Option<TimeWindow>,
    firing: Option<Firing>,
    updates: Option<Updates<A::In>>,
    runs: Vec<Run>,
    /// Keys of the firing window that are merged and not given yet.
    stripe: HashMap<S::Key, A::Acc, BuildHasherDefault<StripeHasher>>,
    traffic: Traffic,
}

impl<S: KeySelector<A::In>, A: AggregateFunction, F> SlicedWindowOperator<S, A, F> {
    /// An operator that gives `emit(key, window, result)`. `None` where the assigner's windows do not consist of slices.
    pub fn new(
        key_of: S,
        assigner: impl WindowAssigner<A::In>,
        lateness: Duration,
        aggregate: A,
        emit: F,
    ) -> Option<Self> {
        let WindowShape::Sliced(layout) = assigner.shape() else { return None };
        Some(Self::of_slices(key_of, assigner, layout, lateness, aggregate, emit))
    }

    pub(super) fn of_slices(
        key_of: S,
        assigner: impl WindowAssigner<A::In>,
        layout: Slices,
        lateness: Duration,
        aggregate: A,
        emit: F,
    ) -> Self {
        let domain = assigner.domain();
        SlicedWindowOperator {
            key_of,
            aggregate,
            emit,
            layout,
            domain,
            lateness: if domain == TimeDomain::EventTime { lateness } else { Duration::ZERO },
            assigner: Box::new(assigner),
            opened: None,
            time: Timestamp::MIN,
            ticked: Timestamp::MIN,
            ahead: Ahead::default(),
            next: None,
            firing: None,
            updates: None,
            runs: Vec::new(),
            stripe: HashMap::default(),
            traffic: Traffic::default(),
        }
    }

    /// Splits the batch into runs of rows of one slice.
    fn find_runs(&mut self, times: &[Timestamp]) -> Result<()> {
        self.runs.clear();
        let mut from = 0;
        while let Some(&first) = times.get(from) {
            if first < TIME_MIN {
                return Err(refuse_time(first));
            }
            let slice = self.layout.slice(first);
            // The last slice of all time has no end.
            let within = |t: &Timestamp| slice.start <= *t && (*t < slice.end || *t == first);
            let to = from + times[from..].iter().take_while(|t| within(t)).count();
            self.runs.push(Run { slice, from, to });
            from = to;
        }
        Ok(())
    }

    /// Adds the rows of the runs that are on time. Sets apart rows that are late for all windows, and rows of windows that
    /// have fired.
    fn add_runs(&mut self, values: &[A::In], times: &[Timestamp]) -> Result<(Vec<u32>, Vec<u32>)> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        let (mut late, mut updates) = (Vec::new(), Vec::new());
        // Rows of windows before this have had all the time they are given.
        let over = self.time.saturating_sub(self.lateness);
        let mut runs = std::mem::take(&mut self.runs);
        runs.retain(|run| {
            let rows = run.from as u32..run.to as u32;
            match self.layout.last_instant(run.slice.start) {
                None => late.extend(rows.filter(|&row| {
                    self.domain == TimeDomain::EventTime
                        && times[row as usize].saturating_add(self.lateness) <= self.time
                })),
                Some(last) if last.saturating_add(self.lateness) <= self.time => late.extend(rows),
                Some(_) => {
                    let fired = |w: TimeWindow| w.max_timestamp() <= self.time;
                    if self.layout.first_window(run.slice.start, over).is_some_and(fired) {
                        updates.extend(rows);
                    } else {
                        return true;
                    }
                }
            }
            false
        });
        if !runs.is_sorted_by_key(|run| run.slice) {
            runs.sort_by_key(|run| run.slice);
        }
        let (key_of, aggregate) = (&self.key_of, &self.aggregate);
        for of_slice in runs.chunk_by(|a, b| a.slice == b.slice) {
            let slice = of_slice[0].slice;
            let table = opened.slices.pane_mut(slice);
            if let [run] = of_slice {
                let values = &values[run.from..run.to];
                key_of.for_each_row(
                    table,
                    values,
                    || aggregate.create(),
                    |row, acc| aggregate.add(acc, &values[row]),
                );
            } else {
                let rows: Vec<u32> = of_slice.iter().flat_map(|r| r.from as u32..r.to as u32).collect();
                table.for_each_row(
                    rows.len(),
                    |row| key_of.key(&values[rows[row] as usize]),
                    || aggregate.create(),
                    |row, acc| aggregate.add(acc, &values[rows[row] as usize]),
                );
            }
            let first = self.layout.first_window(slice.start, self.time);
            self.next = earlier(self.next, first);
        }
        self.runs = runs;
        Ok((late, updates))
    }

    /// The slices of the window that have rows, in order.
    fn slices_with_rows(
        &self,
        slices: &PaneTable<S::Key, TimeWindow, A::Acc>,
        window: TimeWindow,
    ) -> Vec<TimeWindow> {
        if self.layout.is_tumbling() {
            return vec![window];
        }
        if self.layout.per_window() <= slices.len() {
            return self.layout.slices_of(window).filter(|s| slices.pane(s).is_some()).collect();
        }
        let within = |s: &&TimeWindow| window.start <= s.start && s.start < window.end;
        slices.namespaces().filter(within).copied().collect()
    }

    /// Drops the slices whose windows have all fired, up to `fired`, and had their lateness; finds the next window.
    fn move_on(&mut self, fired: Timestamp) -> Result<()> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        while let Some((&slice, _)) = opened.slices.first() {
            let last = self.layout.last_instant(slice.start).unwrap_or(slice.start);
            if last.saturating_add(self.lateness) > fired {
                break;
            }
            opened.slices.discard(&slice);
        }
        let layout = &self.layout;
        self.next = opened.slices.namespaces().find_map(|slice| layout.first_window(slice.start, fired));
        Ok(())
    }

    /// Merges the next stripe of the firing window's slices: keys whose hashes stand together. Says whether it was the last.
    ///
    /// Tables of the same key groups show their keys in the order of the same places, and a step of a sweep ends at a
    /// border that finer tables have too. So when all slices were read up to the furthest of them, each key that was seen
    /// was seen in all; and what is merged at a time stays in the processor's caches, however large the slices are.
    fn merge_stripe(&mut self, firing: &mut Firing, fuel: &mut Fuel) -> Result<bool> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        let (aggregate, stripe) = (&self.aggregate, &mut self.stripe);
        let mut border = firing.slices.iter().map(|r| r.cursor).max().unwrap_or(ENDED).saturating_add(1);
        while firing.slices.iter().any(|r| r.cursor < border) {
            for Reading { slice, cursor } in &mut firing.slices {
                let Some(table) = opened.slices.existing_mut(slice) else {
                    *cursor = ENDED;
                    continue;
                };
                while *cursor < border {
                    let add = |key: &S::Key, acc: &A::Acc| {
                        fuel.spend(size_of::<(S::Key, A::Acc)>());
                        match stripe.get_mut(key) {
                            Some(whole) => aggregate.merge(whole, acc.clone()),
                            None => {
                                stripe.insert(key.clone(), acc.clone());
                            }
                        }
                        false
                    };
                    if table.sweep(cursor, &mut { ONE_SHARD }, add, |_, _| true) {
                        *cursor = ENDED;
                    }
                    border = border.max(*cursor);
                }
            }
        }
        Ok(border == ENDED)
    }
}

/// The hash of keys whose first bits are the same, as those of a stripe are: other bits are put in front.
#[derive(Default)]
struct StripeHasher(KeyHasher);

impl Hasher for StripeHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    fn finish(&self) -> u64 {
        self.0.finish().rotate_left(32)
    }
}

/// The window that ends first.
fn earlier(a: Option<TimeWindow>, b: Option<TimeWindow>) -> Option<TimeWindow> {
    a.into_iter().chain(b).min_by_key(|w| w.end)
}

impl<S, A, F, O> SlicedWindowOperator<S, A, F>
where
    S: KeySelector<A::In>,
    A: AggregateFunction,
    F: FnMut(&S::Key, TimeWindow, A::Out) -> O + Send + 'static,
    O: Record,
{
    /// Gives a part of the results of a window that is one slice. Says whether it gave the last of them.
    fn give_slice(
        &mut self,
        firing: &mut Firing,
        fuel: &mut Fuel,
        out: &mut Output<Records<O>>,
    ) -> Result<bool> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        let [Reading { slice, cursor }] = &mut firing.slices[..] else { return Ok(true) };
        let Some(table) = opened.slices.existing_mut(slice) else { return Ok(true) };
        let mut results = Results::new(firing.window, &mut self.emit, &self.ahead, &self.traffic, out);
        let aggregate = &self.aggregate;
        let read = |key: &S::Key, acc: &A::Acc| {
            results.give(key, || aggregate.result(acc));
            false
        };
        let mut some = Fuel(OUTPUT_ROWS * size_of::<(S::Key, A::Acc)>());
        fuel.spend(some.0);
        let ended = table.sweep(cursor, &mut some, read, |_, _| true);
        results.finish()?;
        Ok(ended)
    }

    /// Likewise of a window that is several.
    fn give_stripe(
        &mut self,
        firing: &mut Firing,
        fuel: &mut Fuel,
        out: &mut Output<Records<O>>,
    ) -> Result<bool> {
        let mut ended = false;
        while !ended && self.stripe.len() < OUTPUT_ROWS / 2 && !fuel.is_spent() {
            ended = self.merge_stripe(firing, fuel)?;
        }
        let mut results = Results::new(firing.window, &mut self.emit, &self.ahead, &self.traffic, out);
        for (key, acc) in self.stripe.drain() {
            results.give(&key, || self.aggregate.result(&acc));
        }
        results.finish()?;
        Ok(ended)
    }

    /// Fires all windows that the time has reached.
    fn fire(&mut self, out: &mut Output<Records<O>>) -> Result<Progress> {
        let mut fuel = Fuel(STEP_BYTES);
        while let Some(mut firing) = self.firing.take().or_else(|| self.begin_firing()) {
            let ended = match firing.slices.len() {
                1 => self.give_slice(&mut firing, &mut fuel, out)?,
                _ => self.give_stripe(&mut firing, &mut fuel, out)?,
            };
            if ended {
                self.move_on(firing.window.max_timestamp())?;
            } else {
                self.firing = Some(firing);
            }
            if !out.is_ready() || fuel.is_spent() {
                return Ok(Progress::More);
            }
        }
        self.ahead.catch_up(self.time);
        self.move_on(self.time)?;
        Ok(Progress::Done)
    }

    fn begin_firing(&self) -> Option<Firing> {
        let window = self.next.filter(|w| w.max_timestamp() <= self.time)?;
        let slices = self.slices_with_rows(&self.opened.as_ref()?.slices, window);
        let slices = slices.into_iter().map(|slice| Reading { slice, cursor: 0 }).collect();
        Some(Firing { window, slices })
    }

    /// Adds rows of windows that have fired, and gives the new results of their keys.
    fn update(&mut self, out: &mut Output<Records<O>>) -> Result<Progress> {
        let Some(mut updates) = self.updates.take() else { return Ok(Progress::Done) };
        let mut results = Records::new();
        for row in updates.rows.by_ref() {
            let row = row as usize;
            let slice = self.layout.slice(updates.batch.times[row]);
            self.update_row(&updates.batch.values[row], slice, &mut results)?;
            if results.len() >= OUTPUT_ROWS {
                break;
            }
        }
        self.traffic.gave(results.len());
        if !results.is_empty() {
            let _ = out.push(results)?;
        }
        if updates.rows.as_slice().is_empty() {
            return Ok(Progress::Done);
        }
        self.updates = Some(updates);
        Ok(Progress::More)
    }

    fn update_row(&mut self, row: &A::In, slice: TimeWindow, results: &mut Records<O>) -> Result<()> {
        let key = self.key_of.key(row);
        let hash = hash_key(&key);
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        let table = opened.slices.pane_mut(slice);
        self.aggregate.add(table.get_or_insert_hashed(hash, &key, || self.aggregate.create()), row);
        self.next = earlier(self.next, self.layout.first_window(slice.start, self.time));
        let mut after = self.time.saturating_sub(self.lateness);
        while let Some(window) = self.layout.first_window(slice.start, after) {
            after = window.max_timestamp();
            if after > self.time {
                break;
            }
            let Some(opened) = &self.opened else { break };
            let mut whole = self.aggregate.create();
            for slice in self.slices_with_rows(&opened.slices, window) {
                if let Some(acc) = opened.slices.pane(&slice).and_then(|t| t.get_hashed(hash, &key)) {
                    self.aggregate.merge(&mut whole, acc.clone());
                }
            }
            results.push((self.emit)(&key, window, self.aggregate.result(&whole)), after);
        }
        Ok(())
    }

    fn hand_out_late(
        &self,
        rows: &[u32],
        batch: &Records<A::In>,
        out: &mut Output<Records<O>>,
    ) -> Result<()> {
        let opened = self.opened.as_ref().ok_or_else(not_open)?;
        opened.late_dropped.add(rows.len());
        let late =
            rows.iter().map(|&r| (batch.values[r as usize].clone(), batch.times[r as usize])).collect();
        out.push_side::<A::In>(0, late).map(|_| ())
    }
}

impl<S, A, F, O> Operator for SlicedWindowOperator<S, A, F>
where
    S: KeySelector<A::In>,
    A: AggregateFunction,
    F: FnMut(&S::Key, TimeWindow, A::Out) -> O + Send + 'static,
    O: Record,
{
    type In = Records<A::In>;
    type Out = Records<O>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.assigner.validate()?;
        let slices = context.state.panes("window.slices")?;
        refuse_other_slices(&slices, self.layout)?;
        let reached = Reached::open(context)?;
        if self.domain == TimeDomain::EventTime {
            self.time = reached.watermark();
        } else {
            (self.time, self.ticked, self.ahead) =
                (reached.ticked(), reached.ticked_at_most(), reached.ahead());
        }
        self.traffic.open(context);
        self.opened = Some(Opened {
            slices,
            reached,
            clock: Arc::clone(context.clock),
            late_dropped: context.counter(LATE_RECORDS),
        });
        self.move_on(self.time)
    }

    fn process(&mut self, batch: Self::In, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.traffic.took(batch.len());
        if batch.is_empty() {
            return Ok(Progress::Done);
        }
        if self.domain == TimeDomain::ProcessingTime {
            let opened = self.opened.as_ref().ok_or_else(not_open)?;
            // What comes in the instant of a firing comes after it.
            let now = opened.clock.now().max(Timestamp(self.ticked.0.saturating_add(1)));
            self.runs.clear();
            self.runs.push(Run { slice: self.layout.slice(now), from: 0, to: batch.len() });
        } else {
            self.find_runs(&batch.times)?;
        }
        let (late, updates) = self.add_runs(&batch.values, &batch.times)?;
        if !late.is_empty() {
            self.hand_out_late(&late, &batch, out)?;
        }
        if updates.is_empty() {
            return Ok(Progress::Done);
        }
        self.updates = Some(Updates { batch, rows: updates.into_iter() });
        self.update(out)
    }

    fn resume(&mut self, out: &mut Output<Self::Out>) -> Result<Progress> {
        if self.updates.is_some() { self.update(out) } else { self.fire(out) }
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<Self::Out>) -> Result<Progress> {
        if self.domain == TimeDomain::ProcessingTime || watermark <= self.time {
            return Ok(Progress::Done);
        }
        self.time = watermark;
        self.fire(out)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        let next = self.next.filter(|_| self.domain == TimeDomain::ProcessingTime)?;
        Some(next.max_timestamp())
    }

    fn tick(&mut self, now: Timestamp, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.time = self.time.max(now);
        self.ticked = self.ticked.max(now);
        self.fire(out)
    }

    fn barrier(&mut self, _: Barrier, _: &mut Output<Self::Out>) -> Result<Progress> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        match self.domain {
            TimeDomain::EventTime => opened.reached.keep(self.time, Timestamp::MIN),
            TimeDomain::ProcessingTime => opened.reached.keep(Timestamp::MIN, self.time),
        }
        Ok(Progress::Done)
    }

    /// Windows in processing time give what they have: their time will not come.
    fn end(&mut self, out: &mut Output<Self::Out>) -> Result<Progress> {
        if self.domain == TimeDomain::EventTime {
            return Ok(Progress::Done);
        }
        self.time = Timestamp::MAX;
        self.fire(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        match &mut self.opened {
            Some(opened) => vec![opened.reached.table(), &mut opened.slices],
            None => Vec::new(),
        }
    }
}

/// Refuses stored slices that the windows of the job do not consist of: rows could not be told apart any more.
fn refuse_other_slices<K: Key, Acc: Data>(
    slices: &PaneTable<K, TimeWindow, Acc>,
    layout: Slices,
) -> Result<()> {
    let Some(other) = slices.namespaces().find(|slice| layout.slice(slice.start) != **slice) else {
        return Ok(());
    };
    let asked = layout.slice(other.start);
    Err(Error::state(format!(
        "the stored windows are cut at {} and {}, those of the job at {} and {}",
        other.start, other.end, asked.start, asked.end
    ))
    .mend(
        "keep size, slide and offset of the windows, or give the operator a new uid so that it starts empty",
    ))
}

fn not_open() -> Error {
    Error::bug("the window operator is not open")
}
