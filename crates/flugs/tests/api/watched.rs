//! Event time of watched folders: what is there from the start is never late because a source that has not read it
//! yet leaves time to another one.

use super::{Row, seconds};
use flugs::connectors::{
    Boundedness, EnumeratorAction, EnumeratorContext, EnumeratorEvent, ReaderContext, Source, SourceReader,
    SplitEnumerator,
};
use flugs::operators::TumblingEventTimeWindows;
use flugs::prelude::*;
use flugs::testing::{TestJob, TestSource};
use std::collections::VecDeque;
use std::fs;
use tempfile::TempDir;

/// A source whose enumerator learns everything a second late, and one thing a second.
struct Slow<S>(S);

impl<S: Source> Source for Slow<S> {
    type Item = S::Item;

    fn boundedness(&self) -> Boundedness {
        self.0.boundedness()
    }

    fn enumerator(&self, context: EnumeratorContext<'_>) -> flugs::Result<Box<dyn SplitEnumerator>> {
        Ok(Box::new(SlowEnumerator { inner: self.0.enumerator(context)?, events: VecDeque::new() }))
    }

    fn reader(&self, context: ReaderContext) -> flugs::Result<Box<dyn SourceReader<S::Item>>> {
        self.0.reader(context)
    }
}

struct SlowEnumerator {
    inner: Box<dyn SplitEnumerator>,
    events: VecDeque<EnumeratorEvent>,
}

impl SplitEnumerator for SlowEnumerator {
    fn step(&mut self, now: Timestamp, event: EnumeratorEvent) -> flugs::Result<Vec<EnumeratorAction>> {
        let mut actions = match event {
            EnumeratorEvent::Start => self.inner.step(now, event)?,
            EnumeratorEvent::Woken => match self.events.pop_front() {
                Some(event) => self.inner.step(now, event)?,
                None => Vec::new(),
            },
            event => {
                self.events.push_back(event);
                Vec::new()
            }
        };
        // The folder is not looked at again.
        actions.retain(|action| !matches!(action, EnumeratorAction::WakeAt(_)));
        if !self.events.is_empty() {
            actions.push(EnumeratorAction::WakeAt(now + seconds(1)));
        }
        Ok(actions)
    }

    fn snapshot(&self) -> flugs::Result<Vec<u8>> {
        self.inner.snapshot()
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_secs(second)
}

/// Counts by the minute the rows of a watched folder, which are their own event times in seconds and ten seconds out of
/// order at most, and of another source. Where `ordered`, the files are read so.
fn minutes(folder: &TempDir, ordered: bool, other: &TestSource<Row>, out: &MemorySink<i64>) -> TestJob {
    let (path, other, out) = (folder.path().to_owned(), other.clone(), out.clone());
    TestJob::with_parallelism(2, move |env| {
        let files = FileSource::new(&path, Lines::new()).watch(seconds(1));
        let files = if ordered { files.ordered() } else { files };
        let time = |line: &String| at(line.parse().unwrap());
        let strategy = WatermarkStrategy::bounded_out_of_orderness(seconds(10)).with_timestamps(time);
        let files = env.from_source(Slow(files), strategy, "files").stream().map(|_| ('f', 0));
        let both = files.union(&other.stream(env, "other"));
        let windows = both.key_by(|_: &Row| 0u64).window(TumblingEventTimeWindows::of(seconds(60)));
        windows.count().name("minutes").map(|(_, n)| n as i64).sink_to(out.clone(), "out");
    })
    .unwrap()
}

fn folder() -> TempDir {
    let dir = TempDir::new().unwrap();
    for (name, lines) in [("1", "10\n20\n"), ("2", "15\n30\n"), ("3", "25\n70\n"), ("4", "130\n65\n")] {
        fs::write(dir.path().join(name), lines).unwrap();
    }
    dir
}

#[test]
fn files_that_are_there_from_the_start_are_never_late() {
    for (ordered, fails) in [(false, false), (true, false), (false, true), (true, true)] {
        let (other, out) = (TestSource::new(), MemorySink::immediate());
        let folder = folder();
        let mut job = minutes(&folder, ordered, &other, &out);
        other.push_at(('o', 0), at(5));
        other.watermark(at(1000));
        job.run().unwrap();
        for second in 0..20 {
            if fails && second == 3 {
                job.checkpoint().unwrap();
                job.fail_and_restore().unwrap();
            }
            job.advance(seconds(1)).unwrap();
        }
        let case = format!("ordered: {ordered}, fails: {fails}");
        assert_eq!(job.counter("minutes", "numLateRecordsDropped"), 0, "{case}");
        // All is read, and the folder leaves time to the other.
        assert_eq!(out.rows(), [6, 2, 1], "{case}");
        other.push_at(('o', 0), at(1050));
        other.watermark(at(2000));
        job.run().unwrap();
        assert_eq!(out.rows()[3..], [1], "{case}");
    }
}

#[test]
fn an_empty_folder_that_was_looked_at_holds_nobody_back() {
    let (other, out) = (TestSource::new(), MemorySink::immediate());
    let folder = TempDir::new().unwrap();
    let mut job = minutes(&folder, false, &other, &out);
    other.push_at(('o', 0), at(5));
    other.watermark(at(100));
    job.run().unwrap();
    assert!(out.is_empty(), "not looked yet");
    job.advance(seconds(10)).unwrap();
    assert_eq!(out.rows(), [1]);
}
