//! The operator around a sink's writer: commits with the checkpoint.
//!
//! At a barrier the writer prepares; what it gives is kept in this operator's state until the coordinator says that
//! the checkpoint is complete, and is committed then. A restored operator commits first what its checkpoint holds:
//! that checkpoint was complete, or it would not be restored.

use crate::chain::Output;
use crate::context::{OpenContext, Operator, Progress};
use flugs_batch::{Barrier, BarrierKind, Record, Records};
use flugs_connector::{Committable, Sink, SinkWriter, WriterContext};
use flugs_state::{ListTable, SnapshotTable};
use flugs_types::{CheckpointId, Error, Result, Timestamp};
use std::sync::Arc;

/// The name of the state that holds what is to be committed.
const PENDING: &str = "sink.pending";
/// The name of the state that holds what a later writer goes on from.
const WRITER: &str = "sink.writer";

/// What an opened sink has.
struct Opened<T> {
    writer: Box<dyn SinkWriter<T>>,
    /// Committables with the number of the checkpoint that covers them.
    pending: ListTable<(u64, Vec<u8>)>,
    writer_state: ListTable<Vec<u8>>,
    rows_in: crate::Counter,
}

/// See the module.
pub struct SinkOperator<T> {
    sink: Arc<dyn Sink<Item = T>>,
    opened: Option<Opened<T>>,
    ended: bool,
}

impl<T: Record> SinkOperator<T> {
    /// An operator that writes to this sink.
    pub fn new(sink: Arc<dyn Sink<Item = T>>) -> Self {
        SinkOperator { sink, opened: None, ended: false }
    }

    fn opened(&mut self) -> Result<&mut Opened<T>> {
        self.opened.as_mut().ok_or_else(|| Error::bug("the sink is not open"))
    }
}

impl<T: Record> Operator for SinkOperator<T> {
    type In = Records<T>;
    type Out = Records<()>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        let writer_context = WriterContext {
            job: context.job.to_owned(),
            uid: context.ident.uid.clone(),
            subtask: context.ident.subtask,
            generation: context.generation,
            attempt: context.attempt,
            clock: context.clock.clone(),
            background: context.background.clone(),
            waker: context.waker.clone(),
        };
        // A run that starts from nothing leaves no trace of that choice, so the next may go on from a checkpoint of an earlier
        // run: what that one needs is kept until a run is restored.
        if context.ident.subtask.index == 0 && context.state.is_restored() {
            let states: Vec<Vec<u8>> = context.state.items_of_all(WRITER)?;
            let pending: Vec<(u64, Vec<u8>)> = context.state.items_of_all(PENDING)?;
            let committables: Vec<_> = pending.into_iter().map(|(_, bytes)| Committable(bytes)).collect();
            self.sink.remove_orphans(&writer_context, &states, &committables)?;
        }
        let mut pending: ListTable<(u64, Vec<u8>)> = context.state.list(PENDING)?;
        let mut writer_state: ListTable<Vec<u8>> = context.state.list(WRITER)?;
        let mut writer = self.sink.writer(writer_context, std::mem::take(writer_state.items_mut()))?;
        let restored: Vec<Committable> =
            pending.items_mut().drain(..).map(|(_, bytes)| Committable(bytes)).collect();
        if !restored.is_empty() {
            writer.commit(restored)?;
        }
        let rows_in = context.counter("numRecordsIn");
        self.opened = Some(Opened { writer, pending, writer_state, rows_in });
        Ok(())
    }

    fn process(&mut self, batch: Records<T>, _: &mut Output<Records<()>>) -> Result<Progress> {
        let opened = self.opened()?;
        opened.rows_in.add(batch.len());
        opened.writer.write(batch)?;
        Ok(Progress::Done)
    }

    fn advance(&mut self, watermark: Timestamp, _: &mut Output<Records<()>>) -> Result<Progress> {
        self.opened()?.writer.advance(watermark)?;
        Ok(Progress::Done)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.opened.as_ref()?.writer.next_tick()
    }

    fn tick(&mut self, now: Timestamp, _: &mut Output<Records<()>>) -> Result<Progress> {
        self.opened()?.writer.tick(now)?;
        Ok(Progress::Done)
    }

    fn barrier(&mut self, barrier: Barrier, _: &mut Output<Records<()>>) -> Result<Progress> {
        let end = self.ended || barrier.kind == BarrierKind::Final;
        let opened = self.opened()?;
        let prepared = opened.writer.prepare(barrier.checkpoint, end)?;
        if !prepared.committables.is_empty() {
            opened
                .pending
                .items_mut()
                .extend(prepared.committables.into_iter().map(|c| (barrier.checkpoint.0, c.0)));
        }
        opened.writer_state.replace(prepared.state);
        Ok(Progress::Done)
    }

    fn end(&mut self, _: &mut Output<Records<()>>) -> Result<Progress> {
        self.ended = true;
        Ok(Progress::Done)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        match &mut self.opened {
            Some(opened) => vec![&mut opened.pending, &mut opened.writer_state],
            None => Vec::new(),
        }
    }

    fn committed(&mut self, checkpoint: CheckpointId) -> Result<()> {
        let opened = self.opened()?;
        if opened.pending.items().iter().all(|(id, _)| *id > checkpoint.0) {
            return Ok(());
        }
        let all = std::mem::take(opened.pending.items_mut());
        let (due, later): (Vec<_>, Vec<_>) = all.into_iter().partition(|(id, _)| *id <= checkpoint.0);
        opened.pending.replace(later);
        opened.writer.commit(due.into_iter().map(|(_, bytes)| Committable(bytes)).collect())
    }
}

#[cfg(test)]
mod tests;
