//! What a job is, and how it is to be run.

use crate::restart::RestartStrategy;
use flugs_checkpoint::{BlobStore, CheckpointOptions};
use flugs_graph::{JobGraph, NodeId};
use flugs_task::{EdgeFactory, NodeFactory};
use flugs_types::{Error, Result};
use std::collections::HashMap;
use std::str::FromStr;
use std::sync::Arc;

/// A stream of the logical graph: producer, its output, consumer, its input.
pub type EdgeKey = (NodeId, u16, NodeId, u16);

/// A job: its graph, and what makes its parts.
pub struct JobSpec {
    /// Tasks and exchanges.
    pub graph: JobGraph,
    /// By node.
    pub nodes: HashMap<NodeId, Arc<dyn NodeFactory>>,
    /// By stream.
    pub edges: HashMap<EdgeKey, Arc<dyn EdgeFactory>>,
}

/// What a job starts from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Restore {
    /// Nothing: with empty state and at the beginning of its inputs.
    #[default]
    No,
    /// The job's newest checkpoint in its store, or nothing where there is none.
    Latest,
    /// The checkpoint or savepoint at this path of the store.
    Path(String),
}

/// As on a command line: `latest`, `none`, or the path of a checkpoint in the store (`job/chk-0000000007-1`).
impl FromStr for Restore {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "latest" => Ok(Restore::Latest),
            "none" => Ok(Restore::No),
            "" => Err(Error::environment("there is no checkpoint without a name")
                .mend("say `latest`, `none`, or the path of a checkpoint such as job/chk-0000000007-1")),
            path => Ok(Restore::Path(path.to_owned())),
        }
    }
}

/// How a job is to be run.
#[derive(Clone)]
pub struct JobOptions {
    /// Where checkpoints go.
    pub store: Arc<dyn BlobStore>,
    /// Whether anybody may start from them: a restart, or another run that has the same store. Otherwise they hold no state and
    /// are only there for what sinks commit with them.
    pub recoverable: bool,
    /// When they are taken.
    pub checkpoints: CheckpointOptions,
    /// How many are kept.
    pub retained: usize,
    /// What the job starts from.
    pub restore: Restore,
    /// Whether state of the checkpoint that the job does not use may be dropped.
    pub allow_non_restored_state: bool,
    /// What happens after a failure.
    pub restart: RestartStrategy,
}
