//! Which stored state each operator and subtask of a restored job gets.
//!
//! Operators are matched by uid ([`Mapping`]); within an operator each new subtask looks through the old subtasks' state
//! for what is its own ([`sources_of`]). State is never dropped unseen: what nobody takes is an error unless that
//! was allowed.

use crate::{Manifest, OperatorState, SubtaskState};
use flugs_types::{Error, KeyGroupRange, OperatorUid, Result, SubtaskId};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// Which old subtasks' state a new subtask must look through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// All of them: operator state is distributed anew, or keys are [hashed otherwise](Manifest::hashed_as_here).
    All,
    /// Those that owned one of its key groups: there is keyed state only, hashed as in this build.
    OwnKeyGroups,
}

/// The old subtasks whose state subtask `new` of the restored operator must read, ordered by index; those without
/// state are left out.
pub fn sources_of(operator: &OperatorState, new: SubtaskId, reads: Reads) -> Vec<&SubtaskState> {
    let own = KeyGroupRange::of(new);
    let owned_some = |old: &SubtaskState| {
        let old = SubtaskId { index: old.index, parallelism: operator.parallelism };
        reads == Reads::All || KeyGroupRange::of(old).intersects(own)
    };
    operator.subtasks.iter().filter(|old| old.state.is_some() && owned_some(old)).collect()
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
    /// Whether it takes state: that of keys, of splits, of committables, or any other.
    pub stateful: bool,
}

/// An operator that goes on with its state from the checkpoint.
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

/// A stateful operator of the job of which the checkpoint knows nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct New {
    /// Its uid.
    pub uid: OperatorUid,
    /// Its name.
    pub name: String,
}

/// An operator of the checkpoint whose state nobody takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// Its uid.
    pub uid: OperatorUid,
    /// Its name in the checkpoint.
    pub name: String,
    /// How many bytes of state it has.
    pub bytes: u64,
    /// Whether the job has an operator with this uid, which keeps no state any more.
    pub now_stateless: bool,
}

/// How the operators of a checkpoint fall to those of a job. Displays as one line for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapping {
    /// Operators that go on with their state, in the order of the job.
    pub restored: Vec<Restored>,
    /// Operators that start empty, in the order of the job.
    pub new: Vec<New>,
    /// Operators whose state is lost, in the order of the checkpoint.
    pub dropped: Vec<Dropped>,
}

impl Mapping {
    /// Matches the two sides by uid. State that nobody takes is an error of kind
    /// [`State`](flugs_types::ErrorKind::State) that lists both sides, unless `allow_non_restored_state` is set.
    pub fn of(manifest: &Manifest, job: &[JobOperator], allow_non_restored_state: bool) -> Result<Self> {
        let stored: HashMap<&OperatorUid, &OperatorState> =
            manifest.operators.iter().map(|o| (&o.uid, o)).collect();
        let mut mapping = Mapping::default();
        for operator in job.iter().filter(|o| o.stateful) {
            match stored.get(&operator.uid) {
                Some(old) => mapping.restored.push(Restored {
                    uid: operator.uid.clone(),
                    name: operator.name.clone(),
                    from_parallelism: old.parallelism,
                    to_parallelism: operator.parallelism,
                    bytes: old.bytes(),
                }),
                None => mapping.new.push(New { uid: operator.uid.clone(), name: operator.name.clone() }),
            }
        }
        let all: HashSet<&OperatorUid> = job.iter().map(|o| &o.uid).collect();
        let taken: HashSet<&OperatorUid> = job.iter().filter(|o| o.stateful).map(|o| &o.uid).collect();
        let lost = manifest.operators.iter().filter(|o| o.has_state() && !taken.contains(&o.uid));
        mapping.dropped.extend(lost.map(|o| Dropped {
            uid: o.uid.clone(),
            name: o.name.clone(),
            bytes: o.bytes(),
            now_stateless: all.contains(&o.uid),
        }));
        if mapping.dropped.is_empty() || allow_non_restored_state {
            return Ok(mapping);
        }
        Err(Error::state(format!(
            "checkpoint {} of job '{}' has state that the job does not take:\n{mapping}",
            manifest.checkpoint, manifest.job
        ))
        .mend("give the operators the uids under which their state is stored, or allow non-restored state to go on \
             without it (in SQL: 'execution.state-recovery.ignore-unclaimed-state' = 'true')"))
    }
}

impl Mapping {
    /// The new operator whose uid differs only behind the slash: a planner that keeps whole rows writes `meaning/columns`.
    fn other_columns_of(&self, dropped: &OperatorUid) -> Option<&OperatorUid> {
        let meaning =
            |uid: &OperatorUid| uid.as_str().rsplit_once('/').map(|(meaning, _)| meaning.to_owned());
        let wanted = meaning(dropped)?;
        self.new.iter().map(|new| &new.uid).find(|uid| meaning(uid).as_ref() == Some(&wanted))
    }
}

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for o in &self.restored {
            write!(f, "  restored  {} (uid {}): {} bytes, ", o.name, o.uid, o.bytes)?;
            match (o.from_parallelism, o.to_parallelism) {
                (from, to) if from == to => writeln!(f, "parallelism {to}")?,
                (from, to) => writeln!(f, "parallelism {from} -> {to}")?,
            }
        }
        for o in &self.new {
            writeln!(f, "  new       {} (uid {}): starts without state", o.name, o.uid)?;
        }
        for o in &self.dropped {
            write!(f, "  dropped   {} (uid {}): {} bytes, ", o.name, o.uid, o.bytes)?;
            match self.other_columns_of(&o.uid) {
                _ if o.now_stateless => writeln!(f, "keeps no state any more")?,
                None => writeln!(f, "no operator has this uid")?,
                Some(new) => writeln!(
                    f,
                    "{new} computes the same and keeps other columns of its rows, which the stored rows do not have"
                )?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
