//! Operators over change batches: what SQL runs on.
//!
//! Every operator is made from a specification in terms of column indices and physical expressions over its input's schema. It
//! knows nothing of SQL text and plans. Keys, stored rows and sort keys are byte strings made by `row`.

pub mod aggregate;
pub mod ask;
mod binary;
pub mod bounded;
pub mod bridge;
pub mod calc;
pub mod changelog;
mod changes;
pub mod division;
pub mod edge;
pub mod failure;
pub mod join;
mod json;
pub mod logic;
pub mod malformed;
pub mod not_null;
mod outbox;
pub mod over;
mod phases;
pub mod rank;
pub mod row;
pub mod sort;
pub mod stream;
#[doc(hidden)]
pub mod testing;
mod ttl;
pub mod window;
