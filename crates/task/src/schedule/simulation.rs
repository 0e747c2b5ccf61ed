//! The simulator: one thread, virtual time, every choice from a seed.
//!
//! Ready tasks, background work and timers are taken one at a time in an order that the seed decides; time stands still
//! while anything is ready, and then jumps to the next timer. The same seed gives the same run, step by step.

use super::cell::{Cell, CellSlot, Queue};
use super::history::{Event, History};
use super::{Scheduler, Slot, Task};
use flugs_types::{Background, Clock, ManualClock, Timestamp};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;

type Work = Box<dyn FnOnce() + Send>;

enum Timed {
    Cell(Arc<Cell>),
    /// A cell that was woken, and is slow.
    Woken(Arc<Cell>),
    Work(Work),
}

#[derive(Default)]
struct State {
    seed: u64,
    random: u64,
    ready: Vec<Arc<Cell>>,
    timed: BTreeMap<(Timestamp, u64), Timed>,
    sequence: u64,
    delay_max_us: u64,
    stall_max_us: u64,
    /// All cells that may still be alive.
    cells: Vec<Weak<Cell>>,
    history: History,
}

impl State {
    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below.max(1)
    }

    /// How long a cell that has just been woken must wait. One in four is slow.
    fn stall(&mut self, cell: &Cell) -> Duration {
        let slow = (cell.home as u64 ^ self.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62 == 0;
        if !slow || self.stall_max_us == 0 || self.draw(2) == 0 {
            return Duration::ZERO;
        }
        let stall_max_us = self.stall_max_us;
        Duration::from_micros(self.draw(stall_max_us))
    }

    fn at(&mut self, time: Timestamp, what: Timed) {
        self.sequence += 1;
        self.timed.insert((time, self.sequence), what);
    }
}

struct Shared {
    state: Mutex<State>,
    clock: ManualClock,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue for Shared {
    fn enqueue(&self, cell: Arc<Cell>) {
        let mut state = self.lock();
        let stall = state.stall(&cell);
        if stall.is_zero() {
            state.ready.push(cell);
        } else {
            state.at(self.clock.now() + stall, Timed::Woken(cell));
        }
    }
}

/// See the module. Clones share the simulation.
#[derive(Clone)]
pub struct Simulation(Arc<Shared>);

impl Simulation {
    /// A simulation of this seed that starts at `start`. Background work takes up to `delay_max` of virtual time.
    pub fn new(seed: u64, start: Timestamp, delay_max: Duration) -> Self {
        let delay_max_us = u64::try_from(delay_max.as_micros()).unwrap_or(u64::MAX);
        let state = State { seed, random: seed, delay_max_us, ..State::default() };
        Simulation(Arc::new(Shared { state: Mutex::new(state), clock: ManualClock::new(start) }))
    }

    /// From now on, one task in four is slow: of its steps, half begin up to so long after they could.
    pub fn set_stalls(&self, stall_max: Duration) {
        self.0.lock().stall_max_us = u64::try_from(stall_max.as_micros()).unwrap_or(u64::MAX);
    }

    /// The virtual clock.
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(self.0.clock.clone())
    }

    /// A number below `below`, from the seed.
    pub fn draw(&self, below: u64) -> u64 {
        self.0.lock().draw(below)
    }

    /// Does `work` at a virtual time.
    pub fn at(&self, time: Timestamp, work: impl FnOnce() + Send + 'static) {
        self.0.lock().at(time, Timed::Work(Box::new(work)));
    }

    /// Makes one step; `false` when nothing is left to do.
    pub fn step(&self) -> bool {
        self.step_within(Timestamp::MAX)
    }

    /// Makes one step, unless the next thing to do comes after `limit`; says whether it did.
    pub fn step_within(&self, limit: Timestamp) -> bool {
        let now = self.0.clock.now();
        let mut state = self.0.lock();
        if !state.ready.is_empty() {
            let ready = state.ready.len() as u64;
            let chosen = state.draw(ready) as usize;
            let cell = state.ready.swap_remove(chosen);
            state.history.add(now, Event::Step(cell.home));
            drop(state);
            if let Some(at) = cell.run(now) {
                self.0.lock().at(at, Timed::Cell(cell));
            }
            return true;
        }
        let Some(next) = state.timed.first_entry().filter(|next| next.key().0 <= limit) else { return false };
        let ((time, number), what) = next.remove_entry();
        let event = match &what {
            Timed::Cell(cell) | Timed::Woken(cell) => Event::Timer(cell.home),
            Timed::Work(_) => Event::Work(number),
        };
        state.history.add(time, event);
        drop(state);
        self.0.clock.advance_to(time);
        match what {
            Timed::Cell(cell) => cell.timer_fired(time),
            Timed::Woken(cell) => self.0.lock().ready.push(cell),
            // As on a background thread: work reports its own failures.
            Timed::Work(work) => drop(catch_unwind(AssertUnwindSafe(work))),
        }
        true
    }

    /// Moves the clock to a later time, without doing what is due until then.
    pub fn advance_to(&self, time: Timestamp) {
        self.0.clock.advance_to(time);
    }

    /// As if the process had died: all tasks, work and timers are dropped, and nobody is told. Time and the
    /// sequence of random numbers go on. Not to be called by a task.
    pub fn crash(&self) {
        let mut state = self.0.lock();
        let cells = std::mem::take(&mut state.cells);
        let left = (std::mem::take(&mut state.ready), std::mem::take(&mut state.timed));
        drop(state);
        // All are dead before the first is dropped, so that none wakes another.
        let cells: Vec<Arc<Cell>> = cells.iter().filter_map(Weak::upgrade).collect();
        let tasks: Vec<Option<Box<dyn Task>>> = cells.iter().map(|cell| cell.kill()).collect();
        drop((tasks, left));
    }

    /// How many tasks there are.
    pub fn tasks(&self) -> usize {
        self.cells().iter().filter(|cell| cell.is_occupied()).count()
    }

    /// How many places of tasks somebody still refers to: a channel that is not freed keeps those of both its ends.
    pub fn places(&self) -> usize {
        self.cells().len()
    }

    fn cells(&self) -> Vec<Arc<Cell>> {
        self.0.lock().cells.iter().filter_map(Weak::upgrade).collect()
    }

    /// Puts a line into the [history](Self::history).
    pub fn note(&self, text: impl Into<String>) {
        let now = self.0.clock.now();
        self.0.lock().history.add(now, Event::Note(text.into()));
    }

    /// What happened last, one line for each step.
    pub fn history(&self) -> String {
        self.0.lock().history.shown()
    }

    /// A hash of all that ever happened: two runs that differ in any step differ here.
    pub fn history_hash(&self) -> u64 {
        self.0.lock().history.hash()
    }

    /// Steps until `done`, or until nothing is left to do, or until so many steps were made. Says whether `done` holds.
    pub fn run_until(&self, steps_max: u64, mut done: impl FnMut() -> bool) -> bool {
        for _ in 0..steps_max {
            if done() {
                return true;
            }
            if !self.step() {
                break;
            }
        }
        done()
    }
}

impl Scheduler for Simulation {
    fn slot(&self, _affinity: u32) -> Arc<dyn Slot> {
        let mut state = self.0.lock();
        let cell = Cell::new(self.0.clone(), state.history.new_cell());
        state.cells.retain(|cell| cell.strong_count() > 0);
        state.cells.push(Arc::downgrade(&cell));
        Arc::new(NamedSlot { slot: CellSlot(cell), simulation: self.clone() })
    }
}

/// A slot that tells the history who is in it.
struct NamedSlot {
    slot: CellSlot,
    simulation: Simulation,
}

impl Slot for NamedSlot {
    fn waker(&self) -> Waker {
        self.slot.waker()
    }

    fn start(&self, task: Box<dyn Task>) {
        self.simulation.0.lock().history.name(self.slot.0.home, task.name());
        self.slot.start(task);
    }
}

impl Background for Simulation {
    fn run(&self, work: Box<dyn FnOnce() + Send + 'static>) {
        let mut state = self.0.lock();
        let delay_max_us = state.delay_max_us;
        let delay = Duration::from_micros(state.draw(delay_max_us.saturating_add(1)));
        state.at(self.0.clock.now() + delay, Timed::Work(work));
    }
}
