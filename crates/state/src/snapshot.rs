//! What a table of state does so that a snapshot of it pauses nobody.
//!
//! The life of one snapshot: [`freeze`](SnapshotTable::freeze) marks the instant;
//! [`capture`](SnapshotTable::capture) is called in slices between steps of work until it says that all is
//! captured; the pieces go to a background thread, which encodes them into a file. Whatever changes a
//! part of the table in between captures that part first. There is one snapshot at a time.

use crate::run::PieceWriter;
use flugs_batch::data::Schema;
use std::fmt;

/// How much work a slice may still do, in bytes of state copied or looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fuel(pub usize);

impl Fuel {
    /// As much as it takes.
    pub const UNLIMITED: Self = Fuel(usize::MAX);

    /// Takes `bytes` out; stops at nothing.
    pub fn spend(&mut self, bytes: usize) {
        self.0 = self.0.saturating_sub(bytes);
    }

    /// Whether the slice is over.
    pub fn is_spent(self) -> bool {
        self.0 == 0
    }
}

/// What a table holds and how it is shared out when the parallelism changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateKind {
    /// A value a key; follows its key group.
    Keyed,
    /// A value a namespace (window) and key; follows its key group. The key's schema is the pair of both.
    KeyedPanes,
    /// The times of a key's timers; follows its key group.
    Timers,
    /// Items that are dealt out one by one.
    List,
    /// Items of which every subtask gets all.
    UnionList,
    /// A map that is the same in every subtask.
    Broadcast,
}

impl StateKind {
    /// Whether entries belong to key groups.
    pub fn is_keyed(self) -> bool {
        matches!(self, StateKind::Keyed | StateKind::KeyedPanes | StateKind::Timers)
    }
}

impl fmt::Display for StateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StateKind::Keyed => "keyed state",
            StateKind::KeyedPanes => "keyed state of windows",
            StateKind::Timers => "timers",
            StateKind::List => "list state",
            StateKind::UnionList => "union list state",
            StateKind::Broadcast => "broadcast state",
        })
    }
}

/// What a table holds, as it is stored beside its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateSchema {
    /// What it is.
    pub kind: StateKind,
    /// The shape of keys; [`Schema::Unit`] for lists.
    pub key: Schema,
    /// The shape of values.
    pub value: Schema,
}

/// A table of state that takes part in snapshots.
pub trait SnapshotTable: Send {
    /// The state's name within its operator.
    fn name(&self) -> &str;

    /// What it holds.
    fn schema(&self) -> StateSchema;

    /// Marks the instant of a snapshot, in constant time. The caller sees to it that the one before is complete or
    /// was cancelled.
    fn freeze(&mut self);

    /// Captures what is not captured yet, until `fuel` is spent, and hands out all captured pieces, those too that
    /// changes have captured since the last call. Says whether the snapshot is complete; it is so where none is running.
    fn capture(&mut self, fuel: &mut Fuel, pieces: &mut Vec<Box<dyn FrozenPiece>>) -> bool;

    /// Gives up the snapshot that is running, if one is.
    fn cancel(&mut self);

    /// The memory that the table holds, in bytes. What values hold beyond their own size is counted when they
    /// are inserted and again at each snapshot.
    fn bytes(&self) -> usize;
}

/// A part of a table as it was at the instant of a snapshot.
pub trait FrozenPiece: Send {
    /// Writes the piece's entries. Done away from the operator's thread.
    fn encode(&self, out: &mut PieceWriter<'_>);

    /// The memory that it holds, in bytes.
    fn bytes(&self) -> usize;
}
