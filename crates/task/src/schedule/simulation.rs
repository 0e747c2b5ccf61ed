//! The simulator: one thread, virtual time, every choice from a seed.
//!
//! Ready tasks, background work and timers are taken one at a time in an order that the seed decides; time stands still
//! while anything is ready, and then jumps to the next timer. The same seed gives the same run, step by step.

use super::cell::{Cell, CellSlot, Queue};
use super::{Scheduler, Slot};
use flugs_types::{Background, Clock, ManualClock, Timestamp};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

type Work = Box<dyn FnOnce() + Send>;

enum Timed {
    Cell(Arc<Cell>),
    Work(Work),
}

#[derive(Default)]
struct State {
    random: u64,
    ready: Vec<Arc<Cell>>,
    timed: BTreeMap<(Timestamp, u64), Timed>,
    sequence: u64,
    delay_max_us: u64,
}

impl State {
    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below.max(1)
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
        self.lock().ready.push(cell);
    }
}

/// See the module. Clones share the simulation.
#[derive(Clone)]
pub struct Simulation(Arc<Shared>);

impl Simulation {
    /// A simulation of this seed that starts at `start`. Background work takes up to `delay_max` of virtual time.
    pub fn new(seed: u64, start: Timestamp, delay_max: Duration) -> Self {
        let delay_max_us = u64::try_from(delay_max.as_micros()).unwrap_or(u64::MAX);
        let state = State { random: seed, delay_max_us, ..State::default() };
        Simulation(Arc::new(Shared { state: Mutex::new(state), clock: ManualClock::new(start) }))
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
        let mut state = self.0.lock();
        if !state.ready.is_empty() {
            let ready = state.ready.len() as u64;
            let chosen = state.draw(ready) as usize;
            let cell = state.ready.swap_remove(chosen);
            drop(state);
            if let Some(at) = cell.run(self.0.clock.now()) {
                self.0.lock().at(at, Timed::Cell(cell));
            }
            return true;
        }
        let Some(((time, _), what)) = state.timed.pop_first() else { return false };
        drop(state);
        self.0.clock.advance_to(time);
        match what {
            Timed::Cell(cell) => cell.timer_fired(time),
            Timed::Work(work) => work(),
        }
        true
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
    fn slot(&self, affinity: u32) -> Arc<dyn Slot> {
        Arc::new(CellSlot(Cell::new(self.0.clone(), affinity as usize)))
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
