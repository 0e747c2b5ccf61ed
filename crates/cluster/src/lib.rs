//! The coordinator of a job: deploys its tasks, runs its checkpoints, restarts it after failures.
//!
//! [`Runtime`] is what jobs run on: a scheduler, background threads, a clock. [`submit`] starts a job there; its
//! coordinator ([`master`](self)) is itself a task of the scheduler, so an idle job costs nothing. What happens to a job is told
//! through `tracing`, under the target `flugs`. This crate does not know which operators, connectors or stores exist.

mod attempt;
mod deploy;
mod enumerators;
mod events;
mod handle;
mod inbox;
mod job;
mod master;
mod prepare;
mod requests;
mod restart;
mod runtime;
mod snapshots;

pub use handle::{JobHandle, JobReport, JobStatus};
pub use job::{EdgeKey, JobOptions, JobSpec, Restore};
pub use master::submit;
pub use requests::PendingCheckpoint;
pub use restart::{RestartStrategy, RestartTracker};
pub use runtime::Runtime;
