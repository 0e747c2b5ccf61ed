//! A task with its scheduling state.
//!
//! ```text
//!            wake                 taken by a worker
//!   Idle -----------> Queued ---------------------> Running ---> Idle | Queued | Done
//!                        ^                             | wake
//!                        +------- step ends -------- Notified
//! ```
//! Only the thread that moved the state to `Running` touches the task; the lock is never contended.
//!
//! What was written before a wake must be seen by the step that answers it, also where the wake finds the cell queued or
//! notified already and changes nothing. So every wake writes the state, and every move of the state by its
//! runner is a swap, which reads the last wake.

use super::{Slot, Step, Task, step_task};
use flugs_types::Timestamp;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Wake, Waker};

const IDLE: u8 = 0;
const QUEUED: u8 = 1;
const RUNNING: u8 = 2;
const NOTIFIED: u8 = 3;
const DONE: u8 = 4;

/// Where a woken task is put.
pub(super) trait Queue: Send + Sync {
    fn enqueue(&self, cell: Arc<Cell>);
}

/// See the module.
pub(super) struct Cell {
    state: AtomicU8,
    task: Mutex<Option<Box<dyn Task>>>,
    queue: Arc<dyn Queue>,
    pub(super) home: usize,
    /// The timers that are set for the task, earliest last. One that is set stays: a later wait than it sets no other,
    /// so that waiting in turn for a near and a far time does not pile up timers.
    timers: Mutex<Vec<Timestamp>>,
}

impl Cell {
    pub(super) fn new(queue: Arc<dyn Queue>, home: usize) -> Arc<Self> {
        Arc::new(Cell {
            state: AtomicU8::new(IDLE),
            task: Mutex::new(None),
            queue,
            home,
            timers: Mutex::default(),
        })
    }

    /// Steps the task once. Only for a cell that was taken from its queue. Says until when it waits, if it does with
    /// a time that no timer is set for yet.
    pub(super) fn run(self: &Arc<Self>, now: Timestamp) -> Option<Timestamp> {
        self.state.swap(RUNNING, Ordering::AcqRel);
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if task.is_none() {
            // Woken before it was started: starting wakes it again.
            drop(task);
            self.rest();
            return None;
        }
        let step = step_task(&mut task, now);
        drop(task);
        match step {
            Step::Done => self.state.store(DONE, Ordering::Release),
            Step::Again => {
                self.state.swap(QUEUED, Ordering::AcqRel);
                self.queue.enqueue(self.clone());
            }
            Step::Wait => self.rest(),
            Step::WaitUntil(t) => {
                let set = self.set_timer(t);
                self.rest();
                return set.then_some(t);
            }
        }
        None
    }

    fn rest(self: &Arc<Self>) {
        if self.state.compare_exchange(RUNNING, IDLE, Ordering::AcqRel, Ordering::Acquire).is_err() {
            self.state.swap(QUEUED, Ordering::AcqRel);
            self.queue.enqueue(self.clone());
        }
    }

    fn lock_timers(&self) -> MutexGuard<'_, Vec<Timestamp>> {
        self.timers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a timer, unless one that comes first is set.
    fn set_timer(&self, at: Timestamp) -> bool {
        let mut timers = self.lock_timers();
        let first = timers.last().is_none_or(|earliest| at < *earliest);
        if first {
            timers.push(at);
        }
        first
    }

    /// Takes the task away, unless it is in a step; it is never stepped again and nobody is told.
    pub(super) fn kill(&self) -> Option<Box<dyn Task>> {
        let mut task = match self.task.try_lock() {
            Ok(task) => task,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        self.state.swap(DONE, Ordering::AcqRel);
        task.take()
    }

    /// Whether a task is in it.
    pub(super) fn is_occupied(&self) -> bool {
        self.task.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// A timer of this cell has come due.
    pub(super) fn timer_fired(self: &Arc<Self>, at: Timestamp) {
        self.lock_timers().retain(|set| *set != at);
        self.wake_by_ref();
    }
}

impl Wake for Cell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = self.state.load(Ordering::Acquire);
        loop {
            let next = match state {
                IDLE => QUEUED,
                RUNNING => NOTIFIED,
                DONE => return,
                same => same,
            };
            match self.state.compare_exchange_weak(state, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(IDLE) => return self.queue.enqueue(self.clone()),
                Ok(_) => return,
                Err(now) => state = now,
            }
        }
    }
}

/// A cell as a slot.
pub(super) struct CellSlot(pub(super) Arc<Cell>);

impl Slot for CellSlot {
    fn waker(&self) -> Waker {
        Waker::from(self.0.clone())
    }

    fn start(&self, task: Box<dyn Task>) {
        *self.0.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
        self.0.wake_by_ref();
    }
}
