//! Operator harness, virtual time and the fault simulator.

mod harness;
pub mod simulation;

pub use harness::{Case, CaseBatch, HarnessBuilder, OperatorHarness, Route, Segment};
