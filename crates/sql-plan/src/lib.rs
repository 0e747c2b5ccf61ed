//! From SQL statements to job graphs.
//!
//! A [`Planner`] sees a snapshot of all that names mean ([`catalog`]). It binds queries with DataFusion, turns them into a
//! [`plan::Plan`] of streaming operators, settles which changes every edge carries, and adds the operators to a job ([`lower()`]).
//! The same text and the same catalog give the same plan, byte for byte. Every mistake in the text is a
//! [`flugs_sql_parser::SqlError`] with its place.

mod bind;
pub mod catalog;
mod changelog;
mod config;
mod convert;
mod declare;
mod error;
mod explain;
mod guards;
mod late;
mod lower;
mod malformed;
mod marks;
mod optimize;
pub mod plan;
mod planner;
mod stream;

pub use config::{AggregatePhases, AsyncScalarConfig, OperatorMemory, PlanConfig, RuntimeMode};
pub use convert::streams::StreamTarget;
pub use declare::options_of;
pub use error::PlanResult;
pub use explain::{StateNote, explain, explain_json, is_bounded, warnings};
pub use lower::{JobBuilder, Uids, lower, lower_into};
pub use planner::{OutputColumn, Planner};
pub use stream::{ROWTIME_KEY, SOURCE_WATERMARK, ScanSource, SinkTarget, StreamInput, StreamOutput};
