//! A thread for each task: for tasks that block, at the price of a thread each.

use super::{Scheduler, Slot, Step, Task, step_task};
use flugs_types::Clock;
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
        let name = task.name();
        let run = move || run(task, &signal, clock.as_ref());
        std::thread::Builder::new().name(name).spawn(run).expect("the system has a thread to give");
    }
}

fn run(task: Box<dyn Task>, signal: &Signal, clock: &dyn Clock) {
    let _ = signal.thread.set(std::thread::current());
    let mut task = Some(task);
    loop {
        signal.woken.store(false, Ordering::SeqCst);
        match step_task(&mut task, clock.now()) {
            Step::Done => return,
            Step::Again => {}
            Step::Wait => {
                while !signal.woken.load(Ordering::SeqCst) {
                    std::thread::park();
                }
            }
            Step::WaitUntil(t) => {
                while !signal.woken.load(Ordering::SeqCst) && clock.now() < t {
                    std::thread::park_timeout(t.since(clock.now()));
                }
            }
        }
    }
}
