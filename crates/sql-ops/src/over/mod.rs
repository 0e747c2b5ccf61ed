//! Functions over the rows around each row: aggregates over frames, ranks, neighbours.
//!
//! Rows keep their columns, and results stand behind them. State is kept by partition, so it follows its key groups when the
//! parallelism changes.

mod spec;

pub use spec::{Frame, FrameBound, FrameUnit, OverCall, OverMode, OverSpec};
