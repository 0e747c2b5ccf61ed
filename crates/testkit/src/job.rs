//! Whole jobs in plain tests: in one thread, under virtual time, in milliseconds.

mod source;

pub use source::TestSource;

use flugs_api::Environment;
use flugs_checkpoint::MemoryStore;
use flugs_cluster::{JobHandle, JobReport, JobStatus, RestartStrategy, Restore, Runtime};
use flugs_task::Simulation;
use flugs_types::{Error, Result, Timestamp};
use std::sync::Arc;
use std::time::Duration;

/// A job that makes more steps at one time than this is called stuck.
const STEPS_MAX: u64 = 10_000_000;

/// A job under test. Nothing moves but by its methods: rows given to a [`TestSource`] are read in the next
/// [`run`](Self::run), timers of processing time fire in [`advance`](Self::advance). Checkpoints are taken on request and
/// when all inputs have ended.
///
/// Results are collected by any sink in memory: one that commits shows them after a
/// [`checkpoint`](Self::checkpoint), each once; one that does not shows them at once, and again after a restore.
///
/// A failure of the job is the error of the call in which it happens.
pub struct TestJob {
    program: Box<dyn Fn(&Environment)>,
    simulation: Simulation,
    store: Arc<MemoryStore>,
    parallelism: u32,
    handle: JobHandle,
}

impl TestJob {
    /// Starts the job that `program` builds, with one subtask for each operator that does not say otherwise. The program is
    /// built again for each restore.
    pub fn start(program: impl Fn(&Environment) + 'static) -> Result<Self> {
        Self::with_parallelism(1, program)
    }

    /// The same with another default parallelism.
    pub fn with_parallelism(parallelism: u32, program: impl Fn(&Environment) + 'static) -> Result<Self> {
        let simulation = Simulation::new(0, Timestamp::EPOCH, Duration::ZERO);
        let store = Arc::new(MemoryStore::new());
        let handle = submit(&program, &simulation, &store, parallelism)?;
        let mut job = TestJob { program: Box::new(program), simulation, store, parallelism, handle };
        job.run()?;
        Ok(job)
    }

    /// Lets the job do all that it can do without more input and without time going on.
    pub fn run(&mut self) -> Result<()> {
        self.run_until(self.now())
    }

    fn run_until(&mut self, time: Timestamp) -> Result<()> {
        for _ in 0..STEPS_MAX {
            if !self.simulation.step_within(time) {
                return match self.handle.status() {
                    JobStatus::Failed => self.handle.wait().map(drop),
                    _ => Ok(()),
                };
            }
        }
        Err(Error::bug(format!("the job is never done at {}", self.now())))
    }

    /// The processing time; it starts at the epoch.
    pub fn now(&self) -> Timestamp {
        self.simulation.clock().now()
    }

    /// Lets processing time go on, and the job do what is due.
    pub fn advance(&mut self, by: Duration) -> Result<()> {
        let target = self.now() + by;
        self.run_until(target)?;
        self.simulation.advance_to(target);
        self.run()
    }

    /// Takes a checkpoint: all that was said to sources so far is read first, and sinks commit.
    pub fn checkpoint(&mut self) -> Result<()> {
        self.run()?;
        let before = self.report().checkpoints;
        self.handle.trigger_checkpoint();
        self.run()?;
        let JobReport { checkpoints, status, failure, .. } = self.report();
        if checkpoints > before {
            return Ok(());
        }
        let reason = failure.unwrap_or_else(|| format!("the job is {status:?}"));
        Err(Error::job(format!("the checkpoint was not completed: {reason}")))
    }

    /// Lets the process die and starts it again from the last checkpoint, or from the beginning where there is none. What
    /// came behind it is read again.
    pub fn fail_and_restore(&mut self) -> Result<()> {
        self.simulation.crash();
        self.handle = submit(&self.program, &self.simulation, &self.store, self.parallelism)?;
        self.run()
    }

    /// Takes a checkpoint and goes on from it with another default parallelism.
    pub fn rescale(&mut self, parallelism: u32) -> Result<()> {
        self.checkpoint()?;
        self.parallelism = parallelism;
        self.fail_and_restore()
    }

    /// Lets the job come to its end after all sources were ended.
    pub fn finish(&mut self) -> Result<JobReport> {
        self.run()?;
        match self.handle.status() {
            JobStatus::Finished => Ok(self.report()),
            status => Err(Error::job(format!("the job is still {status:?}")).mend("end all of its sources")),
        }
    }

    /// What is known of the job.
    pub fn report(&self) -> JobReport {
        self.handle.report()
    }

    /// The sum over the subtasks of an operator, given by name or uid, of the counter with this name. Counted since
    /// the last start.
    pub fn counter(&self, operator: &str, name: &str) -> i64 {
        self.handle.metrics().sum(Some(operator), name)
    }
}

impl Drop for TestJob {
    fn drop(&mut self) {
        // Tasks and their wakers hold each other.
        self.simulation.crash();
    }
}

fn submit(
    program: &impl Fn(&Environment),
    simulation: &Simulation,
    store: &Arc<MemoryStore>,
    parallelism: u32,
) -> Result<JobHandle> {
    let env = Environment::new("test-job");
    env.set_parallelism(parallelism)
        .checkpoint_store(store.clone())
        .checkpoint_interval(None)
        .restore(Restore::Latest)
        .restart_strategy(RestartStrategy::None)
        .runtime(&Runtime::simulated(simulation));
    program(&env);
    env.execute_async()
}
