//! What aggregates over the rows around each row are told.

use crate::row::SortOptions;
use arrow::datatypes::SchemaRef;
use flugs_sql_types::WindowKind;
use std::time::Duration;

/// How the bounds of a frame are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameUnit {
    /// `ROWS`: in rows.
    Rows,
    /// `RANGE`: in values of the one column of the order; rows that are equal in order are in a frame together.
    Range,
}

/// Where a frame begins or ends. Of `ROWS` a distance is a number of rows. Of `RANGE` it is one of the column's values: microseconds
/// for timestamps (of any unit), days for dates, milliseconds for times, unscaled units for decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameBound {
    /// `UNBOUNDED PRECEDING`.
    UnboundedPreceding,
    /// `n PRECEDING`.
    Preceding(u64),
    /// `CURRENT ROW`.
    CurrentRow,
    /// `n FOLLOWING`.
    Following(u64),
    /// `UNBOUNDED FOLLOWING`.
    UnboundedFollowing,
}

/// The rows around a row that a function is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame {
    /// How its bounds are counted.
    pub unit: FrameUnit,
    /// Where it begins.
    pub start: FrameBound,
    /// Where it ends, inclusive.
    pub end: FrameBound,
}

impl Frame {
    /// `RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW`: what SQL means where no frame is written beside an order.
    pub const DEFAULT: Frame =
        Frame { unit: FrameUnit::Range, start: FrameBound::UnboundedPreceding, end: FrameBound::CurrentRow };

    /// The whole partition: what SQL means where neither an order nor a frame is written.
    pub const PARTITION: Frame = Frame {
        unit: FrameUnit::Rows,
        start: FrameBound::UnboundedPreceding,
        end: FrameBound::UnboundedFollowing,
    };
}

/// A function over the rows around each row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OverCall {
    /// The function.
    pub function: WindowKind,
    /// The columns of its arguments. Of `LAG` and `LEAD` the second is the default.
    pub arguments: Vec<usize>,
    /// Whether equal arguments count once. Of aggregates only.
    pub distinct: bool,
    /// A `BOOLEAN` column: rows for which it is not true are passed over. Of aggregates only.
    pub filter: Option<usize>,
    /// The frame. Ranks, `LAG`, `LEAD`, `NTILE`, `PERCENT_RANK` and `CUME_DIST` are over the partition whatever it says.
    pub frame: Frame,
}

/// What the order is, and when results come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OverMode {
    /// By event time ascending, over an append-only input: a row waits until the watermark has reached its time, comes out once
    /// and never changes. Rows at or before the watermark are late. Rows of one time stand as they came. Frames end at the
    /// current row or before; there is no `LEAD`, `NTILE`, `PERCENT_RANK` and `CUME_DIST`.
    EventTime {
        /// The column: timestamps of any unit, NULL is an error.
        column: usize,
    },
    /// As rows come, over an append-only input: each comes out at once. Rows of one batch are peers of `RANGE`, as the time at
    /// which they come is one. Frames and functions are those of [`OverMode::EventTime`]; distances of `RANGE` are microseconds.
    ProcessingTime,
    /// By any columns, over any input (`-U` and `-D` with the row as it was): results are updated as rows come and go. All rows are
    /// kept, and a bundle that touches a partition costs a look at all of its rows; results are made anew from the first row on that
    /// came or went, or of all rows where a frame or function looks ahead.
    Changing,
    /// By any columns, over a bounded input: results come once, at its end, as inserts.
    Bounded,
}

/// Functions over the rows around each row, within its partition. Rows must be partitioned by the keys.
#[derive(Debug, Clone)]
pub struct OverSpec {
    /// The columns of the input.
    pub input: SchemaRef,
    /// The columns of `PARTITION BY`; none: one partition, in one subtask.
    pub keys: Vec<usize>,
    /// What the order is, and when results come.
    pub mode: OverMode,
    /// The columns of `ORDER BY`; empty in the modes of time. Rows that are equal in all of them stand as they came.
    pub order: Vec<(usize, SortOptions)>,
    /// The functions.
    pub calls: Vec<OverCall>,
    /// The columns of the input, then the results.
    pub output: SchemaRef,
    /// Whether `-U` rows are given. Only [`OverMode::Changing`] has updates: of the row that is the same and whose results changed.
    pub emit_update_before: bool,
    /// How long a partition is kept after its last row, in processing time; `None` is for ever. Rows that wait do not expire, and
    /// what no frame needs any more is not kept that long.
    pub ttl: Option<Duration>,
    /// Whether the rows of a partition that expires are taken back from the output of [`OverMode::Changing`]. Flink: false.
    pub retract_on_expiry: bool,
    /// Whether late rows are handed to side output 0.
    pub late_output: bool,
}
