//! Each trigger and evictor, and windows by count.

use super::aligned::{Values, group, key, us};
use super::harness::{Row, Step, run_all, sorted};
use super::oracle::Group;
use crate::window::*;

fn windows<G: Trigger<Row>>(make: impl Fn() -> G, lateness: i64, script: &[Step<Row>]) -> Vec<(Group, i64)> {
    let make = || {
        WindowBuilder::new(key, TumblingEventTimeWindows::of(us(10)))
            .trigger(make())
            .allowed_lateness(us(lateness))
            .aggregate(Values, group)
    };
    run_all(&make, script).rows
}

/// The values of each result of key 1, in order.
fn values(rows: &[(Group, i64)]) -> Vec<Vec<i64>> {
    rows.iter().map(|(group, _)| group.3.clone()).collect()
}

fn row(value: i64, time: i64) -> (Row, i64) {
    ((1, value), time)
}

#[test]
fn event_time_fires_again_for_each_late_row() {
    let script = [
        Step::Rows(vec![row(1, 1)]),
        Step::Watermark(9),
        Step::Rows(vec![row(2, 2), row(3, 3)]),
        Step::Watermark(13),
        Step::Rows(vec![row(4, 4)]),
        Step::Watermark(14),
        Step::Rows(vec![row(5, 4)]),
    ];
    let given = windows(EventTimeTrigger::new, 5, &script);
    assert_eq!(values(&given), [vec![1], vec![1, 2], vec![1, 2, 3], vec![1, 2, 3, 4]]);
}

#[test]
fn by_count() {
    let script = [Step::Rows((1..=5).map(|n| row(n, n)).collect()), Step::Watermark(i64::MAX)];
    assert_eq!(values(&windows(|| CountTrigger::of(2), 0, &script)), [vec![1, 2], vec![1, 2, 3, 4]]);
    let purging = windows(|| PurgingTrigger::of(CountTrigger::of(2)), 0, &script);
    assert_eq!(values(&purging), [vec![1, 2], vec![3, 4]]);
}

#[test]
fn never_fires_and_leaves_nothing() {
    let script = [Step::Rows(vec![row(1, 1)]), Step::Watermark(i64::MAX)];
    let make = || {
        WindowBuilder::new(key, TumblingEventTimeWindows::of(us(10)))
            .trigger(NeverTrigger)
            .aggregate(Values, group)
    };
    let given = run_all(&make, &script);
    assert_eq!((given.rows.len(), given.left), (0, 0));
}

#[test]
fn continuously_in_event_time() {
    let script = [
        Step::Rows(vec![row(1, 1)]),
        Step::Watermark(3),
        Step::Rows(vec![row(2, 5)]),
        Step::Watermark(4),
        Step::Watermark(8),
        Step::Rows(vec![row(3, 9)]),
        Step::Watermark(20),
    ];
    let given = windows(|| ContinuousEventTimeTrigger::of(us(4)), 0, &script);
    assert_eq!(values(&given), [vec![1, 2], vec![1, 2], vec![1, 2, 3]], "at 4, 8 and at the end, 9");
}

#[test]
fn continuously_in_processing_time() {
    let script = [
        Step::Clock(100),
        Step::Rows(vec![row(1, 1)]),
        Step::Clock(150),
        Step::Rows(vec![row(2, 2)]),
        Step::Clock(200),
        Step::Clock(450),
        Step::Watermark(9),
        Step::Clock(900),
    ];
    let given = windows(|| ContinuousProcessingTimeTrigger::of(us(100)), 0, &script);
    assert_eq!(
        values(&given),
        [vec![1, 2], vec![1, 2]],
        "missed multiples are one firing; the window has no end firing"
    );
}

#[test]
fn early_on_time_and_late() {
    let script = [
        Step::Rows(vec![row(1, 1), row(2, 2), row(3, 3)]),
        Step::Watermark(9),
        Step::Rows(vec![row(4, 4), row(5, 5), row(6, 6)]),
        Step::Watermark(i64::MAX),
    ];
    let both =
        windows(|| EventTimeTrigger::new().early(CountTrigger::of(2)).late(CountTrigger::of(3)), 50, &script);
    assert_eq!(values(&both), [vec![1, 2], vec![1, 2, 3], vec![1, 2, 3, 4, 5, 6]]);
    let early = windows(|| EventTimeTrigger::new().early(CountTrigger::of(2)), 50, &script[..3]);
    assert_eq!(values(&early).len(), 5, "late rows fire one by one where nothing else is said");
    let late = windows(|| EventTimeTrigger::new().late(NeverTrigger), 50, &script);
    assert_eq!(values(&late), [vec![1, 2, 3]]);
}

#[test]
fn a_timeout_of_processing_time() {
    let script = [
        Step::Clock(1000),
        Step::Rows(vec![row(1, 1)]),
        Step::Clock(1040),
        Step::Rows(vec![row(2, 2)]),
        Step::Clock(1050),
        Step::Clock(1200),
        Step::Rows(vec![row(3, 3), row(4, 4), row(5, 5)]),
        Step::Clock(1300),
    ];
    let plain = windows(|| ProcessingTimeoutTrigger::of(CountTrigger::of(3), us(50)), 0, &script);
    assert_eq!(values(&plain), [vec![1, 2], vec![1, 2, 3, 4, 5]]);
    let restarted = windows(
        || ProcessingTimeoutTrigger::of(CountTrigger::of(9), us(50)).restarted_by_rows(),
        0,
        &script[..5],
    );
    assert!(restarted.is_empty(), "the second row put the timeout off to 1090");
    let purging = windows(
        || ProcessingTimeoutTrigger::of(PurgingTrigger::of(CountTrigger::of(3)), us(50)).keeping_state(),
        0,
        &script,
    );
    // The count goes on over the timeout: 3 makes three of it, and purges. The timeout gives what came since.
    assert_eq!(values(&purging), [vec![1, 2], vec![1, 2, 3], vec![4, 5]]);
}

#[test]
fn by_delta() {
    let script = [Step::Rows([5, 6, 9, 10, 14].map(|n| row(n, 1)).into()), Step::Watermark(i64::MAX)];
    let delta = || DeltaTrigger::of(3.0, |a: &Row, b: &Row| (b.1 - a.1) as f64);
    assert_eq!(values(&windows(delta, 0, &script)), [vec![5, 6, 9], vec![5, 6, 9, 10, 14]]);
}

/// Fires when a row is 7, and purges when it is 13.
struct Superstition;

impl Trigger<Row> for Superstition {
    type State = bool;

    fn on_element(
        &self,
        row: &Row,
        _: flugs_types::Timestamp,
        seen: &mut bool,
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        match row.1 {
            7 => TriggerResult::Fire,
            13 => TriggerResult::Purge,
            99 if !*seen => {
                *seen = true;
                context.register_event_time_timer(flugs_types::Timestamp(5));
                context.register_event_time_timer(flugs_types::Timestamp(6));
                context.delete_event_time_timer(flugs_types::Timestamp(6));
                TriggerResult::Continue
            }
            _ => TriggerResult::Continue,
        }
    }

    fn on_event_time(
        &self,
        time: flugs_types::Timestamp,
        _: &mut bool,
        _: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        TriggerResult::fire_if(time.0 < 9)
    }
}

#[test]
fn of_the_users_own() {
    let script = [
        Step::Rows([1, 7, 13, 99, 2].map(|n| row(n, 1)).into()),
        Step::Watermark(4),
        Step::Watermark(6),
        Step::Watermark(9),
    ];
    assert_eq!(values(&windows(|| Superstition, 0, &script)), [vec![1, 7], vec![2, 99]]);
}

#[test]
fn trigger_states_of_sessions_merge() {
    let script = [
        Step::Rows(vec![row(1, 0), row(2, 30), row(3, 15)]),
        Step::Watermark(100),
        Step::Rows(vec![row(4, 200), row(5, 201)]),
    ];
    let make = || {
        WindowBuilder::new(key, EventTimeSessionWindows::with_gap(us(15)))
            .trigger(CountTrigger::of(3))
            .aggregate(Values, group)
    };
    assert_eq!(
        run_all(&make, &script).rows,
        [((1, 0, 45, vec![1, 2, 3]), 44)],
        "3 joins the counts of 1 and 2"
    );
}

fn evicted(evictor: impl Fn() -> Box<dyn Fn(Evicting) -> Evicting>, script: &[Step<Row>]) -> Vec<Vec<i64>> {
    let make = || {
        evictor()(
            WindowBuilder::new(key as Key, TumblingEventTimeWindows::of(us(100)))
                .trigger(CountTrigger::of(3)),
        )
        .aggregate(Values, group)
    };
    values(&run_all(&make, script).rows)
}

type Key = fn(&Row) -> u8;
type Evicting = WindowBuilder<Row, Key, CountTrigger>;

#[test]
fn evictors_before_and_after() {
    let script =
        [Step::Rows([(1, 5), (2, 9), (3, 7), (4, 8), (5, 2), (6, 9)].map(|(v, t)| row(v, t)).into())];
    let with = |f: fn(Evicting) -> Evicting| evicted(move || Box::new(f), &script);
    assert_eq!(with(|b| b.evictor(CountEvictor::of(2))), [vec![2, 3], vec![5, 6]]);
    assert_eq!(with(|b| b.evictor(CountEvictor::of(2).after())), [vec![1, 2, 3], vec![2, 3, 4, 5, 6]]);
    assert_eq!(
        with(|b| b.evictor(TimeEvictor::of(us(2)))),
        [vec![2], vec![2, 4, 6]],
        "the latest is 9: after 7"
    );
    assert_eq!(with(|b| b.evictor(TimeEvictor::of(us(2)).after())), [vec![1, 2, 3], vec![2, 4, 5, 6]]);
    let delta = |b: Evicting| b.evictor(DeltaEvictor::of(2.0, |a: &Row, last: &Row| (last.1 - a.1) as f64));
    assert_eq!(with(delta), [vec![2, 3], vec![5, 6]]);
}

#[test]
fn windows_by_count() {
    let rows: Vec<_> = (1..=7).map(|n| row(n, 0)).chain([((2, 50), 0)]).collect();
    let script = [Step::Rows(rows), Step::Watermark(i64::MAX)];
    let tumbling = || WindowBuilder::count(key, 3).aggregate(Values, group);
    let given = run_all(&tumbling, &script);
    assert_eq!(values(&given.rows), [vec![1, 2, 3], vec![4, 5, 6]]);
    assert_eq!(given.left, 2, "one row of each key waits");
    let sliding = || WindowBuilder::sliding_count(key, 4, 2).aggregate(Values, group);
    let given = run_all(&sliding, &script);
    assert_eq!(values(&given.rows), [vec![1, 2], vec![1, 2, 3, 4], vec![3, 4, 5, 6]]);
}

#[test]
fn a_full_count_window_leaves_nothing() {
    let script = [Step::Rows((1..=6).map(|n| row(n, 0)).collect())];
    let make = || WindowBuilder::count(key, 3).aggregate(Values, group);
    assert_eq!(run_all(&make, &script).left, 0);
}

#[test]
fn a_global_window_at_the_end_of_the_stream() {
    let script = [
        Step::Rows(vec![row(1, 5), ((2, 9), 6)]),
        Step::Watermark(1000),
        Step::Rows(vec![row(2, 3)]),
        Step::Watermark(i64::MAX),
    ];
    let make = || WindowBuilder::new(key, GlobalWindows::end_of_stream()).aggregate(Values, group);
    let given = sorted(&run_all(&make, &script).rows);
    assert_eq!(values(&given), [vec![1, 2], vec![9]]);
}
