//! Shares of readers, projections against whole events, restores, and the emit rate.

use super::*;
use flugs_connector::{
    EnumeratorAction, EnumeratorEvent, Malformed, PollContext, ReaderStatus, SourceOutput, Split, SplitStatus,
};
use flugs_types::{Background, Clock, ManualClock, SubtaskId, Timestamp};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

struct NoThreads;

impl Background for NoThreads {
    fn run(&self, _work: Box<dyn FnOnce() + Send + 'static>) {
        panic!("the source needs no thread");
    }
}

struct Rows<T>(Vec<(T, Timestamp)>);

impl<T> SourceOutput<T> for Rows<T> {
    fn emit(&mut self, _split: &str, rows: Records<T>) -> Result<()> {
        assert!(!rows.is_empty() && rows.len() <= 4096);
        self.0.extend(rows);
        Ok(())
    }

    fn malformed(&mut self, _record: Malformed) -> Result<()> {
        panic!("nothing is malformed");
    }

    fn status(&mut self, _split: &str, _status: SplitStatus) {}

    fn finished(&mut self, _split: &str) {}
}

type Readers<T> = Vec<(Box<dyn SourceReader<T>>, Rows<T>)>;

/// Readers with their first splits, or with those of a checkpoint, dealt in turn.
fn readers<T: Record>(
    source: &NexmarkSource<T>,
    parallelism: u32,
    splits: &[Split],
    clock: &ManualClock,
) -> Readers<T> {
    let reader = |index| {
        let context = ReaderContext {
            subtask: SubtaskId::new(index, parallelism),
            clock: Arc::new(clock.clone()),
            background: Arc::new(NoThreads),
            waker: Waker::noop().clone(),
        };
        (source.reader(context).unwrap(), Rows(Vec::new()))
    };
    let mut readers: Readers<T> = (0..parallelism).map(reader).collect();
    for (split, i) in splits.iter().zip((0..parallelism as usize).cycle()) {
        readers[i].0.add_splits(vec![split.clone()]).unwrap();
    }
    let restored: Option<&[u8]> = if splits.is_empty() { None } else { Some(&[1, 1]) };
    let mut enumerator = source.enumerator(EnumeratorContext { parallelism, restored }).unwrap();
    for action in enumerator.step(clock.now(), EnumeratorEvent::Start).unwrap() {
        match action {
            EnumeratorAction::Assign { reader, splits } => {
                readers[reader as usize].0.add_splits(splits).unwrap()
            }
            EnumeratorAction::NoMoreSplits { reader } => readers[reader as usize].0.no_more_splits(),
            _ => {}
        }
    }
    readers
}

fn poll<T>(reader: &mut (Box<dyn SourceReader<T>>, Rows<T>), clock: &ManualClock) -> ReaderStatus {
    let mut context = PollContext { now: clock.now(), request_split: false };
    reader.0.poll(&mut context, &mut reader.1).unwrap()
}

/// The rows of each reader up to the end.
fn run<T: Record>(source: &NexmarkSource<T>, parallelism: u32) -> Vec<Vec<(T, Timestamp)>> {
    let clock = ManualClock::default();
    let mut readers = readers(source, parallelism, &[], &clock);
    for reader in &mut readers {
        while poll(reader, &clock) != ReaderStatus::Finished {}
    }
    readers.into_iter().map(|(_, rows)| rows.0).collect()
}

fn options() -> NexmarkOptions {
    NexmarkOptions::new().events_num(20_030).events_rate(7000)
}

#[test]
fn a_reader_takes_every_pth_block_as_in_flink() {
    let whole = Generator::new(&options()).unwrap();
    for (rows, k) in run(&NexmarkSource::events(&options()).unwrap(), 3).into_iter().zip(0..) {
        let want = (0..20_030).filter(|i| i / 50 % 3 == k).map(|i| whole.event(i));
        assert!(rows.iter().map(|(event, _)| event.clone()).eq(want));
        assert!(rows.iter().all(|(event, time)| event.date_time() == *time));
    }
}

#[test]
fn projections_have_the_fields_and_times_of_the_whole_events() {
    for options in [options(), options().events_rate(1), options().out_of_order_group(1000)] {
        let events = run(&NexmarkSource::events(&options).unwrap(), 1).remove(0);
        let pick = |row: fn(Event) -> Option<String>| -> Vec<(String, Timestamp)> {
            events.iter().cloned().filter_map(|(event, time)| Some((row(event)?, time))).collect()
        };
        let want = pick(|event| match event {
            Event::Bid(b) => {
                Some(format!("{} {} {} {} {} {}", b.auction, b.bidder, b.price, b.channel, b.url, b.extra))
            }
            _ => None,
        });
        let bids = NexmarkSource::bids(&options, |b| {
            format!("{} {} {} {} {} {}", b.auction(), b.bidder(), b.price(), b.channel(), b.url(), b.extra())
        });
        assert!(run(&bids.unwrap(), 1)[0] == want);
        let want = pick(|event| match event {
            Event::Auction(a) => {
                Some(format!("{} {} {} {} {}", a.id, a.seller, a.category, a.initial_bid, a.expires))
            }
            _ => None,
        });
        let auctions = NexmarkSource::auctions(&options, |a| {
            format!("{} {} {} {} {}", a.id(), a.seller(), a.category(), a.initial_bid(), a.expires())
        });
        assert!(run(&auctions.unwrap(), 1)[0] == want);
        let want = pick(|event| match event {
            Event::Person(p) => Some(format!("{} {} {} {}", p.id, p.name, p.state, p.extra)),
            _ => None,
        });
        let persons = NexmarkSource::persons(&options, |p| {
            let details = p.details();
            format!("{} {} {} {}", p.id(), p.name(), details.state(), details.extra())
        });
        assert!(run(&persons.unwrap(), 1)[0] == want);
        let times = NexmarkSource::select(&options, |raw| Some(raw.date_time()));
        assert!(run(&times.unwrap(), 1)[0].iter().map(|row| row.0).eq(events.iter().map(|row| row.1)));
    }
}

#[test]
fn raw_events_can_be_made_whole() {
    let events = run(&NexmarkSource::events(&options()).unwrap(), 1).remove(0);
    let whole = NexmarkSource::select(&options(), |raw| {
        Some(match raw {
            RawEvent::Person(raw) => Event::Person(raw.into()),
            RawEvent::Auction(raw) => Event::Auction(raw.into()),
            RawEvent::Bid(raw) => Event::Bid(raw.into()),
        })
    });
    assert!(run(&whole.unwrap(), 1)[0] == events);
}

#[test]
fn each_event_comes_once_when_the_parallelism_changes() {
    let source = NexmarkSource::bids(&options(), |bid| bid.base.id).unwrap();
    let clock = ManualClock::default();
    for (before, after) in [(1, 2), (2, 1), (2, 3), (3, 5)] {
        let mut first = readers(&source, before, &[], &clock);
        for turn in 0..before * 2 {
            poll(&mut first[(turn % before / 2) as usize], &clock);
        }
        let splits: Vec<Split> =
            first.iter_mut().flat_map(|(reader, _)| reader.snapshot().unwrap()).collect();
        let mut second = readers(&source, after, &splits, &clock);
        for reader in &mut second {
            while poll(reader, &clock) != ReaderStatus::Finished {}
            assert!(reader.1.0.is_sorted(), "lowest first");
        }
        let mut ids: Vec<u64> =
            first.iter().chain(&second).flat_map(|(_, rows)| rows.0.iter().map(|row| row.0)).collect();
        ids.sort_unstable();
        assert!(ids.into_iter().eq((0..20_030).filter(|id| id % 50 >= 4)), "{before} to {after}");
    }
}

#[test]
fn events_come_at_the_emit_rate() {
    let clock = ManualClock::default();
    let source = NexmarkSource::select(&options().emit_rate(1000.0), |_| Some(())).unwrap();
    let mut readers = readers(&source, 1, &[], &clock);
    assert!(matches!(poll(&mut readers[0], &clock), ReaderStatus::WaitUntil(_)));
    clock.advance_to(Timestamp::EPOCH + Duration::from_secs(2));
    assert_eq!(
        poll(&mut readers[0], &clock),
        ReaderStatus::WaitUntil(clock.now() + Duration::from_millis(1))
    );
    assert_eq!(readers[0].1.0.len(), 2001);
    assert_eq!(source.boundedness(), Boundedness::Bounded);
    assert_eq!(NexmarkSource::events(&NexmarkOptions::new()).unwrap().boundedness(), Boundedness::Unbounded);
    assert!(NexmarkSource::events(&options().events_rate(0)).is_err());
}
