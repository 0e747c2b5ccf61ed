//! What joins are made from.

use super::lookup::LookupRetry;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion_common::ScalarValue;
use datafusion_physical_expr::PhysicalExpr;
use flugs_table::{ChangelogMode, LookupSource};
use flugs_types::Result;
use std::sync::Arc;
use std::time::Duration;

/// Which rows a join gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JoinType {
    /// Pairs.
    Inner,
    /// Pairs, and rows of the left without a match beside NULLs.
    Left,
    /// Pairs, and rows of the right without a match beside NULLs.
    Right,
    /// Pairs, and rows of both without a match beside NULLs.
    Full,
    /// Rows of the left with a match (`EXISTS`, `IN`). The output has columns of the left alone.
    LeftSemi,
    /// Rows of the left without a match (`NOT EXISTS`). The output has columns of the left alone.
    LeftAnti,
    /// `NOT IN`: the last of the join keys compares the operands, those before it correlate the subquery. A row of the left stays
    /// where the comparison is false for all correlated rows of the right; NULL on either side is as a match. Rows are
    /// distributed by the correlating keys alone.
    LeftAntiNullAware,
}

impl JoinType {
    /// Whether rows of the left without a match are given, beside NULLs.
    pub fn pads_left(self) -> bool {
        matches!(self, JoinType::Left | JoinType::Full)
    }

    /// Whether rows of the right without a match are given, beside NULLs.
    pub fn pads_right(self) -> bool {
        matches!(self, JoinType::Right | JoinType::Full)
    }

    /// Whether the output has columns of the left alone.
    pub fn is_left_only(self) -> bool {
        matches!(self, JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftAntiNullAware)
    }
}

/// A pair of columns that are equal in rows that match. Both have one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct JoinKey {
    /// A column of the left.
    pub left: usize,
    /// A column of the right.
    pub right: usize,
    /// NULL equals NULL (`IS NOT DISTINCT FROM`); otherwise it equals nothing.
    pub null_safe: bool,
}

/// What is known of the rows of one input of a join.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum InputUniqueness {
    /// The join key has a unique key of the input in it: one row a join key, which a `+I` or `+U` replaces. A `-D` may hold the
    /// key alone.
    KeyIsUnique,
    /// These columns of the input are unique: a row is found by them, and replaced by a `+I` or `+U` that has them. They are
    /// stored even where nothing else needs them.
    HasUniqueKey(Vec<usize>),
    /// Rows may be equal. They are counted, and found by all columns that are stored.
    None,
}

/// One input of a regular join.
#[derive(Debug, Clone)]
pub struct JoinInput {
    /// Its columns.
    pub schema: SchemaRef,
    /// What its rows do. [`ChangelogMode::Upsert`] only together with [`InputUniqueness::KeyIsUnique`], or where the upsert key is
    /// that of [`InputUniqueness::HasUniqueKey`] and an update never changes the join key.
    pub mode: ChangelogMode,
    /// What is known of its rows.
    pub unique: InputUniqueness,
    /// How long a row is kept after it came, in processing time; `None`, and no time at all, is for ever.
    pub ttl: Option<Duration>,
}

/// A join of two changing tables, all of whose rows are kept.
#[derive(Debug, Clone)]
pub struct RegularJoinSpec {
    /// Which rows it gives.
    pub join_type: JoinType,
    /// The first input.
    pub left: JoinInput,
    /// The second input.
    pub right: JoinInput,
    /// The join keys. None: every row meets every row, in one subtask.
    pub keys: Vec<JoinKey>,
    /// What must be true besides for a pair to match, over the concatenation of both inputs.
    pub condition: Option<Arc<dyn PhysicalExpr>>,
    /// The columns of the output, of the concatenation of both inputs. Others are stored only where the condition needs them.
    pub output: Vec<usize>,
    /// Names and types of the output's columns; those of an input that may be beside NULLs are nullable.
    pub schema: SchemaRef,
    /// Whether `-U` rows are given.
    pub emit_update_before: bool,
    /// Whether a row that expires is taken back from the output, as if it had been deleted. Flink: false.
    pub retract_on_expiry: bool,
}

/// The clock of a join by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JoinTime {
    /// Event time, which stands in columns.
    Event {
        /// The column of the left.
        left: usize,
        /// The column of the right.
        right: usize,
    },
    /// The time at which a row comes.
    Processing,
}

/// A join of two append-only inputs whose times lie within an interval of each other:
/// `lower <= left.time - right.time <= upper`. All join types but [`JoinType::LeftAntiNullAware`].
///
/// Watermarks are held back by the longest time that a row waits for its match, so that either time column may be the event time
/// of what follows.
#[derive(Debug, Clone)]
pub struct IntervalJoinSpec {
    /// Which rows it gives.
    pub join_type: JoinType,
    /// The columns of the first input.
    pub left: SchemaRef,
    /// The columns of the second input.
    pub right: SchemaRef,
    /// The join keys. None: one subtask.
    pub keys: Vec<JoinKey>,
    /// What must be true besides, over the concatenation of both inputs. It need not hold the bounds again.
    pub condition: Option<Arc<dyn PhysicalExpr>>,
    /// The clock.
    pub time: JoinTime,
    /// The least `left.time - right.time`, in microseconds.
    pub lower: i64,
    /// The greatest `left.time - right.time`, in microseconds.
    pub upper: i64,
    /// The columns of the output, of the concatenation of both inputs.
    pub output: Vec<usize>,
    /// Names and types of the output's columns; those of an input that may be beside NULLs are nullable.
    pub schema: SchemaRef,
    /// Whether rows that came too late to meet anything go to side output 0 (of the left) and 1 (of the right).
    pub late_output: bool,
}

/// A join of rows with the version of a changing table at their time (`FOR SYSTEM_TIME AS OF left.time`).
///
/// By event time, as Flink 2.3 does it: rows, which are only added, wait until the watermark has passed them, and come out in the
/// order of their times; a version is valid from its own event time on. In processing time rows meet the version that is the newest
/// when they come.
#[derive(Debug, Clone)]
pub struct TemporalJoinSpec {
    /// [`JoinType::Inner`] or [`JoinType::Left`].
    pub join_type: JoinType,
    /// The columns of the rows. Their kinds are those of the output.
    pub left: SchemaRef,
    /// The columns of the table, whose changes come with kinds, each by itself (not bundled by key); `-U` rows are not needed, and a
    /// `-D` may hold the key (and its event time) alone.
    pub right: SchemaRef,
    /// The primary key of the table and what equals it on the left.
    pub keys: Vec<JoinKey>,
    /// What must be true besides, over the concatenation of both inputs. A row whose version fails it has no match.
    pub condition: Option<Arc<dyn PhysicalExpr>>,
    /// The clock. The event time of the right is that from which on a version is valid, or the row is deleted.
    pub time: JoinTime,
    /// The columns of the output, of the concatenation of both inputs.
    pub output: Vec<usize>,
    /// Names and types of the output's columns; those of an input that may be beside NULLs are nullable.
    pub schema: SchemaRef,
    /// How long the versions of a key are kept after one came (or, by event time, a row that needs them), in processing time; `None`,
    /// and no time at all, is for ever.
    pub ttl: Option<Duration>,
    /// Whether rows of the left that are late by event time, and whose version may have gone, go to side output 0.
    pub late_output: bool,
}

/// What a key column of a look-up is.
#[derive(Debug, Clone)]
pub enum LookupKey {
    /// A column of the left. A row in which it is NULL has no match.
    Column(usize),
    /// A constant.
    Constant(ScalarValue),
}

/// What is made of rows that were looked up, before they are joined.
#[derive(Debug, Clone)]
pub struct LookupCalc {
    /// Rows for which this is not true are none, over the physical columns.
    pub filter: Option<Arc<dyn PhysicalExpr>>,
    /// The columns in place of the physical ones, over these.
    pub columns: Vec<Arc<dyn PhysicalExpr>>,
    /// Names and types of these columns.
    pub schema: SchemaRef,
}

/// A join of rows with those that an outside table has for their keys at the time.
#[derive(Clone)]
pub struct LookupJoinSpec {
    /// [`JoinType::Inner`] or [`JoinType::Left`].
    pub join_type: JoinType,
    /// The columns of the rows. Their kinds are those of the output.
    pub left: SchemaRef,
    /// Finds rows. It was made for the columns of `keys`, in their order.
    pub source: Arc<dyn LookupSource>,
    /// The physical columns that it gives.
    pub right: SchemaRef,
    /// The key.
    pub keys: Vec<LookupKey>,
    /// Whether it is asked again where it gives none.
    pub retry: Option<LookupRetry>,
    /// What is made of the rows that it gives.
    pub calc: Option<LookupCalc>,
    /// What must be true besides, over the columns of the left and those of `calc` (or the physical ones).
    pub condition: Option<Arc<dyn PhysicalExpr>>,
    /// The columns of the output, of the concatenation of the left and `calc` (or the physical ones).
    pub output: Vec<usize>,
    /// Names and types of the output's columns; those of an input that may be beside NULLs are nullable.
    pub schema: SchemaRef,
}

/// A table function: takes a batch of arguments and gives rows, and for each the row of the batch that it was made of, in ascending
/// order.
pub type TableRows = Arc<dyn Fn(&RecordBatch) -> Result<(RecordBatch, Vec<u32>)> + Send + Sync>;

/// Each row beside the rows that a table function makes of it (`CROSS JOIN LATERAL TABLE(...)`, `CROSS JOIN UNNEST(...)`).
#[derive(Clone)]
pub struct CorrelateSpec {
    /// [`JoinType::Inner`] or [`JoinType::Left`].
    pub join_type: JoinType,
    /// The columns of the rows. Their kinds are those of the output.
    pub left: SchemaRef,
    /// The function. Those of `UNNEST` are made by [`unnest`](super::unnest()).
    pub function: TableRows,
    /// Its arguments, over the left.
    pub arguments: Vec<Arc<dyn PhysicalExpr>>,
    /// The columns that it gives.
    pub right: SchemaRef,
    /// What must be true besides, over the concatenation of the left and what the function gives.
    pub condition: Option<Arc<dyn PhysicalExpr>>,
    /// The columns of the output, of the concatenation of the left and what the function gives.
    pub output: Vec<usize>,
    /// Names and types of the output's columns; those of an input that may be beside NULLs are nullable.
    pub schema: SchemaRef,
}
