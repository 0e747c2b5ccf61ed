//! What ranks and deduplication are told.

use crate::row::SortOptions;
use arrow::datatypes::SchemaRef;
use std::time::Duration;

/// How rows are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RankKind {
    /// `ROW_NUMBER`: rows that are equal in order are numbered as they came.
    RowNumber,
    /// `RANK`: rows that are equal in order have one number, and those behind them count them.
    Rank,
    /// `DENSE_RANK`: likewise, but numbers leave no gaps.
    DenseRank,
}

/// What the rows of a [`TopNSpec`] do, which decides what must be kept of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RankInput {
    /// They insert. Rows behind the last rank are not kept (Flink's `AppendOnlyTopNFunction`).
    Append,
    /// `+I` and `+U` replace the row with the same values in these columns, which are unique in the partition and do not move to
    /// another; `-U` rows are passed over and there is no `-D`. An update never moves a row behind where it was: the order is
    /// by something that only grows better, such as a `COUNT` descending. So rows behind the last rank are not kept (Flink's
    /// `UpdatableTopNFunction`). Where that is not known, [`RankInput::Retract`].
    UpdateByKey(Vec<usize>),
    /// All four kinds, `-U` and `-D` with the row as it was. All rows are kept (Flink's `RetractableTopNFunction`).
    Retract,
}

/// The rows of each partition whose rank is in a range. Rows must be partitioned by the keys.
///
/// # What comes out
///
/// A batch of input is one bundle: for each partition that it touched come the net changes, in order of rank.
/// - With the rank as a column, `ROW_NUMBER` gives `-U`/`+U` for each rank at which another row stands now: its key is the partition
///   and the rank. `RANK` and `DENSE_RANK` give them for each row whose rank has changed: their key is the row's.
/// - Without it, rows that leave are `-D` and rows that enter `+I`. With [`RankInput::UpdateByKey`] a row that was replaced and
///   stays is `-U`/`+U`. With `ROW_NUMBER` and a last rank of 1, changes of the one row are `-U`/`+U` with the partition as key.
#[derive(Debug, Clone)]
pub struct TopNSpec {
    /// The columns of the input.
    pub input: SchemaRef,
    /// What its rows do.
    pub mode: RankInput,
    /// The columns of `PARTITION BY`; none: one partition, in one subtask.
    pub keys: Vec<usize>,
    /// The columns of `ORDER BY`. Rows that are equal in all of them stand as they came; none: all do.
    pub order: Vec<(usize, SortOptions)>,
    /// How rows are numbered.
    pub kind: RankKind,
    /// The first rank that comes out, from 1.
    pub rank_start: u64,
    /// The last rank that comes out; [`u64::MAX`] is without end, and keeps all rows.
    pub rank_end: u64,
    /// Whether the rank is a column (`BIGINT NOT NULL`) behind the others.
    pub rank_column: bool,
    /// The columns of the input, then that of the rank.
    pub output: SchemaRef,
    /// Whether `-U` rows are given.
    pub emit_update_before: bool,
    /// How long a partition is kept after its last change, in processing time; `None` is for ever.
    pub ttl: Option<Duration>,
    /// Whether the rows of a partition that expires are taken back from the output. Flink: false.
    pub retract_on_expiry: bool,
}

/// Which row of a key stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Keep {
    /// The one with the earliest time; of several the first to come.
    First,
    /// The one with the latest time; of several the last to come.
    Last,
}

/// By which time rows of a [`DeduplicateSpec`] are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeduplicateTime {
    /// The row's own: a column of timestamps of any unit; NULL is an error.
    Event {
        /// Its index in the input.
        column: usize,
    },
    /// As they come.
    Processing,
}

/// The first or last row of each key of an append-only input. Rows must be partitioned by the keys.
///
/// | | [`Keep::First`] | [`Keep::Last`] |
/// | --- | --- | --- |
/// | event time | append: a row waits until the watermark has reached its time; an earlier one takes its place until then. Rows before the watermark are late. | updates: a row replaces one that is not later than itself. |
/// | processing time | append: at once. | updates. |
///
/// As Flink 2.3 does it. The key of the updates is that of the spec. A batch of input is one bundle: a key changes once.
///
/// Of [`Keep::Last`] without `-U` rows and without `retract_on_expiry` only the time of a key's row is kept, and a row that is equal
/// to the one that it replaces is given all the same.
#[derive(Debug, Clone)]
pub struct DeduplicateSpec {
    /// The columns of the input, which are those of the output.
    pub input: SchemaRef,
    /// The columns of the key; none: one row in all.
    pub keys: Vec<usize>,
    /// Which row stays.
    pub keep: Keep,
    /// By which time.
    pub time: DeduplicateTime,
    /// Whether `-U` rows are given.
    pub emit_update_before: bool,
    /// How long a key is kept after its last change, in processing time; `None` is for ever. A row that waits does not expire.
    pub ttl: Option<Duration>,
    /// Whether the row of a key that expires is taken back from the output, where that is one of updates. Flink: false.
    pub retract_on_expiry: bool,
    /// Whether late rows are handed to side output 0.
    pub late_output: bool,
}
