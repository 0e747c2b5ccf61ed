//! A job of a source alone: its enumerator and readers, stepped in turn.

use flugs_batch::Records;
use flugs_connector::{
    EnumeratorAction, EnumeratorContext, EnumeratorEvent, Malformed, Outstanding, PollContext, ReaderContext,
    ReaderStatus, Source, SourceOutput, SourceReader, Split, SplitEnumerator, SplitStatus,
};
use flugs_types::{Background, ManualClock, Result, SubtaskId, Timestamp};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::Waker;

/// Does the work at once.
struct Inline;

impl Background for Inline {
    fn run(&self, work: Box<dyn FnOnce() + Send>) {
        work();
    }
}

/// A thread for each piece of work.
struct Threads;

impl Background for Threads {
    #[allow(clippy::disallowed_methods, reason = "a test of what the pool of a real job does")]
    fn run(&self, work: Box<dyn FnOnce() + Send>) {
        std::thread::spawn(work);
    }
}

pub(crate) struct Collected<T> {
    pub(crate) rows: Vec<T>,
    pub(crate) malformed: Vec<Malformed>,
    pub(crate) mended: usize,
    pub(crate) finished: Vec<String>,
}

impl<T> SourceOutput<T> for Collected<T> {
    fn emit(&mut self, _split: &str, rows: Records<T>) -> Result<()> {
        assert!(!rows.is_empty());
        self.rows.extend(rows.values);
        Ok(())
    }

    fn malformed(&mut self, record: Malformed) -> Result<()> {
        self.malformed.push(record);
        Ok(())
    }

    fn mended(&mut self, records: usize) {
        self.mended += records;
    }

    fn status(&mut self, _split: &str, _status: SplitStatus) {}

    fn finished(&mut self, split: &str) {
        self.finished.push(split.to_owned());
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    enumerator: Vec<u8>,
    splits: Vec<Split>,
}

pub(crate) struct Job<T: flugs_batch::Record> {
    enumerator: Box<dyn SplitEnumerator>,
    readers: Vec<Box<dyn SourceReader<T>>>,
    done: Vec<bool>,
    /// Who has asked and was not answered.
    asking: BTreeSet<u32>,
    assigned: BTreeSet<String>,
    pub(crate) out: Collected<T>,
    pub(crate) outstanding: Outstanding,
    pub(crate) wake_at: Option<Timestamp>,
    now: Timestamp,
    threaded: bool,
}

impl<T: flugs_batch::Record> Job<T> {
    pub(crate) fn start(
        source: &dyn Source<Item = T>,
        parallelism: u32,
        restored: Option<Snapshot>,
    ) -> Result<Self> {
        Self::start_on(source, parallelism, restored, Arc::new(Inline), false)
    }

    pub(crate) fn start_threaded(source: &dyn Source<Item = T>, parallelism: u32) -> Result<Self> {
        Self::start_on(source, parallelism, None, Arc::new(Threads), true)
    }

    fn start_on(
        source: &dyn Source<Item = T>,
        parallelism: u32,
        restored: Option<Snapshot>,
        background: Arc<dyn Background>,
        threaded: bool,
    ) -> Result<Self> {
        let context = EnumeratorContext {
            parallelism,
            restored: restored.as_ref().map(|snapshot| snapshot.enumerator.as_slice()),
        };
        let mut readers = Vec::new();
        for index in 0..parallelism {
            readers.push(source.reader(ReaderContext {
                subtask: SubtaskId::new(index, parallelism),
                clock: Arc::new(ManualClock::default()),
                background: Arc::clone(&background),
                waker: Waker::noop().clone(),
            })?);
        }
        let mut job = Job {
            enumerator: source.enumerator(context)?,
            done: vec![false; readers.len()],
            readers,
            asking: BTreeSet::new(),
            assigned: BTreeSet::new(),
            out: Collected { rows: Vec::new(), malformed: Vec::new(), mended: 0, finished: Vec::new() },
            outstanding: Outstanding::AnyTime,
            wake_at: None,
            now: Timestamp::EPOCH,
            threaded,
        };
        // The last reader gets the first split back, to be where it was not.
        for (i, split) in restored.into_iter().flat_map(|snapshot| snapshot.splits).enumerate() {
            let reader = parallelism as usize - 1 - i % parallelism as usize;
            job.readers[reader].add_splits(vec![split])?;
        }
        job.event(EnumeratorEvent::Start)?;
        Ok(job)
    }

    fn event(&mut self, event: EnumeratorEvent) -> Result<()> {
        for action in self.enumerator.step(self.now, event)? {
            match action {
                EnumeratorAction::Assign { reader, splits } => {
                    self.asking.remove(&reader);
                    for split in &splits {
                        assert!(self.assigned.insert(split.id.clone()), "{} is assigned twice", split.id);
                    }
                    self.readers[reader as usize].add_splits(splits)?;
                }
                EnumeratorAction::NoMoreSplits { reader } => {
                    self.asking.remove(&reader);
                    self.readers[reader as usize].no_more_splits();
                }
                EnumeratorAction::Outstanding(outstanding) => self.outstanding = outstanding,
                EnumeratorAction::Discover(work) => self.event(EnumeratorEvent::Discovered(work()))?,
                EnumeratorAction::WakeAt(time) => self.wake_at = Some(time),
            }
        }
        Ok(())
    }

    /// Polls each reader once. Says whether any may have more.
    pub(crate) fn step(&mut self) -> Result<bool> {
        let mut any = false;
        for reader in 0..self.readers.len() {
            any |= self.poll(reader)?;
        }
        Ok(any)
    }

    fn poll(&mut self, reader: usize) -> Result<bool> {
        if self.done[reader] {
            return Ok(false);
        }
        let mut context = PollContext { now: self.now, request_split: false };
        let status = self.readers[reader].poll(&mut context, &mut self.out)?;
        let index = reader as u32;
        let asks = context.request_split && self.asking.insert(index);
        if asks {
            self.event(EnumeratorEvent::SplitRequested { reader: index })?;
        }
        self.done[reader] = status == ReaderStatus::Finished;
        // Inline work is done when the poll returns, so a reader that waits for it can go on.
        Ok(status == ReaderStatus::More || !context.request_split || asks)
    }

    /// Runs to the end of all readers.
    pub(crate) fn run(&mut self) -> Result<()> {
        while self.done.contains(&false) {
            let any = self.step()?;
            assert!(any || self.threaded, "nobody can go on, but not all have ended");
        }
        Ok(())
    }

    /// Runs until there are `more` rows, as exactly as the readers' budget lets it, or until the end.
    pub(crate) fn run_until(&mut self, more: usize) -> Result<()> {
        loop {
            let mut any = false;
            for reader in 0..self.readers.len() {
                if self.out.rows.len() >= more {
                    return Ok(());
                }
                any |= self.poll(reader)?;
            }
            if !any {
                return Ok(());
            }
        }
    }

    /// Runs until all readers wait for splits.
    pub(crate) fn run_until_waiting(&mut self) -> Result<()> {
        while self.step()? {}
        Ok(())
    }

    /// Lets the time come that the enumerator waits for.
    pub(crate) fn wake(&mut self) -> Result<()> {
        self.now = self.wake_at.take().expect("the enumerator waits for a time");
        self.event(EnumeratorEvent::Woken)
    }

    pub(crate) fn snapshot(&mut self) -> Snapshot {
        let mut splits = Vec::new();
        for reader in &mut self.readers {
            splits.extend(reader.snapshot().unwrap());
        }
        Snapshot { enumerator: self.enumerator.snapshot().unwrap(), splits }
    }
}
