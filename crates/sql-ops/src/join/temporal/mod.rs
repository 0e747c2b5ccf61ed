//! Joins of rows with the version of a table at their time: in event time, or the newest when they come.

mod event;
mod processing;

pub use event::TemporalJoin;
pub use processing::ProcTimeTemporalJoin;

#[cfg(test)]
mod tests;
