//! A pool of worker threads, cooperative.
//!
//! Each worker has a queue; a woken task goes into its home worker's queue, so a task stays where its data is
//! warm. A worker without work takes from the others' queues, then looks around for a moment, then parks. Wakes and timers
//! unpark it; so does work that another worker does not come to at once. Tasks must not block; one that does holds up
//! its worker, and the others take what waits behind it.

use super::cell::{Cell, CellSlot, Queue};
use super::{Scheduler, Slot};
use flugs_types::{Clock, Timestamp};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

/// How long a worker looks around before it parks: about the cost of being unparked.
const LOOK_AROUND: Duration = Duration::from_micros(10);

/// How many steps a worker makes between two looks at its timers.
const STEPS_BETWEEN_TIMERS: u32 = 16;

struct Timer {
    at: Timestamp,
    /// The same in monotonic time: a clock that is set back must not make tasks sleep longer.
    due: Duration,
    cell: Arc<Cell>,
}

impl PartialEq for Timer {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}
impl Eq for Timer {}
impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Timer {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

#[derive(Default)]
struct Worker {
    queue: Mutex<VecDeque<Arc<Cell>>>,
    waiting: AtomicUsize,
    parked: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Worker {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Cell>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Arc<Cell>> {
        if self.waiting.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut queue = self.lock();
        let cell = queue.pop_front();
        self.waiting.store(queue.len(), Ordering::Release);
        cell
    }

    /// Whether it was parked.
    fn unpark(&self) -> bool {
        let parked = self.parked.load(Ordering::SeqCst) && self.parked.swap(false, Ordering::SeqCst);
        if let Some(thread) = self.thread.get().filter(|_| parked) {
            thread.unpark();
        }
        parked
    }

    fn is_current(&self) -> bool {
        self.thread.get().is_some_and(|thread| thread.id() == std::thread::current().id())
    }
}

struct Shared {
    workers: Vec<Worker>,
    /// How many workers look around: whatever is queued, they see it.
    looking: AtomicUsize,
    /// All cells, so that what is left at the end can be dropped: tasks hold each other's wakers.
    cells: Mutex<Vec<Weak<Cell>>>,
    stop: AtomicBool,
}

impl Shared {
    fn lock_cells(&self) -> MutexGuard<'_, Vec<Weak<Cell>>> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn register(&self, cell: &Arc<Cell>) {
        let mut cells = self.lock_cells();
        if cells.len() == cells.capacity() {
            cells.retain(|cell| cell.strong_count() > 0);
            // Room for as many again, so that looking through them stays rare.
            let live = cells.len();
            cells.reserve(live + 1);
        }
        cells.push(Arc::downgrade(cell));
    }

    /// Drops the tasks that are left. All are taken out first: one that is dropped wakes others.
    fn clear(&self) {
        let cells: Vec<_> = self.lock_cells().drain(..).filter_map(|cell| cell.upgrade()).collect();
        let tasks: Vec<_> = cells.iter().filter_map(|cell| cell.kill()).collect();
        for task in tasks {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(task)));
        }
        for worker in &self.workers {
            while let Some(queued) = worker.take() {
                drop(queued);
            }
        }
    }

    fn any_waiting(&self) -> bool {
        self.workers.iter().any(|worker| worker.waiting.load(Ordering::SeqCst) > 0)
    }
}

impl Queue for Shared {
    fn enqueue(&self, cell: Arc<Cell>) {
        let home = &self.workers[cell.home];
        let mut queue = home.lock();
        queue.push_back(cell);
        let waiting = queue.len();
        home.waiting.store(waiting, Ordering::SeqCst);
        drop(queue);
        // A task that wakes one other, its neighbour in the stream, is followed by it on the same worker.
        let next = waiting == 1 && home.is_current();
        if !home.unpark() && !next && self.looking.load(Ordering::SeqCst) == 0 {
            self.workers.iter().any(Worker::unpark);
        }
    }
}

/// See the module. Dropping it stops the workers after the step they are in; tasks that are left are dropped.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// A pool of `workers` threads (at least one), or of as many as the system has to give.
    pub fn new(workers: usize, clock: Arc<dyn Clock>) -> Self {
        let workers = workers.max(1);
        let shared = Arc::new(Shared {
            workers: (0..workers).map(|_| Worker::default()).collect(),
            looking: AtomicUsize::new(0),
            cells: Mutex::default(),
            stop: AtomicBool::new(false),
        });
        let spawn = |i| Self::spawn(i, shared.clone(), clock.clone());
        let mut threads = vec![spawn(0).expect("the system has one thread to give")];
        // What is queued for a worker without a thread is taken by the others.
        threads.extend((1..workers).map_while(|i| spawn(i).ok()));
        Pool { shared, threads }
    }

    fn spawn(index: usize, shared: Arc<Shared>, clock: Arc<dyn Clock>) -> std::io::Result<JoinHandle<()>> {
        let name = format!("flugs-worker-{index}");
        let run = move || Loop { index, shared, clock, timers: BinaryHeap::new() }.run();
        std::thread::Builder::new().name(name).spawn(run)
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.threads.len()
    }
}

impl Scheduler for Pool {
    fn slot(&self, affinity: u32) -> Arc<dyn Slot> {
        let home = affinity as usize % self.shared.workers.len();
        let cell = Cell::new(self.shared.clone(), home);
        self.shared.register(&cell);
        Arc::new(CellSlot(cell))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        let own = std::thread::current().id();
        for (worker, thread) in self.shared.workers.iter().zip(self.threads.drain(..)) {
            worker.parked.store(false, Ordering::SeqCst);
            thread.thread().unpark();
            // The last owner may be a task's own supervisor, dropped on a worker.
            if thread.thread().id() != own {
                let _ = thread.join();
            }
        }
        self.shared.clear();
    }
}

struct Loop {
    index: usize,
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
    timers: BinaryHeap<Reverse<Timer>>,
}

impl Loop {
    fn run(mut self) {
        let shared = self.shared.clone();
        let own = &shared.workers[self.index];
        let _ = own.thread.set(std::thread::current());
        precise_timers();
        let mut steps = 0;
        while !shared.stop.load(Ordering::Relaxed) {
            if let Some(cell) = self.take() {
                let now = self.clock.now();
                if let Some(at) = cell.run(now) {
                    let due = self.clock.monotonic() + at.since(now);
                    self.timers.push(Reverse(Timer { at, due, cell }));
                }
                steps += 1;
                if steps >= STEPS_BETWEEN_TIMERS {
                    steps = 0;
                    self.fire(now);
                }
            } else if !self.fire(self.clock.now()) && !self.look_around() {
                self.park(own);
            }
        }
    }

    fn take(&self) -> Option<Arc<Cell>> {
        let n = self.shared.workers.len();
        (0..n).find_map(|k| self.shared.workers[(self.index + k) % n].take())
    }

    fn fire(&mut self, now: Timestamp) -> bool {
        let mut fired = false;
        while self.timers.peek().is_some_and(|t| t.0.at <= now || t.0.due <= self.clock.monotonic()) {
            if let Some(Reverse(timer)) = self.timers.pop() {
                timer.cell.timer_fired(timer.at);
                fired = true;
            }
        }
        fired
    }

    /// Looks for work for a moment.
    fn look_around(&mut self) -> bool {
        self.shared.looking.fetch_add(1, Ordering::SeqCst);
        let found = self.look();
        self.shared.looking.fetch_sub(1, Ordering::SeqCst);
        found
    }

    fn look(&self) -> bool {
        let until = self.clock.monotonic() + LOOK_AROUND;
        loop {
            for _ in 0..32 {
                if self.shared.any_waiting() {
                    return true;
                }
                std::hint::spin_loop();
            }
            if self.clock.monotonic() >= until {
                return false;
            }
            if self.timers.peek().is_some_and(|t| t.0.due <= self.clock.monotonic()) {
                return true;
            }
        }
    }

    fn park(&self, own: &Worker) {
        own.parked.store(true, Ordering::SeqCst);
        // What was queued before the flag was set did not unpark.
        if self.shared.any_waiting() || self.shared.stop.load(Ordering::SeqCst) {
            own.parked.store(false, Ordering::SeqCst);
            return;
        }
        match self.timers.peek() {
            Some(Reverse(timer)) => {
                std::thread::park_timeout(timer.due.saturating_sub(self.clock.monotonic()));
            }
            None => std::thread::park(),
        }
        own.parked.store(false, Ordering::SeqCst);
    }
}

/// Lets a parked worker wake within microseconds of its time rather than within the system's 50.
fn precise_timers() {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: a plain system call that sets a number of this thread.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
    }
}
