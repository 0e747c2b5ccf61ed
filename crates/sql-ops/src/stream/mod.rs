//! Between streams of Rust rows and batches of columns.
//!
//! [`FromRecords`] stands where a stream becomes a table, [`ToRecords`] where a table becomes a stream. Both keep the order of rows
//! and have no state. Event time is of milliseconds in SQL and of microseconds in a stream: on the way into SQL times are cut, and
//! the watermark waits until no row of its millisecond can follow.

mod from_records;
mod to_records;

#[cfg(test)]
mod tests;

pub use from_records::{FromRecords, FromRecordsSpec};
pub use to_records::{ToRecords, ToRecordsSpec};
