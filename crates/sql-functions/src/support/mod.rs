//! What every function is made of: its parameters, its type, its loop over rows.
//!
//! A function is a [`Definition`]: name, documentation, [`Parameter`]s that say which arguments fit and how they are widened,
//! the type of its result, and a body that sees a [`Call`]: columns of exactly the promised types, constants as columns of one
//! row. So a body never checks types, and never copies a constant.

mod call;
mod definition;
mod errors;
mod parameter;
mod rows;
mod slices;
#[cfg(test)]
pub(crate) mod testing;
mod text;

pub(crate) use call::{Call, Column};
pub(crate) use definition::{Definition, Types};
pub(crate) use errors::{data_error, planning_error, to_datafusion};
pub use parameter::common_type;
pub(crate) use parameter::{Parameter, int_digits, type_name};
pub(crate) use slices::SliceBuilder;
pub(crate) use text::{STRING_BYTES_MAX, Text, TextWriter, too_long};
