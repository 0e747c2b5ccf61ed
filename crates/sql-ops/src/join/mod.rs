//! Joins of changing tables: regular, interval, temporal, lookup; and correlated table functions.
//!
//! The concatenation of two inputs is the columns of the left and then those of the right: join conditions and output columns are
//! stated over it. State is kept by join key, so that the rows of a key meet in one subtask whatever the parallelism: before a join
//! with state stands a [`ChangeEdge::by_key`](crate::edge::ChangeEdge::by_key) of each input's key columns, in the order of the
//! specification. A join without keys has one subtask.

mod attach;
mod bag;
mod condition;
mod correlate;
mod interval;
mod lookup;
mod pairs;
mod plan;
mod regular;
mod repeat;
mod spec;
mod temporal;
#[cfg(test)]
mod testing;
mod time;
mod unnest;

pub use correlate::Correlate;
pub use interval::IntervalJoin;
pub use lookup::{LookupJoin, LookupRetry};
pub use regular::RegularJoin;
pub use repeat::Repeat;
pub use spec::{
    CorrelateSpec, InputUniqueness, IntervalJoinSpec, JoinInput, JoinKey, JoinTime, JoinType, LookupCalc,
    LookupJoinSpec, LookupKey, RegularJoinSpec, TableRows, TemporalJoinSpec,
};
pub use temporal::TemporalJoin;
pub use unnest::{Unnested, unnest};
