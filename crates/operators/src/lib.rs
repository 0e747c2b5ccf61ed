//! Typed operators: process functions, windows, joins, async I/O, broadcast.

mod aggregate;
mod collector;
mod function;
mod key;
mod keyed;
mod process;
mod rows;
mod stateless;

pub use aggregate::{AggregateFunction, Avg, Count, Max, Min, Number, Sum};
pub use collector::{Collector, OutputTag};
pub use function::{Context, OpenFunction, RowFunction, RowOperator};
pub use key::KeySelector;
pub use keyed::{
    KeyedCoProcess, KeyedCoProcessFunction, KeyedContext, KeyedFunction, KeyedOperator, KeyedProcess,
    KeyedProcessFunction, KeyedRuntime, OpenKeyed, TimeDomain, Timer,
};
pub use process::{CoFlatMap, CoMap, CoProcess, CoProcessFunction, Process, ProcessFunction};
pub use rows::{EitherRest, RecordsRest, Rows};
pub use stateless::{Filter, FlatMap, Map, Outcome, TryMap};
