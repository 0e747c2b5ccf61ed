//! State files: what tasks acknowledged goes into the store, and comes back at a restore.
//!
//! Small state stays in the manifest, so that a job with little state writes one small file for each checkpoint.

use crate::job::JobSpec;
use bytes::Bytes;
use flugs_checkpoint::{
    BlobStore, BlobUpload, Kind, Manifest, OperatorState, StateHandle, Subtask, SubtaskState, catalog,
};
use flugs_state::RunReader;
use flugs_task::{OperatorAck, StateData, StateStore, StateUpload};
use flugs_types::{
    Attempt, CheckpointId, Error, Generation, OperatorUid, Result, Timestamp, fingerprint_of_hashing,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// State of an operator subtask up to this size is kept in the manifest (Flink: 20 kB).
const INLINE_BYTES_MAX: usize = 20 * 1024;

/// A stored state: the operator and where its state is.
pub(crate) type Stored = Vec<(OperatorUid, Option<StateHandle>, u64)>;

/// Puts state into the store, under paths that no other attempt uses.
#[derive(Clone)]
pub(crate) struct Uploader {
    pub(crate) store: Arc<dyn BlobStore>,
    pub(crate) job: String,
    pub(crate) generation: Generation,
    pub(crate) attempt: Attempt,
}

impl Uploader {
    fn path(&self, checkpoint: CheckpointId, uid: &OperatorUid, index: u32) -> String {
        catalog::state_path(&self.job, checkpoint, self.generation, uid, index, self.attempt)
    }

    /// Stores what a subtask acknowledged and has not stored itself.
    pub(crate) fn store(
        &self,
        checkpoint: CheckpointId,
        index: u32,
        operators: Vec<OperatorAck>,
    ) -> Result<Stored> {
        let one = |ack: OperatorAck| {
            let (handle, bytes) = match ack.state {
                None => return Ok((ack.uid, None, 0)),
                Some(StateData::Stored { path, bytes, crc32 }) => {
                    (StateHandle::File { path, bytes, crc32 }, bytes)
                }
                Some(StateData::Here(state)) if state.len() <= INLINE_BYTES_MAX => {
                    let bytes = state.len() as u64;
                    (StateHandle::Inline(state), bytes)
                }
                Some(StateData::Here(state)) => {
                    let path = self.path(checkpoint, &ack.uid, index);
                    let (bytes, crc32) = (state.len() as u64, crc32fast::hash(&state));
                    self.store.put(&path, state)?;
                    (StateHandle::File { path, bytes, crc32 }, bytes)
                }
            };
            Ok((ack.uid, Some(handle), bytes))
        };
        operators.into_iter().map(one).collect()
    }
}

impl StateStore for Uploader {
    fn begin(
        &self,
        checkpoint: CheckpointId,
        uid: &OperatorUid,
        index: u32,
    ) -> Result<(String, Box<dyn StateUpload>)> {
        let path = self.path(checkpoint, uid, index);
        let upload = self.store.clone().upload(&path)?;
        Ok((path, Box::new(StateFile(upload))))
    }
}

/// A blob of a checkpoint's store as a file of state.
struct StateFile(Box<dyn BlobUpload>);

impl StateUpload for StateFile {
    fn write(&mut self, part: Bytes) -> Result<()> {
        self.0.write(part)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.0.finish()
    }
}

/// Reads state files, each at most once.
#[derive(Clone)]
pub(crate) struct StateFiles {
    store: Arc<dyn BlobStore>,
    read: Arc<Mutex<HashMap<String, Arc<RunReader>>>>,
}

impl StateFiles {
    pub(crate) fn new(store: Arc<dyn BlobStore>) -> Self {
        StateFiles { store, read: Arc::default() }
    }

    pub(crate) fn read(&self, handle: &StateHandle) -> Result<Arc<RunReader>> {
        match handle {
            StateHandle::Inline(bytes) => Ok(Arc::new(RunReader::open(bytes.clone(), "the manifest")?)),
            StateHandle::File { path, bytes, crc32 } => {
                let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(run) = read.get(path) {
                    return Ok(run.clone());
                }
                let run = Arc::new(RunReader::open(self.fetch(path, *bytes, *crc32)?, path)?);
                read.insert(path.clone(), run.clone());
                Ok(run)
            }
        }
    }

    fn fetch(&self, path: &str, bytes: u64, crc32: u32) -> Result<Bytes> {
        let mend = "restore from an older checkpoint, whose files are whole";
        let place = format!("{path} in {}", self.store.describe());
        let content = self.store.get(path)?;
        let content = content
            .ok_or_else(|| Error::state("a state file of the checkpoint is gone").at(&place).mend(mend))?;
        if content.len() as u64 != bytes || crc32fast::hash(&content) != crc32 {
            return Err(Error::state(format!(
                "a state file of the checkpoint is damaged: {} bytes, expected {bytes} with CRC-32 {crc32:08x}",
                content.len()
            ))
            .at(&place)
            .mend(mend));
        }
        Ok(content)
    }
}

/// What goes into a manifest besides the states.
pub(crate) struct Header {
    pub(crate) job: Arc<JobSpec>,
    pub(crate) generation: Generation,
    pub(crate) checkpoint: CheckpointId,
    pub(crate) kind: Kind,
    /// Whether the job has ended with it.
    pub(crate) finished: bool,
    pub(crate) created: Timestamp,
    pub(crate) parent: Option<CheckpointId>,
    pub(crate) enumerators: Vec<(OperatorUid, Bytes)>,
}

/// Puts a checkpoint's manifest together.
pub(crate) fn manifest(header: Header, acks: Vec<(Subtask, Stored)>) -> Manifest {
    let mut states: BTreeMap<(OperatorUid, u32), (Option<StateHandle>, u64)> = BTreeMap::new();
    for (subtask, stored) in acks {
        for (uid, handle, bytes) in stored {
            states.insert((uid, subtask.index), (handle, bytes));
        }
    }
    let mut operators = Vec::new();
    for (task, _, node) in header.job.graph.operators() {
        let subtasks = (0..task.parallelism).filter_map(|index| {
            let (state, bytes) = states.remove(&(node.uid.clone(), index))?;
            Some(SubtaskState { index, finished: header.finished, state, bytes })
        });
        operators.push(OperatorState {
            uid: node.uid.clone(),
            name: node.name.clone(),
            parallelism: task.parallelism,
            enumerator: header
                .enumerators
                .iter()
                .find(|(uid, _)| *uid == node.uid)
                .map(|(_, bytes)| bytes.clone()),
            subtasks: subtasks.collect(),
        });
    }
    Manifest {
        job: header.job.graph.name.clone(),
        generation: header.generation,
        checkpoint: header.checkpoint,
        kind: header.kind,
        created: header.created,
        parent: header.parent,
        finished: header.finished,
        hashing: fingerprint_of_hashing(),
        graph: header.job.graph.fingerprint(),
        operators,
    }
}
