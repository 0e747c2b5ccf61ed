//! State, timers and time to live of keyed functions against hand-made results and naive twins.

use super::*;
use flugs_batch::Either;
use flugs_state::{ListState, MapState, Ttl, ValueState};
use flugs_testkit::{Case, OperatorHarness, Route};
use flugs_types::hash_key;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

type Row = (u64, i64);
type Keyed<F> = KeyedOperator<KeyedProcess<F, fn(&Row) -> u64>>;

fn at<T>(rows: impl IntoIterator<Item = (i64, T)>) -> Records<T> {
    rows.into_iter().map(|(time, value)| (value, Timestamp(time))).collect()
}

fn key(row: &Row) -> u64 {
    row.0
}

fn route(batch: &Records<Row>) -> Route {
    Route::Key(hash_key(&batch.values[0].0))
}

/// Counts the rows of a key, and says the count ten after the last row.
struct CountAndRest {
    count: ValueState<i64>,
    due: ValueState<Timestamp>,
}

impl KeyedProcessFunction for CountAndRest {
    type Key = u64;
    type In = Row;
    type Out = String;

    fn process(
        &mut self,
        row: Row,
        cx: &mut KeyedContext<'_, u64>,
        out: &mut Collector<String>,
    ) -> Result<()> {
        let count = self.count.get_or_insert_with(cx, || 0);
        *count += 1;
        out.collect(format!("{}:{count}", row.0));
        let due = cx.timestamp().expect("rows have times") + Duration::from_micros(10);
        if let Some(before) = self.due.get(cx).copied() {
            cx.delete_event_time_timer(before);
        }
        self.due.set(cx, due);
        cx.register_event_time_timer(due);
        Ok(())
    }

    fn on_timer(
        &mut self,
        timer: Timer,
        cx: &mut KeyedContext<'_, u64>,
        out: &mut Collector<String>,
    ) -> Result<()> {
        assert_eq!(timer.domain, TimeDomain::EventTime);
        assert_eq!(cx.timestamp(), Some(timer.time));
        let count = self.count.get(cx).copied().unwrap_or_default();
        out.collect(format!("{} rests after {count} at {}", cx.key(), cx.current_watermark().0));
        self.count.clear(cx);
        self.due.clear(cx);
        Ok(())
    }
}

fn count_and_rest() -> Keyed<CountAndRest> {
    KeyedProcess::opened_by(
        |open| Ok(CountAndRest { count: open.value("count")?, due: open.value("due")? }),
        key,
    )
}

#[test]
fn state_and_timers_of_each_key() {
    let out = Case::new(count_and_rest)
        .route(route)
        .batch(at([(1, (7, 0)), (2, (8, 0)), (3, (7, 0))]))
        .watermark(Timestamp(11))
        .batch(at([(4, (7, 0))]))
        .watermark(Timestamp(12))
        .watermark(Timestamp(20))
        .end()
        .run();
    let none: [&str; 0] = [];
    assert_eq!(out[0], ["1 \"7:1\"", "2 \"8:1\"", "3 \"7:2\""]);
    assert_eq!(out[1], ["4 \"7:3\"", "12 \"8 rests after 1 at 12\""]);
    assert_eq!(out[2], ["14 \"7 rests after 3 at 20\""]);
    assert_eq!(out[3], none);
}

#[test]
fn nothing_is_stored_when_every_key_rests() {
    let mut harness = OperatorHarness::new(count_and_rest()).unwrap();
    harness.push(at((0..1000).map(|i| (i, ((i % 77) as u64, 0))))).unwrap();
    assert_eq!(harness.stored_entries().unwrap(), 3 * 77);
    harness.watermark(Timestamp::MAX).unwrap();
    assert_eq!(harness.stored_entries().unwrap(), 0);
}

/// Sets, for a row `(key, x)`, a timer at `x`, or deletes the one at `-x`; a timer at an odd time sets the one before.
struct Chain;

impl KeyedProcessFunction for Chain {
    type Key = u64;
    type In = Row;
    type Out = (u64, TimeDomainTag);

    fn process(
        &mut self,
        (_, x): Row,
        cx: &mut KeyedContext<'_, u64>,
        _: &mut Collector<Self::Out>,
    ) -> Result<()> {
        let time = Timestamp(x.abs());
        if x < 0 {
            cx.delete_event_time_timer(time);
            cx.delete_processing_time_timer(time);
        } else {
            // What is due already fires at once by the clock and later by the watermark: that depends on the batches.
            if time > cx.current_watermark() {
                cx.register_event_time_timer(time);
                cx.register_event_time_timer(time);
            }
            if time > cx.processing_time() {
                cx.register_processing_time_timer(time);
            }
        }
        Ok(())
    }

    fn on_timer(
        &mut self,
        timer: Timer,
        cx: &mut KeyedContext<'_, u64>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()> {
        let before = Timestamp(timer.time.0 - 1);
        let tag = match timer.domain {
            TimeDomain::EventTime => TimeDomainTag::Event(timer.time.0),
            TimeDomain::ProcessingTime => TimeDomainTag::Processing(timer.time.0),
        };
        out.collect((*cx.key(), tag));
        match timer.domain {
            _ if timer.time.0 % 2 == 0 => {}
            TimeDomain::EventTime => cx.register_event_time_timer(before),
            TimeDomain::ProcessingTime => cx.register_processing_time_timer(before),
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeDomainTag {
    Event(i64),
    Processing(i64),
}

#[derive(Debug, Clone)]
enum Act {
    Row(u64, i64),
    Watermark(i64),
    Clock(i64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0..5u64, -12..40i64).prop_map(|(key, x)| Act::Row(key, x)),
        1 => (0..40i64).prop_map(Act::Watermark),
        1 => (0..40i64).prop_map(Act::Clock),
    ]
}

/// Fires all timers up to `upto`, one by one, first by time and then by key.
fn twin_fires(timers: &mut BTreeSet<(i64, u64)>, upto: i64, mut fired: impl FnMut(i64, u64)) {
    while let Some(&(time, key)) = timers.first().filter(|(time, _)| *time <= upto) {
        timers.pop_first();
        fired(time, key);
        if time % 2 != 0 {
            timers.insert((time - 1, key));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn timers_fire_as_a_sorted_set_does(acts in prop::collection::vec(act(), 0..40)) {
        let mut case = Case::new(|| KeyedProcess::operator(Chain, key)).route(route);
        let (mut event, mut processing) = (BTreeSet::new(), BTreeSet::new());
        let (mut watermark, mut clock) = (i64::MIN, 0);
        let mut expected = vec![Vec::new()];
        for act in acts {
            match act {
                Act::Row(key, x) => {
                    case = case.batch(at([(0, (key, x))]));
                    if x < 0 {
                        event.remove(&(-x, key));
                        processing.remove(&(-x, key));
                    } else {
                        let _ = x > watermark && event.insert((x, key));
                        let _ = x > clock && processing.insert((x, key));
                    }
                }
                Act::Watermark(to) => {
                    watermark = watermark.max(to);
                    case = case.watermark(Timestamp(watermark));
                    let segment = expected.last_mut().unwrap();
                    twin_fires(&mut event, watermark, |time, key| {
                        segment.push(format!("{time} ({key}, Event({time}))"));
                    });
                    expected.push(Vec::new());
                }
                Act::Clock(to) => {
                    clock = clock.max(to);
                    case = case.processing_time(Timestamp(clock));
                    let segment = expected.last_mut().unwrap();
                    twin_fires(&mut processing, clock, |time, key| {
                        segment.push(format!("- ({key}, Processing({time}))"));
                    });
                    expected.push(Vec::new());
                }
            }
        }
        prop_assert_eq!(case.run(), expected);
    }
}

#[test]
fn a_timer_behind_the_watermark_fires_with_the_next_one() {
    /// Sets an event-time timer for each row.
    struct Set;
    impl KeyedProcessFunction for Set {
        type Key = u64;
        type In = Row;
        type Out = i64;

        fn process(
            &mut self,
            row: Row,
            cx: &mut KeyedContext<'_, u64>,
            _: &mut Collector<i64>,
        ) -> Result<()> {
            cx.register_event_time_timer(Timestamp(row.1));
            Ok(())
        }

        fn on_timer(
            &mut self,
            t: Timer,
            _: &mut KeyedContext<'_, u64>,
            out: &mut Collector<i64>,
        ) -> Result<()> {
            out.collect(t.time.0);
            Ok(())
        }
    }
    let mut harness = OperatorHarness::new(KeyedProcess::operator(Set, key)).unwrap();
    harness.watermark(Timestamp(10)).unwrap();
    harness.push(at([(5, (1, 5))])).unwrap();
    assert!(harness.output().is_empty());
    harness.watermark(Timestamp(11)).unwrap();
    assert_eq!(harness.output(), at([(5, 5)]));
    assert_eq!(harness.watermarks(), [Timestamp(10), Timestamp(11)]);
}

#[test]
fn many_timers_fire_in_slices_and_wait_for_a_full_output() {
    /// Emits a hundred rows for each timer.
    struct Burst;
    impl KeyedProcessFunction for Burst {
        type Key = u64;
        type In = Row;
        type Out = (u64, u32);

        fn process(
            &mut self,
            row: Row,
            cx: &mut KeyedContext<'_, u64>,
            _: &mut Collector<Self::Out>,
        ) -> Result<()> {
            cx.register_event_time_timer(Timestamp(row.1));
            Ok(())
        }

        fn on_timer(
            &mut self,
            _: Timer,
            cx: &mut KeyedContext<'_, u64>,
            out: &mut Collector<Self::Out>,
        ) -> Result<()> {
            let key = *cx.key();
            (0..100).for_each(|i| out.collect((key, i)));
            Ok(())
        }
    }
    let builder = flugs_testkit::HarnessBuilder::new().refusing();
    let mut harness = builder.open(KeyedProcess::operator(Burst, key)).unwrap();
    const KEYS: u64 = 3 * TIMERS_PER_SLICE as u64 + 1;
    harness.push(at((0..KEYS).map(|key| (0, (key, 1 + (key % 2) as i64))))).unwrap();
    harness.watermark(Timestamp(2)).unwrap();
    let by_time_and_key = (0..KEYS).step_by(2).chain((1..KEYS).step_by(2));
    let expected: Vec<_> = by_time_and_key.flat_map(|key| (0..100).map(move |i| (key, i))).collect();
    assert_eq!(harness.output().values, expected);
    assert!(harness.largest_batch() <= 4096);
    assert_eq!(harness.stored_entries().unwrap(), 0);
    assert_eq!(harness.watermarks(), [Timestamp(2)]);
}

/// Counts the rows of a key within a time to live.
struct Recent {
    count: ValueState<i64>,
    times: ListState<i64>,
    seen: MapState<i64, i64>,
}

impl Recent {
    fn operator(ttl: Ttl) -> Keyed<Recent> {
        let open = move |open: &mut OpenKeyed<'_, '_, u64>| {
            let mut open = open.with_ttl(ttl);
            Ok(Recent { count: open.value("count")?, times: open.list("times")?, seen: open.map("seen")? })
        };
        KeyedProcess::opened_by(open, key)
    }
}

impl KeyedProcessFunction for Recent {
    type Key = u64;
    type In = Row;
    type Out = (u64, i64, usize, usize);

    fn process(
        &mut self,
        (key, x): Row,
        cx: &mut KeyedContext<'_, u64>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()> {
        let count = self.count.get_or_insert_with(cx, || 0);
        *count += 1;
        let count = *count;
        self.times.add(cx, x);
        self.seen.put(cx, x, x);
        let (times, seen) = (self.times.iter(cx).count(), self.seen.keys(cx).count());
        out.collect((key, count, times, seen));
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn state_lives_as_long_as_it_should(
        rows in prop::collection::vec((0..4u64, 0..3i64, 0..30i64), 1..60),
        event_time: bool,
    ) {
        const LIFE: i64 = 40_000;
        let ttl = Ttl::new(Duration::from_micros(LIFE as u64));
        let ttl = if event_time { ttl.in_event_time() } else { ttl };
        let mut harness = OperatorHarness::new(Recent::operator(ttl)).unwrap();
        let mut now = 0;
        if event_time {
            harness.watermark(Timestamp(0)).unwrap();
        }
        // By key: the counter and its last touch, the rows' times, the last touch of each entry.
        type Twin = (i64, i64, Vec<i64>, BTreeMap<i64, i64>);
        let mut twin: BTreeMap<u64, Twin> = BTreeMap::new();
        for (key, x, pause) in rows {
            now += pause * 1000;
            if event_time {
                harness.watermark(Timestamp(now)).unwrap();
            } else {
                harness.set_processing_time(Timestamp(now)).unwrap();
            }
            let alive = |touched: i64| touched + LIFE > now;
            let (count, touched, times, seen) = twin.entry(key).or_insert((0, now, Vec::new(), BTreeMap::new()));
            *count = if alive(*touched) { *count + 1 } else { 1 };
            *touched = now;
            times.retain(|t| alive(*t));
            times.push(now);
            seen.insert(x, now);
            seen.retain(|_, t| alive(*t));
            let expected = (key, *count, times.len(), seen.len());
            harness.push(at([(0, (key, x))])).unwrap();
            prop_assert_eq!(harness.output().values, vec![expected]);
        }
        // Long after the last row nothing is left, and nothing is due any more.
        for _ in 0..10 {
            now += LIFE;
            if event_time {
                harness.watermark(Timestamp(now)).unwrap();
            } else {
                harness.set_processing_time(Timestamp(now)).unwrap();
            }
        }
        prop_assert_eq!(harness.stored_entries().unwrap(), 0);
        prop_assert_eq!(harness.next_tick(), None);
    }
}

#[test]
fn restored_state_expires_although_no_row_comes() {
    let ttl = Ttl::new(Duration::from_secs(60));
    let mut old = OperatorHarness::new(Recent::operator(ttl)).unwrap();
    old.push(at([(0, (1, 1)), (0, (2, 1))])).unwrap();
    let snapshot = old.snapshot().unwrap();
    let builder = flugs_testkit::HarnessBuilder::new().processing_time(Timestamp::from_secs(50));
    let mut harness = builder.restore([snapshot]).open(Recent::operator(ttl)).unwrap();
    assert_eq!(harness.stored_entries().unwrap(), 6);
    for secs in (51..=200).step_by(5) {
        harness.set_processing_time(Timestamp::from_secs(secs)).unwrap();
    }
    assert_eq!(harness.stored_entries().unwrap(), 0);
    assert_eq!(harness.counter("numStateExpired").get(), 6);
    assert_eq!(harness.next_tick(), None);
}

/// Emits the pairs of a key's last rows of both inputs.
struct LastOfBoth {
    first: ValueState<i64>,
    second: ValueState<String>,
}

impl KeyedCoProcessFunction for LastOfBoth {
    type Key = u64;
    type In1 = Row;
    type In2 = (u64, String);
    type Out = (i64, String);

    fn process1(
        &mut self,
        (_, x): Row,
        cx: &mut KeyedContext<'_, u64>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()> {
        self.first.set(cx, x);
        if let Some(text) = self.second.get(cx) {
            out.collect((x, text.clone()));
        }
        Ok(())
    }

    fn process2(
        &mut self,
        (_, text): (u64, String),
        cx: &mut KeyedContext<'_, u64>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()> {
        if let Some(x) = self.first.get(cx) {
            out.collect((*x, text.clone()));
        }
        self.second.set(cx, text);
        Ok(())
    }
}

#[test]
fn two_keyed_inputs_share_state() {
    let make = || {
        KeyedCoProcess::opened_by(
            |open| Ok(LastOfBoth { first: open.value("first")?, second: open.value("second")? }),
            key,
            |row: &(u64, String)| row.0,
        )
    };
    let text = |rows: &[(i64, u64, &str)]| {
        Either::Right(at(rows.iter().map(|(time, key, text)| (*time, (*key, (*text).to_owned())))))
    };
    let out = Case::new(make)
        .route(|batch| {
            Route::Key(match batch {
                Either::Left(rows) => hash_key(&rows.values[0].0),
                Either::Right(rows) => hash_key(&rows.values[0].0),
            })
        })
        .batch(Either::Left(at([(1, (1, 10)), (1, (2, 20))])))
        .batch(text(&[(2, 1, "a"), (3, 3, "c")]))
        .watermark(Timestamp(3))
        .batch(Either::Left(at([(4, (3, 30)), (5, (1, 11))])))
        .end()
        .run();
    assert_eq!(out[0], ["2 (10, \"a\")"]);
    assert_eq!(out[1], ["4 (30, \"c\")", "5 (11, \"a\")"]);
}
