//! What a table connector, a table format and their options are.
//!
//! A [`TableFactory`] stands behind `'connector' = '...'`: it makes what reads, writes or looks up a table. A
//! [`FormatFactory`] stands behind `'format' = '...'`: it makes what turns records of bytes into columns and back. Both say
//! which options they know, so that an unknown one is an error that names the nearest known one. Neither knows
//! tasks, SQL text or plans.

mod connector;
mod format;
mod keyed;
mod malformed;
mod options;
mod registry;
mod select;

pub use connector::{
    ChangelogMode, FieldPath, Literal, LookupSource, Predicate, PredicateOp, ScanRequest, TableContext,
    TableFactory, TableScan, TableSink, TableSource,
};
pub use format::{
    BytesAt, DecodeFailure, FormatContext, FormatFactory, RecordDecoder, RecordEncoder, RecordFraming,
};
pub use keyed::KeyedRows;
pub use malformed::OnMalformed;
pub use options::{OptionKind, OptionSpec, Options, nearest};
pub use registry::Registry;
pub use select::{select, select_column};
