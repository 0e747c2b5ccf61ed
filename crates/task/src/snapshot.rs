//! Taking the state of a chain at a barrier without stopping it.
//!
//! The operators' tables were frozen as the barrier passed. From then on the task captures them in slices, a
//! little in each step, while it goes on processing; what processing is about to change is captured by the table
//! first. Captured pieces are encoded on background threads, and when all are, the coordinator gets the runs.
//! With small state everything is captured and encoded at once in the step of the barrier.

use crate::chain::{LinkPort, Stage, Visitor};
use crate::mail::{OperatorAck, StateData, StateUpload, TaskEvent};
use crate::schedule::panic_error;
use crate::subtask::TaskContext;
use bytes::Bytes;
use flugs_state::{FrozenPiece, Fuel, RunWriter, SectionId};
use flugs_types::{CheckpointId, OperatorUid, Result};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much is copied in one step: some 50 us at memory speed.
const SLICE_BYTES: usize = 512 * 1024;

/// State up to this is encoded in the step itself: a hand-over would cost more.
const INLINE_BYTES: usize = 64 * 1024;

/// So much is gathered before it is handed over.
const HAND_OVER_BYTES: usize = 1024 * 1024;

/// From this size on, a finished part of a run goes to the store. Object stores want at least 5 MiB.
const PART_BYTES: usize = 8 * 1024 * 1024;

/// How much may be captured and not yet encoded before voluntary capturing pauses.
const AHEAD_BYTES: usize = 64 * 1024 * 1024;

/// A piece with the number of its table within its operator.
type Piece = (usize, Box<dyn FrozenPiece>);

struct Run {
    uid: OperatorUid,
    /// A section for each table, in the operator's order.
    sections: Vec<SectionId>,
    file: Mutex<RunFile>,
}

/// The file of one operator's state as it is written.
#[derive(Default)]
struct RunFile {
    /// `None` where the operator has no tables.
    writer: Option<RunWriter>,
    /// Where its parts go, once there is more than a part.
    upload: Option<(String, Box<dyn StateUpload>)>,
    crc32: crc32fast::Hasher,
}

impl RunFile {
    fn store(&mut self, part: Bytes) -> Result<()> {
        self.crc32.update(&part);
        match &mut self.upload {
            Some((_, upload)) => upload.write(part),
            None => Ok(()),
        }
    }
}

/// What background threads and the task share about one checkpoint.
struct Upload {
    runs: Vec<Run>,
    jobs: Mutex<Jobs>,
    /// Bytes that were handed over and are not encoded.
    ahead: AtomicUsize,
    checkpoint: CheckpointId,
    context: TaskContext,
}

/// Pieces to encode, by operator.
struct Job {
    pieces: Vec<(usize, Vec<Piece>)>,
    bytes: usize,
    /// Nothing follows.
    last: bool,
}

/// One is encoded at a time and in order: a second thread could only wait for the first one's file.
#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    running: bool,
    /// A run with a hole must never be acknowledged.
    failed: bool,
}

impl Upload {
    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hand_over(self: &Arc<Self>, job: Job) {
        self.ahead.fetch_add(job.bytes, Ordering::AcqRel);
        let mut jobs = self.jobs();
        jobs.waiting.push_back(job);
        if !std::mem::replace(&mut jobs.running, true) {
            drop(jobs);
            self.run_next();
        }
    }

    fn run_next(self: &Arc<Self>) {
        let upload = self.clone();
        self.context.background.run(Box::new(move || upload.run_one()));
    }

    /// Does the oldest job. The next one waits its turn behind the work of others.
    fn run_one(self: &Arc<Self>) {
        let mut jobs = self.jobs();
        let (job, failed) = (jobs.waiting.pop_front(), jobs.failed);
        drop(jobs);
        if let Some(job) = job {
            self.encode_behind(job, failed);
        }
        let mut jobs = self.jobs();
        jobs.running = !jobs.waiting.is_empty();
        if jobs.running {
            drop(jobs);
            self.run_next();
        }
    }

    fn report(&self, event: TaskEvent) {
        self.context.supervisor.report(self.context.this, event);
    }

    /// Encodes pieces. Large state goes to the store part by part, so that it is never in memory as a whole.
    fn encode(&self, run: usize, pieces: &[Piece]) -> Result<()> {
        let Run { sections, file, uid } = &self.runs[run];
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut writer) = file.writer.take() else { return Ok(()) };
        for (table, piece) in pieces {
            writer.piece(sections[*table], piece.as_ref());
            if let Some(part) = writer.take_part(PART_BYTES) {
                if file.upload.is_none() {
                    let TaskContext { state_store, this, .. } = &self.context;
                    file.upload = Some(state_store.begin(self.checkpoint, uid, this.index)?);
                }
                let part = Bytes::from(part);
                file.store(part.clone())?;
                if let Ok(part) = part.try_into_mut() {
                    writer.give_back(part.into());
                }
            }
        }
        file.writer = Some(writer);
        Ok(())
    }

    fn finish(&self, run: &Run) -> Result<OperatorAck> {
        let mut file = std::mem::take(&mut *run.file.lock().unwrap_or_else(PoisonError::into_inner));
        let state = match file.writer.take() {
            None => None,
            Some(writer) if file.upload.is_none() => Some(StateData::Here(writer.finish())),
            Some(writer) => {
                let last = writer.finish_part();
                let bytes = last.end;
                file.store(last.part)?;
                match file.upload.take() {
                    None => None,
                    Some((path, upload)) => {
                        upload.finish()?;
                        Some(StateData::Stored { path, bytes, crc32: file.crc32.finalize() })
                    }
                }
            }
        };
        Ok(OperatorAck { uid: run.uid.clone(), state })
    }

    /// All is encoded: completes the files and acknowledges.
    fn acknowledge(&self) -> Result<()> {
        let operators = self.runs.iter().map(|run| self.finish(run)).collect::<Result<_>>()?;
        self.report(TaskEvent::Ack { checkpoint: self.checkpoint, operators });
        Ok(())
    }

    fn decline(&self, reason: String) {
        self.report(TaskEvent::Declined { checkpoint: self.checkpoint, reason });
    }

    /// Encodes pieces on a background thread.
    fn encode_behind(&self, job: Job, failed: bool) {
        let Job { pieces, bytes, last } = job;
        let encoded = if failed { Ok(()) } else { self.encode_all(&pieces) };
        drop(pieces);
        let before = self.ahead.fetch_sub(bytes, Ordering::AcqRel);
        if before > AHEAD_BYTES && before - bytes <= AHEAD_BYTES {
            self.context.mailbox.waker().wake_by_ref();
        }
        let done = match encoded {
            Ok(()) if last && !failed => self.acknowledge().map_err(|e| e.to_string()),
            other => other,
        };
        if let Err(reason) = done {
            self.jobs().failed = true;
            self.decline(reason);
        }
    }

    fn encode_all(&self, pieces: &[(usize, Vec<Piece>)]) -> Result<(), String> {
        pieces.iter().try_for_each(|(run, pieces)| {
            // Encoding is partly the user's code.
            let encoded = catch_unwind(AssertUnwindSafe(|| self.encode(*run, pieces)));
            let uid = &self.runs[*run].uid;
            encoded
                .unwrap_or_else(|panic| Err(panic_error(panic.as_ref())))
                .map_err(|e| format!("operator '{uid}': {e}"))
        })
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
    /// Captured and not handed over: by operator.
    gathered: Vec<(usize, Vec<Piece>)>,
    gathered_bytes: usize,
    handed_over: bool,
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
            jobs: Mutex::default(),
            ahead: AtomicUsize::new(0),
            checkpoint,
            context: context.clone(),
        };
        Ok(Capture { upload: Arc::new(upload), gathered: Vec::new(), gathered_bytes: 0, handed_over: false })
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
        self.gathered_bytes +=
            slice.captured.iter().flat_map(|(_, p)| p).map(|(_, p)| p.bytes()).sum::<usize>();
        self.gathered.append(&mut slice.captured);
        if !slice.complete {
            if self.gathered_bytes >= HAND_OVER_BYTES {
                self.hand_over(false);
            }
            return Ok(Captured::Some);
        }
        // Small state, all of it here: encoded at once. Otherwise the files are the background's alone, up to their
        // completion, which may block.
        if self.handed_over || self.gathered_bytes >= INLINE_BYTES {
            self.hand_over(true);
        } else {
            for (run, pieces) in std::mem::take(&mut self.gathered) {
                self.upload.encode(run, &pieces)?;
            }
            self.upload.acknowledge()?;
        }
        Ok(Captured::All)
    }

    fn hand_over(&mut self, last: bool) {
        self.handed_over = true;
        let (pieces, bytes) = (std::mem::take(&mut self.gathered), std::mem::take(&mut self.gathered_bytes));
        self.upload.hand_over(Job { pieces, bytes, last });
    }

    /// Gives the checkpoint up.
    pub(crate) fn cancel<B>(self, chain: &mut dyn Stage<B>) -> Result<()> {
        let mut jobs = self.upload.jobs();
        jobs.failed = true;
        jobs.waiting.clear();
        drop(jobs);
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
        let file = RunFile { writer: (!sections.is_empty()).then_some(writer), ..RunFile::default() };
        self.runs.push(Run { uid: ident.uid.clone(), sections, file: Mutex::new(file) });
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
