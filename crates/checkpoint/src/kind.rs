//! The kinds of checkpoints.

use std::fmt;

/// Why a checkpoint is taken, and what becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// For recovery; discarded when enough newer ones exist.
    Checkpoint,
    /// Asked for and owned by the user; never discarded by retention.
    Savepoint,
    /// The last one, after the end of all input.
    Final,
}

impl Kind {
    /// The word that stands in manifests and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Checkpoint => "checkpoint",
            Kind::Savepoint => "savepoint",
            Kind::Final => "final",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
