//! What a checkpoint consists of, and its file.

use crate::Kind;
use bytes::Bytes;
use flugs_types::{CheckpointId, Error, Generation, OperatorUid, Result, Timestamp};

/// The version of the manifest format that this build writes.
pub const MANIFEST_VERSION: u32 = 1;

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
    /// The manifest as a file.
    pub fn encode(&self) -> Bytes {
        Bytes::new()
    }

    /// Reads a manifest. `place` names the file in the error, which says what is damaged and what to do.
    pub fn parse(bytes: &[u8], place: &str) -> Result<Self> {
        let _ = bytes;
        Err(Error::state("manifests cannot be read yet").at(place))
    }

    /// Whether its key groups are those of this build. Where not, keyed state must be hashed again.
    pub fn hashed_as_here(&self) -> bool {
        self.hashing == flugs_types::fingerprint_of_hashing()
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
        self.operators.iter().flat_map(|o| &o.subtasks).fold(0, |sum, s| sum.saturating_add(s.bytes))
    }
}
