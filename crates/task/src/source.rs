//! A task that is fed by a source's reader.
//!
//! It keeps a watermark for each split and gives on their minimum, holds it back while unassigned splits may
//! still bring older rows, is idle only when there are none, and cuts the stream at a trigger: the positions and
//! watermarks of the unfinished splits are its state. A restored split goes on with the watermark it had, so that the
//! same rows are late as before.

mod align;
mod splits;

use crate::chain::{LinkPort, Output, Stage, Visitor};
use crate::context::OperatorIdent;
use crate::mail::{Mail, TaskEvent};
use crate::metrics::{Counter, Metrics, OUTPUT_WATERMARK};
use crate::schedule::{Obituary, Step, Task};
use crate::subtask::{CoreMail, TaskContext, TaskCore};
use crate::watermark::WatermarkStrategy;
use align::Aligned;
pub use align::AlignmentGroups;
use flugs_batch::{Barrier, Control, Flow, Push, Record, Records};
use flugs_connector::{
    Boundedness, Malformed, PollContext, ReaderStatus, SourceOutput, SourceReader, Split, SplitStatus,
};
use flugs_state::{ListTable, OpenState, SnapshotTable};
use flugs_types::{CheckpointId, Error, Result, Timestamp, guarded};
use splits::Splits;
use std::collections::VecDeque;
use std::sync::Arc;

/// A record that could not be read, as a row of a dead-letter stream.
pub type DeadLetter = Malformed;

/// What becomes of records that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnMalformed {
    /// The job fails, with the record's place.
    #[default]
    Fail,
    /// They are counted (`numMalformedRecords`) and skipped.
    Skip,
    /// They are counted, and go to the source's dead-letter output.
    Route,
}

/// From how many rows on a watermark goes out although more input is at hand.
const WATERMARK_ROWS: usize = 16 * 1024;

/// How many polls a step makes before it lets other tasks run.
const STEP_POLLS: usize = 8;

/// What a source task is made of.
pub struct SourceSpec<T> {
    /// Who it is.
    pub ident: Arc<OperatorIdent>,
    /// Whether it ends.
    pub boundedness: Boundedness,
    /// Reads.
    pub reader: Box<dyn SourceReader<T>>,
    /// Event times and watermarks.
    pub strategy: WatermarkStrategy<T>,
    /// What becomes of unreadable records.
    pub on_malformed: OnMalformed,
    /// What the reader of an error about one can do.
    pub advice: &'static str,
    /// Where counters are registered.
    pub metrics: Arc<Metrics>,
    /// Alignment groups of the job.
    pub groups: AlignmentGroups,
}

/// The name of a source's state.
const POSITIONS: &str = "source.splits";

/// An unfinished split: id, payload, watermark.
type Position = (String, Vec<u8>, Timestamp);

/// The head of a source's chain: it has the source's state, and pushes into its outputs.
struct Head<T> {
    ident: Arc<OperatorIdent>,
    out: Output<Records<T>>,
    positions: ListTable<Position>,
}

impl<T: Record> Push<Records<T>> for Head<T> {
    fn push(&mut self, batch: Records<T>) -> Result<Flow> {
        self.out.push(batch)
    }

    fn control(&mut self, control: Control) -> Result<Flow> {
        if let Control::Barrier(_) = control {
            self.positions.freeze();
        }
        self.out.control(control)
    }

    fn resume(&mut self) -> Result<Flow> {
        self.out.resume()
    }
}

impl<T: Record> Stage<Records<T>> for Head<T> {
    fn hand_on(&mut self, idle: bool) -> Result<Flow> {
        self.out.hand_on(idle)
    }

    fn visit(&mut self, visitor: &mut dyn Visitor) -> Result<()> {
        visitor.link(self)?;
        self.out.visit(visitor)
    }
}

impl<T: Record> LinkPort for Head<T> {
    fn ident(&self) -> &Arc<OperatorIdent> {
        &self.ident
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        vec![&mut self.positions]
    }

    fn next_tick(&self) -> Option<Timestamp> {
        None
    }

    fn polls(&self) -> bool {
        false
    }

    fn tick(&mut self, _: Timestamp) -> Result<Flow> {
        Ok(Flow::Ready)
    }

    fn poll(&mut self) -> Result<Flow> {
        Ok(Flow::Ready)
    }

    fn committed(&mut self, _: CheckpointId) -> Result<()> {
        Ok(())
    }
}

/// See the module.
pub struct SourceTask<T: Record> {
    core: TaskCore<Records<T>, Head<T>>,
    reader: Box<dyn SourceReader<T>>,
    feed: Feed<T>,
    /// What the coordinator wants, until the chain is ready. In the order in which it was said: splits that are handed out
    /// behind a trigger are not in this checkpoint's positions, since they are in its enumerator's state.
    orders: VecDeque<CoreMail>,
    /// A split was asked for and has not come.
    requested: bool,
    ended: bool,
}

impl<T: Record> SourceTask<T> {
    /// Opens the source's state and makes the task. Dead letters go to the first side output.
    pub fn new(
        context: TaskContext,
        spec: SourceSpec<T>,
        state: &mut OpenState,
        out: Output<Records<T>>,
    ) -> Result<Self> {
        let mut positions: ListTable<Position> = state.list(POSITIONS)?;
        let restored: Vec<Position> = std::mem::take(positions.items_mut());
        let mut splits = Splits::new(spec.strategy.clone(), spec.boundedness);
        restored.iter().for_each(|(id, _, watermark)| splits.add(id, *watermark));
        let mut reader = spec.reader;
        if !restored.is_empty() {
            reader
                .add_splits(restored.into_iter().map(|(id, payload, _)| Split { id, payload }).collect())?;
        }
        let counter = |name: &str| spec.metrics.counter(&spec.ident, name);
        let feed = Feed {
            rows: Records::new(),
            dead: Vec::new(),
            on_malformed: spec.on_malformed,
            advice: spec.advice,
            rows_out: counter("numRecordsOut"),
            malformed: counter("numMalformedRecords"),
            watermark_out: counter(OUTPUT_WATERMARK),
            rows_since: 0,
            aligned: spec.strategy.alignment().map(|a| spec.groups.join(a, context.mailbox.waker().clone())),
            splits,
        };
        let core = TaskCore::new(context, Head { ident: spec.ident, out, positions })?;
        Ok(SourceTask { core, reader, feed, orders: VecDeque::new(), requested: false, ended: false })
    }

    /// Runs the reader's code, and names the source in its errors and panics.
    fn call<R>(
        &mut self,
        code: impl FnOnce(&mut dyn SourceReader<T>, &mut Feed<T>) -> Result<R>,
    ) -> Result<R> {
        let ident = &self.core.chain.ident;
        guarded(|| code(&mut *self.reader, &mut self.feed))
            .map_err(|e| e.in_subtask(&ident.name, ident.subtask))
    }

    fn mail(&mut self) -> Result<Option<Step>> {
        while let Some(mail) = self.core.take_mail()? {
            match mail {
                CoreMail::Aborted(checkpoint) => self.orders.retain(
                    |order| !matches!(order, CoreMail::Trigger(barrier) if barrier.checkpoint <= checkpoint),
                ),
                CoreMail::Go => return Ok(Some(Step::Done)),
                CoreMail::Committed => self.call(|reader, _| reader.committed())?,
                order => self.orders.push_back(order),
            }
        }
        Ok(None)
    }

    fn obey(&mut self, order: CoreMail) -> Result<()> {
        match order {
            CoreMail::Trigger(barrier) => self.cut(barrier),
            CoreMail::Other(mail) => self.source_mail(mail),
            _ => Ok(()),
        }
    }

    fn source_mail(&mut self, mail: Mail) -> Result<()> {
        match mail {
            Mail::Splits(splits) => {
                self.requested = false;
                splits.iter().for_each(|s| self.feed.splits.add(&s.id, Timestamp::MIN));
                self.call(|reader, _| reader.add_splits(splits))?;
            }
            Mail::NoMoreSplits => {
                self.requested = false;
                self.reader.no_more_splits();
            }
            Mail::Outstanding(outstanding) => {
                self.feed.splits.outstanding(outstanding);
                // Splits that were restored have a watermark, and rows that come behind it are late now as they were then.
                if self.feed.splits.lowest().is_some_and(|watermark| watermark > Timestamp::MIN) {
                    self.advance()?;
                }
            }
            Mail::EndInput => self.end()?,
            _ => {}
        }
        Ok(())
    }

    fn cut(&mut self, barrier: Barrier) -> Result<()> {
        let positions = self.call(|reader, _| reader.snapshot())?.into_iter();
        let positions =
            positions.map(|s| (self.feed.splits.watermark_of(&s.id), s)).map(|(w, s)| (s.id, s.payload, w));
        let positions = if self.ended { Vec::new() } else { positions.collect() };
        self.core.chain.positions.replace(positions);
        self.core.control(Control::Barrier(barrier))
    }

    fn end(&mut self) -> Result<()> {
        if !self.ended {
            self.ended = true;
            self.feed.aligned = None;
            self.feed.watermark_out.set(i64::MAX);
            self.core.control(Control::Watermark(Timestamp::MAX))?;
            self.core.control(Control::End)?;
        }
        Ok(())
    }

    /// Polls the reader while the chain is ready. Says what it left behind.
    fn read(&mut self, now: Timestamp) -> Result<ReaderStatus> {
        for _ in 0..STEP_POLLS {
            if self.core.settle()? != Flow::Ready {
                return Ok(ReaderStatus::More);
            }
            if let Some(order) = self.orders.pop_front() {
                self.obey(order)?;
                continue;
            }
            if self.ended {
                return Ok(ReaderStatus::Waiting);
            }
            if self.feed.must_pause() {
                // Those that are waited for may wait for this reader's watermark in turn.
                self.advance()?;
                return Ok(ReaderStatus::Waiting);
            }
            let mut context = PollContext { now, request_split: false };
            let status = self.call(|reader, feed| reader.poll(&mut context, feed))?;
            if context.request_split && !self.requested {
                self.requested = true;
                self.core.report(TaskEvent::SplitRequested);
            }
            self.push_rows()?;
            match status {
                ReaderStatus::More if self.feed.rows_since < WATERMARK_ROWS => {}
                ReaderStatus::More => self.advance()?,
                ReaderStatus::Finished => self.end()?,
                waiting => {
                    self.advance()?;
                    return Ok(waiting);
                }
            }
        }
        Ok(ReaderStatus::More)
    }

    fn push_rows(&mut self) -> Result<()> {
        if self.feed.splits.awake() {
            // Before the rows, or the time of others would pass them by.
            self.core.control(Control::Active)?;
        }
        if !self.feed.dead.is_empty() {
            let dead = Records::untimed(std::mem::take(&mut self.feed.dead));
            self.core.flow = self.core.flow.and(self.core.chain.out.push_side(0, dead)?);
        }
        if !self.feed.rows.is_empty() {
            let rows = std::mem::take(&mut self.feed.rows);
            self.feed.rows_out.add(rows.len());
            self.feed.rows_since += rows.len();
            self.core.push(rows)?;
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<()> {
        self.feed.rows_since = 0;
        self.feed.show_watermark();
        let mut controls = Vec::new();
        self.feed.splits.combine(|c| controls.push(c));
        for control in controls {
            if let Control::Watermark(t) = control {
                self.feed.watermark_out.set(t.0);
            }
            self.core.control(control)?;
        }
        Ok(())
    }

    fn run(&mut self, now: Timestamp) -> Result<Step> {
        self.core.start();
        if let Some(step) = self.mail()? {
            return Ok(step);
        }
        let status = self.read(now)?;
        let _ = self.core.settle()?;
        let mut next = self.core.tick(now)?;
        let capturing = self.core.capture()?;
        let starved = status != ReaderStatus::More;
        self.core.flow =
            self.core.flow.and(self.core.chain.hand_on(starved || self.core.flow == Flow::Full)?);
        let resume_at = next;
        if let ReaderStatus::WaitUntil(t) = status {
            next = Some(next.map_or(t, |n| n.min(t)));
        }
        Ok(match self.core.flow {
            _ if capturing => Step::Again,
            Flow::Full => resume_at.map_or(Step::Wait, Step::WaitUntil),
            Flow::Yield => Step::Again,
            Flow::Ready if !starved => Step::Again,
            Flow::Ready => next.map_or(Step::Wait, Step::WaitUntil),
        })
    }
}

impl<T: Record> Task for SourceTask<T> {
    fn step(&mut self, now: Timestamp) -> Result<Step> {
        self.run(now)
    }

    fn name(&self) -> String {
        self.core.context.name()
    }

    fn obituary(&self) -> Obituary {
        self.core.context.obituary()
    }
}

/// What a poll brings, before it goes into the chain.
struct Feed<T> {
    rows: Records<T>,
    dead: Vec<DeadLetter>,
    splits: Splits<T>,
    on_malformed: OnMalformed,
    advice: &'static str,
    rows_out: Counter,
    malformed: Counter,
    watermark_out: Counter,
    /// Rows since the last watermark.
    rows_since: usize,
    aligned: Option<Aligned>,
}

impl<T: Record> Feed<T> {
    fn must_pause(&self) -> bool {
        self.aligned.as_ref().is_some_and(|a| !a.may_read(self.splits.lowest()))
    }

    fn show_watermark(&self) {
        if let Some(aligned) = &self.aligned {
            aligned.show(self.splits.lowest());
        }
    }
}

impl<T: Record> SourceOutput<T> for Feed<T> {
    fn emit(&mut self, split: &str, mut rows: Records<T>) -> Result<()> {
        if rows.values.len() != rows.times.len() {
            let (values, times) = (rows.values.len(), rows.times.len());
            return Err(Error::user(format!("the reader emitted {values} rows with {times} event times"))
                .at(format!("split '{split}'"))
                .mend("give each row a time; Timestamp::MIN where it has none"));
        }
        if rows.is_empty() {
            return Ok(());
        }
        self.splits.observe(split, &mut rows);
        if self.rows.is_empty() {
            self.rows = rows;
        } else {
            self.rows.values.append(&mut rows.values);
            self.rows.times.append(&mut rows.times);
        }
        Ok(())
    }

    fn malformed(&mut self, record: Malformed) -> Result<()> {
        self.malformed.add(1);
        match self.on_malformed {
            OnMalformed::Fail => Err(Error::data(record.error)
                .at(format!("{}, {}", record.split, record.position))
                .mend(self.advice)),
            OnMalformed::Skip => Ok(()),
            OnMalformed::Route => {
                self.dead.push(record);
                Ok(())
            }
        }
    }

    fn mended(&mut self, records: usize) {
        self.malformed.add(records);
    }

    fn status(&mut self, split: &str, status: SplitStatus) {
        self.splits.status(split, status);
    }

    fn finished(&mut self, split: &str) {
        self.splits.remove(split);
    }
}

#[cfg(test)]
mod tests;
