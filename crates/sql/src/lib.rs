//! SQL sessions: statements in, results out.
//!
//! A [`SqlEnvironment`] knows catalogs, functions, connectors and options, and runs statements one after the other. A statement
//! gives a [`TableResult`]: rows as they come, or a job. What is wrong with a text is an error whose message shows the place.

mod builder;
mod collect;
mod ddl;
mod dropped;
mod environment;
mod execute;
mod failure;
mod fold;
mod jobs;
mod options;
mod render;
mod result;
mod row;
mod stream;
mod table;

pub use dropped::{DropCause, Dropped};
pub use environment::{SqlEnvironment, WarningListener};
pub use flugs_cluster::{JobReport, JobStatus};
pub use flugs_sql_plan::{PlanConfig, RuntimeMode};
pub use fold::Folded;
pub use options::{KeyUse, SESSION_KEYS, SessionKey, SessionOptions, values_of};
pub use render::{NULL, RowFormat};
pub use result::{Polled, SqlJob, TableResult};
pub use row::Row;
pub use stream::StreamSchema;
pub use table::Table;

/// Text to statements: [`split`](parser::split) cuts a script, [`is_complete`](parser::is_complete) tells a shell whether to go on.
pub use flugs_sql_parser as parser;
/// What names mean.
pub use flugs_sql_plan::catalog;
