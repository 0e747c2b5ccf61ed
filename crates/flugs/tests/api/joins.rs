//! Two streams that meet: in windows, within an interval, or in one function.

use crate::{Row, second, seconds};
use flugs::prelude::*;
use flugs::testing::{TestJob, TestSource};

/// Which side, key, value, and the second of its event time; or the second to which event time has come.
#[derive(Clone, Copy)]
enum Event {
    Left(char, i64, i64),
    Right(char, i64, i64),
    Watermark(i64),
}
use Event::{Left as L, Right as R, Watermark as W};

/// The results of a program over two streams, in the order in which it gives them.
fn results<O: Data>(
    events: &[Event],
    program: impl Fn(DataStream<Row>, DataStream<Row>) -> DataStream<O> + 'static,
) -> Vec<O> {
    let (left, right, out) = (TestSource::new(), TestSource::new(), MemorySink::immediate());
    let (l, r, sink) = (left.clone(), right.clone(), out.clone());
    let mut job = TestJob::start(move |env| {
        program(l.stream(env, "left"), r.stream(env, "right")).sink_to(sink.clone(), "out");
    })
    .unwrap();
    for event in events {
        match *event {
            L(key, value, second) => left.push_at((key, value), Timestamp::from_secs(second)),
            R(key, value, second) => right.push_at((key, value), Timestamp::from_secs(second)),
            W(second) => [&left, &right].iter().for_each(|side| side.watermark(Timestamp::from_secs(second))),
        }
        job.run().unwrap();
    }
    left.end();
    right.end();
    job.finish().unwrap();
    out.rows()
}

const MINUTE: Duration = seconds(60);

const EVENTS: [Event; 9] = [
    L('a', 1, 5),
    R('a', 10, 6),
    R('a', 20, 59),
    L('b', 2, 7),
    R('b', 30, 60),
    W(60),
    R('a', 40, 10),
    L('b', 3, 70),
    L('b', 4, 6),
];

type KeyOf = fn(&Row) -> char;
type Minutes = flugs::CoGroupedStreams<Row, Row, KeyOf, KeyOf, TumblingEventTimeWindows>;

fn windows(left: &DataStream<Row>, right: &DataStream<Row>) -> Minutes {
    let key: KeyOf = |row| row.0;
    left.key_by(key).co_group(&right.key_by(key)).window(TumblingEventTimeWindows::of(MINUTE))
}

#[test]
fn window_joins() {
    let pairs = |l: &Row, r: &Row| (l.1, r.1);
    let joined = results(&EVENTS, move |l, r| windows(&l, &r).join(pairs));
    assert_eq!(joined, [(1, 10), (1, 20), (3, 30)]);
    let again = results(&EVENTS, move |l, r| windows(&l, &r).allowed_lateness(MINUTE).join(pairs));
    assert_eq!(again, [(1, 10), (1, 20), (1, 10), (1, 20), (1, 40), (3, 30)]);
    let at_each = PurgingTrigger::of(CountTrigger::of(2));
    let joined = results(&EVENTS, move |l, r| windows(&l, &r).trigger(at_each).join(pairs));
    assert_eq!(joined, [(1, 10), (3, 30)]);
}

#[test]
fn late_rows_of_window_joins() {
    let late = results(&EVENTS, |l, r| {
        let windows = windows(&l, &r);
        let (left, right) = windows.late_tags();
        let joined = windows.join(|l, r| l.1 + r.1);
        joined.side(left).union(&joined.side(right))
    });
    assert_eq!(late, [('a', 40), ('b', 4)]);
}

/// Counts both sides.
#[derive(Clone)]
struct Sides;

impl CoGroupFunction<char, Row, Row> for Sides {
    type Out = (char, i64, u64, u64);

    fn co_group(
        &mut self,
        cx: &mut WindowContext<'_, char>,
        left: &[Row],
        right: &[Row],
        out: &mut WindowOutput<'_, Self::Out>,
    ) -> flugs::Result<()> {
        out.collect((*cx.key(), second(cx.window().start), left.len() as u64, right.len() as u64));
        Ok(())
    }
}

#[test]
fn co_groups() {
    let expected = [('a', 0, 1, 2), ('b', 0, 1, 0), ('b', 60, 1, 1)];
    let mut sides = results(&EVENTS, |l, r| windows(&l, &r).process(Sides));
    sides.sort();
    assert_eq!(sides, expected);
    let mut sides = results(&EVENTS, |l, r| {
        windows(&l, &r).apply(|key, window, left, right, out| {
            out.collect((*key, second(window.start), left.len() as u64, right.len() as u64));
        })
    });
    sides.sort();
    assert_eq!(sides, expected);
}

#[test]
fn interval_joins() {
    let events = [
        L('a', 1, 100),
        R('a', 10, 90),
        R('a', 20, 110),
        R('a', 30, 111),
        R('b', 40, 100),
        W(100),
        L('a', 2, 99),
    ];
    let joined = |interval: Interval| {
        results(&events, move |l, r| {
            l.key_by(|row| row.0).interval_join(&r.key_by(|row| row.0), interval).join(|l, r| (l.1, r.1))
        })
    };
    let around = Interval::seconds(-10, 10);
    assert_eq!(joined(around), [(1, 10), (1, 20)]);
    assert_eq!(joined(around.lower_exclusive()), [(1, 20)]);
    assert_eq!(joined(around.upper_exclusive()), [(1, 10)]);
    let late = results(&events, move |l, r| {
        let join = l.key_by(|row| row.0).interval_join(&r.key_by(|row| row.0), around);
        let (left, _) = join.late_tags();
        join.join(|l, r| l.1 + r.1).side(left)
    });
    assert_eq!(late, [('a', 2)]);
}

#[test]
fn one_function_for_two_streams() {
    let events = [L('a', 1, 0), R('b', 2, 0)];
    let mapped = results(&events, |l, r| l.connect(&r).map(|l| l.1, |r| -r.1));
    assert_eq!(mapped, [1, -2]);
    let twice = results(&events, |l, r| {
        l.connect(&r).flat_map(
            |l, out: &mut Collector<i64>| (0..2).for_each(|_| out.collect(l.1)),
            |_, _: &mut Collector<i64>| (),
        )
    });
    assert_eq!(twice, [1, 1]);
}
