//! What operators of a plan are told: calls, keys, windows, tables.

use crate::bind::nodes::WindowKind;
use crate::catalog::ObjectPath;
use crate::stream::{ScanSource, SinkTarget};
use arrow::compute::SortOptions;
use arrow::datatypes::{FieldRef, SchemaRef};
use datafusion_expr::Expr;
use flugs_sql_functions::table::TableFunction;
use flugs_sql_types::{AggregateKind, LogicalType, RowField, SqlType, TimeKind, WindowKind as OverKind};
use flugs_table::{ChangelogMode, FieldPath, LookupSource, Predicate};
use flugs_types::{Error, Result};
use std::sync::Arc;
use std::time::Duration;

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

impl JoinKind {
    /// Whether rows of an input (0 is the left) come out that have no match.
    pub(crate) fn pads(self, input: usize) -> bool {
        match self {
            JoinKind::Inner | JoinKind::Semi => false,
            JoinKind::Left | JoinKind::Anti | JoinKind::NullAwareAnti => input == 0,
            JoinKind::Right => input == 1,
            JoinKind::Full => true,
        }
    }
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
    pub source: ScanSource,
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
    /// All physical columns of the table.
    pub physical: SchemaRef,
    /// Where rows of it go that come too late, where that is said of the table.
    pub late: Option<LateRoute>,
    /// What becomes of records of it that cannot be read.
    pub malformed: Malformed,
}

/// What becomes of records of a table that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Malformed {
    /// The first one fails the job.
    Fail,
    /// They are counted and skipped.
    Skip,
    /// They are counted and written to this table.
    Route(ObjectPath),
}

/// What becomes of late rows of a table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LateRoute {
    /// The table that they go to; none where they are dropped.
    pub to: Option<ObjectPath>,
    /// Whether a hint of the query says so.
    pub is_hint: bool,
}

/// A table that is written.
#[derive(Clone)]
pub struct SinkOp {
    /// Its name.
    pub table: String,
    /// Tells tables of one name and different options apart.
    pub identity: String,
    /// What writes it.
    pub sink: SinkTarget,
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
    /// Its options: tells tables of one name apart.
    pub identity: String,
    /// What looks up.
    pub source: Arc<dyn LookupSource>,
    /// Its columns.
    pub schema: SchemaRef,
}

/// What an [`Op::Correlate`](crate::plan::Op::Correlate) calls.
#[derive(Debug, Clone)]
pub enum CorrelateFn {
    /// `UNNEST`.
    Unnest {
        /// Whether the elements are counted in a last column.
        with_ordinality: bool,
    },
    /// The row itself, as often as the argument says.
    Repeat,
    /// A table function.
    Function(Arc<dyn TableFunction>),
}

impl CorrelateFn {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            CorrelateFn::Unnest { with_ordinality: false } => "UNNEST",
            CorrelateFn::Unnest { with_ordinality: true } => "UNNEST WITH ORDINALITY",
            CorrelateFn::Repeat => "REPEAT",
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
