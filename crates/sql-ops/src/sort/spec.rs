//! What sorts and limits are told. None of these is partitioned: each runs in one subtask.

use crate::row::SortOptions;
use arrow::datatypes::SchemaRef;

/// The time by which a [`TemporalSortSpec`] sorts first, ascending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SortTime {
    /// Event time.
    Event {
        /// The column: timestamps of any unit, NULL is an error.
        column: usize,
    },
    /// The time at which a row comes, which is one for all rows of a batch.
    Processing,
}

/// `ORDER BY` a time ascending and then other columns, over an append-only input without end.
///
/// By event time rows wait until the watermark has reached them; those that come at or before it are late. By processing time the
/// rows of a batch are sorted and go out at once.
#[derive(Debug, Clone)]
pub struct TemporalSortSpec {
    /// The columns of the input, which are those of the output.
    pub input: SchemaRef,
    /// The time.
    pub time: SortTime,
    /// The columns of `ORDER BY` behind the time.
    pub order: Vec<(usize, SortOptions)>,
    /// Whether late rows are handed to side output 0.
    pub late_output: bool,
}

/// `ORDER BY .. OFFSET .. FETCH` over a changing table: a table of the rows that are among those now, without an order of its own.
/// An append-only input costs the memory of the rows up to the last one that is shown, a changing one that of all rows.
#[derive(Debug, Clone)]
pub struct SortLimitSpec {
    /// The columns of the input, which are those of the output.
    pub input: SchemaRef,
    /// Whether the input has other rows than inserts; then `-U` and `-D` have the row as it was.
    pub retract: bool,
    /// The columns of `ORDER BY`. Rows that are equal in all of them stand as they came.
    pub order: Vec<(usize, SortOptions)>,
    /// How many rows are left out at the beginning.
    pub offset: u64,
    /// How many rows come at most.
    pub fetch: Option<u64>,
    /// Whether `-U` rows are given. Only where a single row is shown there are updates: rows that leave are `-D`, rows that
    /// enter `+I`.
    pub emit_update_before: bool,
}

/// `OFFSET .. FETCH` or `LIMIT` without an order: the first rows that came. An append-only input costs no memory.
#[derive(Debug, Clone)]
pub struct LimitSpec {
    /// The columns of the input, which are those of the output.
    pub input: SchemaRef,
    /// Whether the input has other rows than inserts; then `-U` and `-D` have the row as it was, and all rows are kept.
    pub retract: bool,
    /// How many rows are left out at the beginning.
    pub offset: u64,
    /// How many rows come at most.
    pub fetch: Option<u64>,
    /// Whether `-U` rows are given; see [`SortLimitSpec::emit_update_before`].
    pub emit_update_before: bool,
}

/// `ORDER BY` over a bounded input: the table that it describes at its end, in order, as inserts. All rows are kept until then.
#[derive(Debug, Clone)]
pub struct StreamSortSpec {
    /// The columns of the input, which are those of the output.
    pub input: SchemaRef,
    /// The columns of `ORDER BY`. Rows that are equal in all of them come in the order of their other columns: in the same in
    /// every run.
    pub order: Vec<(usize, SortOptions)>,
    /// How many rows are left out at the beginning.
    pub offset: u64,
    /// How many rows come at most.
    pub fetch: Option<u64>,
}
