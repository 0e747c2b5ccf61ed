//! What jobs run on.

use flugs_task::{BackgroundPool, CHANNEL_BYTES, Pool, Scheduler, Simulation, ThreadPerTask};
use flugs_types::{Background, Clock, SystemClock};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// How many background threads there are at most: enough to keep a few slow stores busy.
const BACKGROUND_THREADS: usize = 16;

/// A scheduler, background threads and a clock. Clones share them; jobs of one runtime share its workers.
#[derive(Clone)]
pub struct Runtime {
    pub(crate) scheduler: Arc<dyn Scheduler>,
    pub(crate) background: Arc<dyn Background>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) channel_bytes: usize,
    /// Where the next job's subtasks begin, so that many small jobs spread over the workers.
    next: Arc<AtomicU32>,
}

impl Runtime {
    /// One worker for each core.
    pub fn new() -> Self {
        Self::with_workers(std::thread::available_parallelism().map_or(1, |n| n.get()))
    }

    /// So many workers.
    pub fn with_workers(workers: usize) -> Self {
        Self::with_clock(workers, Arc::new(SystemClock))
    }

    /// So many workers, and a clock of one's own, which must move by itself.
    pub fn with_clock(workers: usize, clock: Arc<dyn Clock>) -> Self {
        Self::of(
            Arc::new(Pool::new(workers, clock.clone())),
            Arc::new(BackgroundPool::new(BACKGROUND_THREADS)),
            clock,
        )
    }

    /// A thread for each task, for tasks that block.
    pub fn thread_per_task() -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let background = Arc::new(BackgroundPool::new(BACKGROUND_THREADS));
        Self::of(Arc::new(ThreadPerTask::new(clock.clone())), background, clock)
    }

    /// The simulator: nothing moves but by its steps.
    pub fn simulated(simulation: &Simulation) -> Self {
        Self::of(Arc::new(simulation.clone()), Arc::new(simulation.clone()), simulation.clock())
    }

    fn of(scheduler: Arc<dyn Scheduler>, background: Arc<dyn Background>, clock: Arc<dyn Clock>) -> Self {
        Runtime { scheduler, background, clock, channel_bytes: CHANNEL_BYTES, next: Arc::default() }
    }

    /// About how many bytes may wait in a channel between two subtasks (default 512 KiB): with less, a job needs less
    /// memory and its checkpoints find less on their way.
    #[must_use]
    pub fn channel_bytes(mut self, bytes: usize) -> Self {
        self.channel_bytes = bytes.max(1);
        self
    }

    /// The clock that its jobs see.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(crate) fn next_affinity(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

impl Default for Runtime {
    fn default() -> Self {
        Self::new()
    }
}
