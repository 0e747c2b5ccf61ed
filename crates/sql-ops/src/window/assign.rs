//! Window table functions whose rows are used as they are.

use super::shape::WindowShape;
use super::time::WindowTime;
use arrow::datatypes::SchemaRef;

/// `TUMBLE`, `HOP` and `CUMULATE` as tables: each row once for each of its windows, behind it `window_start`, `window_end` and
/// `window_time`. Has no state; row kinds stay, late rows pass. Watermarks stay too: a `window_time` is never before the row's time.
#[derive(Debug, Clone)]
pub struct WindowAssignSpec {
    /// The columns of the input.
    pub input: SchemaRef,
    /// Which windows.
    pub shape: WindowShape,
    /// By which time.
    pub time: WindowTime,
    /// The session's zone, such as `Europe/Berlin` or `+02:00`; `None` is UTC. Says nothing over a `TIMESTAMP`.
    pub zone: Option<String>,
    /// The columns of the input and the three of the window, with the names the query gives them.
    pub output: SchemaRef,
}

/// `SESSION` as a table: rows are kept until their session is over, then each comes with the bounds of its session, in order of
/// arrival within it. Takes inserts only. Rows must be partitioned by the keys.
#[derive(Debug, Clone)]
pub struct SessionAssignSpec {
    /// The columns of the input.
    pub input: SchemaRef,
    /// The columns of `PARTITION BY`; none: one session for all.
    pub keys: Vec<usize>,
    /// The longest time between two rows of a session, in milliseconds; positive. Rows exactly that far apart are of one session.
    pub gap_ms: i64,
    /// By which time.
    pub time: WindowTime,
    /// The session's zone; see [`WindowAssignSpec::zone`].
    pub zone: Option<String>,
    /// The columns of the input and the three of the window.
    pub output: SchemaRef,
    /// Whether late rows are handed to side output 0.
    pub late_output: bool,
}
