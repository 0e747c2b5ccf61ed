//! A pool of worker threads, cooperative.
//!
//! Each worker has a queue; a woken task goes into its home worker's queue, so a task stays where its data is
//! warm. A worker without work takes from the others' queues, then looks around for a moment, then parks. Wakes and timers
//! unpark it. Tasks must not block; one that does holds up its worker, and the others take what waits behind it.

use super::cell::{Cell, CellSlot, Queue};
use super::{Scheduler, Slot};
use flugs_types::{Clock, Timestamp};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

/// How long a worker looks around before it parks: about the cost of being unparked.
const LOOK_AROUND: Duration = Duration::from_micros(20);

/// How many steps a worker makes between two looks at its timers.
const STEPS_BETWEEN_TIMERS: u32 = 16;

struct Timer {
    at: Timestamp,
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

    fn unpark(&self) {
        if self.parked.swap(false, Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }
}

struct Shared {
    workers: Vec<Worker>,
    next: AtomicUsize,
    stop: AtomicBool,
}

impl Queue for Shared {
    fn enqueue(&self, cell: Arc<Cell>) {
        let worker = &self.workers[cell.home];
        let mut queue = worker.lock();
        queue.push_back(cell);
        worker.waiting.store(queue.len(), Ordering::SeqCst);
        drop(queue);
        worker.unpark();
    }
}

/// See the module. Dropping it stops the workers after the step they are in; tasks that are left are dropped.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// A pool of `workers` threads (at least one).
    pub fn new(workers: usize, clock: Arc<dyn Clock>) -> Self {
        let workers = workers.max(1);
        let shared = Arc::new(Shared {
            workers: (0..workers).map(|_| Worker::default()).collect(),
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        });
        let threads = (0..workers).map(|i| Self::spawn(i, shared.clone(), clock.clone())).collect();
        Pool { shared, threads }
    }

    fn spawn(index: usize, shared: Arc<Shared>, clock: Arc<dyn Clock>) -> JoinHandle<()> {
        let name = format!("flugs-worker-{index}");
        let run = move || Loop { index, shared, clock, timers: BinaryHeap::new() }.run();
        std::thread::Builder::new().name(name).spawn(run).expect("the system has a thread to give")
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.threads.len()
    }
}

impl Scheduler for Pool {
    fn slot(&self, affinity: u32) -> Arc<dyn Slot> {
        // Jobs start at different workers, so that many small jobs spread evenly.
        let _ = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let home = affinity as usize % self.shared.workers.len();
        Arc::new(CellSlot(Cell::new(self.shared.clone(), home)))
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
                    self.timers.push(Reverse(Timer { at, cell }));
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
        // Whoever is left is dropped with the queues; timers hold cells, so they go first.
        self.timers.clear();
        own.lock().clear();
    }

    fn take(&self) -> Option<Arc<Cell>> {
        let n = self.shared.workers.len();
        (0..n).find_map(|k| self.shared.workers[(self.index + k) % n].take())
    }

    fn fire(&mut self, now: Timestamp) -> bool {
        let mut fired = false;
        while self.timers.peek().is_some_and(|t| t.0.at <= now) {
            if let Some(Reverse(timer)) = self.timers.pop() {
                timer.cell.timer_fired(timer.at);
                fired = true;
            }
        }
        fired
    }

    /// Looks for work for a moment.
    fn look_around(&mut self) -> bool {
        let until = self.clock.monotonic() + LOOK_AROUND;
        loop {
            for _ in 0..32 {
                if self.shared.workers.iter().any(|w| w.waiting.load(Ordering::Relaxed) > 0) {
                    return true;
                }
                std::hint::spin_loop();
            }
            if self.clock.monotonic() >= until {
                return false;
            }
            if self.timers.peek().is_some_and(|t| t.0.at <= self.clock.now()) {
                return true;
            }
        }
    }

    fn park(&self, own: &Worker) {
        own.parked.store(true, Ordering::SeqCst);
        // What was queued before the flag was set did not unpark.
        if own.waiting.load(Ordering::SeqCst) > 0 || self.shared.stop.load(Ordering::SeqCst) {
            own.parked.store(false, Ordering::SeqCst);
            return;
        }
        match self.timers.peek() {
            Some(Reverse(timer)) => std::thread::park_timeout(timer.at.since(self.clock.now())),
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
