//! Aggregates of sessions.

use crate::window::time::{WindowColumn, WindowTime};
use crate::aggregate::AggregateCall;
use arrow::datatypes::SchemaRef;

/// Aggregates rows by key and session: rows of a key that follow each other within the gap. Results come when a session is over, by
/// its end and then by the bytes of the key.
///
/// Takes inserts only: a row that is taken back could cut a session in two, for which all of its rows would have to be kept. Rows
/// must be partitioned by the keys.
#[derive(Debug, Clone)]
pub struct SessionAggregateSpec {
    /// The columns of the input.
    pub input: SchemaRef,
    /// The longest time between two rows of a session, in milliseconds; positive. Rows exactly that far apart are of one session.
    pub gap_ms: i64,
    /// By which time.
    pub time: WindowTime,
    /// The session's zone, of which `window_start` and `window_end` are local times; see [`WindowAggregateSpec::zone`](crate::window::WindowAggregateSpec::zone).
    pub zone: Option<String>,
    /// The key columns; none: one group.
    pub keys: Vec<usize>,
    /// The aggregates, all of which must be mergeable.
    pub aggregates: Vec<AggregateCall>,
    /// The window's columns behind the aggregates.
    pub window_columns: Vec<WindowColumn>,
    /// Keys, aggregates, and the window's columns.
    pub output: SchemaRef,
    /// Whether late rows are handed to side output 0.
    pub late_output: bool,
}
