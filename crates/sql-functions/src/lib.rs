//! The built-in functions of SQL with Flink's names, types and meaning, as DataFusion's function objects.
//!
//! [`FunctionRegistry`] knows every function by name. Conversions ([`cast`]) and exact arithmetic ([`arithmetic`]) have no
//! names: the planner puts them where a query says `CAST` or computes with decimals.
//!
//! This crate knows no catalog, no plan and no stream; a function sees columns and gives a column.

pub mod aggregate;
pub mod arithmetic;
mod bitmap;
pub mod cast;
mod collection;
pub mod comparison;
mod conditional;
mod hash;
mod json;
mod math;
mod registry;
mod string;
mod support;
pub mod table;
pub mod temporal;

pub use registry::{Category, FunctionDoc, FunctionKind, FunctionRegistry};
pub use support::common_type;
pub use table::TableFunction;
