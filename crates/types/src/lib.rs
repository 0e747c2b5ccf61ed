//! The words that every other crate of Flugs speaks: ids, time, key groups, row kinds, errors,
//! the clock and the seam to background threads.
//!
//! This crate knows nothing of batches, operators, threads or storage. What stands here is small,
//! `Copy` where it can be, and stable: ids and key groups are part of every stored snapshot.

mod background;
mod clock;
mod error;
mod hash;
mod id;
mod key_group;
mod prefetch;
mod row_kind;
mod time;

pub use background::Background;
pub use clock::{Clock, ManualClock, SystemClock};
pub use error::{Error, ErrorKind, Result, guarded};
pub use hash::{KeyHasher, fingerprint_of_hashing, hash_bytes, hash_key};
pub use id::{Attempt, CheckpointId, Generation, OperatorUid, SubtaskId};
pub use key_group::{KEY_GROUPS, KeyGroup, KeyGroupRange};
pub use prefetch::prefetch;
pub use row_kind::RowKind;
pub use time::{ParseTimestampError, Timestamp};
