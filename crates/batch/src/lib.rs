//! What moves between operators: batches of typed records, the control items between them, and the
//! push interface by which an operator hands them on; and how records are encoded.
//!
//! A batch is the unit, never the record. Control items stand only between batches, and a batch
//! never straddles a barrier. This crate knows nothing of tasks and threads.

#[cfg(feature = "arrow")]
mod change;
mod control;
pub mod data;
mod either;
mod push;
mod records;

#[cfg(feature = "arrow")]
pub use change::ChangeBatch;
pub use compact_str::CompactString;
pub use control::{Barrier, BarrierKind, Control, StreamElement};
pub use data::{Data, Key};
pub use either::Either;
pub use push::{Flow, Push};
pub use records::{Batch, Exchanged, Record, Records};
