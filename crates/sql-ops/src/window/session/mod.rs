//! Sessions: windows of a key that grow while its rows follow each other closely.

mod aggregate;
mod assign;
mod operator;
mod sessions;
mod state;

pub use aggregate::{SessionAggregate, SessionAggregateSpec};
pub use assign::{SessionAssign, SessionAssignSpec};
