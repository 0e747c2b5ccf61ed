//! Which stored state the operators and subtasks of a restored job get.

use crate::{Manifest, OperatorState, SubtaskState};
use flugs_types::{Error, OperatorUid, Result, SubtaskId};

/// Which old subtasks' state a new subtask must look through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// All of them: operator state is distributed anew.
    All,
    /// Those that owned one of its key groups: there is keyed state only, hashed as in this build.
    OwnKeyGroups,
}

/// The old subtasks whose state subtask `new` of the restored operator must read, ordered by index; those without
/// state are left out.
pub fn sources_of(operator: &OperatorState, new: SubtaskId, reads: Reads) -> Vec<&SubtaskState> {
    let _ = (new, reads);
    operator.subtasks.iter().filter(|s| s.state.is_some()).collect()
}

/// An operator of the job that is to be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobOperator {
    /// Its uid.
    pub uid: OperatorUid,
    /// Its name.
    pub name: String,
    /// How many subtasks it will have.
    pub parallelism: u32,
    /// Whether it keeps state.
    pub stateful: bool,
}

/// An operator with its state from the checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Its uid.
    pub uid: OperatorUid,
    /// Its name in the job.
    pub name: String,
    /// How many subtasks it had in the checkpoint.
    pub from_parallelism: u32,
    /// How many it will have.
    pub to_parallelism: u32,
    /// How many bytes of state it has.
    pub bytes: u64,
}

/// An operator on one side only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmatched {
    /// Its uid.
    pub uid: OperatorUid,
    /// Its name.
    pub name: String,
}

/// How the operators of a checkpoint fall to those of a job. Displays as one line for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapping {
    /// Operators that go on with their state.
    pub restored: Vec<Restored>,
    /// Stateful operators of the job of which the checkpoint knows nothing: they start empty.
    pub new: Vec<Unmatched>,
    /// Operators of the checkpoint whose state nobody takes.
    pub dropped: Vec<Unmatched>,
}

impl Mapping {
    /// Matches the two sides by uid. State that nobody takes is an error that lists both sides, unless
    /// `allow_non_restored_state` is set.
    pub fn of(manifest: &Manifest, job: &[JobOperator], allow_non_restored_state: bool) -> Result<Self> {
        let _ = (manifest, job, allow_non_restored_state);
        Err(Error::bug("mapping is not there yet"))
    }
}
