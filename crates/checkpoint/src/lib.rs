//! The checkpoint protocol, manifests, where they lie, retention, and redistribution of state.
//!
//! - [`Coordinator`]: the protocol of one job attempt, a pure state machine.
//! - [`Manifest`]: what a checkpoint consists of, as a readable file.
//! - [`catalog`]: where manifests and state files lie in a [`BlobStore`]; claiming, publishing, finding, retaining them.
//! - [`assign`]: which stored state each operator and subtask of a restored job gets.
//!
//! Nothing here has threads or clocks, and no I/O but the calls that [`catalog`] makes on the store it is given.

pub mod assign;
pub mod catalog;
mod coordinator;
mod kind;
mod manifest;
mod memory;
mod store;

pub use coordinator::{Action, CheckpointOptions, Coordinator, Event, Progress, Subtask};
pub use kind::Kind;
pub use manifest::{MANIFEST_VERSION, Manifest, OperatorState, StateHandle, SubtaskState};
pub use memory::MemoryStore;
pub use store::{BlobStore, BlobUpload};
