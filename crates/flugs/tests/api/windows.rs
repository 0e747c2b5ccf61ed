//! Windows of each kind, and what can be made of their rows.

use crate::{Event, R, Row, W, Wait, results, second, seconds, sorted};
use flugs::prelude::*;

const ROWS: [Event; 5] = [R('a', 1, 5), R('a', 2, 59), R('a', 3, 60), R('b', 10, 61), R('a', 4, 125)];

/// Key, first second, end and sum of each window, sorted.
fn sums(assigner: impl WindowAssigner<Row> + Clone + Sync) -> Vec<(char, i64, i64, i64)> {
    sorted(&ROWS, move |rows| {
        rows.key_by(|row| row.0)
            .window(assigner.clone())
            .aggregate_with(Sum::of(|row: &Row| row.1), |key: &char, window, sum| {
                (*key, second(window.start), second(window.end), sum)
            })
    })
}

#[test]
fn tumbling() {
    let minutes = TumblingEventTimeWindows::of(seconds(60));
    assert_eq!(sums(minutes), [('a', 0, 60, 3), ('a', 60, 120, 3), ('a', 120, 180, 4), ('b', 60, 120, 10)]);
    let shifted = minutes.offset(seconds(30));
    assert_eq!(sums(shifted), [('a', -30, 30, 1), ('a', 30, 90, 5), ('a', 90, 150, 4), ('b', 30, 90, 10)]);
}

#[test]
fn sliding() {
    let sliding = SlidingEventTimeWindows::of(seconds(60), seconds(30));
    let expected = [
        ('a', -30, 30, 1),
        ('a', 0, 60, 3),
        ('a', 30, 90, 5),
        ('a', 60, 120, 3),
        ('a', 90, 150, 4),
        ('a', 120, 180, 4),
        ('b', 30, 90, 10),
        ('b', 60, 120, 10),
    ];
    assert_eq!(sums(sliding), expected);
}

#[test]
fn cumulative() {
    let expected = [
        ('a', 0, 20, 1),
        ('a', 0, 40, 1),
        ('a', 0, 60, 3),
        ('a', 60, 80, 3),
        ('a', 60, 100, 3),
        ('a', 60, 120, 3),
        ('a', 120, 140, 4),
        ('a', 120, 160, 4),
        ('a', 120, 180, 4),
        ('b', 60, 80, 10),
        ('b', 60, 100, 10),
        ('b', 60, 120, 10),
    ];
    assert_eq!(sums(CumulativeEventTimeWindows::of(seconds(60), seconds(20))), expected);
}

#[test]
fn sessions() {
    let sessions = EventTimeSessionWindows::with_gap(seconds(30));
    assert_eq!(sums(sessions), [('a', 5, 35, 1), ('a', 59, 90, 5), ('a', 125, 155, 4), ('b', 61, 91, 10)]);
    let by_row = EventTimeSessionWindows::with_dynamic_gap(|row: &Row| seconds(row.1 as u64));
    let expected = [('a', 5, 6, 1), ('a', 59, 63, 5), ('a', 125, 129, 4), ('b', 61, 71, 10)];
    assert_eq!(sums(by_row), expected);
}

#[test]
fn global_and_of_the_whole_stream() {
    let sums = sorted(&ROWS, |rows| {
        rows.key_by(|row| row.0).window(GlobalWindows::end_of_stream()).aggregate(Sum::of(|row: &Row| row.1))
    });
    assert_eq!(sums, [('a', 10), ('b', 10)]);
    let all = sorted(&ROWS, |rows| {
        rows.window_all(TumblingEventTimeWindows::of(seconds(120)))
            .aggregate(Sum::of(|row: &Row| row.1))
            .map(|r| r.1)
    });
    assert_eq!(all, [4, 16]);
}

#[test]
fn counts() {
    let sum = || Sum::of(|row: &Row| row.1);
    let pairs = results(&ROWS, move |rows| rows.key_by(|row| row.0).count_window(2).aggregate(sum()));
    assert_eq!(pairs, [('a', 3), ('a', 7)]);
    let last_three =
        results(&ROWS, move |rows| rows.key_by(|row| row.0).sliding_count_window(3, 2).aggregate(sum()));
    assert_eq!(last_three, [('a', 3), ('a', 9)]);
    let of_all = results(&ROWS, move |rows| rows.count_window_all(2).aggregate(sum()).map(|r| r.1));
    assert_eq!(of_all, [3, 13]);
    let last_of_all =
        results(&ROWS, move |rows| rows.sliding_count_window_all(2, 1).aggregate(sum()).map(|r| r.1));
    assert_eq!(last_of_all, [1, 3, 5, 13, 14]);
}

#[test]
fn by_the_time_of_processing() {
    fn sums(assigner: impl WindowAssigner<Row> + Clone + Sync) -> Vec<i64> {
        let events = [R('a', 1, 0), Wait(5), R('a', 2, 0), Wait(5), R('a', 3, 0), Wait(20)];
        results(&events, move |rows| {
            rows.key_by(|row| row.0)
                .window(assigner.clone())
                .aggregate(Sum::of(|row: &Row| row.1))
                .map(|(_, sum)| sum)
        })
    }
    assert_eq!(sums(TumblingProcessingTimeWindows::of(seconds(10))), [3, 3]);
    assert_eq!(sums(SlidingProcessingTimeWindows::of(seconds(10), seconds(5))), [1, 3, 5, 3]);
    assert_eq!(sums(ProcessingTimeSessionWindows::with_gap(seconds(6))), [6]);
}

/// One result of each window of a minute of key `a`, by `finish`.
fn minutes<O: Data>(
    finish: impl Fn(flugs::WindowedStream<Row, fn(&Row) -> char>) -> DataStream<O> + 'static,
) -> Vec<O> {
    let rows = [R('a', 1, 5), R('a', 5, 6), R('a', 2, 7), W(60), R('a', 3, 60)];
    results(&rows, move |rows| {
        let key: fn(&Row) -> char = |row| row.0;
        finish(rows.key_by(key).window(TumblingEventTimeWindows::of(seconds(60))))
    })
}

#[test]
fn what_is_made_of_a_window() {
    assert_eq!(minutes(|w| w.count()), [('a', 3), ('a', 1)]);
    assert_eq!(minutes(|w| w.reduce(|sum, row| sum.1 += row.1)), [('a', 8), ('a', 3)]);
    assert_eq!(minutes(|w| w.sum(|row| &mut row.1)), [('a', 8), ('a', 3)]);
    assert_eq!(minutes(|w| w.min(|row| &mut row.1)), [('a', 1), ('a', 3)]);
    assert_eq!(minutes(|w| w.max(|row| &mut row.1)), [('a', 5), ('a', 3)]);
    assert_eq!(minutes(|w| w.min_by(|row| -row.1)), [('a', 5), ('a', 3)]);
    assert_eq!(minutes(|w| w.max_by(|row| -row.1)), [('a', 1), ('a', 3)]);
    assert_eq!(minutes(|w| w.aggregate(Avg::of(|row: &Row| row.1 as f64))), [('a', 8.0 / 3.0), ('a', 3.0)]);
    let lists =
        minutes(|w| w.apply(|_, _, rows, out| out.collect(rows.iter().map(|r| r.1).collect::<Vec<_>>())));
    assert_eq!(lists, [vec![1, 5, 2], vec![3]]);
}

/// Numbers the windows of a key, and says what it was given.
#[derive(Clone, Default)]
struct Numbered {
    windows: Option<ValueState<u64>>,
}

impl ProcessWindowFunction<char, Row> for Numbered {
    type Out = (u64, u64, i64);

    fn open(&mut self, open: &mut WindowOpenContext<'_, char>) -> flugs::Result<()> {
        self.windows = Some(open.value("windows", None)?);
        Ok(())
    }

    fn process(
        &mut self,
        cx: &mut WindowContext<'_, char>,
        rows: &[Row],
        out: &mut WindowOutput<'_, Self::Out>,
    ) -> flugs::Result<()> {
        let windows = self.windows.expect("open");
        let (mut state, count) = (cx.state(), rows.len() as u64);
        let number = windows.get_or_insert_with(&mut state, || 0);
        *number += 1;
        out.collect((*number, count, rows[0].1));
        Ok(())
    }
}

#[test]
fn functions_over_windows() {
    assert_eq!(minutes(|w| w.process(Numbered::default())), [(1, 3, 1), (2, 1, 3)]);
    let biggest = |best: &mut Row, row: Row| best.1 = best.1.max(row.1);
    let reduced = minutes(move |w| w.reduce_process(biggest, Numbered::default()));
    assert_eq!(reduced, [(1, 1, 5), (2, 1, 3)]);
}

#[test]
fn evictors() {
    let values = |_: &char, _, rows: &[Row], out: &mut WindowOutput<'_, Vec<i64>>| {
        out.collect(rows.iter().map(|r| r.1).collect());
    };
    assert_eq!(minutes(move |w| w.evictor(CountEvictor::of(2)).apply(values)), [vec![5, 2], vec![3]]);
    assert_eq!(minutes(move |w| w.evictor(TimeEvictor::of(seconds(2))).apply(values)), [vec![5, 2], vec![3]]);
    let like_the_last = DeltaEvictor::of(2.0, |a: &Row, b: &Row| (a.1 - b.1).abs() as f64);
    assert_eq!(minutes(move |w| w.evictor(like_the_last).apply(values)), [vec![1, 2], vec![3]]);
    let after = CountEvictor::of(1).after();
    let sums =
        minutes(move |w| w.trigger(CountTrigger::of(1)).evictor(after).aggregate(Sum::of(|r: &Row| r.1)));
    assert_eq!(sums, [('a', 1), ('a', 6), ('a', 7), ('a', 3)], "each row finds the one before it");
}

#[test]
fn late_rows() {
    let rows = [R('a', 1, 5), W(60), R('a', 2, 6), W(90), R('a', 4, 7), R('b', 8, 8)];
    let windows = |rows: DataStream<Row>| {
        rows.key_by(|row| row.0)
            .window(TumblingEventTimeWindows::of(seconds(60)))
            .allowed_lateness(seconds(30))
    };
    let sums = results(&rows, move |rows| windows(rows).aggregate(Sum::of(|r: &Row| r.1)));
    assert_eq!(sums, [('a', 1), ('a', 3)]);
    let late = results(&rows, move |rows| {
        let windows = windows(rows);
        let late = windows.late_tag();
        windows.count().side(late)
    });
    assert_eq!(late, [('a', 4), ('b', 8)]);
}
