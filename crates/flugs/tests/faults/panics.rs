//! Panics and errors in every place where a user's code runs: they name operator, subtask and cause, and after a restart
//! the results are exact.

use crate::kit::{assert_same, assert_says, failure};
use flugs::checkpoint::MemoryStore;
use flugs::connectors::{
    Boundedness, CheckpointId, Committable, Delivery, EnumeratorAction, EnumeratorContext, EnumeratorEvent,
    PollContext, Prepared, ReaderContext, ReaderStatus, Sink, SinkWriter, Source, SourceOutput, SourceReader,
    Split, SplitEnumerator, WriterContext,
};
use flugs::operators::{AggregateFunction, Collector, KeyedContext, KeyedProcessFunction, OpenKeyed, Timer};
use flugs::prelude::*;
use flugs::{Error, ErrorKind, JobReport, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const ROWS: u64 = 3000;
const KEYS: u64 = 7;

type Pairs = Vec<(u64, u64)>;

/// Fails at one place, the `nth` time that it is come by, so many times in a row.
#[derive(Clone)]
struct Fault {
    place: &'static str,
    /// Whether it panics; otherwise it is an error, where the place can say one.
    panics: bool,
    visits: Arc<AtomicU32>,
    first: u32,
    times: u32,
}

impl Fault {
    fn new(place: &'static str, panics: bool, first: u32, times: u32) -> Self {
        Fault { place, panics, visits: Arc::default(), first, times }
    }

    fn strikes(&self, place: &str) -> bool {
        if place != self.place {
            return false;
        }
        let visit = self.visits.fetch_add(1, Ordering::Relaxed);
        (self.first..self.first + self.times).contains(&visit)
    }

    /// Where only a panic can be said.
    fn panic_at(&self, place: &str) {
        if self.strikes(place) {
            panic!("the bridge is out at {place}");
        }
    }

    fn at(&self, place: &str) -> Result<()> {
        if !self.strikes(place) {
            return Ok(());
        }
        assert!(!self.panics, "the bridge is out at {place}");
        Err(Error::user(format!("the bridge is out at {place}")))
    }
}

struct Shaky<S>(S, Fault);

impl<S: Source> Source for Shaky<S> {
    type Item = S::Item;

    fn boundedness(&self) -> Boundedness {
        self.0.boundedness()
    }

    fn enumerator(&self, context: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>> {
        self.1.at("enumerator.new")?;
        Ok(Box::new(Shaky(self.0.enumerator(context)?, self.1.clone())))
    }

    fn reader(&self, context: ReaderContext) -> Result<Box<dyn SourceReader<S::Item>>> {
        self.1.at("reader.new")?;
        Ok(Box::new(Shaky(self.0.reader(context)?, self.1.clone())))
    }
}

impl SplitEnumerator for Shaky<Box<dyn SplitEnumerator>> {
    fn step(&mut self, now: Timestamp, event: EnumeratorEvent) -> Result<Vec<EnumeratorAction>> {
        self.1.at("enumerator.step")?;
        let start = matches!(event, EnumeratorEvent::Start);
        if let EnumeratorEvent::Discovered(found) = event {
            return found.map(|_| Vec::new());
        }
        let mut actions = self.0.step(now, event)?;
        if start {
            let fault = self.1.clone();
            actions.push(EnumeratorAction::Discover(Box::new(move || {
                fault.at("discovery").map(|()| Vec::new())
            })));
        }
        Ok(actions)
    }

    fn snapshot(&self) -> Result<Vec<u8>> {
        self.1.at("enumerator.snapshot")?;
        self.0.snapshot()
    }
}

impl<T: Send + 'static> SourceReader<T> for Shaky<Box<dyn SourceReader<T>>> {
    fn add_splits(&mut self, splits: Vec<Split>) -> Result<()> {
        self.1.at("reader.add_splits")?;
        self.0.add_splits(splits)
    }

    fn no_more_splits(&mut self) {
        self.0.no_more_splits();
    }

    fn poll(&mut self, context: &mut PollContext, out: &mut dyn SourceOutput<T>) -> Result<ReaderStatus> {
        self.1.at("reader.poll")?;
        self.0.poll(context, out)
    }

    fn snapshot(&mut self) -> Result<Vec<Split>> {
        self.1.at("reader.snapshot")?;
        self.0.snapshot()
    }
}

impl<S: Sink> Sink for Shaky<S> {
    type Item = S::Item;

    fn delivery(&self) -> Delivery {
        self.0.delivery()
    }

    fn writer(&self, context: WriterContext, restored: Vec<Vec<u8>>) -> Result<Box<dyn SinkWriter<S::Item>>> {
        self.1.at("writer.new")?;
        Ok(Box::new(Shaky(self.0.writer(context, restored)?, self.1.clone())))
    }
}

impl<T> SinkWriter<T> for Shaky<Box<dyn SinkWriter<T>>> {
    fn write(&mut self, rows: Records<T>) -> Result<()> {
        self.1.at("writer.write")?;
        self.0.write(rows)
    }

    fn prepare(&mut self, checkpoint: CheckpointId, end: bool) -> Result<Prepared> {
        self.1.at("writer.prepare")?;
        self.0.prepare(checkpoint, end)
    }

    fn commit(&mut self, committables: Vec<Committable>) -> Result<()> {
        self.1.at("writer.commit")?;
        self.0.commit(committables)
    }
}

/// What is shaky breaks when it is taken down, too.
impl<S> Drop for Shaky<S> {
    fn drop(&mut self) {
        // Not on the test's own thread, which has the program.
        let within_job = std::thread::current().name().is_some_and(|name| name.starts_with("flugs-"));
        if within_job && !std::thread::panicking() {
            self.1.panic_at("drop");
        }
    }
}

#[derive(Clone)]
struct Count(Fault, Option<ValueState<u64>>);

impl KeyedProcessFunction for Count {
    type Key = u64;
    type In = u64;
    type Out = (u64, u64);

    fn open(&mut self, open: &mut OpenKeyed<'_, '_, u64>) -> Result<()> {
        self.0.at("open")?;
        self.1 = Some(open.value("count")?);
        Ok(())
    }

    fn process(
        &mut self,
        _: u64,
        cx: &mut KeyedContext<'_, u64>,
        out: &mut Collector<'_, (u64, u64)>,
    ) -> Result<()> {
        self.0.at("process")?;
        let count = self.1.expect("open").get_or_insert_with(cx, || 0);
        *count += 1;
        let n = *count;
        cx.register_event_time_timer(Timestamp::MAX);
        out.collect((*cx.key(), n));
        Ok(())
    }

    fn on_timer(
        &mut self,
        _: Timer,
        cx: &mut KeyedContext<'_, u64>,
        out: &mut Collector<'_, (u64, u64)>,
    ) -> Result<()> {
        self.0.at("timer")?;
        out.collect((*cx.key() + 1000, 0));
        Ok(())
    }
}

#[derive(Clone)]
struct Sum(Fault);

impl AggregateFunction for Sum {
    type In = (u64, u64);
    type Acc = u64;
    type Out = u64;

    fn create(&self) -> u64 {
        0
    }

    fn add(&self, acc: &mut u64, row: &(u64, u64)) {
        self.0.panic_at("aggregate");
        *acc += row.1;
    }

    fn result(&self, acc: &u64) -> u64 {
        *acc
    }

    fn merge(&self, acc: &mut u64, other: u64) {
        *acc += other;
    }
}

/// Runs the job with this fault. Counts of rows, and sums of the counts by key.
fn run(fault: &Fault, strategy: RestartStrategy) -> (Result<JobReport>, Pairs, Pairs) {
    let env = Environment::new("shaky");
    env.set_parallelism(2)
        .checkpoint_store(Arc::new(MemoryStore::new()))
        .checkpoint_interval(Duration::from_millis(2))
        .restart_strategy(strategy);
    let (counts, sums) = (MemorySink::new(), MemorySink::new());
    let f = fault.clone();
    let (in_map, in_try, in_flat, in_key, in_time) = (f.clone(), f.clone(), f.clone(), f.clone(), f.clone());
    let source = Shaky(GeneratorSource::new(Some(ROWS), |i| i).rate(60_000.0), f.clone());
    let strategy = WatermarkStrategy::monotonous().with_timestamps(move |i: &u64| {
        in_time.panic_at("timestamp");
        Timestamp::from_millis(*i as i64)
    });
    let counted = env
        .from_source(source, strategy, "shaky source")
        .uid("source")
        .stream()
        .map(move |i| {
            in_map.panic_at("map");
            i
        })
        .name("mapping")
        .try_map(move |i| in_try.at("try_map").map(|()| i))
        .name("trying")
        .flat_map(move |i, out: &mut Collector<u64>| {
            in_flat.at("flat_map")?;
            out.collect(i);
            Result::Ok(())
        })
        .name("flattening")
        .key_by(move |i| {
            in_key.panic_at("key");
            i % KEYS
        })
        .process(Count(f.clone(), None))
        .name("counting")
        .uid("counting");
    counted.sink_to(Shaky(counts.clone(), f.clone()), "shaky sink").uid("counts");
    counted
        .key_by(|(key, _)| *key)
        .window(GlobalWindows::end_of_stream())
        .aggregate(Sum(f.clone()))
        .name("summing")
        .uid("summing")
        .sink_to(sums.clone(), "sums")
        .uid("sums");
    let result = env.execute();
    let sorted = |sink: &MemorySink<(u64, u64)>| {
        let mut rows = sink.rows();
        rows.sort_unstable();
        rows
    };
    (result, sorted(&counts), sorted(&sums))
}

/// The same, by a loop.
fn expected() -> (Pairs, Pairs) {
    let (mut counts, mut sums) = (Vec::new(), Vec::new());
    for key in 0..KEYS {
        let n = (0..ROWS).filter(|i| i % KEYS == key).count() as u64;
        counts.extend((1..=n).map(|i| (key, i)));
        counts.push((key + 1000, 0));
        sums.extend([(key, n * (n + 1) / 2), (key + 1000, 0)]);
    }
    counts.sort_unstable();
    sums.sort_unstable();
    (counts, sums)
}

/// Where it fails, when, and who is to be named.
const PLACES: [(&str, u32, &str); 21] = [
    ("map", 700, "operator 'mapping', subtask "),
    ("try_map", 700, "operator 'trying', subtask "),
    ("flat_map", 700, "operator 'flattening', subtask "),
    // Keys are taken out where rows leave an operator, and where they enter one.
    ("key", 700, "operator '"),
    ("open", 1, "operator 'counting', subtask 2/2"),
    ("process", 700, "operator 'counting', subtask "),
    ("timer", 2, "operator 'counting', subtask "),
    ("aggregate", 700, "operator 'summing', subtask "),
    ("timestamp", 700, "operator 'shaky source', subtask "),
    ("reader.new", 1, "operator 'shaky source', subtask 2/2"),
    ("reader.add_splits", 1, "operator 'shaky source', subtask "),
    ("reader.poll", 9, "operator 'shaky source', subtask "),
    ("reader.snapshot", 3, "operator 'shaky source', subtask "),
    ("enumerator.new", 0, "source 'shaky source'"),
    ("enumerator.step", 0, "source 'shaky source'"),
    ("enumerator.snapshot", 2, "source 'shaky source'"),
    ("discovery", 0, "source 'shaky source'"),
    ("writer.new", 1, "operator 'shaky sink', subtask 2/2"),
    ("writer.write", 5, "operator 'shaky sink', subtask "),
    ("writer.prepare", 3, "operator 'shaky sink', subtask "),
    ("writer.commit", 3, "operator 'shaky sink', subtask "),
];

fn assert_exact(counts: &[(u64, u64)], sums: &[(u64, u64)], when: &str) {
    let expected = expected();
    assert_same(counts, &expected.0, when);
    assert_same(sums, &expected.1, when);
}

#[test]
fn a_failure_names_its_operator_subtask_and_cause() {
    for (place, first, named) in PLACES {
        for panics in [true, false] {
            let (result, counts, _) =
                run(&Fault::new(place, panics, first, u32::MAX / 2), RestartStrategy::None);
            let error = result.expect_err(place);
            let only_panics = ["map", "key", "aggregate", "timestamp"].contains(&place);
            let cause = format!(
                "{}the bridge is out at {place}",
                if panics || only_panics { "panicked: " } else { "" }
            );
            assert_says(&error, &["user function failed: ", &cause, named]);
            assert_eq!(error.kind(), ErrorKind::User);
            assert!(!error.to_string().contains("->"), "the operator is named, not the chain: {error}");
            let expected = expected().0;
            assert!(counts.iter().all(|row| expected.binary_search(row).is_ok()), "{place}: wrong rows");
            assert!(counts.windows(2).all(|two| two[0] != two[1]), "{place}: rows that are there twice");
        }
    }
}

#[test]
fn after_a_restart_the_results_are_exact() {
    let soon = Duration::from_millis(1);
    for (i, (place, first, named)) in PLACES.into_iter().enumerate() {
        let strategy = match i % 3 {
            0 => RestartStrategy::FixedDelay { attempts: 2, delay: soon },
            1 => RestartStrategy::ExponentialDelay {
                initial: soon,
                max: 4 * soon,
                multiplier: 2.0,
                reset_after: Duration::from_secs(1),
            },
            _ => RestartStrategy::FailureRate {
                failures_max: 2,
                interval: Duration::from_secs(60),
                delay: soon,
            },
        };
        let (result, counts, sums) = run(&Fault::new(place, true, first, 2), strategy);
        let report = result.unwrap_or_else(|e| panic!("{place}: {e}"));
        assert!((1..=2).contains(&report.restarts), "{place}: {} restarts", report.restarts);
        let said = report.failure.unwrap_or_default();
        assert!(said.contains(named.trim_end_matches("2/2")), "{place}: {said}");
        assert_exact(&counts, &sums, place);
    }
}

#[test]
fn a_strategy_that_is_used_up_fails_with_the_last_failure() {
    let soon = Duration::from_millis(1);
    for strategy in [
        RestartStrategy::FixedDelay { attempts: 3, delay: soon },
        RestartStrategy::FailureRate { failures_max: 3, interval: Duration::from_secs(60), delay: soon },
    ] {
        let fault = Fault::new("map", true, 0, u32::MAX / 2);
        let (result, counts, _) = run(&fault, strategy.clone());
        assert_says(
            &result.expect_err("used up"),
            &["the bridge is out at map", "operator 'mapping', subtask "],
        );
        assert_eq!(counts, []);
        let tries = fault.visits.load(Ordering::Relaxed);
        assert!((4..=8).contains(&tries), "{strategy:?}: {tries} tries of two subtasks");
    }
}

#[test]
fn destructors_that_panic_change_nothing() {
    let (result, counts, sums) = run(&Fault::new("drop", true, 0, u32::MAX / 2), RestartStrategy::None);
    assert_eq!(result.expect("what is done is done").restarts, 0);
    assert_exact(&counts, &sums, "drop");
}

#[test]
fn an_error_of_the_data_is_not_tried_again() {
    let env = Environment::new("once");
    env.restart_strategy(RestartStrategy::FixedDelay { attempts: 9, delay: Duration::from_millis(1) });
    let tries = Arc::new(AtomicU32::new(0));
    let seen = tries.clone();
    let refuse = move |_: u64| -> Result<u64> {
        seen.fetch_add(1, Ordering::Relaxed);
        Err(Error::data("no such airport").at("airports.csv:7").mend("add it"))
    };
    env.from_collection([1u64]).try_map(refuse).name("looking up").sink_to(MemorySink::new(), "sink");
    let says = ["bad data: no such airport (at operator 'looking up', subtask 1/1, airports.csv:7); add it"];
    assert_says(&failure(&env), &says);
    assert_eq!(tries.load(Ordering::Relaxed), 1);
}
