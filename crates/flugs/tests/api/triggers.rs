//! Each trigger over windows of a minute, or over the one window of a key.

use crate::{Event, R, Row, W, Wait, results, seconds};
use flugs::prelude::*;

/// The sums that the windows of a minute give by this trigger.
fn minutes(events: &[Event], trigger: impl Trigger<Row> + Clone + Sync) -> Vec<i64> {
    results(events, move |rows| {
        rows.key_by(|row| row.0)
            .window(TumblingEventTimeWindows::of(seconds(60)))
            .allowed_lateness(seconds(600))
            .trigger(trigger.clone())
            .aggregate(Sum::of(|row: &Row| row.1))
            .map(|(_, sum)| sum)
    })
}

/// Likewise of the window of all rows.
fn global(events: &[Event], trigger: impl Trigger<Row> + Clone + Sync) -> Vec<i64> {
    results(events, move |rows| {
        rows.key_by(|row| row.0)
            .window(GlobalWindows::new())
            .trigger(trigger.clone())
            .aggregate(Sum::of(|row: &Row| row.1))
            .map(|(_, sum)| sum)
    })
}

/// Two rows, the end of the window, and two late rows.
const LATE: [Event; 5] = [R('a', 1, 5), R('a', 2, 59), W(60), R('a', 10, 30), R('a', 20, 31)];

#[test]
fn at_the_end_early_and_late() {
    assert_eq!(minutes(&LATE, EventTimeTrigger::new()), [3, 13, 33]);
    assert_eq!(minutes(&LATE, EventTimeTrigger::new().early(CountTrigger::of(1))), [1, 3, 3, 13, 33]);
    assert_eq!(minutes(&LATE, EventTimeTrigger::new().late(CountTrigger::of(2))), [3, 33]);
    let both = EventTimeTrigger::new().early(CountTrigger::of(2)).late(CountTrigger::of(2));
    assert_eq!(minutes(&LATE, both), [3, 3, 33]);
}

#[test]
fn purging() {
    assert_eq!(minutes(&LATE, PurgingTrigger::of(EventTimeTrigger::new())), [3, 10, 20]);
    let early = EventTimeTrigger::new().early(CountTrigger::of(1));
    assert_eq!(minutes(&LATE, PurgingTrigger::of(early)), [1, 2, 10, 20]);
}

#[test]
fn by_number_and_difference() {
    assert_eq!(minutes(&LATE, CountTrigger::of(2)), [3, 33]);
    let rows = [R('a', 1, 0), R('a', 4, 0), R('a', 8, 0), R('a', 9, 0), R('a', 15, 0)];
    let jump = DeltaTrigger::of(5.0, |before: &Row, now: &Row| (now.1 - before.1) as f64);
    assert_eq!(global(&rows, jump), [13, 37]);
}

#[test]
fn at_intervals() {
    let rows = [R('a', 1, 5), W(20), R('a', 2, 25), W(30), W(40), W(60)];
    assert_eq!(minutes(&rows, ContinuousEventTimeTrigger::of(seconds(20))), [1, 3, 3]);
    let rows = [R('a', 1, 5), Wait(10), R('a', 2, 6), Wait(10), Wait(5)];
    assert_eq!(global(&rows, ContinuousProcessingTimeTrigger::of(seconds(10))), [1, 3]);
}

#[test]
fn after_a_time_of_the_machine() {
    let rows = [R('a', 1, 5), Wait(9), R('a', 2, 5), Wait(1), R('a', 4, 5), R('a', 8, 5), R('a', 16, 5)];
    let three_or_ten_seconds = ProcessingTimeoutTrigger::of(CountTrigger::of(3), seconds(10));
    assert_eq!(global(&rows, three_or_ten_seconds), [3, 31]);
}

/// Fires at rows that say so.
#[derive(Clone)]
struct AtZero;

impl Trigger<Row> for AtZero {
    type State = ();

    fn on_element(&self, row: &Row, _: Timestamp, (): &mut (), _: &mut TriggerContext<'_>) -> TriggerResult {
        if row.1 == 0 { TriggerResult::FireAndPurge } else { TriggerResult::Continue }
    }
}

#[test]
fn of_ones_own() {
    let rows = [R('a', 1, 0), R('b', 2, 0), R('a', 3, 0), R('a', 0, 0), R('a', 5, 0), R('b', 0, 0)];
    assert_eq!(global(&rows, AtZero), [4, 2]);
    assert_eq!(global(&rows, NeverTrigger), [0; 0]);
}
