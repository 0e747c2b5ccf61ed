//! What the operators of batch mode are told.

use crate::aggregate::AggregateCall;
use crate::join::{JoinKey, JoinType};
use crate::over::OverCall;
use crate::phases::between;
use crate::rank::{DeduplicateTime, Keep, RankKind};
use crate::row::SortOptions;
use crate::window::{SessionAggregateSpec, SessionAssignSpec};
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion_physical_expr::PhysicalExpr;
use std::path::PathBuf;
use std::sync::Arc;

/// How much memory an operator may take, and where it puts what does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SpillSpec {
    /// For so many bytes of rows and states a subtask; what is beyond goes to files. Operators take some more for the batch in work,
    /// and at least some 100 KiB.
    pub memory_bytes: usize,
    /// The folder of these files; the system's for temporary files by default. They have no names in it and are gone with the
    /// operator, whatever happens to it.
    pub spill_dir: Option<PathBuf>,
}

/// 64 MiB, the system's folder.
impl Default for SpillSpec {
    fn default() -> Self {
        SpillSpec { memory_bytes: 64 << 20, spill_dir: None }
    }
}

/// Which part of an aggregation is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AggregatePhase {
    /// All: from rows to results. The input is partitioned by the keys.
    Complete,
    /// From rows to keys and partial states, before the exchange. Nothing is spilled: what does not fit is handed on.
    Partial,
    /// From keys and partial states, and rows that the first phase has passed on, to results. The input is partitioned by the keys.
    Final,
}

/// `GROUP BY` over a bounded input.
///
/// The state of one group stays in memory, and with it all different arguments of its `DISTINCT` calls and all rows of calls that keep
/// them (`LISTAGG`, `COLLECT`, ...). Where a few groups have very many different arguments, a query that groups by these first
/// spills.
#[derive(Debug, Clone)]
pub struct HashAggregateSpec {
    /// The columns of the rows, in every phase.
    pub input: SchemaRef,
    /// The columns of `GROUP BY`, of the rows; none for an aggregate over all rows, which runs in one subtask (but for
    /// [`AggregatePhase::Partial`]).
    pub keys: Vec<usize>,
    /// The aggregates, over the rows; none for `SELECT DISTINCT`.
    pub calls: Vec<AggregateCall>,
    /// Which part is done.
    pub phase: AggregatePhase,
    /// Without keys: whether there is a row of results if there was none of input. Not of [`AggregatePhase::Partial`].
    pub row_over_nothing: bool,
    /// Memory and files.
    pub spill: SpillSpec,
}

impl HashAggregateSpec {
    /// The keys, then the results; of [`AggregatePhase::Partial`] the input's columns, in which keys stand where they were, then the
    /// states.
    pub fn output_schema(&self) -> SchemaRef {
        if self.phase == AggregatePhase::Partial {
            return between(&self.input, []);
        }
        let keys = self.keys.iter().map(|key| self.input.fields()[*key].clone());
        let results = self.calls.iter().map(|call| call.result.clone());
        Arc::new(Schema::new(keys.chain(results).collect::<Vec<FieldRef>>()))
    }
}

/// `ORDER BY .. OFFSET .. FETCH` over a bounded input. The order holds within a subtask: one over all rows has one subtask; several with
/// an offset of 0 may find candidates for one behind them.
#[derive(Debug, Clone)]
pub struct ExternalSortSpec {
    /// The columns of the input, which are those of the output.
    pub input: SchemaRef,
    /// The columns of `ORDER BY`. Rows that are equal in all of them come in the order of their other columns: in the same in
    /// every run.
    pub order: Vec<(usize, SortOptions)>,
    /// How many rows are left out at the beginning.
    pub offset: u64,
    /// How many rows come at most. Rows that cannot be among the first are dropped early.
    pub fetch: Option<u64>,
    /// Memory and files.
    pub spill: SpillSpec,
}

/// A join of two bounded inputs, of all join types. Give it the input that is smaller as the right.
///
/// Both inputs are partitioned by the join keys (of [`JoinType::LeftAntiNullAware`] by all but the last), or the right is broadcast
/// and the join type keeps no rows of the right for themselves; without keys it has one subtask, or a right that is broadcast.
#[derive(Debug, Clone)]
pub struct HashJoinSpec {
    /// Which rows it gives.
    pub join_type: JoinType,
    /// The columns of the first input.
    pub left: SchemaRef,
    /// The columns of the second input.
    pub right: SchemaRef,
    /// The join keys. None: every row meets every row.
    pub keys: Vec<JoinKey>,
    /// What must be true besides for a pair to match, over the concatenation of both inputs.
    pub condition: Option<Arc<dyn PhysicalExpr>>,
    /// The columns of the output, of the concatenation of both inputs (of the left alone where the join type says so).
    pub output: Vec<usize>,
    /// Names and types of the output's columns; those of an input that may be beside NULLs are nullable.
    pub schema: SchemaRef,
    /// Memory and files.
    pub spill: SpillSpec,
}

/// Functions over the rows around each row of a bounded input, which is partitioned by the keys.
///
/// Rows come by the bytes of their keys and then in order. A partition that is larger than the memory goes to files, where all functions are
/// `ROW_NUMBER`, `RANK`, `DENSE_RANK`, or aggregates over frames from the partition's first row up to the current row or the last one;
/// with others each partition is in memory as a whole while it is evaluated.
#[derive(Debug, Clone)]
pub struct BoundedOverSpec {
    /// The columns of the input.
    pub input: SchemaRef,
    /// The columns of `PARTITION BY`; none: one partition, in one subtask.
    pub keys: Vec<usize>,
    /// The columns of `ORDER BY`. Rows that are equal in all of them stand as they came.
    pub order: Vec<(usize, SortOptions)>,
    /// The functions.
    pub calls: Vec<OverCall>,
    /// The columns of the input, then the results.
    pub output: SchemaRef,
    /// Memory and files.
    pub spill: SpillSpec,
}

/// The rows of each partition whose rank is in a range, over a bounded input that is partitioned by the keys.
///
/// Rows come by the bytes of their keys and then in order.
#[derive(Debug, Clone)]
pub struct BoundedRankSpec {
    /// The columns of the input.
    pub input: SchemaRef,
    /// The columns of `PARTITION BY`; none: one partition, in one subtask.
    pub keys: Vec<usize>,
    /// The columns of `ORDER BY`. Rows that are equal in all of them stand as they came; none: all do.
    pub order: Vec<(usize, SortOptions)>,
    /// How rows are numbered.
    pub kind: RankKind,
    /// The first rank that comes out, from 1.
    pub rank_start: u64,
    /// The last rank that comes out; [`u64::MAX`] is without end. Rows behind it are dropped early.
    pub rank_end: u64,
    /// Whether the rank is a column (`BIGINT NOT NULL`) behind the others.
    pub rank_column: bool,
    /// The columns of the input, then that of the rank.
    pub output: SchemaRef,
    /// Memory and files.
    pub spill: SpillSpec,
}

/// The first or last row of each key of a bounded input, which is partitioned by the keys.
///
/// Rows come by the bytes of their keys. Of rows with one time the first that came is the first, and the last the last.
#[derive(Debug, Clone)]
pub struct BoundedDeduplicateSpec {
    /// The columns of the input, which are those of the output.
    pub input: SchemaRef,
    /// The columns of the key; none: one row in all.
    pub keys: Vec<usize>,
    /// Which row stays.
    pub keep: Keep,
    /// By which time. NULL in a column of times is an error.
    pub time: DeduplicateTime,
    /// Memory and files.
    pub spill: SpillSpec,
}

/// What is made of sessions.
#[derive(Debug, Clone)]
pub enum SessionResult {
    /// A row of aggregates for each.
    Aggregate(SessionAggregateSpec),
    /// All rows, with the bounds of their session.
    Rows(SessionAssignSpec),
}

/// Sessions over a bounded input, which is partitioned by their keys.
///
/// Rows are sorted by time, so that none is late; the sessions that are open at one time are in memory. The specification of the
/// result must be by event time.
#[derive(Debug, Clone)]
pub struct BoundedSessionSpec {
    /// What comes out.
    pub result: SessionResult,
    /// Memory and files.
    pub spill: SpillSpec,
}
