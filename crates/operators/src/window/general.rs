//! The window operator for any assigner, trigger and function.
//!
//! For each key it keeps the open windows ([`OpenWindow`]) in one cell, and timers that say when to look at the key. A window
//! is removed when its time and the allowed lateness are over, with all that belongs to it. Windows that merge do so as a
//! row comes; since the windows of a key neither overlap nor touch before, they are those that the row's own
//! window meets. Semantics are those of Flink's `WindowOperator` and `EvictingWindowOperator`.

use super::assigner::WindowAssigner;
use super::contents::WindowContents;
use super::function::{Closer, WindowContext, WindowOpenContext, WindowOutput};
use super::open_window::{Cleanup, OpenWindow, Timers, Windows};
use super::reached::Reached;
use super::side_rows::SideRows;
use super::time_window::TimeWindow;
use super::trigger::{TimerChange, Trigger, TriggerContext, TriggerResult};
use super::{LATE_RECORDS, OUTPUT_ROWS, TIME_MIN, refuse_time};
use crate::KeySelector;
use crate::TimeDomain;
use crate::collector::Traffic;
use flugs_batch::{Barrier, Records};
use flugs_state::{KeyedStore, KeyedTable, SnapshotTable, StateTime};
use flugs_task::{Counter, OpenContext, Operator, Output, Progress};
use flugs_types::{Clock, Error, Result, Timestamp, hash_key};
use std::sync::Arc;
use std::time::Duration;

/// How many timers are looked at in one step.
const STEP_TIMERS: usize = 8192;

/// What the operator is in the middle of.
enum Work<T> {
    Nothing,
    Rows(<Records<T> as IntoIterator>::IntoIter),
    Timers(TimeDomain, Timestamp),
}

/// The state of an operator that was opened.
struct Opened<C: WindowContents, G: Trigger<C::In>> {
    windows: KeyedTable<C::Key, Windows<C::State, G::State>>,
    timers: Timers<C::Key>,
    reached: Reached,
    store: KeyedStore<C::Key>,
    closers: Vec<Closer<C::Key>>,
    clock: Arc<dyn Clock>,
    late_dropped: Counter,
}

/// Groups the rows of each key into windows and gives a result whenever a window's trigger fires.
///
/// Rows that are late for all their windows are counted (`numLateRecordsDropped`) and handed to side output 0.
pub struct WindowOperator<C: WindowContents, G: Trigger<C::In>> {
    key_of: Box<dyn KeySelector<C::In, Key = C::Key>>,
    assigner: Box<dyn WindowAssigner<C::In>>,
    lateness: Duration,
    logic: Logic<C, G>,
    opened: Option<Opened<C, G>>,
    work: Work<C::In>,
    late: Records<C::In>,
    /// The windows of the row at hand.
    assigned: Vec<TimeWindow>,
    /// The machine's time at the last tick.
    ticked: Timestamp,
    /// The input has ended: what waits for the machine's time gives what it has.
    ending: bool,
    traffic: Traffic,
}

/// What decides and computes, and the clocks by which it does.
struct Logic<C: WindowContents, G> {
    trigger: G,
    contents: C,
    domain: TimeDomain,
    time: StateTime,
    out: Records<C::Out>,
    sides: SideRows<C::Out>,
    changes: Vec<TimerChange>,
}

/// The cell of a key, while it is worked on.
struct Cell<'a, C: WindowContents, G: Trigger<C::In>> {
    key: &'a C::Key,
    windows: &'a mut Windows<C::State, G::State>,
    timers: &'a mut Timers<C::Key>,
    store: &'a mut KeyedStore<C::Key>,
    closers: &'a [Closer<C::Key>],
}

impl<C: WindowContents, G: Trigger<C::In>> WindowOperator<C, G> {
    /// An operator that takes rows with a delay of at most `lateness` after their window's end.
    pub fn new(
        key_of: impl KeySelector<C::In, Key = C::Key>,
        assigner: impl WindowAssigner<C::In>,
        trigger: G,
        lateness: Duration,
        contents: C,
    ) -> Self {
        let time = StateTime { watermark: Timestamp::MIN, processing_time: Timestamp::MIN };
        let domain = assigner.domain();
        let (out, sides, changes) = (Records::new(), SideRows::default(), Vec::new());
        WindowOperator {
            key_of: Box::new(key_of),
            assigner: Box::new(assigner),
            lateness,
            logic: Logic { trigger, contents, domain, time, out, sides, changes },
            opened: None,
            work: Work::Nothing,
            late: Records::new(),
            assigned: Vec::new(),
            ticked: Timestamp::MIN,
            ending: false,
            traffic: Traffic::default(),
        }
    }

    /// Works on until done, or until the output or the bound of a step says stop.
    pub(crate) fn work(&mut self, out: &mut Output<Records<C::Out>>) -> Result<Progress> {
        let mut timers = 0;
        loop {
            let more = match &mut self.work {
                Work::Nothing => false,
                Work::Rows(rows) => match rows.next() {
                    Some((row, time)) => {
                        self.add_row(row, time)?;
                        true
                    }
                    None => false,
                },
                Work::Timers(domain, upto) => {
                    let (domain, upto) = (*domain, *upto);
                    timers += 1;
                    self.fire_timer(domain, upto)?
                }
            };
            if !more {
                self.work = Work::Nothing;
            }
            if self.logic.out.len() >= OUTPUT_ROWS || !more && !self.logic.out.is_empty() {
                self.traffic.gave(self.logic.out.len());
                let _ = out.push(std::mem::take(&mut self.logic.out))?;
            }
            if self.logic.sides.len() >= OUTPUT_ROWS || !more {
                self.logic.sides.hand_on(out)?;
            }
            if !more {
                return Ok(Progress::Done);
            }
            if !out.is_ready() || timers >= STEP_TIMERS {
                return Ok(Progress::More);
            }
        }
    }

    /// Begins with a batch.
    pub(crate) fn begin(&mut self, batch: Records<C::In>) -> Result<()> {
        let opened = self.opened.as_ref().ok_or_else(not_open)?;
        // What comes in the instant of a firing comes after it.
        let after_tick = Timestamp(self.ticked.0.saturating_add(1));
        self.logic.time.processing_time = opened.clock.now().max(after_tick);
        self.traffic.took(batch.len());
        self.work = Work::Rows(batch.into_iter());
        Ok(())
    }

    /// Takes the rows that were late since the last call.
    pub(crate) fn take_late(&mut self) -> Records<C::In> {
        let late = std::mem::take(&mut self.late);
        if let Some(opened) = self.opened.as_ref().filter(|_| !late.is_empty()) {
            opened.late_dropped.add(late.len());
        }
        late
    }

    fn add_row(&mut self, row: C::In, time: Timestamp) -> Result<()> {
        let WindowOperator { key_of, assigner, logic, opened, assigned, .. } = self;
        let opened = opened.as_mut().ok_or_else(not_open)?;
        let in_event_time = logic.domain == TimeDomain::EventTime;
        if in_event_time && time < TIME_MIN {
            return Err(refuse_time(time));
        }
        let key = key_of.key(&row);
        let hash = hash_key(&key);
        assigned.clear();
        assigner.assign(&row, time, logic.time.processing_time, assigned);

        let windows = opened.windows.get_or_insert_hashed(hash, &key, Vec::new);
        let Opened { timers, store, closers, .. } = opened;
        let mut cell: Cell<'_, C, G> = Cell { key: &key, windows, timers, store, closers };
        let mut skipped = true;
        for &window in &*assigned {
            let at = match assigner.merges() {
                true => logic.merge(&mut cell, window),
                false => logic.find(&mut cell, window),
            };
            if let Some(at) = at {
                skipped = false;
                logic.add(&mut cell, at, &row, time)?;
            }
        }
        if cell.windows.is_empty() {
            opened.windows.remove_hashed(hash, &key);
        }
        if skipped && in_event_time && time.saturating_add(self.lateness) <= logic.time.watermark {
            self.late.push(row, time);
        }
        Ok(())
    }

    /// Fires the first timer that has come, if there is one.
    fn fire_timer(&mut self, domain: TimeDomain, upto: Timestamp) -> Result<bool> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        let table = match domain {
            TimeDomain::EventTime => &mut opened.timers.event,
            TimeDomain::ProcessingTime => &mut opened.timers.processing,
        };
        let Some((time, key)) = table.pop_due(upto) else { return Ok(false) };
        let hash = hash_key(&key);
        let Some(windows) = opened.windows.get_mut_hashed(hash, &key) else { return Ok(true) };
        let Opened { timers, store, closers, .. } = opened;
        let mut cell: Cell<'_, C, G> = Cell { key: &key, windows, timers, store, closers };
        let mut last = None;
        while let Some(at) = cell.timers.take(cell.windows, last, (domain, time)) {
            let window = cell.windows[at].window;
            last = Some(window);
            if self.ending && cell.timers.cleanup.timer(&window).is_none() {
                // A window without an end could set timers for ever.
                continue;
            }
            self.logic.on_timer(&mut cell, at, (domain, time))?;
        }
        if cell.windows.is_empty() {
            opened.windows.remove_hashed(hash, &key);
        }
        Ok(true)
    }
}

impl<C: WindowContents, G: Trigger<C::In>> Logic<C, G> {
    /// The place of the window among those of the key; it is opened if need be. `None`: its time is over.
    fn find(&mut self, cell: &mut Cell<'_, C, G>, window: TimeWindow) -> Option<usize> {
        match cell.windows.binary_search_by_key(&window, |w| w.window) {
            Ok(at) => Some(at),
            Err(_) if cell.timers.cleanup.is_late(&window, self.time.watermark) => None,
            Err(at) => {
                cell.windows.insert(at, OpenWindow::new(window));
                cell.timers.set_cleanup(&window, cell.key);
                Some(at)
            }
        }
    }

    /// Likewise, where windows that meet become one.
    fn merge(&mut self, cell: &mut Cell<'_, C, G>, window: TimeWindow) -> Option<usize> {
        let from = cell.windows.partition_point(|w| w.window.end < window.start);
        let to = from + cell.windows[from..].iter().take_while(|w| w.window.start <= window.end).count();
        let cover = cell.windows[from..to].iter().fold(window, |cover, w| cover.cover(&w.window));
        if from == to || to == from + 1 && cell.windows[from].window == cover {
            return self.find(cell, cover);
        }
        let merged: Vec<_> = cell.windows.drain(from..to).collect();
        for gone in &merged {
            cell.timers.forget(gone, cell.windows, cell.key);
        }
        let mut whole = OpenWindow::new(cover);
        let mut states = Vec::with_capacity(merged.len());
        for part in merged {
            states.push(part.trigger);
            whole.contents = match (whole.contents, part.contents) {
                (Some(mut contents), Some(other)) => {
                    self.contents.merge(&mut contents, other);
                    Some(contents)
                }
                (contents, other) => contents.or(other),
            };
        }
        cell.windows.insert(from, whole);
        cell.timers.set_cleanup(&cover, cell.key);
        let _ = self.ask(cell, from, |trigger, state, context| {
            *state = trigger.on_merge(states, context);
            TriggerResult::Continue
        });
        Some(from)
    }

    fn add(&mut self, cell: &mut Cell<'_, C, G>, at: usize, row: &C::In, time: Timestamp) -> Result<()> {
        let contents = cell.windows[at].contents.get_or_insert_with(|| self.contents.create());
        self.contents.add(contents, row, time);
        let result =
            self.ask(cell, at, |trigger, state, context| trigger.on_element(row, time, state, context));
        self.settle(cell, at, result)?;
        self.drop_if_blank(cell, at);
        Ok(())
    }

    fn on_timer(
        &mut self,
        cell: &mut Cell<'_, C, G>,
        at: usize,
        (domain, time): (TimeDomain, Timestamp),
    ) -> Result<()> {
        let result = self.ask(cell, at, |trigger, state, context| match domain {
            TimeDomain::EventTime => trigger.on_event_time(time, state, context),
            TimeDomain::ProcessingTime => trigger.on_processing_time(time, state, context),
        });
        self.settle(cell, at, result)?;
        if cell.timers.cleanup.timer(&cell.windows[at].window) == Some((domain, time)) {
            return self.remove(cell, at);
        }
        self.drop_if_blank(cell, at);
        Ok(())
    }

    /// Asks the trigger about window `at`, and does what it wants done with timers.
    fn ask(
        &mut self,
        cell: &mut Cell<'_, C, G>,
        at: usize,
        question: impl FnOnce(&G, &mut G::State, &mut TriggerContext<'_>) -> TriggerResult,
    ) -> TriggerResult {
        let OpenWindow { window, trigger, .. } = &mut cell.windows[at];
        let mut context = TriggerContext {
            window: *window,
            domain: self.domain,
            watermark: self.time.watermark,
            processing_time: self.time.processing_time,
            changes: &mut self.changes,
        };
        let result = question(&self.trigger, trigger, &mut context);
        if !self.changes.is_empty() {
            cell.timers.apply(&mut self.changes, cell.windows, at, cell.key);
        }
        result
    }

    /// Does what the trigger said. A window without rows gives nothing.
    fn settle(&mut self, cell: &mut Cell<'_, C, G>, at: usize, result: TriggerResult) -> Result<()> {
        let OpenWindow { window, contents, .. } = &mut cell.windows[at];
        if let Some(contents) = contents.as_mut().filter(|_| result.fires()) {
            let mut context =
                WindowContext { key: cell.key, window: *window, time: self.time, store: cell.store };
            let (rows, sides) = (&mut self.out, &mut self.sides);
            let mut out = WindowOutput { rows, sides, time: window.max_timestamp() };
            self.contents.fire(contents, &mut context, &mut out)?;
        }
        if result.purges() {
            *contents = None;
        }
        Ok(())
    }

    /// Removes a window that has no end to wait for once nothing is left of it.
    fn drop_if_blank(&mut self, cell: &mut Cell<'_, C, G>, at: usize) {
        let window = &cell.windows[at];
        if window.is_blank() && cell.timers.cleanup.timer(&window.window).is_none() {
            cell.windows.remove(at);
        }
    }

    fn remove(&mut self, cell: &mut Cell<'_, C, G>, at: usize) -> Result<()> {
        let gone = cell.windows.remove(at);
        cell.timers.forget(&gone, cell.windows, cell.key);
        let mut context =
            WindowContext { key: cell.key, window: gone.window, time: self.time, store: cell.store };
        self.contents.clear(&mut context)?;
        for close in cell.closers {
            close(&mut context.state(), &gone.window);
        }
        Ok(())
    }
}

impl<C: WindowContents, G: Trigger<C::In>> Operator for WindowOperator<C, G> {
    type In = Records<C::In>;
    type Out = Records<C::Out>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.assigner.validate()?;
        self.traffic.open(context);
        let merging = self.assigner.merges();
        if merging && !self.logic.trigger.can_merge() {
            return Err(Error::job("the trigger cannot be used with windows that merge")
                .mend("choose another trigger, or give it on_merge and can_merge"));
        }
        let cleanup = Cleanup { domain: self.logic.domain, lateness: self.lateness };
        let reached = Reached::open(context)?;
        self.logic.time.watermark = reached.watermark();
        self.ticked = reached.ticked_at_most();
        let mut opened = Opened {
            windows: context.state.keyed("window.windows")?,
            timers: Timers {
                event: context.state.timers("window.event-timers")?,
                processing: context.state.timers("window.processing-timers")?,
                cleanup,
            },
            reached,
            store: KeyedStore::new(),
            closers: Vec::new(),
            clock: Arc::clone(context.clock),
            late_dropped: context.counter(LATE_RECORDS),
        };
        let Opened { store, closers, .. } = &mut opened;
        self.logic.contents.open(&mut WindowOpenContext { store, from: context.state, closers, merging })?;
        self.opened = Some(opened);
        Ok(())
    }

    fn process(&mut self, batch: Self::In, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.begin(batch)?;
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Output<Self::Out>) -> Result<Progress> {
        let progress = self.work(out)?;
        let late = self.take_late();
        if !late.is_empty() {
            let _ = out.push_side(0, late)?;
        }
        Ok(progress)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<Self::Out>) -> Result<Progress> {
        let time = &mut self.logic.time;
        time.watermark = time.watermark.max(watermark);
        self.work = Work::Timers(TimeDomain::EventTime, time.watermark);
        self.work(out)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.opened.as_ref()?.timers.processing.next()
    }

    fn tick(&mut self, now: Timestamp, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.ticked = self.ticked.max(now);
        self.logic.time.processing_time = self.ticked;
        self.work = Work::Timers(TimeDomain::ProcessingTime, now);
        self.work(out)
    }

    fn barrier(&mut self, _: Barrier, _: &mut Output<Self::Out>) -> Result<Progress> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        opened.reached.keep(self.logic.time.watermark, self.ticked);
        Ok(Progress::Done)
    }

    /// Windows in processing time give what they have: their time will not come.
    fn end(&mut self, out: &mut Output<Self::Out>) -> Result<Progress> {
        if self.logic.domain == TimeDomain::EventTime {
            return Ok(Progress::Done);
        }
        self.ending = true;
        self.work = Work::Timers(TimeDomain::ProcessingTime, Timestamp::MAX);
        self.work(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        let Some(opened) = &mut self.opened else { return Vec::new() };
        let mut tables: Vec<&mut dyn SnapshotTable> = vec![
            opened.reached.table(),
            &mut opened.windows,
            &mut opened.timers.event,
            &mut opened.timers.processing,
        ];
        tables.extend(opened.store.tables());
        tables
    }
}

fn not_open() -> Error {
    Error::bug("the window operator is not open")
}
