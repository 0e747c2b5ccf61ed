//! What happens before the first attempt of a run: the job is claimed, and what it starts from is found and fitted.
//!
//! Blocks: done on a background thread.

use crate::job::{JobOptions, JobSpec, Restore};
use flugs_checkpoint::{BlobStore, Manifest, assign, catalog};
use flugs_types::{CheckpointId, Error, Generation, Result};

/// What a run starts from.
pub(crate) struct Prepared {
    /// The run's own.
    pub(crate) generation: Generation,
    /// What to go on from, and in words how it falls to the job's operators.
    pub(crate) restored: Option<(Manifest, String)>,
    /// Above all that were ever published.
    pub(crate) next_checkpoint: CheckpointId,
}

/// Claims the job and finds what it starts from; see the catalog for why in this order.
pub(crate) fn prepare(store: &dyn BlobStore, job: &JobSpec, options: &JobOptions) -> Result<Prepared> {
    let name = &job.graph.name;
    let generation = catalog::claim_generation(store, name)?;
    let base = match &options.restore {
        Restore::No => None,
        Restore::Latest => catalog::latest(store, name)?,
        Restore::Path(path) => Some(catalog::open(store, path)?),
    };
    let restored = match base {
        None => None,
        Some(base) => {
            let mapping = fit(&base, job, options.allow_non_restored_state)?.to_string();
            Some((catalog::adopt(store, name, generation, &base)?, mapping))
        }
    };
    let taken = catalog::list(store, name)?.into_iter().map(|e| e.checkpoint).max();
    Ok(Prepared { generation, restored, next_checkpoint: taken.unwrap_or_default().next() })
}

/// How a checkpoint falls to the job's operators, if it fits at all.
fn fit(base: &Manifest, job: &JobSpec, allow_non_restored_state: bool) -> Result<assign::Mapping> {
    if !base.hashed_as_here() {
        return Err(Error::state(format!(
            "checkpoint {} was taken by a build that hashes keys otherwise",
            base.checkpoint
        ))
        .mend("restore it with the version of Flugs and Rust that took it"));
    }
    let operators = job.graph.operators().map(|(task, _, node)| assign::JobOperator {
        uid: node.uid.clone(),
        name: node.name.clone(),
        parallelism: task.parallelism,
        stateful: node.stateful,
    });
    assign::Mapping::of(base, &operators.collect::<Vec<_>>(), allow_non_restored_state)
}
