//! What the operators of batch mode have in common: they take all of their input, and then give.

use super::spill::{Record, Sorter};
use crate::outbox::BATCH_ROWS;
use crate::rank::outgoing::Outgoing;
use flugs_batch::{Batch, ChangeBatch};
use flugs_state::SnapshotTable;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, RowKind, Timestamp};

/// What one of the operators does. Each step is a bounded amount of work.
pub trait Work: Send + 'static {
    /// What it takes.
    type In: Batch;

    /// Opens what it needs.
    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()>;

    /// Takes a batch.
    fn take(&mut self, batch: Self::In) -> Result<()>;

    /// A step of work that must be done before more is taken, until it is `Done`.
    fn settle(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress>;

    /// The input has ended.
    fn finish(&mut self) -> Result<()>;

    /// A step of giving results, until it is `Done`.
    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress>;

    /// The tables of operators inside, which are empty between batches and results.
    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        Vec::new()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Taking,
    Settling,
    Giving,
    Over,
}

/// An operator of batch mode. It holds watermarks back until it has given its results: rows behind a watermark would be late.
pub struct Bounded<W> {
    work: W,
    stage: Stage,
    watermark: Option<Timestamp>,
}

impl<W: Work> Bounded<W> {
    pub(super) fn of(work: W) -> Self {
        Bounded { work, stage: Stage::Taking, watermark: None }
    }

    fn go_on(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        loop {
            match self.stage {
                Stage::Taking => {
                    if self.work.settle(out)? != Progress::Done {
                        return Ok(Progress::More);
                    }
                    return Ok(Progress::Done);
                }
                Stage::Settling => {
                    if self.work.settle(out)? != Progress::Done {
                        return Ok(Progress::More);
                    }
                    self.work.finish()?;
                    self.stage = Stage::Giving;
                }
                Stage::Giving => {
                    if self.work.give(out)? != Progress::Done {
                        return Ok(Progress::More);
                    }
                    if let Some(watermark) = self.watermark.take() {
                        let _ = out.watermark(watermark)?;
                    }
                    self.stage = Stage::Over;
                }
                Stage::Over => return Ok(Progress::Done),
            }
        }
    }
}

impl<W: Work> Operator for Bounded<W> {
    type In = W::In;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.work.open(context)
    }

    fn process(&mut self, batch: W::In, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if self.stage != Stage::Taking {
            return Err(Error::bug("a row comes behind the end of the input"));
        }
        self.work.take(batch)?;
        self.go_on(out)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.go_on(out)
    }

    fn advance(&mut self, watermark: Timestamp, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.watermark = Some(watermark);
        Ok(Progress::Done)
    }

    fn forwards_watermarks(&self) -> bool {
        false
    }

    fn end(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.stage = Stage::Settling;
        self.go_on(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.work.tables()
    }
}

/// Hands on what `push` makes of a sorter's records, a step of it.
pub(super) fn give_sorted(
    sorter: &mut Sorter,
    outgoing: &mut Outgoing,
    out: &mut Output<ChangeBatch>,
    mut push: impl FnMut(Record<'_>, &mut Outgoing) -> Result<()>,
) -> Result<Progress> {
    let (mut steps, mut more) = (0, true);
    while outgoing.len() < BATCH_ROWS && steps < 4 * BATCH_ROWS {
        let Some(record) = sorter.next()? else {
            more = false;
            break;
        };
        push(record, outgoing)?;
        sorter.advance()?;
        steps += 1;
    }
    Ok(progress(outgoing.send(out)? && !more))
}

/// An error where a row does not insert.
pub(super) fn inserts_only(batch: &ChangeBatch) -> Result<()> {
    let Some(kinds) = batch.kind_numbers() else { return Ok(()) };
    match kinds.iter().position(|kind| *kind != RowKind::Insert as u8) {
        Some(row) => Err(Error::bug(format!("batch mode takes inserts only, and got {}", batch.kind(row)))
            .mend("fold the changelog before it")),
        None => Ok(()),
    }
}

/// `Done` where all is.
pub(super) fn progress(done: bool) -> Progress {
    if done { Progress::Done } else { Progress::More }
}

/// The error of work that was not opened.
pub(super) fn not_open() -> Error {
    Error::bug("the operator of batch mode is not open")
}
