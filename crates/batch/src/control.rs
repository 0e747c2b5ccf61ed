//! The items that travel between batches.

use flugs_types::{CheckpointId, Timestamp};

/// What a barrier asks of each operator it passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarrierKind {
    /// A periodic checkpoint.
    Checkpoint,
    /// A savepoint: owned by the user, never discarded by retention.
    Savepoint,
    /// The last one, after the end of all input; what it covers is committed before the job ends.
    Final,
}

/// Splits the stream into what belongs to a checkpoint and what comes after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Barrier {
    /// The checkpoint's number.
    pub checkpoint: CheckpointId,
    /// What is asked.
    pub kind: BarrierKind,
}

/// A control item. It is ordered with the batches around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// No record with an event time at or before this will follow, but for late ones.
    Watermark(Timestamp),
    /// The sender has nothing to say about time until it is active again: leave it out of the minimum.
    Idle,
    /// The sender counts again. A watermark or a batch follows.
    Active,
    /// A checkpoint's cut.
    Barrier(Barrier),
    /// Nothing follows. A bounded input sends `Watermark(Timestamp::MAX)` before it.
    End,
}

/// A batch or a control item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamElement<B> {
    /// Rows.
    Batch(B),
    /// What stands between batches.
    Control(Control),
}
