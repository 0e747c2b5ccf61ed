//! A sink that calls a function of the program.

use super::sealed_batch::{BatchId, Seal, SealedWriter};
use crate::{Committable, Delivery, Prepared, Sink, SinkWriter, WriterContext};
use flugs_batch::{Data, Record, Records};
use flugs_types::{CheckpointId, Result, SubtaskId};
use std::sync::Arc;

type Write<T> = dyn Fn(SubtaskId, &Records<T>) -> Result<()> + Send + Sync;
type Commit<T> = dyn Fn(&BatchId, &Records<T>) -> Result<()> + Send + Sync;

/// Hands batches to a function. The function runs inside the task: it must not block for long. An error that
/// it returns fails the job.
pub struct CallbackSink<T>(Mode<T>);

enum Mode<T> {
    Writes(Arc<Write<T>>),
    Commits(Arc<Commit<T>>, Seal<T>),
}

impl<T: Record> CallbackSink<T> {
    /// Calls `write` with each batch as it comes; after a failure rows are seen again.
    pub fn new(write: impl Fn(SubtaskId, &Records<T>) -> Result<()> + Send + Sync + 'static) -> Self {
        CallbackSink(Mode::Writes(Arc::new(write)))
    }
}

impl<T: Data> CallbackSink<T> {
    /// Calls `commit` with all rows between two checkpoints, once the later one is complete.
    ///
    /// Each row is in one batch, and each batch of a complete checkpoint is committed. After a failure in the
    /// middle a batch may come again, with the same id and rows: `commit` must then do nothing (remember
    /// the ids where the rows go, in the same transaction). Rows wait in memory for their checkpoint and are part
    /// of it.
    pub fn exactly_once(
        commit: impl Fn(&BatchId, &Records<T>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        CallbackSink(Mode::Commits(Arc::new(commit), Seal::NEW))
    }
}

impl<T: Record> Sink for CallbackSink<T> {
    type Item = T;

    fn delivery(&self) -> Delivery {
        match self.0 {
            Mode::Writes(_) => Delivery::AtLeastOnce,
            Mode::Commits(..) => Delivery::ExactlyOnce,
        }
    }

    fn writer(&self, context: WriterContext, _restored: Vec<Vec<u8>>) -> Result<Box<dyn SinkWriter<T>>> {
        Ok(match &self.0 {
            Mode::Writes(write) => Box::new(WritingWriter { write: write.clone(), subtask: context.subtask }),
            Mode::Commits(commit, seal) => {
                let commit = commit.clone();
                Box::new(SealedWriter::new(*seal, context, move |id, rows| commit(&id, &rows)))
            }
        })
    }
}

struct WritingWriter<T> {
    write: Arc<Write<T>>,
    subtask: SubtaskId,
}

impl<T: Record> SinkWriter<T> for WritingWriter<T> {
    fn write(&mut self, rows: Records<T>) -> Result<()> {
        (self.write)(self.subtask, &rows)
    }

    fn prepare(&mut self, _checkpoint: CheckpointId, _end: bool) -> Result<Prepared> {
        Ok(Prepared::default())
    }

    fn commit(&mut self, _committables: Vec<Committable>) -> Result<()> {
        Ok(())
    }
}
