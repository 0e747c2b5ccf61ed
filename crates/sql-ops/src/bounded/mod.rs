//! Operators of batch mode: they see all of a bounded input, give results once, and spill to disk.
//!
//! Inputs are insert-only. Results come at the end of the input, as inserts; watermarks are held back until then. No checkpoints are
//! taken in batch mode: a job that fails starts anew.

mod aggregate;
mod groups;
mod join;
mod operator;
mod over;
mod rank;
mod session;
mod sort;
mod spec;
mod spill;

pub use aggregate::HashAggregate;
pub use join::HashJoin;
pub use operator::Bounded;
pub use over::BoundedOver;
pub use rank::{BoundedDeduplicate, BoundedRank};
pub use session::BoundedSession;
pub use sort::ExternalSort;
pub use spec::{
    AggregatePhase, BoundedDeduplicateSpec, BoundedOverSpec, BoundedRankSpec, BoundedSessionSpec,
    ExternalSortSpec, HashAggregateSpec, HashJoinSpec, SessionResult, SpillSpec,
};

#[cfg(test)]
mod tests;
