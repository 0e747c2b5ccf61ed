//! Operators of a plan.

use crate::bind::nodes::WindowKind;
use crate::plan::canonical;
use crate::plan::{
    AggregateCall, AsyncCall, CallDigest, CorrelateFn, Emit, JoinKind, LookupSpec, OverCall, RankFunction,
    ScanOp, SinkOp, SortKey, WindowSpec,
};
use arrow::array::RecordBatch;
use datafusion_expr::Expr;
use flugs_sql_ops::join::LookupRetry;
use flugs_sql_types::TimeKind;
use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

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
    /// Rows with the values of functions that wait behind.
    AsyncCalc {
        /// The calls.
        calls: Vec<AsyncCall>,
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
        /// What `STATE_TTL` says; no time at all is for ever.
        ttl: Option<Duration>,
        /// Over how many buckets distinct values are spread, where they are.
        buckets: Option<NonZeroU32>,
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
        /// What `STATE_TTL` says of left and right; no time at all is for ever.
        ttl: [Option<Duration>; 2],
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
        /// Whether rows with equal keys go to one subtask.
        shuffle: bool,
        /// Whether rows that are not found are looked up again.
        retry: Option<LookupRetry>,
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
    /// Holds changes until their time is over, and gives what stays.
    Settle {
        /// By which columns rows go to subtasks.
        keys: Vec<usize>,
        /// The column of the event time.
        time: usize,
        /// How long behind its time a row may be taken back, in milliseconds.
        hold: i64,
    },
    /// Leaves `-U` out.
    DropUpdateBefore,
    /// The rows of its input that came too late for the input's operator: the columns of that operator's input.
    LateRows,
    /// The records of its input, a scan, that could not be read.
    Malformed,
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

impl Op {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Scan(_) => "TableSourceScan",
            Op::Values(_) => "Values",
            Op::Calc { .. } => "Calc",
            Op::AsyncCalc { .. } => "AsyncCalc",
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
            Op::Settle { .. } => "Settle",
            Op::DropUpdateBefore => "DropUpdateBefore",
            Op::Materialize { .. } => "SinkMaterialize",
            Op::Fold => "Fold",
            Op::LateRows => "LateRows",
            Op::Malformed => "MalformedRecords",
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

    /// What is said of it that changes neither what it computes nor what its state means.
    pub(crate) fn said(&self) -> String {
        match self {
            Op::Scan(scan) => format!("{:?} {:?}", scan.late, scan.malformed),
            Op::Aggregate { ttl, .. } => format!("{ttl:?}"),
            Op::Join { ttl, .. } => format!("{ttl:?}"),
            Op::LookupJoin { shuffle, retry, .. } => format!("{shuffle} {retry:?}"),
            _ => String::new(),
        }
    }

    /// All that decides what it computes, as text that is the same in every process.
    pub fn meaning(&self) -> String {
        let name = self.name();
        match self {
            Op::Scan(scan) => format!(
                "{name} {:?} {:?} {:?} {:?} {:?} {:?} {}; {}",
                scan.table,
                scan.identity,
                scan.columns,
                scan.metadata,
                scan.predicates,
                scan.limit,
                canonical::optional(&scan.watermark),
                canonical::optional(&scan.rowtime)
            ),
            Op::Values(rows) => format!("{name} {}", canonical::rows(rows)),
            Op::Calc { filter, exprs } => {
                let exprs: Vec<String> = exprs.iter().map(canonical::expr).collect();
                format!("{name} {exprs:?} {}", canonical::optional(filter))
            }
            Op::AsyncCalc { calls } => format!("{name} {}", digests(calls)),
            Op::Union | Op::DropUpdateBefore | Op::Fold | Op::LateRows | Op::Malformed => name.to_owned(),
            Op::Expand { nulls, ids } => format!("{name} {nulls:?} {ids:?}"),
            Op::Aggregate { keys, calls, buckets, .. } => {
                format!("{name} {keys:?} {} {buckets:?}", digests(calls))
            }
            Op::WindowAssign { window, partition } => format!("{name} {window:?} {partition:?}"),
            Op::WindowAggregate { window, attached, keys, calls, emit } => {
                format!("{name} {window:?} {attached:?} {keys:?} {} {emit:?}", digests(calls))
            }
            Op::Join { kind, keys, residual: r, output, .. } => {
                format!("{name} {kind:?} {keys:?} {} {output:?}", canonical::optional(r))
            }
            Op::IntervalJoin { kind, keys, times, time_kind, bounds, residual: r } => {
                format!(
                    "{name} {kind:?} {keys:?} {times:?} {time_kind:?} {bounds:?} {}",
                    canonical::optional(r)
                )
            }
            Op::WindowJoin { kind, keys, windows, residual: r } => {
                format!("{name} {kind:?} {keys:?} {windows:?} {}", canonical::optional(r))
            }
            Op::TemporalJoin { kind, keys, times, residual: r } => {
                format!("{name} {kind:?} {keys:?} {times:?} {}", canonical::optional(r))
            }
            Op::LookupJoin { kind, lookup, keys, residual: r, .. } => {
                format!(
                    "{name} {kind:?} {:?} {:?} {keys:?} {}",
                    lookup.table,
                    lookup.identity,
                    canonical::optional(r)
                )
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
            Op::Settle { keys, time, hold } => format!("{name} {keys:?} {time} {hold}"),
            Op::Sink(sink) => {
                format!("{name} {:?} {:?} {} {:?}", sink.table, sink.identity, sink.overwrite, sink.mode)
            }
        }
    }
}

fn digests<C: CallDigest>(calls: &[C]) -> String {
    calls.iter().map(CallDigest::digest).collect::<Vec<_>>().join("; ")
}
