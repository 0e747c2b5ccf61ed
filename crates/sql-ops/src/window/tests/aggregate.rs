use super::{HOUR, LONG_DAY, SHORT_DAY, split};
use crate::aggregate::AggregateCall;
use crate::testing::{Compare, Driver, DriverOptions, Step, changes, replay, schema, text};
use crate::window::{
    AttachedWindow, Emit, LocalWindowAggregate, WindowAggregate, WindowAggregateSpec, WindowColumn,
    WindowInput, WindowShape, WindowTime,
};
use flugs_batch::Batch;
use flugs_sql_types::AggregateKind;
use flugs_types::{ErrorKind, SubtaskId, Timestamp};
use std::time::Duration;

pub(super) const COLUMNS: &str = "k STRING, t TIMESTAMP(3), v INT";
const COUNT_SUM: &str = "k STRING, n BIGINT NOT NULL, s INT, window_start TIMESTAMP(3) NOT NULL, window_end TIMESTAMP(3) NOT NULL";

/// COUNT(*), SUM(v) GROUP BY k, window.
pub(super) fn spec(shape: WindowShape) -> WindowAggregateSpec {
    let input = schema(COLUMNS);
    let call = |kind, args, name| AggregateCall::new(kind, args, name, input.fields()).unwrap();
    WindowAggregateSpec {
        calls: vec![call(AggregateKind::Count, vec![], "n"), call(AggregateKind::Sum, vec![2], "s")],
        input,
        windows: WindowInput::Assigned { shape, time: WindowTime::Event { column: 1 } },
        zone: None,
        keys: vec![0],
        retract: false,
        window_columns: vec![WindowColumn::Start, WindowColumn::End],
        output: schema(COUNT_SUM),
        emit: Emit::OnWatermark,
        emit_update_before: true,
        late_output: true,
    }
}

fn driver(spec: WindowAggregateSpec) -> Driver<WindowAggregate> {
    Driver::new(WindowAggregate::new(spec)).unwrap()
}

fn push(driver: &mut Driver<WindowAggregate>, rows: &str) {
    driver.push(changes(&schema(COLUMNS), rows)).unwrap();
}

/// Only the time is kept.
fn assert_nothing_is_left(driver: &mut Driver<WindowAggregate>) {
    assert_eq!(driver.snapshot().unwrap().entries(), 1);
}

#[test]
fn tumbling_windows_fire_with_the_watermark() {
    let mut driver = driver(spec(WindowShape::Tumble { size_ms: 10, offset_ms: 0 }));
    push(&mut driver, "+I | a | 9 | 1\n+I | a | -1 | 2\n+I | a | 0 | NULL\n+I | NULL | -10 | 4");
    driver.watermark(-2).unwrap();
    assert_eq!(driver.take_text(), "");
    driver.watermark(-1).unwrap();
    let mut first: Vec<String> = driver.take_text().lines().map(str::to_owned).collect();
    first.sort();
    assert_eq!(first, ["+I | NULL | 1 | 4 | -10 | 0", "+I | a | 1 | 2 | -10 | 0"]);
    push(&mut driver, "+I | a | -1 | 9\n+I | a | 5 | 3\n+I | b | -5 | 9");
    assert_eq!(driver.take_side_text(), "+I | a | -1 | 9\n+I | b | -5 | 9");
    assert_eq!(driver.counter("numLateRecordsDropped"), 2);
    driver.end().unwrap();
    assert_eq!(driver.take_text(), "+I | a | 3 | 4 | 0 | 10");
    assert_nothing_is_left(&mut driver);
}

#[test]
fn a_row_that_is_late_for_one_window_counts_in_the_next() {
    let mut driver = driver(spec(WindowShape::Hop { size_ms: 10, slide_ms: 5, offset_ms: 0 }));
    push(&mut driver, "+I | a | 7 | 1");
    driver.watermark(9).unwrap();
    assert_eq!(driver.take_text(), "+I | a | 1 | 1 | 0 | 10");
    push(&mut driver, "+I | a | 8 | 2\n+I | a | 4 | 3");
    assert_eq!(
        (driver.take_side_text(), driver.counter("numLateRecordsDropped")),
        ("+I | a | 4 | 3".into(), 1)
    );
    driver.watermark(14).unwrap();
    assert_eq!(driver.take_text(), "+I | a | 2 | 3 | 5 | 15");
    assert_nothing_is_left(&mut driver);
}

#[test]
fn cumulating_windows_add_a_slice_each() {
    let mut driver = driver(spec(WindowShape::Cumulate { max_size_ms: 9, step_ms: 3, offset_ms: 0 }));
    push(&mut driver, "+I | a | 4 | 1\n+I | b | 7 | 2");
    driver.watermark(5).unwrap();
    assert_eq!(driver.take_text(), "+I | a | 1 | 1 | 0 | 6");
    // Late for what has fired, not for the last.
    push(&mut driver, "+I | a | 1 | 10");
    assert_eq!(driver.counter("numLateRecordsDropped"), 0);
    driver.watermark(8).unwrap();
    let mut last: Vec<String> = driver.take_text().lines().map(str::to_owned).collect();
    last.sort();
    assert_eq!(last, ["+I | a | 2 | 11 | 0 | 9", "+I | b | 1 | 2 | 0 | 9"]);
    assert_nothing_is_left(&mut driver);
}

#[test]
fn rows_that_are_taken_back() {
    let mut spec = spec(WindowShape::Hop { size_ms: 10, slide_ms: 5, offset_ms: 0 });
    spec.retract = true;
    let mut driver = driver(spec);
    push(&mut driver, "+I | a | 7 | 1\n+I | b | 7 | 5\n-U | a | 7 | 1\n+U | a | 8 | 3");
    push(&mut driver, "-D | b | 7 | 5");
    driver.watermark(9).unwrap();
    assert_eq!(driver.take_text(), "+I | a | 1 | 3 | 0 | 10");
    push(&mut driver, "-D | a | 8 | 3");
    driver.end().unwrap();
    assert_eq!(driver.take_text(), "");
    assert_nothing_is_left(&mut driver);
}

#[test]
fn one_group_without_keys_and_windows_that_rows_carry() {
    let mut all = spec(WindowShape::Tumble { size_ms: 10, offset_ms: 0 });
    all.keys = Vec::new();
    all.output = schema(COUNT_SUM.trim_start_matches("k STRING, "));
    let mut global = driver(all);
    push(&mut global, "+I | a | 1 | 1\n+I | b | 2 | 2");
    global.end().unwrap();
    assert_eq!(global.take_text(), "+I | 2 | 3 | 0 | 10");

    let columns = "n INT, ws TIMESTAMP(3) NOT NULL, we TIMESTAMP(3) NOT NULL";
    let input = schema(columns);
    let max = AggregateCall::new(AggregateKind::Max, vec![0], "m", input.fields()).unwrap();
    let attached = WindowAggregateSpec {
        windows: WindowInput::Attached(AttachedWindow { start: 1, end: 2 }),
        keys: Vec::new(),
        calls: vec![max],
        window_columns: vec![WindowColumn::Time, WindowColumn::End],
        output: schema("m INT, wt TIMESTAMP(3) NOT NULL, we TIMESTAMP(3) NOT NULL"),
        input: input.clone(),
        ..spec(WindowShape::Tumble { size_ms: 1, offset_ms: 0 })
    };
    let mut driver = driver(attached);
    driver
        .push(changes(&input, "+I | 3 | 0 | 10\n+I | 4 | 5 | 15\n+I | 7 | 0 | 10\n+I | 1 | 0 | 15"))
        .unwrap();
    driver.watermark(9).unwrap();
    assert_eq!(driver.take_text(), "+I | 7 | 9 | 10");
    driver.push(changes(&input, "+I | 3 | 0 | 10")).unwrap();
    assert_eq!(driver.take_side_text(), "+I | 3 | 0 | 10");
    driver.end().unwrap();
    assert_eq!(driver.take_text(), "+I | 1 | 14 | 15\n+I | 4 | 14 | 15");
    assert_nothing_is_left(&mut driver);
}

#[test]
fn days_of_local_time_have_23_or_25_hours() {
    for (day, hours) in [(SHORT_DAY, 23), (LONG_DAY, 25)] {
        let columns = "k STRING, t TIMESTAMP_LTZ(3), v INT";
        let mut days = spec(WindowShape::Tumble { size_ms: 24 * HOUR, offset_ms: 0 });
        days.input = schema(columns);
        days.zone = Some("Europe/Berlin".to_owned());
        days.window_columns.push(WindowColumn::Time);
        days.output = schema(&format!("{COUNT_SUM}, window_time TIMESTAMP_LTZ(3) NOT NULL"));
        let mut driver = driver(days);
        let last = day + hours * HOUR - 1;
        let rows = format!(
            "+I | a | {day} | 1\n+I | a | {last} | 2\n+I | a | {} | 4\n+I | a | {} | 8",
            last + 1,
            day - 1
        );
        driver.push(changes(&schema(columns), &rows)).unwrap();
        driver.watermark(day).unwrap();
        let start = day + if hours == 23 { HOUR } else { 2 * HOUR };
        assert_eq!(
            driver.take_text(),
            format!("+I | a | 1 | 8 | {} | {start} | {}", start - 24 * HOUR, day - 1)
        );
        driver.watermark(last - 1).unwrap();
        assert_eq!(driver.take_text(), "");
        driver.watermark(last).unwrap();
        assert_eq!(driver.take_text(), format!("+I | a | 2 | 3 | {start} | {} | {last}", start + 24 * HOUR));
    }
}

/// As in Flink: the hour that comes twice is one window, the one that is left out is none.
#[test]
fn hours_where_clocks_change() {
    let columns = "k STRING, t TIMESTAMP_LTZ(3), v INT";
    let mut hours = spec(WindowShape::Tumble { size_ms: HOUR, offset_ms: 0 });
    hours.input = schema(columns);
    hours.zone = Some("Europe/Berlin".to_owned());
    let mut driver = driver(hours);
    // 02:30 summer time, and an hour later 02:30 winter time.
    let (first, second) = (LONG_DAY + 5 * HOUR / 2, LONG_DAY + 7 * HOUR / 2);
    driver.push(changes(&schema(columns), &format!("+I | a | {first} | 1"))).unwrap();
    driver.watermark(LONG_DAY + 3 * HOUR - 1).unwrap();
    driver.push(changes(&schema(columns), &format!("+I | a | {second} | 2"))).unwrap();
    driver.watermark(LONG_DAY + 4 * HOUR - 2).unwrap();
    assert_eq!(driver.take_text(), "");
    driver.watermark(LONG_DAY + 4 * HOUR - 1).unwrap();
    let two = LONG_DAY + 4 * HOUR;
    assert_eq!(driver.take_text(), format!("+I | a | 2 | 3 | {two} | {}", two + HOUR));
}

/// One of two subtasks has fired a window before the snapshot, the other has not.
#[test]
fn clocks_of_two_subtasks_become_one() {
    let shape = WindowShape::Hop { size_ms: 10, slide_ms: 5, offset_ms: 0 };
    let mut by_clock = spec(shape);
    by_clock.windows = WindowInput::Assigned { shape, time: WindowTime::Processing };
    let rows: Vec<String> = (0..8).map(|key| format!("+I | {key} | 0 | 1")).collect();
    let rows = split(&changes(&schema(COLUMNS), &rows.join("\n")), &[0], 2);
    let mut drivers = [0, 1].map(|index| {
        let options = DriverOptions { subtask: SubtaskId::new(index, 2), ..DriverOptions::default() };
        let mut driver = Driver::open(WindowAggregate::new(by_clock.clone()), options).unwrap();
        driver.set_time(3).unwrap();
        driver.push(rows[index as usize].clone()).unwrap();
        driver
    });
    drivers[0].set_time(4).unwrap();
    let fired = drivers[0].take();
    assert_eq!(fired.iter().map(Batch::len).sum::<usize>(), rows[0].len());
    assert!(!rows[0].is_empty() && !rows[1].is_empty());
    let snapshots = drivers.iter_mut().map(|driver| driver.snapshot().unwrap()).collect();
    let options = DriverOptions { snapshots, now: Timestamp::from_millis(3), ..DriverOptions::default() };
    let mut one = Driver::open(WindowAggregate::new(by_clock), options).unwrap();
    one.set_time(4).unwrap();
    assert_eq!(one.take().iter().map(Batch::len).sum::<usize>(), rows[1].len());
    one.set_time(9).unwrap();
    assert_eq!(one.take().iter().map(Batch::len).sum::<usize>(), 8);
    assert_eq!(one.snapshot().unwrap().entries(), 1);
}

#[test]
fn windows_by_the_machines_clock() {
    let mut by_clock = spec(WindowShape::Hop { size_ms: 10, slide_ms: 5, offset_ms: 0 });
    by_clock.windows = WindowInput::Assigned {
        shape: WindowShape::Hop { size_ms: 10, slide_ms: 5, offset_ms: 0 },
        time: WindowTime::Processing,
    };
    let mut driver = driver(by_clock.clone());
    driver.set_time(3).unwrap();
    push(&mut driver, "+I | a | 0 | 1");
    assert_eq!(driver.next_tick(), Some(Timestamp::from_millis(4)));
    driver.set_time(4).unwrap();
    assert_eq!(driver.take_text(), "+I | a | 1 | 1 | -5 | 5");
    // What comes in the instant of a firing comes after it.
    push(&mut driver, "+I | a | 0 | 2");
    driver.set_time(9).unwrap();
    assert_eq!(driver.take_text(), "+I | a | 2 | 3 | 0 | 10");
    let snapshots = vec![driver.snapshot().unwrap()];
    let options = DriverOptions { snapshots, now: driver.now(), ..DriverOptions::default() };
    let mut restored = Driver::open(WindowAggregate::new(by_clock), options).unwrap();
    restored.end().unwrap();
    assert_eq!(restored.take_text(), "+I | a | 1 | 2 | 5 | 15");
    assert_nothing_is_left(&mut restored);
    assert_eq!(restored.next_tick(), None);
}

#[test]
fn early_results_after_each_batch() {
    for with_before in [true, false] {
        let mut early = spec(WindowShape::Tumble { size_ms: 10, offset_ms: 0 });
        early.retract = true;
        early.emit = Emit::OnChange;
        early.emit_update_before = with_before;
        let mut driver = driver(early);
        push(&mut driver, "+I | a | 1 | 1\n+I | a | 2 | 2");
        assert_eq!(driver.take_text(), "+I | a | 2 | 3 | 0 | 10");
        push(&mut driver, "+I | a | 1 | 1\n-D | a | 1 | 1");
        assert_eq!(driver.take_text(), "", "nothing has changed");
        push(&mut driver, "+I | a | 1 | 5");
        let before = if with_before { "-U | a | 2 | 3 | 0 | 10\n" } else { "" };
        assert_eq!(driver.take_text(), format!("{before}+U | a | 3 | 8 | 0 | 10"));
        push(&mut driver, "-D | a | 1 | 5\n-D | a | 1 | 1\n-D | a | 2 | 2");
        assert_eq!(driver.take_text(), "-D | a | 3 | 8 | 0 | 10");
        driver.end().unwrap();
        assert_eq!(driver.take_text(), "");
        assert_nothing_is_left(&mut driver);
    }
}

#[test]
fn early_results_after_some_time() {
    let mut early = spec(WindowShape::Hop { size_ms: 10, slide_ms: 5, offset_ms: 0 });
    early.emit = Emit::Every(Duration::from_millis(100));
    let mut driver = driver(early.clone());
    push(&mut driver, "+I | a | 7 | 1");
    driver.set_time(99).unwrap();
    assert_eq!(driver.take_text(), "");
    push(&mut driver, "+I | a | 2 | 1");
    driver.set_time(100).unwrap();
    assert_eq!(
        driver.take_text(),
        "+I | a | 1 | 1 | -5 | 5\n+I | a | 2 | 2 | 0 | 10\n+I | a | 1 | 1 | 5 | 15"
    );
    assert_eq!(driver.next_tick(), None);
    push(&mut driver, "+I | a | 8 | 1");
    let snapshots = vec![driver.snapshot().unwrap()];
    let options = DriverOptions { snapshots, now: driver.now(), ..DriverOptions::default() };
    let mut driver = Driver::open(WindowAggregate::new(early), options).unwrap();
    driver.watermark(9).unwrap();
    assert_eq!(driver.take_text(), "-U | a | 2 | 2 | 0 | 10\n+U | a | 3 | 3 | 0 | 10");
    driver.set_time(200).unwrap();
    assert_eq!(driver.take_text(), "-U | a | 1 | 1 | 5 | 15\n+U | a | 2 | 2 | 5 | 15");
    driver.end().unwrap();
    assert_eq!(driver.take_text(), "");
    assert_nothing_is_left(&mut driver);
}

#[test]
fn two_phases_send_a_row_for_each_slice_and_key() {
    let spec = spec(WindowShape::Hop { size_ms: 10, slide_ms: 5, offset_ms: 0 });
    let mut local = Driver::new(LocalWindowAggregate::new(spec.clone())).unwrap();
    let rows: Vec<String> = (0..100).map(|i| format!("+I | a | {} | 1", i % 10)).collect();
    local.push(changes(&schema(COLUMNS), &rows.join("\n"))).unwrap();
    assert!(local.take().is_empty());
    local.watermark(4).unwrap();
    let partials = local.take();
    assert_eq!(partials.iter().map(|batch| batch.rows().num_rows()).sum::<usize>(), 2);
    let mut global = Driver::new(WindowAggregate::merging(spec)).unwrap();
    partials.into_iter().for_each(|batch| global.push(batch).unwrap());
    global.end().unwrap();
    assert_eq!(
        global.take_text(),
        "+I | a | 50 | 50 | -5 | 5\n+I | a | 100 | 100 | 0 | 10\n+I | a | 50 | 50 | 5 | 15"
    );
    local.push(changes(&schema(COLUMNS), "+I | a | 50 | 1")).unwrap();
    assert_eq!(local.snapshot().unwrap().entries(), 0);
    assert_eq!(local.take().len(), 1, "a barrier takes all with it");
}

#[test]
fn other_windows_than_the_stored_ones_are_refused() {
    let mut first = driver(spec(WindowShape::Tumble { size_ms: 10, offset_ms: 0 }));
    push(&mut first, "+I | a | 1 | 1");
    let snapshot = first.snapshot().unwrap();
    let other = WindowAggregate::new(spec(WindowShape::Tumble { size_ms: 7, offset_ms: 0 }));
    assert_eq!(Driver::with(other, false, Some(snapshot)).err().unwrap().kind(), ErrorKind::State);
    let mut ordered = spec(WindowShape::Hop { size_ms: 10, slide_ms: 5, offset_ms: 0 });
    ordered.retract = true;
    let last = AggregateKind::LastValue { ignore_nulls: true };
    ordered.calls = vec![AggregateCall::new(last, vec![2], "l", ordered.input.fields()).unwrap()];
    assert_eq!(ordered.check(false).unwrap_err().kind(), ErrorKind::Job);
}

/// Slices are merged in order of time, whatever the order of arrival is.
#[test]
fn functions_that_depend_on_order() {
    let columns = "k STRING, t TIMESTAMP(3), v STRING";
    let mut spec = spec(WindowShape::Hop { size_ms: 10, slide_ms: 5, offset_ms: 0 });
    spec.input = schema(columns);
    let list = AggregateKind::Listagg { separator: ",".to_owned() };
    spec.calls = vec![AggregateCall::new(list, vec![2], "l", spec.input.fields()).unwrap()];
    spec.output =
        schema("k STRING, l STRING, window_start TIMESTAMP(3) NOT NULL, window_end TIMESTAMP(3) NOT NULL");
    let rows = "+I | a | 7 | c\n+I | a | 3 | a\n+I | a | 6 | d\n+I | a | 4 | b\n+I | b | 9 | x";
    let steps = [Step::Batch(changes(&schema(columns), rows)), Step::Watermark(9), Step::End];
    let given = replay(|| WindowAggregate::new(spec.clone()), &steps, &Compare::Rows);
    let given: Vec<String> = given.iter().map(text).collect();
    assert!(given.join("\n").contains("+I | a | a,b,c,d | 0 | 10"), "{given:?}");
}
