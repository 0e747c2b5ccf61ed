//! Typed operators: process functions, windows, joins, async I/O, broadcast.

mod aggregate;

pub use aggregate::{AggregateFunction, Avg, Count, Max, Min, Number, Sum};
