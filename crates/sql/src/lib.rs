//! SQL sessions: statements in, results out.
//!
//! A [`SqlEnvironment`] knows catalogs, functions, connectors and options, and runs statements one after the other.

mod builder;
mod collect;
mod environment;
mod fold;

pub use collect::{Change, TableResult};
pub use environment::SqlEnvironment;
pub use fold::Folded;
