//! Plays the coordinator and the task around a source or sink, by hand and in one thread.

use crate::{
    EnumeratorAction, EnumeratorContext, EnumeratorEvent, Malformed, Outstanding, PollContext, ReaderContext,
    ReaderStatus, Source, SourceOutput, SourceReader, Split, SplitEnumerator, SplitStatus, WriterContext,
};
use flugs_batch::{Record, Records};
use flugs_types::{
    Attempt, Background, Clock, Generation, ManualClock, OperatorUid, Result, SubtaskId, Timestamp,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

/// Runs work at once.
pub(super) struct AtOnce;

impl Background for AtOnce {
    fn run(&self, work: Box<dyn FnOnce() + Send + 'static>) {
        work();
    }
}

/// Counts how often it was woken.
#[derive(Default)]
pub(super) struct Wakes(AtomicUsize);

impl Wakes {
    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

pub(super) fn writer_context(index: u32, parallelism: u32, attempt: u32) -> WriterContext {
    WriterContext {
        job: "job".to_owned(),
        uid: OperatorUid::new("sink"),
        subtask: SubtaskId::new(index, parallelism),
        generation: Generation(1),
        attempt: Attempt(attempt),
        clock: Arc::new(ManualClock::default()),
        background: Arc::new(AtOnce),
        waker: Waker::noop().clone(),
    }
}

/// What a reader told.
#[derive(Debug)]
pub(super) struct Output<T> {
    pub(super) batches: Vec<(String, Records<T>)>,
    pub(super) status: BTreeMap<String, SplitStatus>,
    pub(super) finished: Vec<String>,
    /// The newest time of each split, as a watermark that allows no disorder.
    newest: BTreeMap<String, Timestamp>,
}

impl<T> Default for Output<T> {
    fn default() -> Self {
        Output { batches: Vec::new(), status: BTreeMap::new(), finished: Vec::new(), newest: BTreeMap::new() }
    }
}

impl<T> SourceOutput<T> for Output<T> {
    fn emit(&mut self, split: &str, rows: Records<T>) -> Result<()> {
        assert!(!rows.is_empty(), "an empty batch");
        assert!(!self.finished.iter().any(|id| id == split), "rows of a split that has ended");
        let newest = self.newest.entry(split.to_owned()).or_insert(Timestamp::MIN);
        for &time in rows.times.iter().filter(|&&time| time != Timestamp::MIN) {
            assert!(time >= *newest, "a row of split {split} comes late");
            *newest = time;
        }
        self.batches.push((split.to_owned(), rows));
        Ok(())
    }

    fn malformed(&mut self, record: Malformed) -> Result<()> {
        panic!("{record:?}");
    }

    fn status(&mut self, split: &str, status: SplitStatus) {
        self.status.insert(split.to_owned(), status);
    }

    fn finished(&mut self, split: &str) {
        assert!(!self.finished.iter().any(|id| id == split), "finished twice");
        self.finished.push(split.to_owned());
    }
}

/// A checkpoint of a source.
#[derive(Debug, Clone)]
pub(super) struct Checkpoint {
    enumerator: Vec<u8>,
    pub(super) splits: Vec<Split>,
    newest: BTreeMap<String, Timestamp>,
}

/// A source at work with some readers.
pub(super) struct Driver<T> {
    pub(super) clock: ManualClock,
    pub(super) wakes: Arc<Wakes>,
    enumerator: Box<dyn SplitEnumerator>,
    readers: Vec<Box<dyn SourceReader<T>>>,
    pub(super) outputs: Vec<Output<T>>,
}

impl<T: Record> Driver<T> {
    pub(super) fn start<S: Source<Item = T>>(source: &S, parallelism: u32) -> Self {
        Self::run(source, parallelism, None, &ManualClock::default()).unwrap()
    }

    pub(super) fn restore<S: Source<Item = T>>(
        source: &S,
        parallelism: u32,
        from: &Checkpoint,
    ) -> Result<Self> {
        Self::run(source, parallelism, Some(from), &ManualClock::default())
    }

    pub(super) fn run<S: Source<Item = T>>(
        source: &S,
        parallelism: u32,
        from: Option<&Checkpoint>,
        clock: &ManualClock,
    ) -> Result<Self> {
        let wakes = Arc::new(Wakes::default());
        let reader = |index| {
            source.reader(ReaderContext {
                subtask: SubtaskId::new(index, parallelism),
                clock: Arc::new(clock.clone()),
                background: Arc::new(AtOnce),
                waker: wakes.clone().into(),
            })
        };
        let mut readers = (0..parallelism).map(reader).collect::<Result<Vec<_>>>()?;
        let restored = from.map(|c| c.enumerator.as_slice());
        let mut enumerator = source.enumerator(EnumeratorContext { parallelism, restored })?;
        for (i, split) in from.iter().flat_map(|c| &c.splits).enumerate() {
            readers[i % parallelism as usize].add_splits(vec![split.clone()])?;
        }
        let mut outstanding = Outstanding::AnyTime;
        for action in enumerator.step(clock.now(), EnumeratorEvent::Start)? {
            match action {
                EnumeratorAction::Assign { reader, splits } => readers[reader as usize].add_splits(splits)?,
                EnumeratorAction::NoMoreSplits { reader } => readers[reader as usize].no_more_splits(),
                EnumeratorAction::Outstanding(now) => outstanding = now,
                EnumeratorAction::Discover(_) | EnumeratorAction::WakeAt(_) => {
                    panic!("not for built-in sources")
                }
            }
        }
        assert_eq!(
            outstanding,
            Outstanding::Nothing,
            "the watermark would never advance, or nobody fall idle"
        );
        let newest = from.map(|c| c.newest.clone()).unwrap_or_default();
        let outputs =
            readers.iter().map(|_| Output { newest: newest.clone(), ..Output::default() }).collect();
        Ok(Driver { clock: clock.clone(), wakes, enumerator, readers, outputs })
    }

    pub(super) fn poll(&mut self, reader: usize) -> ReaderStatus {
        let mut context = PollContext { now: self.clock.now(), request_split: false };
        self.readers[reader].poll(&mut context, &mut self.outputs[reader]).unwrap()
    }

    /// Polls all readers in turn, so many times at most; whether all have ended.
    pub(super) fn rounds(&mut self, rounds: usize) -> bool {
        (0..rounds).any(|_| {
            let ended = (0..self.readers.len()).filter(|&r| self.poll(r) == ReaderStatus::Finished).count();
            ended == self.readers.len()
        })
    }

    pub(super) fn finish(mut self) -> Vec<Output<T>> {
        assert!(self.rounds(1_000_000), "the source does not end");
        assert!(self.checkpoint().splits.is_empty());
        self.outputs
    }

    pub(super) fn checkpoint(&mut self) -> Checkpoint {
        let splits = self.readers.iter_mut().flat_map(|r| r.snapshot().unwrap()).collect();
        let mut newest = BTreeMap::new();
        for (split, time) in self.outputs.iter().flat_map(|o| o.newest.clone()) {
            let known = newest.entry(split).or_insert(time);
            *known = time.max(*known);
        }
        Checkpoint { enumerator: self.enumerator.snapshot().unwrap(), splits, newest }
    }
}

/// All rows, reader by reader, in order.
pub(super) fn rows<T: Clone>(outputs: &[Output<T>]) -> Vec<T> {
    records(outputs).into_iter().map(|(value, _)| value).collect()
}

/// All rows with their times.
pub(super) fn records<T: Clone>(outputs: &[Output<T>]) -> Vec<(T, Timestamp)> {
    outputs.iter().flat_map(|o| o.batches.iter().flat_map(|(_, batch)| batch.clone())).collect()
}
