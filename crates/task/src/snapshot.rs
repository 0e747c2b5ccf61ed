//! Taking the state of a chain at a barrier without stopping it.
//!
//! The operators' tables were frozen as the barrier passed. From then on the task captures them in slices, a
//! little in each step, while it goes on processing; what processing is about to change is captured by the table
//! first. Captured pieces are encoded on background threads, and when all are, the coordinator gets the runs.
//! With small state everything is captured and encoded at once in the step of the barrier.

use crate::chain::{LinkPort, Stage, Visitor};
use crate::mail::{OperatorAck, TaskEvent};
use crate::schedule::panic_error;
use crate::subtask::TaskContext;
use flugs_state::{FrozenPiece, Fuel, RunWriter, SectionId};
use flugs_types::{CheckpointId, OperatorUid, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How much is copied in one step: some 50 us at memory speed.
const SLICE_BYTES: usize = 512 * 1024;

/// Below this, pieces are encoded in the step itself: a hand-over would cost more.
const INLINE_BYTES: usize = 64 * 1024;

/// How much may be captured and not yet encoded before voluntary capturing pauses.
const AHEAD_BYTES: usize = 64 * 1024 * 1024;

/// A piece with the number of its table within its operator.
type Piece = (usize, Box<dyn FrozenPiece>);

struct Run {
    uid: OperatorUid,
    /// A section for each table, in the operator's order.
    sections: Vec<SectionId>,
    writer: Mutex<Option<RunWriter>>,
}

/// What background threads and the task share about one checkpoint.
struct Upload {
    runs: Vec<Run>,
    /// Jobs not ended, plus one while the task still captures.
    open: AtomicUsize,
    ahead: AtomicUsize,
    checkpoint: CheckpointId,
    context: TaskContext,
}

impl Upload {
    fn report(&self, event: TaskEvent) {
        self.context.supervisor.report(self.context.this, event);
    }

    fn encode(&self, run: usize, pieces: &[Piece]) {
        let Run { sections, writer, .. } = &self.runs[run];
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = writer.as_mut() {
            for (table, piece) in pieces {
                writer.piece(sections[*table], piece.as_ref());
            }
        }
    }

    fn close_one(&self) {
        if self.open.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        let finish = |run: &Run| {
            let writer = run.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
            OperatorAck { uid: run.uid.clone(), state: writer.map(RunWriter::finish) }
        };
        let operators = self.runs.iter().map(finish).collect();
        self.report(TaskEvent::Ack { checkpoint: self.checkpoint, operators });
    }

    /// Encodes pieces on a background thread.
    fn encode_behind(&self, run: usize, pieces: Vec<Piece>, bytes: usize) {
        // Encoding is partly the user's code. A run with a hole must never be acknowledged, so this one stays open.
        let encoded = catch_unwind(AssertUnwindSafe(|| self.encode(run, &pieces)));
        drop(pieces);
        let before = self.ahead.fetch_sub(bytes, Ordering::AcqRel);
        if before > AHEAD_BYTES && before - bytes <= AHEAD_BYTES {
            self.context.mailbox.waker().wake_by_ref();
        }
        match encoded {
            Ok(()) => self.close_one(),
            Err(panic) => {
                let reason = format!("operator '{}': {}", self.runs[run].uid, panic_error(panic.as_ref()));
                self.report(TaskEvent::Declined { checkpoint: self.checkpoint, reason });
            }
        }
    }
}

/// How far a capture is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Captured {
    /// There is more to capture at once.
    Some,
    /// More than enough waits to be encoded; the task is woken when it is time to go on.
    Enough,
    /// There is nothing left to capture.
    All,
}

/// The capture of one checkpoint of one chain.
pub(crate) struct Capture {
    upload: Arc<Upload>,
}

impl Capture {
    /// Begins: the barrier has just passed the chain, all tables are frozen.
    pub(crate) fn begin<B>(
        chain: &mut dyn Stage<B>,
        checkpoint: CheckpointId,
        context: &TaskContext,
    ) -> Result<Self> {
        let mut open = Open { runs: Vec::new() };
        chain.visit(&mut open)?;
        let upload = Upload {
            runs: open.runs,
            open: AtomicUsize::new(1),
            ahead: AtomicUsize::new(0),
            checkpoint,
            context: context.clone(),
        };
        Ok(Capture { upload: Arc::new(upload) })
    }

    pub(crate) fn checkpoint(&self) -> CheckpointId {
        self.upload.checkpoint
    }

    /// Captures a slice. Not to be called again once it has said [`Captured::All`].
    pub(crate) fn step<B>(&mut self, chain: &mut dyn Stage<B>) -> Result<Captured> {
        if self.upload.ahead.load(Ordering::Acquire) > AHEAD_BYTES {
            return Ok(Captured::Enough);
        }
        let mut slice = Slice { next: 0, fuel: Fuel(SLICE_BYTES), complete: true, captured: Vec::new() };
        chain.visit(&mut slice)?;
        for (run, pieces) in slice.captured {
            self.hand_over(run, pieces);
        }
        if !slice.complete {
            return Ok(Captured::Some);
        }
        self.upload.close_one();
        Ok(Captured::All)
    }

    fn hand_over(&self, run: usize, pieces: Vec<Piece>) {
        let bytes: usize = pieces.iter().map(|(_, p)| p.bytes()).sum();
        if bytes < INLINE_BYTES {
            return self.upload.encode(run, &pieces);
        }
        let upload = self.upload.clone();
        upload.open.fetch_add(1, Ordering::AcqRel);
        upload.ahead.fetch_add(bytes, Ordering::AcqRel);
        let work = move || upload.encode_behind(run, pieces, bytes);
        self.upload.context.background.run(Box::new(work));
    }

    /// Gives the checkpoint up.
    pub(crate) fn cancel<B>(self, chain: &mut dyn Stage<B>) -> Result<()> {
        chain.visit(&mut CancelTables)
    }
}

/// Opens a run with a section for each table of each operator that has tables.
struct Open {
    runs: Vec<Run>,
}

impl Visitor for Open {
    fn link(&mut self, link: &mut dyn LinkPort) -> Result<()> {
        let ident = link.ident().clone();
        let tables = link.tables();
        let mut writer = RunWriter::new(ident.uid.as_str(), ident.subtask);
        let sections: Vec<_> = tables.iter().map(|t| writer.section(t.name(), &t.schema())).collect();
        let writer = Mutex::new((!sections.is_empty()).then_some(writer));
        self.runs.push(Run { uid: ident.uid.clone(), sections, writer });
        Ok(())
    }
}

struct Slice {
    next: usize,
    fuel: Fuel,
    complete: bool,
    captured: Vec<(usize, Vec<Piece>)>,
}

impl Visitor for Slice {
    fn link(&mut self, link: &mut dyn LinkPort) -> Result<()> {
        let run = self.next;
        self.next += 1;
        let mut pieces: Vec<Piece> = Vec::new();
        for (i, table) in link.tables().into_iter().enumerate() {
            let mut of_table = Vec::new();
            self.complete &= table.capture(&mut self.fuel, &mut of_table);
            pieces.extend(of_table.into_iter().map(|piece| (i, piece)));
        }
        if !pieces.is_empty() {
            self.captured.push((run, pieces));
        }
        Ok(())
    }
}

struct CancelTables;

impl Visitor for CancelTables {
    fn link(&mut self, link: &mut dyn LinkPort) -> Result<()> {
        link.tables().into_iter().for_each(|t| t.cancel());
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests;
