//! State of every kind, timers of both kinds, and what becomes of state when the parallelism changes.

use crate::{R, Row, W, Wait, results, second, seconds};
use flugs::prelude::*;
use flugs::testing::{TestJob, TestSource};

/// Keeps each value in a state of each kind, all of which live for ten seconds, and shows what they hold after each row.
struct Kinds {
    last: ValueState<i64>,
    all: ListState<i64>,
    times: MapState<i64, u64>,
    sum: ReducingState<i64>,
    mean: AggregatingState<Row, (f64, u64), f64>,
}

type Shown = (i64, Vec<i64>, Vec<(i64, u64)>, i64, f64);

impl Kinds {
    fn open(open: &mut OpenKeyed<'_, '_, char>) -> flugs::Result<Self> {
        let mut open = open.with_ttl(Ttl::new(seconds(10)));
        Ok(Kinds {
            last: open.value("last")?,
            all: open.list("all")?,
            times: open.map("times")?,
            sum: open.reducing("sum", |sum, n| *sum += n)?,
            mean: open.aggregating("mean", Avg::of(|row: &Row| row.1))?,
        })
    }
}

impl KeyedProcessFunction for Kinds {
    type Key = char;
    type In = Row;
    type Out = Shown;

    fn process(
        &mut self,
        row: Row,
        cx: &mut KeyedContext<'_, char>,
        out: &mut Collector<'_, Shown>,
    ) -> flugs::Result<()> {
        let before = self.last.get(cx).copied().unwrap_or(0);
        self.last.set(cx, row.1);
        self.all.add(cx, row.1);
        *self.times.get_or_insert_with(cx, row.1, || 0) += 1;
        self.sum.add(cx, row.1);
        self.mean.add(cx, row);
        out.collect((
            before,
            self.all.iter(cx).copied().collect(),
            self.times.iter(cx).map(|(n, times)| (*n, *times)).collect(),
            self.sum.get(cx).copied().unwrap_or(0),
            self.mean.get(cx).unwrap_or(0.0),
        ));
        Ok(())
    }
}

#[test]
fn keyed_state_of_every_kind_and_its_life() {
    let rows = [R('a', 3, 0), R('b', 9, 0), R('a', 3, 0), R('a', 6, 0), Wait(10), R('a', 1, 0)];
    let shown = results(&rows, |rows| rows.key_by(|row| row.0).process_with(Kinds::open));
    let expected: [Shown; 5] = [
        (0, vec![3], vec![(3, 1)], 3, 3.0),
        (0, vec![9], vec![(9, 1)], 9, 9.0),
        (3, vec![3, 3], vec![(3, 2)], 6, 3.0),
        (3, vec![3, 3, 6], vec![(3, 2), (6, 1)], 12, 4.0),
        (0, vec![1], vec![(1, 1)], 1, 1.0),
    ];
    assert_eq!(shown, expected);
}

/// Sets a timer of each kind, five seconds after each row, and takes those of negative rows back.
#[derive(Clone)]
struct Alarm;

impl KeyedProcessFunction for Alarm {
    type Key = char;
    type In = Row;
    type Out = (char, bool, i64);

    fn process(
        &mut self,
        row: Row,
        cx: &mut KeyedContext<'_, char>,
        _: &mut Collector<'_, Self::Out>,
    ) -> flugs::Result<()> {
        let event_time = cx.timestamp().expect("rows have times") + seconds(5);
        let processing_time = cx.processing_time() + seconds(5);
        if row.1 < 0 {
            cx.delete_event_time_timer(event_time);
            cx.delete_processing_time_timer(processing_time);
        } else {
            cx.register_event_time_timer(event_time);
            cx.register_processing_time_timer(processing_time);
        }
        Ok(())
    }

    fn on_timer(
        &mut self,
        timer: Timer,
        cx: &mut KeyedContext<'_, char>,
        out: &mut Collector<'_, Self::Out>,
    ) -> flugs::Result<()> {
        out.collect((*cx.key(), timer.domain == TimeDomain::EventTime, second(timer.time)));
        Ok(())
    }
}

#[test]
fn timers_of_both_kinds() {
    let rows =
        [R('a', 1, 100), R('a', 1, 100), R('b', 1, 100), R('b', -1, 100), W(104), Wait(4), Wait(1), W(105)];
    let fired = results(&rows, |rows| rows.key_by(|row| row.0).process(Alarm));
    assert_eq!(fired, [('a', false, 5), ('a', true, 105)]);
}

/// Keeps what it saw in operator state, and shows both lists when it is asked by a zero.
struct Lists {
    split: OperatorList<i64>,
    union: OperatorList<i64>,
}

impl ProcessFunction for Lists {
    type In = i64;
    type Out = (Vec<i64>, Vec<i64>);

    fn process(
        &mut self,
        n: i64,
        cx: &mut Context<'_>,
        out: &mut Collector<'_, Self::Out>,
    ) -> flugs::Result<()> {
        if n == 0 {
            let (mut split, mut union) = (self.split.items(cx).to_vec(), self.union.items(cx).to_vec());
            split.sort_unstable();
            union.sort_unstable();
            out.collect((split, union));
        } else {
            self.split.items_mut(cx).push(n);
            self.union.items_mut(cx).push(n);
        }
        Ok(())
    }
}

#[test]
fn lists_of_operators_are_dealt_out_or_given_to_all() {
    let (numbers, out) = (TestSource::new(), MemorySink::immediate());
    let (source, sink) = (numbers.clone(), out.clone());
    let mut job = TestJob::start(move |env| {
        let lists = source.stream(env, "numbers").broadcast().process_with(|open| {
            Ok(Lists { split: open.operator_list("split")?, union: open.union_list("union")? })
        });
        lists.sink_to(sink.clone(), "out");
    })
    .unwrap();
    (1..=4).for_each(|n| numbers.push(n));
    job.rescale(2).unwrap();
    numbers.push(0);
    job.run().unwrap();
    let shown = out.rows();
    assert_eq!(shown.len(), 2);
    assert!(shown.iter().all(|(split, union)| split.len() == 2 && *union == [1, 2, 3, 4]), "{shown:?}");
    let mut all: Vec<i64> = shown.into_iter().flat_map(|(split, _)| split).collect();
    all.sort_unstable();
    assert_eq!(all, [1, 2, 3, 4]);
    numbers.end();
    job.finish().unwrap();
}

/// Lets a key's values pass from its limit on, and counts those that it held back.
struct Limits {
    limits: BroadcastState<char, i64>,
    held: ValueState<i64>,
}

impl KeyedBroadcastProcessFunction for Limits {
    type Key = char;
    type In = Row;
    type Broadcast = Row;
    type Out = Row;

    fn process(
        &mut self,
        row: Row,
        states: &BroadcastStates,
        cx: &mut KeyedContext<'_, char>,
        out: &mut Collector<'_, Row>,
    ) -> flugs::Result<()> {
        match self.limits.get(states, cx.key()) {
            Some(limit) if row.1 >= *limit => out.collect(row),
            _ => *self.held.get_or_insert_with(cx, || 0) += 1,
        }
        Ok(())
    }

    fn process_broadcast(
        &mut self,
        (key, limit): Row,
        states: &mut BroadcastStates,
        cx: &mut KeyedBroadcastContext<'_, char>,
        out: &mut Collector<'_, Row>,
    ) -> flugs::Result<()> {
        self.limits.put(states, key, limit);
        let held = self.held;
        cx.apply_to_keyed_state(held, |access| {
            let count = held.get(access).copied().unwrap_or(0);
            out.collect((*access.key(), -count));
        });
        Ok(())
    }
}

#[test]
fn rules_for_all_keys() {
    let (rows, rules, out) = (TestSource::new(), TestSource::new(), MemorySink::immediate());
    let (a, b, sink) = (rows.clone(), rules.clone(), out.clone());
    let mut job = TestJob::start(move |env| {
        let keyed = a.stream(env, "rows").key_by(|row: &Row| row.0);
        keyed
            .connect_broadcast(&b.stream(env, "rules"))
            .process_with(|open| Ok(Limits { limits: open.broadcast("limits")?, held: open.value("held")? }))
            .sink_to(sink.clone(), "out");
    })
    .unwrap();
    rows.push(('a', 5));
    job.run().unwrap();
    rules.push(('a', 4));
    job.rescale(3).unwrap();
    [('a', 5), ('a', 3), ('b', 5)].into_iter().for_each(|row| rows.push(row));
    job.run().unwrap();
    let mut shown = out.rows();
    shown.sort_unstable();
    assert_eq!(shown, [('a', -1), ('a', 5)]);
}
