//! Windows: assignment, aggregates over shared slices, sessions, joins and ranks within windows.
//!
//! # Time
//!
//! Windows are counted in whole milliseconds. Over a `TIMESTAMP` they are spans of its values; over a `TIMESTAMP_LTZ`, and by the
//! machine's clock, they are spans of local time in the session's zone, so that a day has 23 or 25 hours where the clocks
//! change. `window_start` and `window_end` are always `TIMESTAMP(3)` in that time, `window_time` is the window's last millisecond
//! as a value of the time column's kind.
//!
//! Sessions are spans of instants, not cut where clocks change (in Flink they are); only their bounds are given as local times.
//!
//! A window is over when the watermark reaches its last millisecond (`end - 1 ms`). Where clocks go back, that is the later of the two
//! instants with this local time; where they leave it out, the instant at which they change. A row is late for a window that is
//! over; a row that is late for one hopping window still counts in the later ones. Rows that are late for all their windows are
//! counted (`numLateRecordsDropped`) and, if asked for, handed to side output 0.
//!
//! # Order
//!
//! Results come by the ends of their windows, then by the windows' starts, then by the hashes of their keys, which are the same
//! in every run and at every parallelism; those of sessions by their ends and then by the bytes of their keys.

mod aggregate;
mod assign;
mod attached;
mod cells;
mod clock;
mod closing;
mod deduplicate;
mod join;
mod late;
mod rank;
mod session;
mod shape;
mod stripes;
mod time;
mod zone;

pub use aggregate::{Emit, LocalWindowAggregate, WindowAggregate, WindowAggregateSpec, WindowInput};
pub use assign::{WindowAssign, WindowAssignSpec};
pub use deduplicate::{WindowDeduplicate, WindowDeduplicateSpec, WindowKeep};
pub use join::{WindowJoin, WindowJoinKind, WindowJoinSpec};
pub use rank::{WindowRank, WindowRankKind, WindowRankSpec};
pub use session::{SessionAggregate, SessionAggregateSpec, SessionAssign, SessionAssignSpec};
pub use shape::WindowShape;
pub use time::{AttachedWindow, WindowColumn, WindowTime};

/// About how many rows a batch of results has.
const OUTPUT_ROWS: usize = 4096;
/// So many stripes of a window's keys are read in one step.
const STEP_STRIPES: usize = 32;

#[cfg(test)]
mod tests;
