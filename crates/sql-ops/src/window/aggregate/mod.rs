//! Aggregates of windows that are the same for all keys.

use super::shape::WindowShape;
use super::time::{AttachedWindow, WindowColumn, WindowTime};
use crate::aggregate::AggregateCall;
use arrow::datatypes::SchemaRef;
use std::time::Duration;

/// Where the windows of rows come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowInput {
    /// From the rows' times.
    Assigned {
        /// Which windows.
        shape: WindowShape,
        /// By which time.
        time: WindowTime,
    },
    /// The rows carry them: an aggregate of an aggregate, or of a windowed table that was changed in between. Event time only.
    Attached(AttachedWindow),
    /// The rows are slices with partial results, as a [`LocalWindowAggregateSpec`] of the same windows makes them. Event time only.
    Partial {
        /// The windows as the local phase has them; its time column is one of the local phase's input. `None`: attached ones.
        shape: Option<WindowShape>,
        /// Whether they are spans of local time (over a `TIMESTAMP_LTZ`).
        local: bool,
    },
}

/// When results come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Emit {
    /// Once, when the window is over.
    OnWatermark,
    /// Also before that, as updates of what came before: after so much time by the machine's clock, for windows that have changed.
    Every(Duration),
    /// Also before that, as updates, after each batch of rows.
    OnChange,
}

/// Aggregates rows by window and keys over slices which windows share: a row is added to one slice, a window merges its slices
/// when it is over.
///
/// The input may retract (see `retract`). Without early results the output is inserts only; a window of which nothing is
/// left gives nothing. Rows must be partitioned by the keys.
#[derive(Debug, Clone)]
pub struct WindowAggregateSpec {
    /// The columns of the input.
    pub input: SchemaRef,
    /// Where windows come from.
    pub windows: WindowInput,
    /// The session's zone, such as `Europe/Berlin` or `+02:00`; `None` is UTC. Says nothing over a `TIMESTAMP`; of attached windows
    /// it is given only where they are spans of local time.
    pub zone: Option<String>,
    /// The key columns; none: one group a window. Of a partial input the first columns, in order.
    pub keys: Vec<usize>,
    /// The aggregates.
    pub aggregates: Vec<AggregateCall>,
    /// Whether the input has other rows than inserts.
    pub retract: bool,
    /// The window's columns behind the aggregates.
    pub window_columns: Vec<WindowColumn>,
    /// Keys, aggregates, and the window's columns.
    pub output: SchemaRef,
    /// When results come.
    pub emit: Emit,
    /// Whether updates come with the row they replace (`-U`). Says nothing without early results.
    pub emit_update_before: bool,
    /// Whether late rows are handed to side output 0; not of a partial input.
    pub late_output: bool,
}

/// The first of two phases: sums up the rows of a task by slice and key before they go over the network, so that a key with many rows
/// is no burden on one task. Followed by a [`WindowAggregateSpec`] over [`WindowInput::Partial`].
///
/// Keeps no state: what it has goes out when a window is over, before barriers, and when it is much. Late rows are left to the
/// second phase, which counts each of its input rows as one.
#[derive(Debug, Clone)]
pub struct LocalWindowAggregateSpec {
    /// The columns of the input.
    pub input: SchemaRef,
    /// Where windows come from: assigned in event time, or attached.
    pub windows: WindowInput,
    /// The session's zone; see [`WindowAggregateSpec::zone`].
    pub zone: Option<String>,
    /// The key columns.
    pub keys: Vec<usize>,
    /// The aggregates, all of which must be mergeable.
    pub aggregates: Vec<AggregateCall>,
    /// Whether the input has other rows than inserts.
    pub retract: bool,
}
