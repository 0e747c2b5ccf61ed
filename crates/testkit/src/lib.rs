//! Tests of operators and of whole jobs, under virtual time and injected faults.
//!
//! [`OperatorHarness`] drives one operator, [`Case`] replays one in every way that must not change its result,
//! [`TestJob`] runs a whole job in a plain test, and [`simulation`] lets everything around a job fail.

mod harness;
mod job;
pub mod simulation;

pub use harness::{Case, CaseBatch, HarnessBuilder, OperatorHarness, Route, Segment};
pub use job::{TestJob, TestSource};
