//! Who steps the tasks: a pool of workers, a thread for each task, or the simulator.
//!
//! A task is woken through a plain [`Waker`]; between a step that ended with [`Step::Wait`] and the next wake it costs
//! nothing. Errors and panics of a step end the task and are reported to its supervisor, after the task has been
//! dropped, so that whatever it held is free by then.

mod cell;
mod history;
mod pool;
mod simulation;
mod thread;

use crate::mail::TaskEvent;
use flugs_types::{Error, Result, Timestamp};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Waker;

pub use pool::Pool;
pub use simulation::Simulation;
pub use thread::ThreadPerTask;

/// What a step leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// There is more to do at once.
    Again,
    /// Nothing to do until the task is woken.
    Wait,
    /// Nothing to do until this wall-clock time, or until the task is woken.
    WaitUntil(Timestamp),
    /// The task has ended.
    Done,
}

/// A synchronous, bounded, non-blocking step function.
pub trait Task: Send {
    /// Does a bounded amount of work.
    fn step(&mut self, now: Timestamp) -> Result<Step>;

    /// Its name, for threads.
    fn name(&self) -> String;

    /// Who is told when it has ended, after it was dropped: `Gone` or `Failed`.
    fn obituary(&self) -> Obituary;
}

/// Called once with the last event of a task.
pub type Obituary = Box<dyn FnOnce(TaskEvent) + Send>;

/// A place for a task: its waker exists before the task does, so that channels can be made first.
pub trait Slot: Send + Sync {
    /// Wakes the task.
    fn waker(&self) -> Waker;

    /// Puts the task in and wakes it.
    fn start(&self, task: Box<dyn Task>);
}

/// Steps tasks.
pub trait Scheduler: Send + Sync + 'static {
    /// A place for one task. Tasks with equal `affinity` are kept on one worker where that is possible.
    fn slot(&self, affinity: u32) -> Arc<dyn Slot>;
}

/// Steps a task, and buries it when it has ended in whatever way.
fn step_task(task: &mut Option<Box<dyn Task>>, now: Timestamp) -> Step {
    let Some(running) = task else { return Step::Done };
    let event = match catch_unwind(AssertUnwindSafe(|| running.step(now))) {
        Ok(Ok(Step::Done)) => TaskEvent::Gone,
        Ok(Ok(step)) => return step,
        Ok(Err(error)) => TaskEvent::Failed(error),
        Err(panic) => TaskEvent::Failed(panic_error(panic.as_ref())),
    };
    let obituary = running.obituary();
    // A panic while dropping must not take the worker along; the task is over either way.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(task.take())));
    obituary(event);
    Step::Done
}

/// What a panic said.
pub(crate) fn panic_error(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    Error::user(format!("panicked: {text}"))
}

#[cfg(test)]
mod tests;
