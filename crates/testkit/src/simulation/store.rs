//! A checkpoint store that fails now and then, as one over a network does.

use super::faults::{Fate, Faults, injected};
use bytes::Bytes;
use flugs_checkpoint::{BlobStore, Manifest, MemoryStore};
use flugs_types::{CheckpointId, Clock, Generation, Result, Timestamp};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A change that was asked for.
enum Change {
    Put(String, Bytes),
    PutIfAbsent(String, Bytes),
    Delete(String),
}

#[derive(Default)]
struct Journal {
    /// Changes whose callers were told that they failed, with the time at which they take effect.
    late: Vec<(Timestamp, Change)>,
    /// Every manifest that was ever there.
    manifests: BTreeSet<(Generation, CheckpointId)>,
}

/// A store in memory that outlives simulated processes. A call may fail before it has an effect, after it, or take effect
/// long after it failed, when the process that made it is gone. Clones share the content.
#[derive(Clone)]
pub struct FaultyStore {
    content: MemoryStore,
    journal: Arc<Mutex<Journal>>,
    faults: Faults,
    clock: Arc<dyn Clock>,
}

impl FaultyStore {
    pub(super) fn new(faults: Faults, clock: Arc<dyn Clock>) -> Self {
        FaultyStore { content: MemoryStore::new(), journal: Arc::default(), faults, clock }
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether that run has published this checkpoint, or a later one.
    pub(super) fn has_published(&self, generation: Generation, checkpoint: CheckpointId) -> bool {
        let newest = (generation, CheckpointId(u64::MAX));
        self.journal().manifests.range((generation, checkpoint)..=newest).next().is_some()
    }

    fn apply(&self, change: Change) -> Result<bool> {
        let manifest = |path: &str, bytes: &Bytes| -> Result<()> {
            if path.ends_with("/manifest") {
                let manifest = Manifest::parse(bytes, path)?;
                self.journal().manifests.insert((manifest.generation, manifest.checkpoint));
            }
            Ok(())
        };
        match change {
            Change::Put(path, bytes) => {
                manifest(&path, &bytes)?;
                self.content.put(&path, bytes)?;
            }
            Change::PutIfAbsent(path, bytes) => {
                let put = self.content.put_if_absent(&path, bytes.clone())?;
                if put {
                    manifest(&path, &bytes)?;
                }
                return Ok(put);
            }
            Change::Delete(path) => self.content.delete(&path)?,
        }
        Ok(true)
    }

    /// Lets late changes take effect whose time has come.
    fn settle(&self) -> Result<()> {
        let now = self.clock.now();
        let due: Vec<Change> = {
            let late = &mut self.journal().late;
            let (due, later) = std::mem::take(late).into_iter().partition(|(time, _)| *time <= now);
            *late = later;
            let due: Vec<(Timestamp, Change)> = due;
            due.into_iter().map(|(_, change)| change).collect()
        };
        due.into_iter().try_for_each(|change| self.apply(change).map(drop))
    }

    fn change(&self, what: &str, change: Change) -> Result<bool> {
        self.settle()?;
        match self.faults.of_store(what) {
            Fate::Done => return self.apply(change),
            Fate::Failed => {}
            Fate::FailedAfter => drop(self.apply(change)?),
            Fate::Late(delay) => self.journal().late.push((self.clock.now() + delay, change)),
        }
        Err(injected(what))
    }

    fn look<T>(&self, what: &str, look: impl FnOnce() -> Result<T>) -> Result<T> {
        self.settle()?;
        match self.faults.of_store(what) {
            Fate::Done => look(),
            _ => Err(injected(what)),
        }
    }
}

impl BlobStore for FaultyStore {
    fn put(&self, path: &str, bytes: Bytes) -> Result<()> {
        self.change(&format!("put {path}"), Change::Put(path.to_owned(), bytes)).map(drop)
    }

    fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool> {
        self.change(&format!("put_if_absent {path}"), Change::PutIfAbsent(path.to_owned(), bytes))
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        self.look(&format!("get {path}"), || self.content.get(path))
    }

    fn list(&self, prefix: &str) -> Result<Vec<String>> {
        self.look(&format!("list {prefix}"), || self.content.list(prefix))
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.change(&format!("delete {path}"), Change::Delete(path.to_owned())).map(drop)
    }

    fn describe(&self) -> String {
        "simulated://".to_owned()
    }
}
