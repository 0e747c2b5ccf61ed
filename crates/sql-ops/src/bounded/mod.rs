//! Operators of batch mode: they see all of a bounded input, give results once, and spill to disk.
//!
//! Inputs are insert-only. Results come at the end of the input, as inserts; watermarks are held back until then. No checkpoints are
//! taken in batch mode: a job that fails starts anew.

mod spec;

pub use spec::{
    AggregatePhase, BoundedDeduplicateSpec, BoundedOverSpec, BoundedRankSpec, BoundedSessionSpec,
    ExternalSortSpec, HashAggregateSpec, HashJoinSpec, SessionResult, SpillSpec,
};
