//! Whole jobs under faults: one thread, virtual time, everything from a seed.
//!
//! A [`SimulatedCluster`] runs a program in one process after another until its job has finished. Processes die at any
//! step of any task, are cut off and replaced while they go on running, or are asked to stop, and the next one has
//! another parallelism; the [checkpoint store](FaultyStore) and the [system that takes the results](External) fail before and
//! after they took effect, or take effect late; user functions fail and panic; checkpoints run out of time; channels
//! hold hardly a row. What outlives a process is the store and the external system, and nothing else.
//!
//! The last process runs without faults, so every simulation comes to its end, at which all results must be
//! there, each once.

mod explore;
mod external;
mod faults;
mod store;

pub use explore::explore;
pub use external::External;
pub use faults::Faults;
pub use store::FaultyStore;

use faults::Rates;
use flugs_api::Environment;
use flugs_batch::Record;
use flugs_checkpoint::CheckpointOptions;
use flugs_cluster::{JobHandle, JobStatus, RestartStrategy, Restore, Runtime};
use flugs_task::Simulation;
use flugs_types::{ErrorKind, Timestamp};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

/// How many faults a simulation has at most, besides deaths of processes.
const FAULTS_MAX: u32 = 40;
/// How many processes die, are cut off or stopped at most.
const DEATHS_MAX: u64 = 4;
/// More steps than any process of a job that a simulation is fit for needs.
const STEPS_MAX: u64 = 2_000_000;
/// How long processes that were cut off may go on after the end of the job.
const ZOMBIE_STEPS_MAX: u64 = 20_000;
/// More processes than are ever needed.
const PROCESSES_MAX: u32 = 50;

/// What a simulation came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatedReport {
    /// How many processes ran the job.
    pub processes: u32,
    /// How many times the job was started again within a process.
    pub restarts: u32,
    /// How many checkpoints were completed.
    pub checkpoints: u64,
    /// How many faults were injected, deaths of processes not counted.
    pub faults: u32,
    /// How many steps were made.
    pub steps: u64,
    /// A hash over all steps: equal for equal seeds and programs.
    pub history: u64,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Finished,
    Failed,
    Died,
    /// It goes on, but another one is started.
    CutOff,
    /// It was asked to stop, to be started again later.
    Canceled,
}

/// See the module. It is made for one run.
pub struct SimulatedCluster {
    simulation: Simulation,
    faults: Faults,
    store: FaultyStore,
    /// How many processes are still to die or to be cut off.
    deaths: Cell<u64>,
    steps: Cell<u64>,
    restarts: Cell<u32>,
    checkpoints: Cell<u64>,
    /// Jobs of processes that were cut off.
    zombies: RefCell<Vec<JobHandle>>,
}

impl SimulatedCluster {
    /// A cluster whose schedule and faults come from `seed`.
    pub fn new(seed: u64) -> Self {
        let cluster = Self::calm(seed);
        cluster.deaths.set(1 + cluster.draw(DEATHS_MAX));
        cluster
    }

    /// A cluster without faults, whose schedule comes from `seed`.
    pub fn calm(seed: u64) -> Self {
        // Drawn before the simulation exists, which cannot change it later.
        let delay_max_us = [0, 100, 1_000, 10_000][(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62) as usize];
        let start = Timestamp::from_secs(1_000_000);
        let simulation = Simulation::new(seed, start, Duration::from_micros(delay_max_us));
        let faults = Faults::new(simulation.clone(), FAULTS_MAX);
        let store = FaultyStore::new(faults.clone(), simulation.clock());
        SimulatedCluster {
            simulation,
            faults,
            store,
            deaths: Cell::new(0),
            steps: Cell::new(0),
            restarts: Cell::new(0),
            checkpoints: Cell::new(0),
            zombies: RefCell::default(),
        }
    }

    /// A system outside that takes results, to be used as a sink.
    pub fn external<T: Record + Clone>(&self) -> External<T> {
        External::new(self.faults.clone(), self.store.clone(), self.simulation.clone())
    }

    /// Faults that the functions of a program may have.
    pub fn faults(&self) -> Faults {
        self.faults.clone()
    }

    /// A number below `below`, from the seed; for choices that a program makes anew in each process.
    pub fn draw(&self, below: u64) -> u64 {
        self.simulation.draw(below)
    }

    /// Runs the job that `program` builds to its end. An error says what went wrong and what happened last.
    pub fn run(&self, program: impl Fn(&Environment)) -> Result<SimulatedReport, String> {
        match self.processes(&program) {
            Ok(processes) => Ok(SimulatedReport {
                processes,
                restarts: self.restarts.get(),
                checkpoints: self.checkpoints.get(),
                faults: self.faults.injected(),
                steps: self.steps.get(),
                history: self.simulation.history_hash(),
            }),
            Err(reason) => Err(self.explained(reason)),
        }
    }

    /// A reason with what happened last.
    pub fn explained(&self, reason: impl std::fmt::Display) -> String {
        format!("{reason}\n\nwhat happened last:\n{}", self.simulation.history())
    }

    fn processes(&self, program: &impl Fn(&Environment)) -> Result<u32, String> {
        for number in 1..=PROCESSES_MAX {
            let faulty = self.deaths.get() > 0;
            self.faults.begin(if faulty { Rates::drawn(&self.simulation) } else { Rates::default() });
            let end = self.process(program, faulty)?;
            self.simulation.note(format!("process {number}: {end:?}"));
            match end {
                End::Finished => return self.all_gone().map(|()| number),
                End::Died => {
                    self.zombies.borrow_mut().clear();
                    self.simulation.crash();
                }
                End::Failed | End::CutOff | End::Canceled => {}
            }
            let pause = Duration::from_micros(self.draw(20_000));
            self.simulation.advance_to(self.simulation.clock().now() + pause);
        }
        Err(format!("the job has not finished after {PROCESSES_MAX} processes"))
    }

    fn environment(&self, faulty: bool) -> Environment {
        let env = Environment::new("simulated");
        let ms = |of: &[u64]| Duration::from_millis(of[self.draw(of.len() as u64) as usize]);
        let options = CheckpointOptions {
            interval: (self.draw(6) > 0).then(|| ms(&[1, 2, 5, 20])),
            // A short one makes checkpoints fail in plenty; without faults none may.
            timeout: if faulty { ms(&[1, 2, 20, 500]) } else { Duration::from_secs(60) },
            min_pause: ms(&[0, 0, 1, 3]),
            tolerable_failed: if faulty { [0, 2, 1000][self.draw(3) as usize] } else { 0 },
        };
        // Of the size of a few rows: tasks wait for each other all the time.
        let channel_bytes = [1, 100, 1_000, 1 << 20][self.draw(4) as usize];
        self.simulation.set_stalls(ms(&[0, 1, 5]));
        let restart = match self.draw(4) {
            0 => RestartStrategy::None,
            _ => RestartStrategy::FixedDelay { attempts: 1000, delay: ms(&[0, 1, 5]) },
        };
        env.set_parallelism(1 + self.draw(3) as u32)
            .checkpoint_store(Arc::new(self.store.clone()))
            .checkpoint_options(options)
            .retained_checkpoints(1 + self.draw(3) as usize)
            .restore(Restore::Latest)
            .restart_strategy(restart)
            .runtime(&Runtime::simulated(&self.simulation).channel_bytes(channel_bytes));
        env
    }

    /// Runs one process until it ends in whatever way.
    fn process(&self, program: &impl Fn(&Environment), faulty: bool) -> Result<End, String> {
        let env = self.environment(faulty);
        program(&env);
        let job = env.execute_async().map_err(|e| format!("the program does not start: {e}"))?;
        let lifetime = if faulty { self.lifetime() } else { STEPS_MAX };
        let mut restarts = 0;
        for step in 0..STEPS_MAX {
            if step == lifetime {
                match self.draw(5) {
                    0 => {
                        self.zombies.borrow_mut().push(job);
                        return Ok(self.die(End::CutOff));
                    }
                    1 => job.cancel(),
                    _ => {
                        self.count(&job);
                        return Ok(self.die(End::Died));
                    }
                }
            }
            self.ask(&job);
            if let Some(end) = self.step(&job, faulty, &mut restarts)? {
                return Ok(end);
            }
        }
        Err(format!("no end after {STEPS_MAX} steps: {:?}", job.report()))
    }

    /// Makes a step and looks what has become of the process.
    fn step(&self, job: &JobHandle, faulty: bool, restarts: &mut u32) -> Result<Option<End>, String> {
        let more = self.simulation.step();
        self.steps.set(self.steps.get() + 1);
        if let Some(violation) = self.faults.first_violation() {
            return Err(violation);
        }
        if self.faults.is_dead() {
            self.count(job);
            return Ok(Some(self.die(End::Died)));
        }
        match job.status() {
            JobStatus::Restarting => self.check_restart(job, restarts).map(|()| None),
            status if status.is_terminal() => self.ended(job, faulty).map(Some),
            status if !more => Err(format!("nothing is left to do, but the job is {status:?}")),
            _ => Ok(None),
        }
    }

    /// What users ask for now and then.
    fn ask(&self, job: &JobHandle) {
        match self.draw(2_000) {
            0 | 1 => drop(job.trigger_checkpoint()),
            2 => drop(job.trigger_savepoint()),
            _ => {}
        }
    }

    /// After how many steps a process dies: often at the start, where most changes in few steps.
    fn lifetime(&self) -> u64 {
        let longest = [100, 1_000, 10_000][self.draw(3) as usize];
        1 + self.draw(longest)
    }

    fn die(&self, end: End) -> End {
        self.deaths.set(self.deaths.get().saturating_sub(1));
        end
    }

    fn count(&self, job: &JobHandle) {
        let report = job.report();
        self.restarts.set(self.restarts.get() + report.restarts);
        self.checkpoints.set(self.checkpoints.get() + report.checkpoints);
    }

    /// A restart is for failures of what surrounds the job; one of Flugs itself must not hide behind it.
    fn check_restart(&self, job: &JobHandle, seen: &mut u32) -> Result<(), String> {
        let report = job.report();
        if *seen == report.restarts {
            return Ok(());
        }
        *seen = report.restarts;
        let failure = report.failure.unwrap_or_default();
        self.simulation.note(format!("restart after: {failure}"));
        let hidden = [ErrorKind::Bug, ErrorKind::State].map(ErrorKind::as_str);
        match hidden.into_iter().find(|kind| failure.contains(kind)) {
            Some(_) => Err(format!("the job was started again after: {failure}")),
            None => Ok(()),
        }
    }

    /// The job of a process is over.
    fn ended(&self, job: &JobHandle, faulty: bool) -> Result<End, String> {
        self.count(job);
        let error = match job.wait() {
            Ok(report) if report.status == JobStatus::Finished => return Ok(End::Finished),
            Ok(_) => return Ok(self.die(End::Canceled)),
            Err(error) => error,
        };
        self.simulation.note(format!("the job failed: {error}"));
        let expected = match error.kind() {
            ErrorKind::Transient | ErrorKind::User => faulty,
            // One that was cut off before it claimed the job has claimed it since.
            ErrorKind::Fenced => !self.zombies.borrow().is_empty(),
            _ => false,
        };
        if expected { Ok(self.die(End::Failed)) } else { Err(format!("the job failed: {error}")) }
    }

    /// After the end: every job is over, and nothing is left in memory.
    fn all_gone(&self) -> Result<(), String> {
        let mut steps = 0;
        while steps < ZOMBIE_STEPS_MAX && self.simulation.step() {
            steps += 1;
        }
        self.steps.set(self.steps.get() + steps);
        let left = self.zombies.take().into_iter().filter(|zombie| !zombie.status().is_terminal()).count();
        if left > 0 && steps < ZOMBIE_STEPS_MAX {
            return Err(format!("{left} jobs of processes that were cut off wait for nothing"));
        }
        if left > 0 {
            // With a timeout that no checkpoint keeps, a process never looks whether it still owns the job.
            self.simulation.crash();
        }
        match (self.faults.first_violation(), self.simulation.tasks(), self.simulation.places()) {
            (Some(violation), ..) => Err(violation),
            (None, 0, 0) => Ok(()),
            (None, tasks, places) => Err(format!(
                "{tasks} tasks are left after the end, and {places} places of tasks are referred to"
            )),
        }
    }
}

impl Drop for SimulatedCluster {
    fn drop(&mut self) {
        // Where a run ended before its job, tasks and their wakers hold each other.
        self.simulation.crash();
    }
}
