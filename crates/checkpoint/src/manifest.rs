//! What a checkpoint consists of. Its file is described in [`format`].

mod base64;
mod format;

use crate::{Kind, catalog};
use bytes::Bytes;
use flugs_types::{CheckpointId, Generation, KEY_GROUPS, OperatorUid, Timestamp, fingerprint_of_hashing};
use std::collections::HashSet;

pub use format::MANIFEST_VERSION;

/// The content of a checkpoint: for each operator the state of each of its subtasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The job's name.
    pub job: String,
    /// The run of the job that took it.
    pub generation: Generation,
    /// Its number.
    pub checkpoint: CheckpointId,
    /// Why it was taken.
    pub kind: Kind,
    /// When its publication began.
    pub created: Timestamp,
    /// The checkpoint before it in the same lineage: state files may be shared with that one.
    pub parent: Option<CheckpointId>,
    /// Whether the job has ended: nothing is left to do.
    pub finished: bool,
    /// [`fingerprint_of_hashing`](flugs_types::fingerprint_of_hashing) of the build that took it.
    pub hashing: u64,
    /// Fingerprint of the job graph that took it.
    pub graph: u64,
    /// The operators, in any order.
    pub operators: Vec<OperatorState>,
}

/// The state of an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorState {
    /// Under which it is found again.
    pub uid: OperatorUid,
    /// For users.
    pub name: String,
    /// How many subtasks it had.
    pub parallelism: u32,
    /// The state of a source's enumerator.
    pub enumerator: Option<Bytes>,
    /// The subtasks, ordered by index.
    pub subtasks: Vec<SubtaskState>,
}

/// The state of one subtask of an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubtaskState {
    /// Its index.
    pub index: u32,
    /// Whether it had read all of its input.
    pub finished: bool,
    /// Where its state is; `None` where it has none.
    pub state: Option<StateHandle>,
    /// How many bytes of state it has, those of earlier checkpoints included.
    pub bytes: u64,
}

/// Where state is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateHandle {
    /// In the manifest itself.
    Inline(Bytes),
    /// In a file of its own.
    File {
        /// Its path in the store.
        path: String,
        /// Its length.
        bytes: u64,
        /// The CRC-32 (IEEE) of its content.
        crc32: u32,
    },
}

impl Manifest {
    /// Whether its key groups are those of this build. Where not, keyed state must be hashed again.
    pub fn hashed_as_here(&self) -> bool {
        self.hashing == fingerprint_of_hashing()
    }

    /// Its path in the store of its job.
    pub fn path(&self) -> String {
        catalog::manifest_path(&self.job, self.checkpoint, self.generation)
    }

    /// The operator with this uid.
    pub fn operator(&self, uid: &OperatorUid) -> Option<&OperatorState> {
        self.operators.iter().find(|o| o.uid == *uid)
    }

    /// The paths of all state files that it refers to, in no order, perhaps repeated.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.operators.iter().flat_map(|o| &o.subtasks).filter_map(|s| match &s.state {
            Some(StateHandle::File { path, .. }) => Some(path.as_str()),
            _ => None,
        })
    }

    /// How many bytes of state it covers.
    pub fn bytes(&self) -> u64 {
        self.operators.iter().fold(0, |sum, o| sum.saturating_add(o.bytes()))
    }

    /// Says what contradicts itself, if anything: such a manifest is neither published nor read.
    pub(crate) fn flaw(&self) -> Option<String> {
        // The numbers after these must exist.
        if self.checkpoint.0 == u64::MAX || self.generation.0 == u64::MAX {
            return Some(format!(
                "checkpoint {} of generation {} cannot be",
                self.checkpoint, self.generation
            ));
        }
        let mut uids = HashSet::new();
        self.operators.iter().find_map(|operator| {
            if !uids.insert(&operator.uid) {
                return Some(format!("operator '{}' is there twice", operator.uid));
            }
            let flaw = operator.flaw()?;
            Some(format!("operator '{}' {flaw}", operator.uid))
        })
    }
}

impl OperatorState {
    /// Whether there is anything to restore.
    pub fn has_state(&self) -> bool {
        self.enumerator.is_some() || self.subtasks.iter().any(|s| s.state.is_some())
    }

    /// How many bytes of state its subtasks have.
    pub fn bytes(&self) -> u64 {
        self.subtasks.iter().fold(0, |sum, s| sum.saturating_add(s.bytes))
    }

    fn flaw(&self) -> Option<String> {
        if self.uid.as_str().is_empty() {
            return Some("has no uid".to_owned());
        }
        if self.parallelism == 0 || self.parallelism > KEY_GROUPS {
            return Some(format!("has parallelism {}", self.parallelism));
        }
        if let Some(beyond) = self.subtasks.iter().find(|s| s.index >= self.parallelism) {
            return Some(format!("has a subtask {} of {}", beyond.index, self.parallelism));
        }
        if let Some(pair) = self.subtasks.windows(2).find(|pair| pair[0].index >= pair[1].index) {
            return Some(format!("has subtask {} after subtask {}", pair[1].index, pair[0].index));
        }
        self.subtasks.iter().find_map(|s| match &s.state {
            Some(StateHandle::File { path, .. }) if !is_relative(path) => {
                Some(format!("has its state in {path:?}, which is no path within a store"))
            }
            _ => None,
        })
    }
}

/// A manifest may come from anywhere: it must not lead out of the store.
fn is_relative(path: &str) -> bool {
    let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0']);
    path.split('/').all(plain)
}

#[cfg(test)]
mod tests;
