//! The first rows of each window.

use super::time::AttachedWindow;
use crate::row::SortOptions;
use arrow::datatypes::SchemaRef;

/// How rows are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowRankKind {
    /// `ROW_NUMBER`: rows that are equal in order are numbered as they came.
    RowNumber,
    /// `RANK`: rows that are equal in order have one number, and those behind them count them.
    Rank,
    /// `DENSE_RANK`: likewise, but numbers leave no gaps.
    DenseRank,
}

/// The rows of each window and partition whose rank is in a range, once the window is over. Takes inserts only, gives inserts only,
/// those of a partition by rank; keeps no more rows than can come out. Rows must be partitioned by the keys.
#[derive(Debug, Clone)]
pub struct WindowRankSpec {
    /// The columns of the input.
    pub input: SchemaRef,
    /// Its window columns.
    pub window: AttachedWindow,
    /// The columns of `PARTITION BY` but for the window; none: one partition a window.
    pub keys: Vec<usize>,
    /// The columns of `ORDER BY`.
    pub order: Vec<(usize, SortOptions)>,
    /// How rows are numbered.
    pub kind: WindowRankKind,
    /// The first rank that comes out, from 1.
    pub rank_start: u64,
    /// The last rank that comes out.
    pub rank_end: u64,
    /// Whether the rank is a column (`BIGINT NOT NULL`) behind the others.
    pub rank_column: bool,
    /// The zone of the windows; see [`WindowJoinSpec::zone`](super::WindowJoinSpec::zone).
    pub zone: Option<String>,
    /// The columns of the input, then that of the rank.
    pub output: SchemaRef,
    /// Whether late rows are handed to side output 0.
    pub late_output: bool,
}
