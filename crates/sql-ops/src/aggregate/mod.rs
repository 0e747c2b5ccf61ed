//! Aggregates: accumulators, grouped aggregation over changes, in one phase or two.
//!
//! [`Aggregator`] turns [`AggregateCall`]s into a compact layout: the accumulators of a group are words ([`AggState`]), with those
//! of variable size beside them. It works on the states of many groups at once, which an operator has loaded into [`States`] from
//! wherever it keeps them: one loop for each aggregate over a batch's rows, one for its results. Operators that keep state by
//! key ([`GroupAggregate`]), by window or by slice share it.
//!
//! Results are those of Flink: a `SUM` over no values is NULL, integers wrap, an `AVG` of integers truncates towards zero, decimals have up
//! to 38 digits and are NULL beyond, NaN is the greatest number.

mod accumulate;
mod bucket;
mod bundle;
mod bundled;
mod call;
mod distinct;
mod distinct_set;
mod engine;
mod expand;
mod group;
mod layout;
mod local_groups;
mod merge;
mod results;
mod spec;
mod split;
mod state;
mod stored;
mod text;
mod two_phase;
mod user;
mod varying;
mod wide;

pub use bucket::BucketAggregate;
pub use bundle::BundleSpec;
pub use call::AggregateCall;
pub use engine::{Aggregator, AggregatorOptions};
pub use expand::{Expand, ExpandSpec};
pub use group::GroupAggregate;
pub use local_groups::LocalGroups;
pub use spec::GroupAggregateSpec;
pub use split::{SplitAggregate, Spread};
pub use state::{AggState, States};
pub use two_phase::{LocalAggregate, LocalAggregateSpec};

#[cfg(test)]
mod tests;
