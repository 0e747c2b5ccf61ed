//! Threads that may block.

use flugs_types::Background;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a thread without work stays.
const IDLE: Duration = Duration::from_secs(10);

type Work = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    work: VecDeque<Work>,
    threads: usize,
    idle: usize,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    more: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Threads that are started when there is work for them, up to a number, and go when there has been none for a while.
/// Dropping it lets work that was handed over be done.
pub struct BackgroundPool {
    shared: Arc<Shared>,
    threads_max: usize,
}

impl BackgroundPool {
    /// A pool of at most so many threads (at least one).
    pub fn new(threads_max: usize) -> Self {
        BackgroundPool { shared: Arc::default(), threads_max: threads_max.max(1) }
    }
}

impl Background for BackgroundPool {
    fn run(&self, work: Box<dyn FnOnce() + Send + 'static>) {
        let mut state = self.shared.lock();
        state.work.push_back(work);
        if state.idle >= state.work.len() || state.threads >= self.threads_max {
            drop(state);
            self.shared.more.notify_one();
            return;
        }
        state.threads += 1;
        drop(state);
        let shared = self.shared.clone();
        let spawned =
            std::thread::Builder::new().name("flugs-background".to_owned()).spawn(move || serve(&shared));
        if spawned.is_err() {
            // The system has no thread to give: those that run do the work; without any, this one must.
            let mut state = self.shared.lock();
            state.threads -= 1;
            let here = if state.threads == 0 { state.work.pop_front() } else { None };
            drop(state);
            if let Some(work) = here {
                work();
            }
        }
    }
}

impl Drop for BackgroundPool {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.more.notify_all();
    }
}

fn serve(shared: &Shared) {
    let mut state = shared.lock();
    loop {
        if let Some(work) = state.work.pop_front() {
            drop(state);
            // Work reports its own failures; a panic in it must not take the thread along.
            let _ = catch_unwind(AssertUnwindSafe(work));
            state = shared.lock();
            continue;
        }
        if state.closed {
            break;
        }
        state.idle += 1;
        let (woken, waited) = shared.more.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
        state = woken;
        state.idle -= 1;
        if waited.timed_out() && state.work.is_empty() {
            break;
        }
    }
    state.threads -= 1;
}

#[cfg(test)]
mod tests;
