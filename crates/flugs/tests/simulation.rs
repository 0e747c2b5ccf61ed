//! Whole jobs under injected faults, by seed: results are those of a run without faults, each once.

use flugs::connectors::GeneratorSource;
use flugs::operators::{
    Collector, KeyedContext, KeyedProcessFunction, OpenKeyed, SlidingEventTimeWindows, Timer,
    TumblingEventTimeWindows,
};
use flugs::prelude::*;
use flugs::testing::simulation::{External, Faults, SimulatedCluster, SimulatedReport, explore};
use std::collections::{BTreeMap, BTreeSet};

/// Rows of each source.
const ROWS: u64 = 200;
const KEYS: u64 = 5;
/// Event time from one row to the next, without disorder.
const PACE_MS: i64 = 10;
/// How far rows are out of order at most.
const DISORDER_MS: i64 = 50;
const WINDOW_MS: i64 = 200;

/// A row: key and number.
type Row = (u64, u64);

fn mixed(i: u64, salt: u64) -> u64 {
    let z = (i ^ (salt << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
}

/// Row `i` of the source `salt`, with its event time: out of order, within bounds.
fn row(i: u64, salt: u64) -> (Row, Timestamp) {
    let back = mixed(i, salt + 10) as i64 % DISORDER_MS;
    ((mixed(i, salt) % KEYS, i), Timestamp::from_millis(1000 + i as i64 * PACE_MS - back))
}

fn rows(env: &Environment, salt: u64, rate: f64) -> DataStream<Row> {
    let source = GeneratorSource::timed(Some(ROWS), move |i| row(i, salt)).rate(rate);
    let late = Duration::from_millis(DISORDER_MS as u64);
    let strategy = WatermarkStrategy::bounded_out_of_orderness(late);
    env.from_source(source, strategy, format!("source {salt}")).uid(format!("source-{salt}")).stream()
}

/// Key, window start, number on the left, number on the right.
type Joined = (u64, i64, u64, u64);

/// Two streams joined by key and tumbling window.
fn join_job(env: &Environment, faults: &Faults, out: &External<Joined>) {
    let (left, right) = (faults.clone(), faults.clone());
    let left = rows(env, 1, 20_000.0).map(move |row| {
        left.may_panic();
        row
    });
    let right = rows(env, 2, 30_000.0).flat_map(move |row, out: &mut Collector<Row>| {
        right.may_fail()?;
        out.collect(row);
        flugs::Result::Ok(())
    });
    let window = TumblingEventTimeWindows::of(Duration::from_millis(WINDOW_MS as u64));
    left.key_by(|r| r.0)
        .co_group(&right.key_by(|r| r.0))
        .window(window)
        .apply(|key, window, left: &[Row], right: &[Row], out| {
            for (_, l) in left {
                right.iter().for_each(|(_, r)| out.collect((*key, window.start.as_millis(), *l, *r)));
            }
        })
        .uid("join")
        .sink_to(out.clone(), "joined")
        .uid("joined");
}

/// The same, by two loops.
fn joined() -> Vec<Joined> {
    let mut all = Vec::new();
    for i in 0..ROWS {
        for j in 0..ROWS {
            let ((left, right), start) =
                ((row(i, 1), row(j, 2)), |t: Timestamp| t.as_millis() / WINDOW_MS * WINDOW_MS);
            if left.0.0 == right.0.0 && start(left.1) == start(right.1) {
                all.push((left.0.0, start(left.1), i, j));
            }
        }
    }
    all.sort_unstable();
    all
}

/// Runs the join on a cluster; the results in order.
fn run_join(cluster: &SimulatedCluster) -> Result<(SimulatedReport, Vec<Joined>), String> {
    let (out, faults) = (cluster.external(), cluster.faults());
    let report = cluster.run(|env| join_job(env, &faults, &out))?;
    Ok((report, out.rows()))
}

/// What the second job gives: a kind of result, the key, two numbers.
type Counted = (u8, u64, i64, u64);

const SLOT_MS: i64 = 500;

/// Numbers the rows of each key, and says once for each slot of time in which a key has a row that it is over.
#[derive(Clone, Default)]
struct Numbering {
    count: Option<ValueState<u64>>,
}

impl KeyedProcessFunction for Numbering {
    type Key = u64;
    type In = Row;
    type Out = Counted;

    fn open(&mut self, open: &mut OpenKeyed<'_, '_, u64>) -> flugs::Result<()> {
        self.count = Some(open.value("count")?);
        Ok(())
    }

    fn process(
        &mut self,
        (key, _): Row,
        cx: &mut KeyedContext<'_, u64>,
        out: &mut Collector<'_, Counted>,
    ) -> flugs::Result<()> {
        let count = self.count.expect("open");
        let n = count.get(cx).copied().unwrap_or(0) + 1;
        count.set(cx, n);
        out.collect((1, key, 0, n));
        let slot = cx.timestamp().expect("event time").as_millis() / SLOT_MS;
        cx.register_event_time_timer(Timestamp::from_millis((slot + 1) * SLOT_MS));
        Ok(())
    }

    fn on_timer(
        &mut self,
        timer: Timer,
        cx: &mut KeyedContext<'_, u64>,
        out: &mut Collector<'_, Counted>,
    ) -> flugs::Result<()> {
        out.collect((2, *cx.key(), timer.time.as_millis(), 0));
        Ok(())
    }
}

/// One stream out of two, read by two keyed operators that end in one sink and in one each.
fn count_job(env: &Environment, faults: &Faults, out: &External<Counted>) {
    let faults = faults.clone();
    let both = rows(env, 1, 50_000.0).union(&rows(env, 3, 10_000.0)).rebalance().map(move |row| {
        faults.may_panic();
        row
    });
    let keyed = both.disable_chaining().key_by(|r: &Row| r.0);
    let (size, slide) = (Duration::from_millis(300), Duration::from_millis(100));
    let windows = keyed.window(SlidingEventTimeWindows::of(size, slide)).apply(|key, window, rows, out| {
        out.collect((0, *key, window.start.as_millis(), rows.len() as u64));
    });
    windows.uid("windows").sink_to(out.clone(), "windows").uid("window-sink");
    keyed.process(Numbering::default()).uid("numbering").sink_to(out.clone(), "numbers").uid("number-sink");
}

/// The same, row by row.
fn counted() -> Vec<Counted> {
    let mut windows: BTreeMap<(u64, i64), u64> = BTreeMap::new();
    let (mut counts, mut slots) = (BTreeMap::new(), BTreeSet::new());
    for (salt, i) in [1, 3].into_iter().flat_map(|salt| (0..ROWS).map(move |i| (salt, i))) {
        let ((key, _), time) = row(i, salt);
        let time = time.as_millis();
        let newest = time / 100 * 100;
        (0..3).for_each(|back| *windows.entry((key, newest - back * 100)).or_default() += 1);
        *counts.entry(key).or_insert(0u64) += 1;
        slots.insert((key, (time / SLOT_MS + 1) * SLOT_MS));
    }
    let numbers = counts.into_iter().flat_map(|(key, n)| (1..=n).map(move |i| (1, key, 0, i)));
    let windows = windows.into_iter().map(|((key, start), n)| (0, key, start, n));
    let slots = slots.into_iter().map(|(key, end)| (2, key, end, 0));
    let mut all: Vec<_> = windows.chain(numbers).chain(slots).collect();
    all.sort_unstable();
    all
}

fn compare<T: Ord + std::fmt::Debug>(
    cluster: &SimulatedCluster,
    mut found: Vec<T>,
    expected: &[T],
) -> Result<(), String> {
    found.sort_unstable();
    if found == expected {
        return Ok(());
    }
    let mut counts: BTreeMap<&T, i64> = BTreeMap::new();
    found.iter().for_each(|row| *counts.entry(row).or_default() += 1);
    expected.iter().for_each(|row| *counts.entry(row).or_default() -= 1);
    counts.retain(|_, n| *n != 0);
    let (lost, more): (Vec<_>, Vec<_>) = counts.into_iter().partition(|(_, n)| *n < 0);
    Err(cluster.explained(format!(
        "{} rows are lost: {lost:?}\n{} are too many: {more:?}",
        lost.len(),
        more.len()
    )))
}

#[test]
fn a_windowed_join_gives_each_result_once() {
    let expected = joined();
    let cluster = SimulatedCluster::calm(0);
    compare(&cluster, run_join(&cluster).unwrap().1, &expected).unwrap();
    explore("cargo test -p flugs --test simulation a_windowed_join", 1_000, |seed| {
        let cluster = SimulatedCluster::new(seed);
        let (_, found) = run_join(&cluster)?;
        compare(&cluster, found, &expected)
    });
}

#[test]
fn two_keyed_operators_over_one_stream_give_each_result_once() {
    let expected = counted();
    explore("cargo test -p flugs --test simulation two_keyed", 500, |seed| {
        let cluster = SimulatedCluster::new(seed);
        let (out, faults) = (cluster.external(), cluster.faults());
        cluster.run(|env| count_job(env, &faults, &out))?;
        compare(&cluster, out.rows(), &expected)
    });
}

#[test]
fn equal_seeds_give_equal_histories() {
    for seed in 0..20 {
        let run = || run_join(&SimulatedCluster::new(seed)).unwrap();
        let (first, second) = (run(), run());
        assert_eq!(first, second, "seed {seed}");
        let other = run_join(&SimulatedCluster::new(seed + 1000)).unwrap();
        assert_ne!(first.0.history, other.0.history, "seed {seed}");
    }
}

/// That the seeds do reach what they are there for.
#[test]
fn simulations_are_full_of_failures() {
    let reports: Vec<_> = (0..60).map(|seed| run_join(&SimulatedCluster::new(seed)).unwrap().0).collect();
    let sum = |of: fn(&SimulatedReport) -> u64| reports.iter().map(of).sum::<u64>();
    assert!(sum(|r| r.processes.into()) > 2 * 60, "processes die");
    assert!(sum(|r| r.restarts.into()) > 60, "jobs are started again within a process");
    assert!(sum(|r| r.faults.into()) > 2 * 60, "calls and functions fail");
    assert!(sum(|r| r.checkpoints) > 2 * 60, "and still checkpoints are completed");
}
