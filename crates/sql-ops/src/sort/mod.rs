//! Rows in order, and the first of them.
//!
//! None of these operators is partitioned: each has one subtask, and refuses to run as one of several.

mod spec;

pub use spec::{LimitSpec, SortLimitSpec, SortTime, StreamSortSpec, TemporalSortSpec};
