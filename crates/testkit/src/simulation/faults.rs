//! What fails, and when: all of it from the seed of the simulation.

use flugs_task::Simulation;
use flugs_types::{Error, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The longest time after which a call that seemed to fail takes effect.
const LATE_MAX_US: u64 = 20_000;

/// How often what fails, in a thousand.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rates {
    /// Calls of the checkpoint store.
    pub(super) store: u64,
    /// Calls of the external system's writers.
    pub(super) sink: u64,
    /// Rows that pass [`Faults::may_panic`] or [`Faults::may_fail`].
    pub(super) row: u64,
    /// Of the calls that fail, those in which the process dies.
    pub(super) death: u64,
}

impl Rates {
    /// Rates for one process. Each kind of fault is absent in some processes, so that the others come to bear.
    pub(super) fn drawn(simulation: &Simulation) -> Self {
        let one = |of: &[u64]| of[simulation.draw(of.len() as u64) as usize];
        Rates {
            store: one(&[0, 30, 150, 400]),
            sink: one(&[0, 10, 50, 200]),
            row: one(&[0, 0, 2, 10]),
            death: one(&[0, 100, 400]),
        }
    }
}

/// How a call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Done,
    /// It fails and has no effect.
    Failed,
    /// It fails although it has taken effect.
    FailedAfter,
    /// It fails, and takes effect later all the same.
    Late(Duration),
}

struct State {
    rates: Rates,
    /// How many faults may still be injected: a job must come to its end.
    budget: u32,
    injected: u32,
    dead: bool,
    violations: Vec<String>,
}

/// The faults of a simulated cluster. Clones share them.
#[derive(Clone)]
pub struct Faults {
    simulation: Simulation,
    state: Arc<Mutex<State>>,
}

impl Faults {
    pub(super) fn new(simulation: Simulation, budget: u32) -> Self {
        let state =
            State { rates: Rates::default(), budget, injected: 0, dead: false, violations: Vec::new() };
        Faults { simulation, state: Arc::new(Mutex::new(state)) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process starts, with these faults.
    pub(super) fn begin(&self, rates: Rates) {
        let mut state = self.lock();
        state.rates = rates;
        state.dead = false;
    }

    /// Whether the process has died in the middle of a call.
    pub(super) fn is_dead(&self) -> bool {
        self.lock().dead
    }

    /// How many faults were injected.
    pub(super) fn injected(&self) -> u32 {
        self.lock().injected
    }

    /// Something happened that must not happen under whatever fault.
    pub(super) fn violation(&self, what: String) {
        self.simulation.note(format!("VIOLATION {what}"));
        self.lock().violations.push(what);
    }

    /// The first violation.
    pub(super) fn first_violation(&self) -> Option<String> {
        self.lock().violations.first().cloned()
    }

    /// Whether something that happens so often in a thousand happens now.
    fn happens(&self, rate: u64) -> bool {
        rate > 0 && self.simulation.draw(1000) < rate
    }

    fn inject(&self, rate: impl Fn(&Rates) -> u64) -> bool {
        let (rate, budget) = {
            let state = self.lock();
            (rate(&state.rates), state.budget)
        };
        if budget == 0 || !self.happens(rate) {
            return false;
        }
        let mut state = self.lock();
        state.budget -= 1;
        state.injected += 1;
        true
    }

    fn fate(&self, what: &str, rate: impl Fn(&Rates) -> u64) -> Fate {
        if self.is_dead() {
            return Fate::Failed;
        }
        if !self.inject(rate) {
            return Fate::Done;
        }
        let death = self.lock().rates.death;
        let dies = self.happens(death);
        let fate = match self.simulation.draw(3) {
            0 => Fate::Failed,
            1 => Fate::FailedAfter,
            _ => Fate::Late(Duration::from_micros(self.simulation.draw(LATE_MAX_US))),
        };
        self.simulation
            .note(format!("fault  {what}: {fate:?}{}", if dies { ", and the process dies" } else { "" }));
        self.lock().dead = dies;
        fate
    }

    pub(super) fn of_store(&self, what: &str) -> Fate {
        self.fate(what, |rates| rates.store)
    }

    pub(super) fn of_sink(&self, what: &str) -> Fate {
        self.fate(what, |rates| rates.sink)
    }

    /// To be called for rows within a program: panics now and then.
    pub fn may_panic(&self) {
        if self.inject(|rates| rates.row) {
            self.simulation.note("fault  a user function panics");
            // Like a panic, but without a report on the standard error output.
            std::panic::resume_unwind(Box::new("injected panic".to_owned()));
        }
    }

    /// To be called for rows within a program: fails now and then.
    pub fn may_fail(&self) -> Result<()> {
        if self.inject(|rates| rates.row) {
            self.simulation.note("fault  a user function fails");
            return Err(Error::user("injected failure"));
        }
        Ok(())
    }
}

/// What a faulty call says.
pub(super) fn injected(what: &str) -> Error {
    Error::transient(format!("injected: {what} got no answer"))
}
