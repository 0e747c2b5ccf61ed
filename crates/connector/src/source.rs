//! Sources: enumerators hand out splits, readers read them.

use flugs_batch::{Record, Records};
use flugs_derive::Data;
use flugs_types::{Background, Clock, Result, SubtaskId, Timestamp};
use std::sync::Arc;
use std::task::Waker;

/// Whether a source ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundedness {
    /// All splits are known some day, and each ends.
    Bounded,
    /// It goes on for ever.
    Unbounded,
}

/// A part of a source's data that one reader reads in order, with the position in it.
///
/// The payload is the source's own encoding: what to read, and where to go on. It is stored in
/// checkpoints, so it must stay readable by later versions of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Unique within the source, and the same at each start over the same data.
    pub id: String,
    /// What to read and where to go on.
    pub payload: Vec<u8>,
}

/// How far a split is, by evidence of the source itself and never by the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitStatus {
    /// There is more to read now: its watermark holds back the source's.
    Behind,
    /// Its present end was reached and confirmed: it does not hold the watermark back until more arrives.
    CaughtUp,
}

/// Where data comes from.
pub trait Source: Send + Sync + 'static {
    /// What the readers emit.
    type Item: Record;

    /// Whether it ends.
    fn boundedness(&self) -> Boundedness;

    /// The enumerator for a run, from the state of an earlier one where there is some.
    fn enumerator(&self, context: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>>;

    /// A reader for one subtask. It starts without splits.
    fn reader(&self, context: ReaderContext) -> Result<Box<dyn SourceReader<Self::Item>>>;
}

/// What an enumerator starts from.
#[derive(Debug, Clone, Copy)]
pub struct EnumeratorContext<'a> {
    /// How many readers there are.
    pub parallelism: u32,
    /// What [`SplitEnumerator::snapshot`] gave at the checkpoint to go on from.
    pub restored: Option<&'a [u8]>,
}

/// What happens to an enumerator.
pub enum EnumeratorEvent {
    /// The job starts, or starts again. The first event.
    Start,
    /// A reader has nothing left to read and asks for more.
    SplitRequested {
        /// Index of the reader.
        reader: u32,
    },
    /// The work of an [`EnumeratorAction::Discover`] is done.
    Discovered(Result<Vec<Split>>),
    /// The time asked for by [`EnumeratorAction::WakeAt`] has come.
    Woken,
}

/// The splits that no reader has, known ones and those that a first look has yet to find: what they mean to event time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outstanding {
    /// They may hold rows of any event time: no reader's watermark advances.
    AnyTime,
    /// The source takes them for later than those it has handed out: watermarks advance. A reader with nothing to
    /// read is not idle: what it reads next is part of what there is.
    InOrder,
    /// There are none: whoever has nothing to read has reached the present end, and does not hold others back. What a
    /// later look finds is new.
    Nothing,
}

/// What an enumerator wants done.
pub enum EnumeratorAction {
    /// Give splits to a reader.
    Assign {
        /// Index of the reader.
        reader: u32,
        /// The splits, none of which was assigned before.
        splits: Vec<Split>,
    },
    /// Tell a reader that it will get no more; it ends when it has read what it has.
    NoMoreSplits {
        /// Index of the reader.
        reader: u32,
    },
    /// What the splits that no reader has mean to event time from now on. Readers start with [`Outstanding::AnyTime`], so a source
    /// whose watermark is to advance says something else once. What is said behind an
    /// [`Assign`](Self::Assign) does not reach that reader before its splits.
    Outstanding(Outstanding),
    /// Do this on a background thread (it may block) and bring its result as [`EnumeratorEvent::Discovered`].
    Discover(Box<dyn FnOnce() -> Result<Vec<Split>> + Send>),
    /// Bring [`EnumeratorEvent::Woken`] at this time.
    WakeAt(Timestamp),
}

/// Finds splits and hands them out. A pure state machine: no clock, thread or I/O inside.
pub trait SplitEnumerator: Send {
    /// Takes an event, says what is to be done. An error fails the job.
    fn step(&mut self, now: Timestamp, event: EnumeratorEvent) -> Result<Vec<EnumeratorAction>>;

    /// What a later enumerator needs to go on. All splits assigned so far are the readers' affair: each
    /// comes back in some reader's snapshot or is finished.
    fn snapshot(&self) -> Result<Vec<u8>>;
}

/// What a reader is made with.
#[derive(Clone)]
pub struct ReaderContext {
    /// Which reader this is.
    pub subtask: SubtaskId,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Threads that may block.
    pub background: Arc<dyn Background>,
    /// Makes the task poll the reader again; may be called from any thread.
    pub waker: Waker,
}

/// What a poll left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReaderStatus {
    /// There may be more at once.
    More,
    /// Nothing now: the reader will call its waker.
    Waiting,
    /// Nothing before this time (but the reader may call its waker earlier).
    WaitUntil(Timestamp),
    /// All splits are read and no more will come.
    Finished,
}

/// What a reader may look at during a poll.
#[derive(Debug)]
pub struct PollContext {
    /// The wall-clock time of this poll.
    pub now: Timestamp,
    /// Set it to ask the enumerator for another split. Asking again before one came changes nothing.
    pub request_split: bool,
}

/// A record that could not be read, with all that is needed to find and mend it.
#[derive(Debug, Clone, PartialEq, Eq, Data)]
#[data(crate = "flugs_batch")]
pub struct Malformed {
    /// The split.
    pub split: String,
    /// Where in it, in words of the source (`line 17, byte 1034`).
    pub position: String,
    /// What was wrong.
    pub error: String,
    /// The bytes as they were, cut at 64 KiB.
    pub raw: Vec<u8>,
}

/// Takes what a reader reads.
pub trait SourceOutput<T> {
    /// Hands on rows of a split, with their event times where the source knows them.
    fn emit(&mut self, split: &str, rows: Records<T>) -> Result<()>;

    /// Reports a record that could not be read. What follows is the job's choice: an error is returned where the
    /// job is to fail, otherwise the record is counted or routed and reading goes on.
    fn malformed(&mut self, record: Malformed) -> Result<()>;

    /// Counts records of which there are rows although parts of them could not be read: they are not malformed.
    fn mended(&mut self, records: usize) {
        let _ = records;
    }

    /// Says how far a split is. A new split is [`SplitStatus::Behind`].
    fn status(&mut self, split: &str, status: SplitStatus);

    /// Says that a split is read to its end.
    fn finished(&mut self, split: &str);
}

/// Reads splits. Lives in a task and never blocks: work that may block goes to
/// [`ReaderContext::background`] and comes back through a hand-over of bounded size.
pub trait SourceReader<T>: Send {
    /// Takes splits to read, new ones or ones from a checkpoint.
    fn add_splits(&mut self, splits: Vec<Split>) -> Result<()>;

    /// No more splits will be added.
    fn no_more_splits(&mut self);

    /// Reads a bounded amount: at most about one batch (some thousand rows or 64 KiB).
    fn poll(&mut self, context: &mut PollContext, out: &mut dyn SourceOutput<T>) -> Result<ReaderStatus>;

    /// The unfinished splits with their positions: exactly behind the rows emitted so far. Never waits for a read.
    fn snapshot(&mut self) -> Result<Vec<Split>>;

    /// The checkpoint for which [`snapshot`](Self::snapshot) was taken is complete, and so are all before it.
    fn committed(&mut self) -> Result<()> {
        Ok(())
    }
}
