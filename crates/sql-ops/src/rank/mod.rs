//! The first rows of each partition in some order, and the first or last row of each key by time.
//!
//! State is kept by partition, so it follows its key groups when the parallelism changes. At the end of a bounded input nothing
//! is left to be done but for rows that wait for their time, which the last watermark lets out.

pub(crate) mod columns;
mod deduplicate;
mod diff;
pub(crate) mod expiry;
pub(crate) mod late;
pub(crate) mod outgoing;
mod partition;
mod ranks;
pub(crate) mod reached;
mod spec;
pub(crate) mod time;
mod top_n;

pub use deduplicate::Deduplicate;
pub use spec::{DeduplicateSpec, DeduplicateTime, Keep, RankInput, RankKind, TopNSpec};
pub use top_n::TopN;
