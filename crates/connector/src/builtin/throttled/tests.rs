use super::*;
use crate::builtin::testing::AtOnce;
use flugs_types::{ManualClock, SubtaskId};
use std::task::Waker;

const BATCH: u64 = 100;

/// Splits of so many rows each, which a reader gives in batches of a hundred.
struct Batches;

struct Left(u64, bool);

impl Source for Batches {
    type Item = u64;

    fn boundedness(&self) -> Boundedness {
        Boundedness::Bounded
    }

    fn enumerator(&self, _: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>> {
        unreachable!("the test hands out the splits")
    }

    fn reader(&self, _: ReaderContext) -> Result<Box<dyn SourceReader<u64>>> {
        Ok(Box::new(Left(0, false)))
    }
}

impl SourceReader<u64> for Left {
    fn add_splits(&mut self, splits: Vec<Split>) -> Result<()> {
        self.0 += splits.iter().map(|split| split.id.parse::<u64>().unwrap()).sum::<u64>();
        Ok(())
    }

    fn no_more_splits(&mut self) {
        self.1 = true;
    }

    fn poll(&mut self, _: &mut PollContext, out: &mut dyn SourceOutput<u64>) -> Result<ReaderStatus> {
        let rows = self.0.min(BATCH);
        if rows == 0 {
            return Ok(if self.1 { ReaderStatus::Finished } else { ReaderStatus::Waiting });
        }
        self.0 -= rows;
        out.emit("split", (0..rows).map(|row| (row, Timestamp::EPOCH)).collect())?;
        Ok(ReaderStatus::More)
    }

    fn snapshot(&mut self) -> Result<Vec<Split>> {
        Ok(Vec::new())
    }
}

#[derive(Default)]
struct Rows(u64);

impl SourceOutput<u64> for Rows {
    fn emit(&mut self, _: &str, rows: Records<u64>) -> Result<()> {
        self.0 += rows.len() as u64;
        Ok(())
    }

    fn malformed(&mut self, _: Malformed) -> Result<()> {
        unreachable!()
    }

    fn status(&mut self, _: &str, _: SplitStatus) {}

    fn finished(&mut self, _: &str) {}
}

/// The readers of a source of a thousand rows a second, under a clock that goes in steps of a millisecond.
struct Rig {
    now: Timestamp,
    readers: Vec<(Box<dyn SourceReader<u64>>, Rows)>,
}

impl Rig {
    fn new(splits: &[u64], parallelism: u32) -> Self {
        let source = Throttled::new(Batches, 1000.0);
        let reader = |index| {
            let mut reader = source
                .reader(ReaderContext {
                    subtask: SubtaskId::new(index, parallelism),
                    clock: Arc::new(ManualClock::default()),
                    background: Arc::new(AtOnce),
                    waker: Waker::noop().clone(),
                })
                .unwrap();
            let split =
                splits.get(index as usize).map(|rows| Split { id: rows.to_string(), payload: vec![] });
            reader.add_splits(split.into_iter().collect()).unwrap();
            (reader, Rows::default())
        };
        Rig { now: Timestamp::from_secs(1_000_000), readers: (0..parallelism).map(reader).collect() }
    }

    /// Lets so much time go on; says how much each reader has read meanwhile.
    fn run(&mut self, seconds: u32) -> Vec<u64> {
        let before: Vec<u64> = self.readers.iter().map(|(_, rows)| rows.0).collect();
        for _ in 0..seconds * 1000 {
            for (reader, rows) in &mut self.readers {
                let mut context = PollContext { now: self.now, request_split: false };
                if let ReaderStatus::WaitUntil(at) = reader.poll(&mut context, rows).unwrap() {
                    assert!(at > self.now, "it would spin");
                }
            }
            self.now = self.now + Duration::from_millis(1);
        }
        self.readers.iter().zip(before).map(|((_, rows), before)| rows.0 - before).collect()
    }
}

fn assert_about(read: u64, expected: u64) {
    assert!(read.abs_diff(expected) <= 2 * BATCH, "{read} rows, expected about {expected}");
}

#[test]
fn readers_without_a_split_take_no_part_of_the_rate() {
    for parallelism in [1, 2, 8] {
        let read = Rig::new(&[1_000_000], parallelism).run(20);
        assert_about(read[0], 20_000);
    }
}

#[test]
fn readers_with_splits_share_the_rate_and_inherit_that_of_those_that_have_ended() {
    let mut rig = Rig::new(&[1_000_000, 3000, 1_000_000], 4);
    let read = rig.run(6);
    read[..3].iter().for_each(|rows| assert_about(*rows, 2000));
    rig.run(6);
    let read = rig.run(10);
    assert_eq!(read[1], 0, "its split is read");
    assert_about(read[0], 5000);
    assert_about(read[2], 5000);
}

#[test]
fn what_was_not_there_to_read_is_not_made_up_for() {
    let mut rig = Rig::new(&[], 2);
    assert_eq!(rig.run(10), [0, 0]);
    rig.readers[1].0.add_splits(vec![Split { id: "100000".to_owned(), payload: vec![] }]).unwrap();
    assert_about(rig.run(5)[1], 5000);
}

#[test]
fn a_clock_that_is_set_back_delays_nothing() {
    let mut rig = Rig::new(&[1_000_000, 1_000_000], 2);
    rig.run(5);
    rig.now = rig.now - Duration::from_secs(3600);
    let read = rig.run(10);
    assert_about(read[0], 5000);
    assert_about(read[1], 5000);
}
