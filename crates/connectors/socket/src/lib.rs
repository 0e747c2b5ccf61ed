//! A source of records from a TCP connection, for trying things out.
//!
//! A socket has no positions to come back to: what was read since the last checkpoint, or sent while nobody was
//! connected, is lost when a job fails. So delivery is **at most once** from here, whatever the sink does. Use a
//! log or files where each record counts.

mod connection;
mod reader;
mod source;
#[cfg(feature = "table")]
pub mod table;
#[cfg(test)]
mod tests;

pub use source::SocketSource;
