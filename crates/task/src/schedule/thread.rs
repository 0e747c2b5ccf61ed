//! A thread for each task: for tasks that block, at the price of a thread each.

use super::{Scheduler, Slot, Step, Task, step_task};
use crate::mail::TaskEvent;
use flugs_types::{Clock, Error};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Wake, Waker};
use std::thread::Thread;

/// See the module. The threads end with their tasks.
pub struct ThreadPerTask {
    clock: Arc<dyn Clock>,
}

impl ThreadPerTask {
    /// A scheduler over this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        ThreadPerTask { clock }
    }
}

impl Scheduler for ThreadPerTask {
    fn slot(&self, _: u32) -> Arc<dyn Slot> {
        let signal = Arc::new(Signal { woken: AtomicBool::new(false), thread: OnceLock::new() });
        Arc::new(ThreadSlot { signal, clock: self.clock.clone(), started: Mutex::new(false) })
    }
}

struct Signal {
    woken: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.woken.swap(true, Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }
}

struct ThreadSlot {
    signal: Arc<Signal>,
    clock: Arc<dyn Clock>,
    started: Mutex<bool>,
}

impl Slot for ThreadSlot {
    fn waker(&self) -> Waker {
        Waker::from(self.signal.clone())
    }

    fn start(&self, task: Box<dyn Task>) {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *started, true) {
            return;
        }
        let (signal, clock) = (self.signal.clone(), self.clock.clone());
        let (name, obituary) = (task.name(), task.obituary());
        let run = move || run(task, &signal, clock.as_ref());
        // Where no thread is to be had, the task is dropped with the closure.
        if let Err(error) = std::thread::Builder::new().name(name).spawn(run) {
            let failure = Error::environment("the system has no thread to give for a task").caused_by(error);
            obituary(TaskEvent::Failed(failure.mend("raise the limit of threads, or run the job on a pool")));
        }
    }
}

fn run(task: Box<dyn Task>, signal: &Signal, clock: &dyn Clock) {
    let _ = signal.thread.set(std::thread::current());
    let mut task = Some(task);
    loop {
        // A swap, so that what was written before the last wake is seen.
        signal.woken.swap(false, Ordering::SeqCst);
        let now = clock.now();
        match step_task(&mut task, now) {
            Step::Done => return,
            Step::Again => {}
            Step::Wait => {
                while !signal.woken.load(Ordering::SeqCst) {
                    std::thread::park();
                }
            }
            Step::WaitUntil(t) => {
                let due = clock.monotonic() + t.since(now);
                let left = || due.saturating_sub(clock.monotonic());
                while !signal.woken.load(Ordering::SeqCst) && clock.now() < t && !left().is_zero() {
                    std::thread::park_timeout(left());
                }
            }
        }
    }
}
