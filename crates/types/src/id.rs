//! Names and numbers of things.

use std::fmt;
use std::sync::Arc;

/// The stable name of an operator, under which its state is stored and found again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperatorUid(Arc<str>);

impl OperatorUid {
    /// The uid with this text.
    pub fn new(uid: impl AsRef<str>) -> Self {
        OperatorUid(Arc::from(uid.as_ref()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OperatorUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub $inner);

        impl $name {
            /// The one after this.
            #[must_use]
            pub fn next(self) -> Self {
                $name(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

number!(
    /// The number of a checkpoint within a job, counted from 1.
    CheckpointId(u64)
);
number!(
    /// The number of a run of a job over one checkpoint folder, counted from 1. A newer one fences the older.
    Generation(u64)
);
number!(
    /// The number of a try within one run, counted from 1: each restart is a new attempt.
    Attempt(u32)
);

/// One parallel instance of an operator or task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubtaskId {
    /// Counted from 0.
    pub index: u32,
    /// How many there are.
    pub parallelism: u32,
}

impl SubtaskId {
    /// Instance `index` of `parallelism`.
    pub fn new(index: u32, parallelism: u32) -> Self {
        debug_assert!(index < parallelism);
        SubtaskId { index, parallelism }
    }
}

/// As users count: `1/4` is the first of four.
impl fmt::Display for SubtaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.parallelism)
    }
}
