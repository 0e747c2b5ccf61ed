//! Operator harness, virtual time and the fault simulator.

mod harness;

pub use harness::{Case, CaseBatch, HarnessBuilder, OperatorHarness, Route, Segment};
