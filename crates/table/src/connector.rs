//! Tables as their connectors make them.

use crate::options::{OptionSpec, Options};
use crate::registry::Registry;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use flugs_batch::ChangeBatch;
use flugs_connector::{Boundedness, Sink, Source};
use flugs_sql_types::{SqlType, TableSchema};
use flugs_types::{Result, RowKind};

/// Which kinds of changes a table gives or takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangelogMode {
    /// `+I` alone.
    Append,
    /// `+I`, `+U` and `-D` by the primary key; a `-D` may hold the key alone. There is no `-U`.
    Upsert,
    /// All four kinds; every `-U` and `-D` holds the row as it was.
    Retract,
}

impl ChangelogMode {
    /// Whether rows of this kind can occur.
    pub fn has(self, kind: RowKind) -> bool {
        match self {
            ChangelogMode::Append => kind == RowKind::Insert,
            ChangelogMode::Upsert => kind != RowKind::UpdateBefore,
            ChangelogMode::Retract => true,
        }
    }
}

/// What a factory makes a table from.
#[derive(Clone, Copy)]
pub struct TableContext<'a> {
    /// `catalog.database.table`, for messages.
    pub name: &'a str,
    /// Physical columns, keys and partitions.
    pub schema: &'a TableSchema,
    /// What stands in `WITH (...)` and in hints.
    pub options: &'a Options,
    /// Where formats are found.
    pub registry: &'a Registry,
}

/// Makes the tables of one connector.
pub trait TableFactory: Send + Sync {
    /// What stands behind `'connector' =`.
    fn identifier(&self) -> &'static str;

    /// The options that it knows, without those of formats.
    fn options(&self) -> &'static [OptionSpec];

    /// Whether options of the format named by `format` (`'json.ignore-parse-errors'`) are allowed.
    fn has_format(&self) -> bool {
        false
    }

    /// A table to be read. An error where this connector cannot be read, or its options make no sense.
    fn source(&self, table: TableContext<'_>) -> Result<Box<dyn TableSource>>;

    /// A table to be written.
    fn sink(&self, table: TableContext<'_>) -> Result<Box<dyn TableSink>>;

    /// A table in which rows are looked up by key (`FOR SYSTEM_TIME AS OF` processing time). An error of kind `Job` where there is none:
    /// such a join then keeps the newest row of each key that it reads.
    fn lookup(&self, table: TableContext<'_>, keys: &[usize]) -> Result<Box<dyn LookupSource>>;
}

/// A column, or a field somewhere in a column of type `ROW`: names from the outside in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldPath(pub Vec<String>);

/// A constant in a [`Predicate`].
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// Of an integer type.
    Int(i64),
    /// Of a floating-point type.
    Double(f64),
    /// Of a character type.
    String(String),
    /// `TRUE` or `FALSE`.
    Boolean(bool),
    /// Of a timestamp type: microseconds since the epoch.
    Timestamp(i64),
}

/// How a predicate compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PredicateOp {
    /// `=`; more than one literal is `IN`.
    Eq,
    /// `<`.
    Lt,
    /// `<=`.
    LtEq,
    /// `>`.
    Gt,
    /// `>=`.
    GtEq,
}

/// A comparison of a field with constants, offered to a source. Rows that do not pass are not needed; the plan filters again
/// what the source gives unless it [`applies`](TableSource::applies) the predicate, so it may use any part of what it is offered.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    /// What is compared.
    pub path: FieldPath,
    /// How.
    pub op: PredicateOp,
    /// With what: one constant, or several for [`PredicateOp::Eq`].
    pub literals: Vec<Literal>,
}

/// What a plan needs of a table.
#[derive(Debug, Clone)]
pub struct ScanRequest {
    /// The columns of the batches, in order: physical columns or fields in them. Nothing else is to be decoded.
    pub columns: Vec<FieldPath>,
    /// Metadata columns behind them, by their key (`'timestamp'`, `'file.path'`).
    pub metadata: Vec<String>,
    /// Names and types of all these, in order.
    pub schema: SchemaRef,
    /// All of them hold for the rows that are needed.
    pub predicates: Vec<Predicate>,
    /// No more rows than this are needed.
    pub limit: Option<u64>,
    /// Whether the order of rows within a split matters (there is a watermark or a changelog); otherwise rows may be read in
    /// any order, by all readers at once.
    pub ordered: bool,
}

/// A table that is read.
pub trait TableSource: Send + Sync {
    /// What its rows do.
    fn changelog_mode(&self) -> ChangelogMode {
        ChangelogMode::Append
    }

    /// Whether it ends.
    fn boundedness(&self) -> Boundedness;

    /// How many rows it has, where that is known without reading them. Of use to estimates alone.
    fn rows(&self) -> Option<u64> {
        None
    }

    /// Whether it decodes records with a format, and reports those that cannot be read: then the table has the option
    /// [`malformed`](crate::OnMalformed).
    fn reports_malformed(&self) -> bool {
        false
    }

    /// Whether records that cannot be read are to be skipped and counted (`'json.ignore-parse-errors'`): the source reports
    /// them all the same, and what the job does with them is to be that, unless the table's option says otherwise.
    fn skips_malformed(&self) -> bool {
        false
    }

    /// The metadata columns that it can give, by key.
    fn metadata(&self) -> Vec<(&'static str, SqlType)> {
        Vec::new()
    }

    /// How many readers are of use, where the number is known; the job's parallelism otherwise.
    fn parallelism(&self) -> Option<u32> {
        None
    }

    /// Whether every row that the table gives passes this predicate where it is offered: then the plan does not look again.
    fn applies(&self, predicate: &Predicate) -> bool {
        let _ = predicate;
        false
    }

    /// What reads the table.
    fn scan(&self, request: &ScanRequest) -> Result<TableScan>;
}

/// A source of SQL: each item is a batch of rows in order. Event times are not set: they stand in columns.
pub type TableScan = Box<dyn Source<Item = ChangeBatch>>;

/// A table that is written.
pub trait TableSink: Send + Sync {
    /// What it takes, where the query gives `query`: [`Upsert`](ChangelogMode::Upsert) is offered to tables with a primary key
    /// alone. One without a key that takes `Upsert` all the same has no use for `-U`, which is then not made at all.
    fn changelog_mode(&self, query: ChangelogMode) -> ChangelogMode;

    /// How many writers it must have, where that matters; the job's parallelism otherwise.
    fn parallelism(&self) -> Option<u32> {
        None
    }

    /// Whether `INSERT OVERWRITE` is possible.
    fn supports_overwrite(&self) -> bool {
        false
    }

    /// What writes the table: batches of the physical columns in order.
    fn sink(&self, overwrite: bool) -> Result<Box<dyn Sink<Item = ChangeBatch>>>;
}

/// A table in which rows are looked up by equality of key columns. It lives in a task: work that blocks for long is done ahead
/// (a whole file in memory), in bounded time.
pub trait LookupSource: Send + Sync {
    /// The rows of these keys: `keys` has the key columns in the order asked for. Gives matching rows, all physical columns, and
    /// for each the row of `keys` that it matches, in ascending order.
    fn lookup(&self, keys: &RecordBatch) -> Result<(RecordBatch, Vec<u32>)>;
}
