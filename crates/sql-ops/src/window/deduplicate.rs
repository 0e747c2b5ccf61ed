//! The first or last row of each key in a window.

use super::time::AttachedWindow;
use arrow::datatypes::SchemaRef;

/// Which row of a key stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowKeep {
    /// The one with the earliest time; of several the first to come.
    First,
    /// The one with the latest time; of several the last to come.
    Last,
}

/// One row for each window and key, once the window is over. Takes inserts only, gives inserts only. Rows must be partitioned by the
/// keys.
#[derive(Debug, Clone)]
pub struct WindowDeduplicateSpec {
    /// The columns of the input, which are those of the output.
    pub input: SchemaRef,
    /// Its window columns.
    pub window: AttachedWindow,
    /// The columns of `PARTITION BY` but for the window; none: one row a window.
    pub keys: Vec<usize>,
    /// The column of the time by which rows are ordered: timestamps of any unit, NULL is an error.
    pub time: usize,
    /// Which row stays.
    pub keep: WindowKeep,
    /// The zone of the windows; see [`WindowJoinSpec::zone`](super::WindowJoinSpec::zone).
    pub zone: Option<String>,
    /// Whether late rows are handed to side output 0.
    pub late_output: bool,
}
