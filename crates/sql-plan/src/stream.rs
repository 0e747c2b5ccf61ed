//! Streams of a program among tables: what a plan reads a table from, and where the rows of a query go.
//!
//! A stream is known here by the operators that it is attached with; what program it is part of, and of which rows it is, is known
//! to whoever made the object.

use crate::lower::JobBuilder;
use flugs_connector::Boundedness;
use flugs_graph::NodeId;
use flugs_table::{ChangelogMode, Predicate, ScanRequest, TableSink, TableSource};
use flugs_task::NodeFactory;
use flugs_types::Result;
use std::sync::Arc;

/// The metadata of a stream that is the event time of its rows: a `TIMESTAMP_LTZ(3)`.
pub const ROWTIME_KEY: &str = "rowtime";

/// The expression of a watermark that stands for the stream's own.
pub const SOURCE_WATERMARK: &str = "SOURCE_WATERMARK()";

/// A stream of the program that is read as a table.
pub trait StreamInput: Send + Sync {
    /// What its rows do.
    fn changelog_mode(&self) -> ChangelogMode;

    /// Adds the operator that makes batches of the rows, of the columns that are asked for and of the metadata [`ROWTIME_KEY`], and
    /// connects it. `uid` is its uid. Gives the operator and how many subtasks it has. An error where the builder builds another
    /// program.
    fn attach(&self, request: &ScanRequest, uid: &str, builder: &mut dyn JobBuilder)
    -> Result<(NodeId, u32)>;
}

/// Takes the rows of a query as a stream of the program.
pub trait StreamOutput: Send + Sync {
    /// The operator that makes records of batches. `rowtime` is the column that is the event time of a row; the others are those
    /// that were asked for, in their order.
    fn factory(&self, columns: usize, rowtime: Option<usize>) -> Arc<dyn NodeFactory>;
}

/// What a table's rows come from.
#[derive(Clone)]
pub enum ScanSource {
    /// A connector.
    Table(Arc<dyn TableSource>),
    /// A stream of the program.
    Stream(Arc<dyn StreamInput>),
}

impl ScanSource {
    /// What its rows do.
    pub fn changelog_mode(&self) -> ChangelogMode {
        match self {
            ScanSource::Table(table) => table.changelog_mode(),
            ScanSource::Stream(stream) => stream.changelog_mode(),
        }
    }

    /// Whether it ends; streams are taken to go on.
    pub fn boundedness(&self) -> Boundedness {
        match self {
            ScanSource::Table(table) => table.boundedness(),
            ScanSource::Stream(_) => Boundedness::Unbounded,
        }
    }

    /// How many rows it has, where that is known: [`TableSource::rows`].
    pub fn rows(&self) -> Option<u64> {
        match self {
            ScanSource::Table(table) => table.rows(),
            ScanSource::Stream(_) => None,
        }
    }

    /// Whether it has records that a format decodes: [`TableSource::reports_malformed`].
    pub fn reports_malformed(&self) -> bool {
        matches!(self, ScanSource::Table(table) if table.reports_malformed())
    }

    /// Whether those that cannot be read are skipped unless the table says otherwise: [`TableSource::skips_malformed`].
    pub fn skips_malformed(&self) -> bool {
        matches!(self, ScanSource::Table(table) if table.skips_malformed())
    }

    /// Whether all of its rows pass a predicate that it is offered.
    pub fn applies(&self, predicate: &Predicate) -> bool {
        match self {
            ScanSource::Table(table) => table.applies(predicate),
            ScanSource::Stream(_) => false,
        }
    }
}

/// Where the rows of a query go.
#[derive(Clone)]
pub enum SinkTarget {
    /// Into a table.
    Table(Arc<dyn TableSink>),
    /// Into a stream of the program.
    Stream(Arc<dyn StreamOutput>),
}

impl SinkTarget {
    /// What it takes, where the query gives `query`.
    pub fn changelog_mode(&self, query: ChangelogMode) -> ChangelogMode {
        match (self, query) {
            (SinkTarget::Table(table), query) => table.changelog_mode(query),
            (SinkTarget::Stream(_), ChangelogMode::Append) => ChangelogMode::Append,
            (SinkTarget::Stream(_), _) => ChangelogMode::Retract,
        }
    }
}
