//! Functions that users write in Rust, and functions that give rows.
//!
//! | what | how it is written | how it becomes known |
//! | --- | --- | --- |
//! | a scalar function | a closure: `scalar("twice", \|n: i64\| n * 2)` | [`FunctionRegistry::add_scalar`](crate::FunctionRegistry::add_scalar) |
//! | a scalar function of any types | [`DynamicScalar`] over [`ScalarValue`](datafusion_common::ScalarValue)s | the same |
//! | a table function | a closure: `table("words", ["word"], \|s: &str\| ...)`, or [`TableFunction`] over columns | [`add_table`](crate::FunctionRegistry::add_table) |
//! | an aggregate function | [`AggregateFunction`] over an accumulator of its own | [`add_aggregate`](crate::FunctionRegistry::add_aggregate) of [`aggregate`] |
//! | a scalar function that waits for something | a closure that gives a future: [`async_scalar`], or [`AsyncScalar`] over columns | the planner, which takes it out of the expressions around it |
//!
//! A closure's parameters have the types of [`Argument`]: one that is no `Option` is never called with NULL, and NULL is the
//! result (for table functions: no rows). Code of users may panic or fail: whoever calls it takes that as an error of kind
//! [`User`](flugs_types::ErrorKind::User), never as the end of the process.

mod aggregate;
mod closure;
mod dynamic;
mod rows;
mod value;
mod waiting;
mod widening;

#[cfg(test)]
mod tests;

pub use aggregate::{AggregateFunction, UserAggregateFunction, aggregate};
pub use closure::{ScalarClosure, TableClosure, scalar, table};
pub use dynamic::{DynamicScalar, dynamic_scalar};
pub use rows::{TableFunction, TableRows};
pub use value::{Argument, Fallible, Returned, Row};
pub use waiting::{AsyncClosure, AsyncScalar, AsyncScalarFunction, Waiting, async_function, async_scalar};
