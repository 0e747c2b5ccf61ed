//! Joins of rows of the same window.

mod input;
mod meeting;
mod operator;

pub use operator::WindowJoin;

use super::time::AttachedWindow;
use arrow::datatypes::SchemaRef;
use datafusion_physical_expr::PhysicalExpr;
use std::sync::Arc;

/// Which rows of a window a join gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowJoinKind {
    /// Pairs.
    Inner,
    /// Pairs, and left rows without one.
    Left,
    /// Pairs, and right rows without one.
    Right,
    /// Pairs, and rows of both sides without one.
    Full,
    /// Left rows that have a partner; left columns only.
    Semi,
    /// Left rows that have none; left columns only.
    Anti,
}

/// Joins rows of two inputs that carry the same window and equal keys, once the window is over. Takes inserts only, gives inserts
/// only. Both inputs must be partitioned by the keys.
///
/// Results come by window and key, some 2000 rows of the inputs at a time: first their pairs, then those without a partner. A window with
/// many rows of one key on both sides is given in parts, so that memory is bounded by what the inputs hold.
#[derive(Debug, Clone)]
pub struct WindowJoinSpec {
    /// The columns of the left input.
    pub left: SchemaRef,
    /// The columns of the right input.
    pub right: SchemaRef,
    /// The window columns of the left input.
    pub left_window: AttachedWindow,
    /// The window columns of the right input.
    pub right_window: AttachedWindow,
    /// The key columns of the left input; none: all rows of a window meet.
    pub left_keys: Vec<usize>,
    /// Those of the right input, of the same types in the same order.
    pub right_keys: Vec<usize>,
    /// For each key, whether NULL equals NULL (`IS NOT DISTINCT FROM`); where it does not, a NULL key has no partner.
    pub null_safe: Vec<bool>,
    /// What else must hold of a pair: a boolean expression over the left and then the right columns.
    pub condition: Option<Arc<dyn PhysicalExpr>>,
    /// Which rows come out.
    pub kind: WindowJoinKind,
    /// Whether the windows are spans of local time, and of which zone; `None`: of UTC, or over a `TIMESTAMP`.
    pub zone: Option<String>,
    /// Left and then right columns; of semi and anti joins the left ones.
    pub output: SchemaRef,
    /// Whether late rows are handed to side outputs: of the left input to 0, of the right one to 1.
    pub late_output: bool,
}
