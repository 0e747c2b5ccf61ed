use crate::jobs::*;
use flugs_batch::Records;
use flugs_cluster::{JobStatus, Restore, Runtime, submit};
use flugs_connector::{
    Boundedness, EnumeratorAction, EnumeratorContext, EnumeratorEvent, MemorySink, PollContext,
    ReaderContext, ReaderStatus, Source, SourceOutput, SourceReader, Split, SplitEnumerator,
};
use flugs_types::{Error, Result, Timestamp};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const SPLITS: u64 = 400;
const ROWS: u64 = 7;

/// Many small splits that readers pull one by one; the row `r` of split `s` is the number `s * ROWS + r`.
struct Pieces;

impl Source for Pieces {
    type Item = u64;

    fn boundedness(&self) -> Boundedness {
        Boundedness::Bounded
    }

    fn enumerator(&self, context: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>> {
        let next = context.restored.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
        Ok(Box::new(Pile { next }))
    }

    fn reader(&self, _: ReaderContext) -> Result<Box<dyn SourceReader<u64>>> {
        Ok(Box::new(Puller { splits: VecDeque::new(), ends: false }))
    }
}

struct Pile {
    next: u64,
}

impl SplitEnumerator for Pile {
    fn step(&mut self, _: Timestamp, event: EnumeratorEvent) -> Result<Vec<EnumeratorAction>> {
        Ok(match event {
            EnumeratorEvent::SplitRequested { reader } if self.next < SPLITS => {
                let split = Split { id: self.next.to_string(), payload: 0u64.to_le_bytes().to_vec() };
                self.next += 1;
                vec![EnumeratorAction::Assign { reader, splits: vec![split] }]
            }
            EnumeratorEvent::SplitRequested { reader } => vec![EnumeratorAction::NoMoreSplits { reader }],
            _ => Vec::new(),
        })
    }

    fn snapshot(&self) -> Result<Vec<u8>> {
        Ok(self.next.to_le_bytes().to_vec())
    }
}

struct Puller {
    /// Split and next row.
    splits: VecDeque<(u64, u64)>,
    ends: bool,
}

impl SourceReader<u64> for Puller {
    fn add_splits(&mut self, splits: Vec<Split>) -> Result<()> {
        let parse = |s: Split| (s.id.parse().unwrap(), u64::from_le_bytes(s.payload.try_into().unwrap()));
        self.splits.extend(splits.into_iter().map(parse));
        Ok(())
    }

    fn no_more_splits(&mut self) {
        self.ends = true;
    }

    fn poll(&mut self, context: &mut PollContext, out: &mut dyn SourceOutput<u64>) -> Result<ReaderStatus> {
        let Some((split, next)) = self.splits.front_mut() else {
            context.request_split = !self.ends;
            return Ok(if self.ends { ReaderStatus::Finished } else { ReaderStatus::Waiting });
        };
        let upto = ROWS.min(*next + 3);
        let rows: Records<u64> = (*next..upto).map(|row| (*split * ROWS + row, Timestamp::MIN)).collect();
        out.emit(&split.to_string(), rows)?;
        *next = upto;
        if upto == ROWS {
            out.finished(&split.to_string());
            self.splits.pop_front();
        }
        Ok(ReaderStatus::More)
    }

    fn snapshot(&mut self) -> Result<Vec<Split>> {
        let split = |(split, next): &(u64, u64)| Split {
            id: split.to_string(),
            payload: next.to_le_bytes().to_vec(),
        };
        Ok(self.splits.iter().map(split).collect())
    }
}

#[test]
fn splits_that_are_pulled_one_by_one_are_read_once_whenever_the_job_fails() {
    for (round, parallelism) in [(0, 1), (1, 2), (2, 3)] {
        let sink = MemorySink::new();
        let store = Arc::<Held>::default();
        let batches = Arc::new(AtomicU32::new(round));
        let job = |parallelism| {
            let mut parts = Parts::new(of(Pieces), &sink);
            parts.parallelism = parallelism;
            let batches = batches.clone();
            parts.look = Arc::new(move |_| {
                // So that checkpoints come in between.
                std::thread::park_timeout(std::time::Duration::from_micros(50));
                match batches.fetch_add(1, Ordering::SeqCst) {
                    n if n % 101 == 100 => Err(Error::user("now and then")),
                    _ => Ok(()),
                }
            });
            parts.job()
        };
        let mut options = options(&store);
        options.checkpoints.interval = Some(std::time::Duration::from_millis(1));
        options.restart = at_once(1000);
        let runtime = Runtime::with_workers(2);
        // The first run is left behind, and another one goes on with other readers.
        let first = submit(&runtime, job(parallelism), options.clone());
        first.wait_until(SOON, |report| report.checkpoints >= 5);
        first.cancel();
        first.wait().unwrap();
        options.restore = Restore::Latest;
        let report = submit(&runtime, job(parallelism + 1), options).wait().unwrap();
        assert_eq!(report.status, JobStatus::Finished);
        assert_eq!(sorted(&sink), (0..SPLITS * ROWS).collect::<Vec<_>>(), "{} restarts", report.restarts);
    }
}
