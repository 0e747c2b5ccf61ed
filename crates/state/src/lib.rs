//! Typed keyed and operator state on the heap: tables whose snapshots pause nobody, the files they are
//! written to and restored from, timers, and time to live.
//!
//! A table is used by one thread, its operator's. A snapshot freezes it at an instant in constant time;
//! what the operator changes afterwards is copied first, shard by shard, and the copies are encoded on
//! background threads. This crate knows nothing of tasks, stores and checkpoints: it turns tables into
//! files of bytes ([`RunWriter`]) and such files into tables ([`OpenState`]).

mod access;
mod cell;
mod due;
mod evolve;
mod handles;
mod open;
mod operator;
mod panes;
mod run;
mod snapshot;
mod store;
mod table;
#[cfg(test)]
mod test_run;
mod timers;
mod ttl;

pub use access::KeyedAccess;
pub use due::DueIndex;
pub use handles::{AggregatingState, Handle, ListState, MapState, ReducingState, ValueState};
pub use open::OpenState;
pub use operator::{BroadcastTable, ListTable, UnionListTable};
pub use panes::PaneTable;
pub use run::{Block, LastPart, PieceWriter, RunReader, RunWriter, Section, SectionId};
pub use snapshot::{FrozenPiece, Fuel, SnapshotTable, StateKind, StateSchema};
pub use store::KeyedStore;
pub use table::{Drained, KeyedTable};
pub use timers::TimerTable;
pub use ttl::{StateTime, Ttl, TtlTime, TtlUpdate, TtlVisibility};
