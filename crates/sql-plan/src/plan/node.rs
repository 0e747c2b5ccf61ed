//! Operators of a plan.

use crate::bind::nodes::WindowKind;
use crate::plan::Meaning;
use crate::plan::expr::pretty;
use arrow::array::RecordBatch;
use arrow::compute::SortOptions;
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion_expr::Expr;
use flugs_sql_functions::table::TableFunction;
use flugs_sql_types::{AggregateKind, LogicalType, RowField, SqlType, TimeKind, WindowKind as OverKind};
use flugs_table::{ChangelogMode, FieldPath, LookupSource, Predicate, TableSink, TableSource};
use flugs_types::{Error, Result};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The number of a node.
pub type NodeId = usize;

/// What a column says about the window of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowRole {
    /// `window_start`.
    Start,
    /// `window_end`.
    End,
    /// `window_time`.
    Time,
}

/// A column of a node's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanField {
    /// Its name, which is unique in the node, and its type.
    pub field: FieldRef,
    /// What it says about time.
    pub time: Option<TimeKind>,
    /// What it says about the row's window.
    pub window: Option<WindowRole>,
}

impl PlanField {
    /// A column that says nothing about time.
    pub fn new(field: FieldRef) -> Self {
        PlanField { field, time: None, window: None }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.field.name()
    }

    /// The same under another name.
    #[must_use]
    pub fn renamed(&self, name: &str) -> Self {
        PlanField { field: Arc::new(self.field.as_ref().clone().with_name(name)), ..self.clone() }
    }

    /// The same as it comes out of an outer join: perhaps NULL, and of no window.
    #[must_use]
    pub fn padded(&self) -> Self {
        PlanField {
            field: Arc::new(self.field.as_ref().clone().with_nullable(true)),
            time: None,
            window: None,
        }
    }
}

pub(super) fn names(fields: &[PlanField]) -> String {
    fields.iter().map(|f| format!("{} {}", f.name(), f.field.data_type())).collect::<Vec<_>>().join(",")
}

/// Which changes a node's output has besides `+I`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// Rows are updated.
    pub updates: bool,
    /// Rows are deleted.
    pub deletes: bool,
}

impl Changes {
    /// `+I` alone.
    pub const APPEND: Changes = Changes { updates: false, deletes: false };
    /// All kinds.
    pub const ALL: Changes = Changes { updates: true, deletes: true };

    /// Whether there is `+I` alone.
    pub fn is_append(self) -> bool {
        self == Changes::APPEND
    }

    /// What either has.
    #[must_use]
    pub fn or(self, other: Changes) -> Changes {
        Changes { updates: self.updates || other.updates, deletes: self.deletes || other.deletes }
    }
}

/// An operator and its place.
#[derive(Debug, Clone)]
pub struct Node {
    /// What it does.
    pub op: Op,
    /// Where its rows come from.
    pub inputs: Vec<NodeId>,
    /// Its columns.
    pub fields: Vec<PlanField>,
    /// The address of its state: what it computes.
    pub digest: String,
    /// What its rows and columns mean.
    pub meaning: Meaning,
    /// Which changes its output has.
    pub changes: Changes,
    /// Sets of columns each of which is unique in the table that the output describes.
    pub keys: Vec<Vec<usize>>,
    /// Whether its updates come with `-U`.
    pub update_before: bool,
}

impl Node {
    /// The Arrow schema of its output.
    pub fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.fields.iter().map(|f| f.field.clone()).collect::<Vec<_>>()))
    }

    /// The output as a changelog.
    pub fn mode(&self) -> ChangelogMode {
        match (self.changes.is_append(), self.changes.updates && !self.update_before) {
            (true, _) => ChangelogMode::Append,
            (false, true) => ChangelogMode::Upsert,
            (false, false) => ChangelogMode::Retract,
        }
    }
}

/// An aggregate call over columns of the input.
#[derive(Debug, Clone, PartialEq)]
pub struct AggregateCall {
    /// The function.
    pub kind: AggregateKind,
    /// Its arguments.
    pub args: Vec<usize>,
    /// Whether equal arguments count once.
    pub distinct: bool,
    /// A column that is true for the rows that count.
    pub filter: Option<usize>,
    /// The order in which rows are taken, where it matters.
    pub order_by: Vec<SortKey>,
    /// The result.
    pub field: FieldRef,
}

/// A column to sort by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKey {
    /// The column.
    pub column: usize,
    /// Direction and place of NULLs.
    pub options: SortOptions,
}

/// A window and its time column.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowSpec {
    /// How rows are put into windows.
    pub(crate) kind: WindowKind,
    /// The time column of the input.
    pub time: usize,
    /// Event or processing time.
    pub time_kind: TimeKind,
}

/// When a windowed aggregate gives results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Emit {
    /// When the window closes.
    #[default]
    OnClose,
    /// Also so often before.
    Early(Duration),
}

/// The kinds of joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// Matching pairs.
    Inner,
    /// And rows of the left without a match.
    Left,
    /// And rows of the right without a match.
    Right,
    /// And both.
    Full,
    /// Rows of the left that have a match.
    Semi,
    /// Rows of the left that have none.
    Anti,
    /// As anti, where a NULL on the right makes all unknown (`NOT IN`).
    NullAwareAnti,
}

/// Ranking functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RankFunction {
    /// `ROW_NUMBER`.
    RowNumber,
    /// `RANK`.
    Rank,
    /// `DENSE_RANK`.
    DenseRank,
}

/// A function over the rows around each row.
#[derive(Debug, Clone, PartialEq)]
pub struct OverCall {
    /// The function.
    pub kind: OverKind,
    /// Its arguments.
    pub args: Vec<usize>,
    /// Whether equal arguments count once.
    pub distinct: bool,
    /// A column that is true for the rows that count.
    pub filter: Option<usize>,
    /// The frame.
    pub frame: datafusion_expr::WindowFrame,
    /// The result.
    pub field: FieldRef,
}

/// A table that is read.
#[derive(Clone)]
pub struct ScanOp {
    /// Its name.
    pub table: String,
    /// What reads it.
    pub source: Arc<dyn TableSource>,
    /// Tells tables of one name and different options apart.
    pub identity: String,
    /// What is read.
    pub columns: Vec<FieldPath>,
    /// Metadata columns behind these.
    pub metadata: Vec<String>,
    /// What is offered to the source.
    pub predicates: Vec<Predicate>,
    /// No more rows are needed.
    pub limit: Option<u64>,
    /// The watermark that a row carries, over the scan's columns.
    pub watermark: Option<Expr>,
    /// The row-time column as an expression over the scan's columns: it must not be NULL.
    pub rowtime: Option<Expr>,
    /// The primary key, as columns of the output; empty where there is none or it is not read.
    pub primary_key: Vec<usize>,
}

/// A table that is written.
#[derive(Clone)]
pub struct SinkOp {
    /// Its name.
    pub table: String,
    /// Tells tables of one name and different options apart.
    pub identity: String,
    /// What writes it.
    pub sink: Arc<dyn TableSink>,
    /// `INSERT OVERWRITE`.
    pub overwrite: bool,
    /// The columns of its primary key.
    pub primary_key: Vec<usize>,
    /// What it takes.
    pub mode: ChangelogMode,
}

/// A table in which rows are looked up.
#[derive(Clone)]
pub struct LookupSpec {
    /// Its name.
    pub table: String,
    /// What looks up.
    pub source: Arc<dyn LookupSource>,
    /// Its columns.
    pub schema: SchemaRef,
}

/// What an [`Op::Correlate`] calls.
#[derive(Debug, Clone)]
pub enum CorrelateFn {
    /// `UNNEST`.
    Unnest {
        /// Whether the elements are counted in a last column.
        with_ordinality: bool,
    },
    /// A table function.
    Function(Arc<dyn TableFunction>),
}

impl CorrelateFn {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            CorrelateFn::Unnest { with_ordinality: false } => "UNNEST",
            CorrelateFn::Unnest { with_ordinality: true } => "UNNEST WITH ORDINALITY",
            CorrelateFn::Function(function) => function.name(),
        }
    }

    /// The columns of the rows that it gives for arguments of these types.
    pub fn columns(&self, arguments: &[SqlType]) -> Result<Vec<RowField>> {
        let CorrelateFn::Unnest { with_ordinality } = self else {
            let CorrelateFn::Function(function) = self else { return Ok(Vec::new()) };
            return function.columns(arguments);
        };
        let element = |element: &SqlType| match &element.kind {
            LogicalType::Row(fields) => fields
                .iter()
                .map(|f| RowField {
                    sql_type: SqlType {
                        nullable: f.sql_type.nullable || element.nullable,
                        ..f.sql_type.clone()
                    },
                    ..f.clone()
                })
                .collect(),
            _ => vec![RowField::new("f0", element.clone())],
        };
        let mut columns = match arguments {
            [SqlType { kind: LogicalType::Array(of) | LogicalType::Multiset(of), .. }] => element(of),
            [SqlType { kind: LogicalType::Map(key, value), .. }] => {
                vec![RowField::new("f0", key.as_ref().clone()), RowField::new("f1", value.as_ref().clone())]
            }
            _ => return Err(Error::job("UNNEST takes an array, a map or a multiset")),
        };
        if *with_ordinality {
            columns.push(RowField::new("ordinality", LogicalType::Int.not_null()));
        }
        Ok(columns)
    }
}

/// What is said of a thing in digests and plans.
pub trait CallDigest {
    /// In words that say all that matters to the result.
    fn digest(&self) -> String;
}

impl CallDigest for AggregateCall {
    fn digest(&self) -> String {
        let distinct = if self.distinct { "DISTINCT " } else { "" };
        let args = self.args.iter().map(|a| format!("${a}")).collect::<Vec<_>>().join(", ");
        let filter = self.filter.map(|f| format!(" FILTER ${f}")).unwrap_or_default();
        let order =
            if self.order_by.is_empty() { String::new() } else { format!(" ORDER BY {:?}", self.order_by) };
        format!("{:?}({distinct}{args}){filter}{order}", self.kind)
    }
}

impl CallDigest for OverCall {
    fn digest(&self) -> String {
        format!(
            "{:?}({}{:?}) {:?} {}",
            self.kind,
            if self.distinct { "DISTINCT " } else { "" },
            self.args,
            self.filter,
            self.frame
        )
    }
}

/// What an operator does. Columns are numbers of the input's columns; of joins, those of the left and then of the right.
#[derive(Clone)]
pub enum Op {
    /// Reads a table.
    Scan(Box<ScanOp>),
    /// Gives these rows.
    Values(RecordBatch),
    /// Keeps the rows for which the filter holds, and makes columns of them.
    Calc {
        /// What must hold.
        filter: Option<Expr>,
        /// The columns, in order.
        exprs: Vec<Expr>,
    },
    /// All rows of the inputs.
    Union,
    /// Each row once for each grouping set: columns that are not in the set NULL, and the set's number behind.
    Expand {
        /// The columns that each set does not have.
        nulls: Vec<Vec<usize>>,
        /// The number of each set.
        ids: Vec<i64>,
    },
    /// `GROUP BY`.
    Aggregate {
        /// The keys.
        keys: Vec<usize>,
        /// The calls.
        calls: Vec<AggregateCall>,
    },
    /// Rows with their windows behind.
    WindowAssign {
        /// The window.
        window: WindowSpec,
        /// The partition of a session.
        partition: Vec<usize>,
    },
    /// `GROUP BY` with a window: keys, calls, then start, end and time of the window.
    WindowAggregate {
        /// The window; none where the rows carry the columns of theirs.
        window: Option<WindowSpec>,
        /// The columns of start and end, where the rows carry them.
        attached: Option<(usize, usize)>,
        /// The other keys.
        keys: Vec<usize>,
        /// The calls.
        calls: Vec<AggregateCall>,
        /// When results come.
        emit: Emit,
    },
    /// A join of changing tables.
    Join {
        /// Its kind.
        kind: JoinKind,
        /// Pairs of equal columns, left and right (both counted from 0), and whether NULL equals NULL.
        keys: Vec<(usize, usize, bool)>,
        /// What else must hold.
        residual: Option<Expr>,
        /// The columns of the concatenation that are given out.
        output: Vec<usize>,
    },
    /// A join of rows whose times are near each other.
    IntervalJoin {
        /// Its kind.
        kind: JoinKind,
        /// As of [`Op::Join`].
        keys: Vec<(usize, usize, bool)>,
        /// The time columns.
        times: (usize, usize),
        /// Event or processing time.
        time_kind: TimeKind,
        /// `lower <= left - right <= upper`, in milliseconds.
        bounds: (i64, i64),
        /// What else must hold.
        residual: Option<Expr>,
    },
    /// A join of rows of one window.
    WindowJoin {
        /// Its kind.
        kind: JoinKind,
        /// As of [`Op::Join`], without those of the window.
        keys: Vec<(usize, usize, bool)>,
        /// Start and end of the window on the left and on the right.
        windows: ((usize, usize), (usize, usize)),
        /// What else must hold.
        residual: Option<Expr>,
    },
    /// A join with the version of the right side that held at the time of the left row.
    TemporalJoin {
        /// Inner or left.
        kind: JoinKind,
        /// As of [`Op::Join`].
        keys: Vec<(usize, usize, bool)>,
        /// The row-time columns of left and right; none for the latest version.
        times: Option<(usize, usize)>,
        /// What else must hold.
        residual: Option<Expr>,
    },
    /// A join with rows that are looked up.
    LookupJoin {
        /// Inner or left.
        kind: JoinKind,
        /// The table.
        lookup: LookupSpec,
        /// Key columns of the left, and of the table.
        keys: Vec<(usize, usize)>,
        /// What else must hold.
        residual: Option<Expr>,
    },
    /// Each row with what a table function makes of it.
    Correlate {
        /// The function.
        function: CorrelateFn,
        /// Its arguments.
        args: Vec<usize>,
        /// Rows of which it makes nothing stay.
        left: bool,
    },
    /// The first rows of each partition; without a limit all, with their rank.
    Rank {
        /// How they are counted.
        function: RankFunction,
        /// The partition.
        partition: Vec<usize>,
        /// The order.
        order: Vec<SortKey>,
        /// The first and last rank that is kept.
        range: Option<(u64, u64)>,
        /// Whether the rank is a column behind the others.
        output_rank: bool,
    },
    /// The first or last row of each partition by time.
    Deduplicate {
        /// The partition.
        partition: Vec<usize>,
        /// The time column.
        time: usize,
        /// Event or processing time.
        time_kind: TimeKind,
        /// Whether the last row stays.
        last: bool,
    },
    /// The first rows of each window and partition.
    WindowRank {
        /// How they are counted.
        function: RankFunction,
        /// Start and end of the window.
        window: (usize, usize),
        /// The partition, without the window.
        partition: Vec<usize>,
        /// The order.
        order: Vec<SortKey>,
        /// The first and last rank that is kept.
        range: (u64, u64),
        /// Whether the rank is a column behind the others.
        output_rank: bool,
    },
    /// `OVER`: the results behind the input's columns.
    Over {
        /// The partition.
        partition: Vec<usize>,
        /// The order.
        order: Vec<SortKey>,
        /// The calls.
        calls: Vec<OverCall>,
    },
    /// Rows in order, all of a bounded input or by time, of which some may be skipped and some be all.
    Sort {
        /// The order; empty for a limit alone.
        order: Vec<SortKey>,
        /// Rows left out at the beginning.
        offset: u64,
        /// Rows given at most.
        fetch: Option<u64>,
    },
    /// Makes a changelog with all kinds out of one by key.
    Normalize {
        /// The key.
        keys: Vec<usize>,
    },
    /// Leaves `-U` out.
    DropUpdateBefore,
    /// The rows of its input that came too late for the input's operator: the columns of that operator's input.
    LateRows,
    /// The table that a changelog has made when it has ended. Of batch mode.
    Fold,
    /// Keeps for each key of a sink the rows that came under it, and gives the newest.
    Materialize {
        /// The sink's key.
        keys: Vec<usize>,
    },
    /// Writes a table.
    Sink(Box<SinkOp>),
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.meaning())
    }
}

fn residual(expr: &Option<Expr>) -> String {
    expr.as_ref().map(|e| format!(" if {}", pretty(e))).unwrap_or_default()
}

impl Op {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Scan(_) => "TableSourceScan",
            Op::Values(_) => "Values",
            Op::Calc { .. } => "Calc",
            Op::Union => "Union",
            Op::Expand { .. } => "Expand",
            Op::Aggregate { .. } => "GroupAggregate",
            Op::WindowAssign { .. } => "WindowTableFunction",
            Op::WindowAggregate { .. } => "WindowAggregate",
            Op::Join { .. } => "Join",
            Op::IntervalJoin { .. } => "IntervalJoin",
            Op::WindowJoin { .. } => "WindowJoin",
            Op::TemporalJoin { .. } => "TemporalJoin",
            Op::LookupJoin { .. } => "LookupJoin",
            Op::Correlate { .. } => "Correlate",
            Op::Rank { .. } => "Rank",
            Op::Deduplicate { .. } => "Deduplicate",
            Op::WindowRank { .. } => "WindowRank",
            Op::Over { .. } => "OverAggregate",
            Op::Sort { .. } => "Sort",
            Op::Normalize { .. } => "ChangelogNormalize",
            Op::DropUpdateBefore => "DropUpdateBefore",
            Op::Materialize { .. } => "SinkMaterialize",
            Op::Fold => "Fold",
            Op::LateRows => "LateRows",
            Op::Sink(_) => "Sink",
        }
    }

    /// Whether rows can come too late for it, and are given out where a [`Op::LateRows`] asks for them.
    pub fn has_late_rows(&self) -> bool {
        match self {
            Op::WindowAggregate { window, .. } => {
                window.as_ref().is_none_or(|window| window.time_kind == TimeKind::Rowtime)
            }
            Op::WindowAssign { window, .. } => {
                window.time_kind == TimeKind::Rowtime && matches!(window.kind, WindowKind::Session { .. })
            }
            Op::WindowRank { .. } => true,
            // Beside NULLs a row comes out however late it is.
            Op::TemporalJoin { kind: JoinKind::Inner, times: Some(_), .. } => true,
            _ => false,
        }
    }

    /// Whether it gives the same for the same rows each time, and need not be done twice: a sink writes as often as it is told to.
    pub fn is_repeatable(&self) -> bool {
        match self {
            Op::Sink(_) => false,
            Op::Calc { filter, exprs } => !filter.iter().chain(exprs).any(Expr::is_volatile),
            Op::Correlate { function: CorrelateFn::Function(function), .. } => function.is_deterministic(),
            _ => true,
        }
    }

    /// All that decides what it computes, as text that is the same in every process.
    pub fn meaning(&self) -> String {
        let name = self.name();
        match self {
            Op::Scan(scan) => format!(
                "{name} {} {} {:?} {:?} {:?} {:?} {}{}",
                scan.table,
                scan.identity,
                scan.columns,
                scan.metadata,
                scan.predicates,
                scan.limit,
                residual(&scan.watermark),
                residual(&scan.rowtime)
            ),
            Op::Values(rows) => format!("{name} {rows:?}"),
            Op::Calc { filter, exprs } => {
                let exprs = exprs.iter().map(|e| format!("{e}")).collect::<Vec<_>>().join(", ");
                format!("{name} [{exprs}]{}", filter.as_ref().map(|e| format!(" if {e}")).unwrap_or_default())
            }
            Op::Union | Op::DropUpdateBefore | Op::Fold | Op::LateRows => name.to_owned(),
            Op::Expand { nulls, ids } => format!("{name} {nulls:?} {ids:?}"),
            Op::Aggregate { keys, calls } => format!("{name} {keys:?} {}", digests(calls)),
            Op::WindowAssign { window, partition } => format!("{name} {window:?} {partition:?}"),
            Op::WindowAggregate { window, attached, keys, calls, emit } => {
                format!("{name} {window:?} {attached:?} {keys:?} {} {emit:?}", digests(calls))
            }
            Op::Join { kind, keys, residual: r, output } => {
                format!("{name} {kind:?} {keys:?}{} {output:?}", residual(r))
            }
            Op::IntervalJoin { kind, keys, times, time_kind, bounds, residual: r } => {
                format!("{name} {kind:?} {keys:?} {times:?} {time_kind:?} {bounds:?}{}", residual(r))
            }
            Op::WindowJoin { kind, keys, windows, residual: r } => {
                format!("{name} {kind:?} {keys:?} {windows:?}{}", residual(r))
            }
            Op::TemporalJoin { kind, keys, times, residual: r } => {
                format!("{name} {kind:?} {keys:?} {times:?}{}", residual(r))
            }
            Op::LookupJoin { kind, lookup, keys, residual: r } => {
                format!("{name} {kind:?} {} {keys:?}{}", lookup.table, residual(r))
            }
            Op::Correlate { function, args, left } => format!("{name} {} {args:?} {left}", function.name()),
            Op::Rank { function, partition, order, range, output_rank } => {
                format!("{name} {function:?} {partition:?} {order:?} {range:?} {output_rank}")
            }
            Op::Deduplicate { partition, time, time_kind, last } => {
                format!("{name} {partition:?} {time} {time_kind:?} {last}")
            }
            Op::WindowRank { function, window, partition, order, range, output_rank } => {
                format!("{name} {function:?} {window:?} {partition:?} {order:?} {range:?} {output_rank}")
            }
            Op::Over { partition, order, calls } => {
                format!("{name} {partition:?} {order:?} {}", digests(calls))
            }
            Op::Sort { order, offset, fetch } => format!("{name} {order:?} {offset} {fetch:?}"),
            Op::Normalize { keys } | Op::Materialize { keys } => format!("{name} {keys:?}"),
            Op::Sink(sink) => {
                format!("{name} {} {} {} {:?}", sink.table, sink.identity, sink.overwrite, sink.mode)
            }
        }
    }
}

fn digests<C: CallDigest>(calls: &[C]) -> String {
    calls.iter().map(CallDigest::digest).collect::<Vec<_>>().join("; ")
}
