//! Joins of changing tables: regular, interval, temporal, lookup; and correlated table functions.
//!
//! The concatenation of two inputs is the columns of the left and then those of the right: join conditions and output columns are
//! stated over it. State is kept by join key, so that the rows of a key meet in one subtask whatever the parallelism; a join
//! without keys has one subtask.

mod bag;
mod condition;
mod interval;
mod pairs;
mod plan;
mod regular;
mod spec;
mod time;

pub use interval::IntervalJoin;
pub use regular::RegularJoin;
pub use spec::{
    CorrelateSpec, InputUniqueness, IntervalJoinSpec, JoinInput, JoinKey, JoinTime, JoinType, LookupCalc,
    LookupJoinSpec, LookupKey, ProcTimeTemporalJoinSpec, RegularJoinSpec, TableRows, TemporalJoinSpec,
};
