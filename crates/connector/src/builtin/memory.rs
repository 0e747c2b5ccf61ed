//! A sink into the memory of the embedding program.

use super::append;
use super::sealed_batch::{BatchId, Seal, SealedWriter};
use crate::{Committable, Delivery, Prepared, Sink, SinkWriter, WriterContext};
use flugs_batch::{Data, Record, Records};
use flugs_types::{CheckpointId, Result};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Collects rows for the program that runs the job. A clone shares the rows: keep one to look at them.
///
/// Rows become visible when their checkpoint is complete, each exactly once; until then they are part of the
/// checkpoint. So this is for results that fit into memory twice. What is visible is lost with the
/// process: a job that is restored in another one shows only what is committed there.
pub struct MemorySink<T> {
    store: Arc<Mutex<Store<T>>>,
    /// `None`: rows are visible at once.
    seal: Option<Seal<T>>,
}

struct Store<T> {
    rows: Records<T>,
    committed: BTreeSet<BatchId>,
}

impl<T: Data> MemorySink<T> {
    /// A sink whose rows become visible with their checkpoint, exactly once.
    pub fn new() -> Self {
        Self::with_seal(Some(Seal::NEW))
    }
}

impl<T: Data> Default for MemorySink<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Record> MemorySink<T> {
    /// A sink whose rows are visible as soon as they are written; after a failure some are seen again.
    pub fn immediate() -> Self {
        Self::with_seal(None)
    }

    fn with_seal(seal: Option<Seal<T>>) -> Self {
        MemorySink {
            store: Arc::new(Mutex::new(Store { rows: Records::new(), committed: BTreeSet::new() })),
            seal,
        }
    }

    /// The rows that are visible now. Rows of one writer are in the order in which they were written.
    pub fn rows(&self) -> Vec<T> {
        lock(&self.store).rows.values.clone()
    }

    /// The visible rows with their event times.
    pub fn records(&self) -> Records<T> {
        lock(&self.store).rows.clone()
    }

    /// Takes the visible rows out: the next call returns those that have become visible since.
    pub fn take(&self) -> Records<T> {
        std::mem::take(&mut lock(&self.store).rows)
    }

    /// How many rows are visible.
    pub fn len(&self) -> usize {
        lock(&self.store).rows.len()
    }

    /// Whether no row is visible.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The store. Whole batches are added under the lock, so a panic elsewhere does no harm.
fn lock<T>(store: &Mutex<Store<T>>) -> MutexGuard<'_, Store<T>> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Clone for MemorySink<T> {
    fn clone(&self) -> Self {
        MemorySink { store: self.store.clone(), seal: self.seal }
    }
}

impl<T: Record> Sink for MemorySink<T> {
    type Item = T;

    fn delivery(&self) -> Delivery {
        if self.seal.is_some() { Delivery::ExactlyOnce } else { Delivery::AtLeastOnce }
    }

    fn writer(&self, context: WriterContext, _restored: Vec<Vec<u8>>) -> Result<Box<dyn SinkWriter<T>>> {
        let store = self.store.clone();
        Ok(match self.seal {
            Some(seal) => Box::new(SealedWriter::new(seal, context, move |id, rows| {
                let mut store = lock(&store);
                if store.committed.insert(id) {
                    append(&mut store.rows, rows);
                }
                Ok(())
            })),
            None => Box::new(ImmediateWriter { store }),
        })
    }
}

struct ImmediateWriter<T> {
    store: Arc<Mutex<Store<T>>>,
}

impl<T: Record> SinkWriter<T> for ImmediateWriter<T> {
    fn write(&mut self, rows: Records<T>) -> Result<()> {
        append(&mut lock(&self.store).rows, rows);
        Ok(())
    }

    fn prepare(&mut self, _checkpoint: CheckpointId, _end: bool) -> Result<Prepared> {
        Ok(Prepared::default())
    }

    fn commit(&mut self, _committables: Vec<Committable>) -> Result<()> {
        Ok(())
    }
}
