//! A source that a test feeds.

use flugs_api::{DataStream, Environment};
use flugs_batch::{Data, Records};
use flugs_connector::{
    Boundedness, EnumeratorAction, EnumeratorContext, EnumeratorEvent, Outstanding, PollContext,
    ReaderContext, ReaderStatus, Source, SourceOutput, SourceReader, Split, SplitEnumerator, SplitStatus,
};
use flugs_operators::Collector;
use flugs_task::WatermarkStrategy;
use flugs_types::{Error, Result, Timestamp};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

const SPLIT: &str = "test";

enum Entry<T> {
    Row(T, Timestamp),
    Watermark(Timestamp),
    Idle,
    End,
}

struct Log<T> {
    /// Everything that the test ever said, so that a restored job reads it again.
    entries: Vec<Entry<T>>,
    reader: Option<Waker>,
}

/// A source whose rows, watermarks, idleness and end come from the test. A job that is restored reads again what came
/// behind its checkpoint. Clones share what was said; one clone is for one stream.
pub struct TestSource<T>(Arc<Mutex<Log<T>>>);

impl<T> Clone for TestSource<T> {
    fn clone(&self) -> Self {
        TestSource(self.0.clone())
    }
}

impl<T: Data> Default for TestSource<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> TestSource<T> {
    fn lock(&self) -> MutexGuard<'_, Log<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, entry: Entry<T>) {
        let mut log = self.lock();
        log.entries.push(entry);
        let reader = log.reader.take();
        drop(log);
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

impl<T: Data> TestSource<T> {
    /// A source of which nothing was said yet.
    pub fn new() -> Self {
        TestSource(Arc::new(Mutex::new(Log { entries: Vec::new(), reader: None })))
    }

    /// Its stream, to be used within the program. It has one reader, and the watermarks that the test gives.
    pub fn stream(&self, env: &Environment, name: &str) -> DataStream<T> {
        let strategy = WatermarkStrategy::punctuated(|row: &Option<T>, time| row.is_none().then_some(time));
        let marked = env.from_source(self.clone(), strategy, name).parallelism(1).stream();
        let rows =
            marked.flat_map(|row, out: &mut Collector<T>| row.into_iter().for_each(|row| out.collect(row)));
        rows.name(format!("{name}: rows"))
    }

    /// A row without event time.
    pub fn push(&self, row: T) {
        self.push_at(row, Timestamp::MIN);
    }

    /// A row with its event time. Behind a watermark at or after that time it is late.
    pub fn push_at(&self, row: T, time: Timestamp) {
        self.say(Entry::Row(row, time));
    }

    /// No row at or before this time will follow, but for late ones.
    pub fn watermark(&self, watermark: Timestamp) {
        self.say(Entry::Watermark(watermark));
    }

    /// The source holds no watermark back until something else is said.
    pub fn idle(&self) {
        self.say(Entry::Idle);
    }

    /// The input ends. What is said later is not read.
    pub fn end(&self) {
        self.say(Entry::End);
    }
}

/// Rows, and between them watermarks: nothing, with the time of the watermark.
impl<T: Data> Source for TestSource<T> {
    type Item = Option<T>;

    fn boundedness(&self) -> Boundedness {
        Boundedness::Unbounded
    }

    fn enumerator(&self, context: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>> {
        Ok(Box::new(OneSplit { assigned: context.restored.is_some() }))
    }

    fn reader(&self, context: ReaderContext) -> Result<Box<dyn SourceReader<Option<T>>>> {
        Ok(Box::new(Reader { source: self.clone(), waker: context.waker, next: None, complete: false }))
    }
}

/// Gives the split to the first reader, once.
struct OneSplit {
    assigned: bool,
}

impl SplitEnumerator for OneSplit {
    fn step(&mut self, _: Timestamp, event: EnumeratorEvent) -> Result<Vec<EnumeratorAction>> {
        let EnumeratorEvent::Start = event else { return Ok(Vec::new()) };
        let split = Split { id: SPLIT.to_owned(), payload: 0u64.to_le_bytes().to_vec() };
        let splits = if std::mem::replace(&mut self.assigned, true) { Vec::new() } else { vec![split] };
        Ok(vec![
            EnumeratorAction::Assign { reader: 0, splits },
            EnumeratorAction::Outstanding(Outstanding::Nothing),
            EnumeratorAction::NoMoreSplits { reader: 0 },
        ])
    }

    fn snapshot(&self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

struct Reader<T> {
    source: TestSource<T>,
    waker: Waker,
    /// The next entry to read; `None` without a split, or after the end.
    next: Option<usize>,
    complete: bool,
}

impl<T: Data> SourceReader<Option<T>> for Reader<T> {
    fn add_splits(&mut self, splits: Vec<Split>) -> Result<()> {
        for split in splits {
            let position = split.payload.try_into().map(u64::from_le_bytes).ok();
            let position = position.and_then(|p| usize::try_from(p).ok());
            let position = position.ok_or_else(|| Error::state("not a position of a test source"))?;
            let log = self.source.lock();
            // Idleness is no part of a checkpoint: it is said again.
            let idle = |at: usize| matches!(log.entries.get(at), Some(Entry::Idle));
            self.next = Some(position.checked_sub(1).filter(|&at| idle(at)).unwrap_or(position));
        }
        self.waker.wake_by_ref();
        Ok(())
    }

    fn no_more_splits(&mut self) {
        self.complete = true;
        self.waker.wake_by_ref();
    }

    fn poll(&mut self, _: &mut PollContext, out: &mut dyn SourceOutput<Option<T>>) -> Result<ReaderStatus> {
        let Some(next) = self.next else {
            return Ok(if self.complete { ReaderStatus::Finished } else { ReaderStatus::Waiting });
        };
        let mut log = self.source.lock();
        let row = |entry: &Entry<T>| match entry {
            Entry::Row(row, time) => Some((Some(row.clone()), *time)),
            _ => None,
        };
        let rows: Records<Option<T>> = log.entries.iter().skip(next).map_while(row).collect();
        if !rows.is_empty() {
            self.next = Some(next + rows.len());
            out.emit(SPLIT, rows)?;
            return Ok(ReaderStatus::More);
        }
        match log.entries.get(next) {
            Some(Entry::Watermark(watermark)) => {
                out.emit(SPLIT, [(None, *watermark)].into_iter().collect())?;
            }
            Some(Entry::Idle) => out.status(SPLIT, SplitStatus::CaughtUp),
            Some(Entry::End) => {
                self.next = None;
                out.finished(SPLIT);
                return Ok(ReaderStatus::More);
            }
            _ => {
                log.reader = Some(self.waker.clone());
                return Ok(ReaderStatus::Waiting);
            }
        }
        self.next = Some(next + 1);
        // Waiting, so that the task says what has become of event time before it reads on.
        self.waker.wake_by_ref();
        Ok(ReaderStatus::Waiting)
    }

    fn snapshot(&mut self) -> Result<Vec<Split>> {
        let split = |next| Split { id: SPLIT.to_owned(), payload: (next as u64).to_le_bytes().to_vec() };
        Ok(self.next.map(split).into_iter().collect())
    }
}
