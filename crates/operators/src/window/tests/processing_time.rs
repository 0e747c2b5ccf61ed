//! Windows by the machine's clock.

use super::aligned::{Values, group, key, us};
use super::harness::{Row, Step, run_all, sorted};
use crate::window::*;

fn row(value: i64) -> (Row, i64) {
    ((1, value), i64::MIN)
}

fn both<A: WindowAssigner<Row> + Copy>(assigner: A, script: &[Step<Row>], expected: &[(i64, i64, Vec<i64>)]) {
    let expected: Vec<_> =
        expected.iter().map(|(start, end, values)| ((1, *start, *end, values.clone()), end - 1)).collect();
    let fast = || WindowBuilder::new(key, assigner).aggregate(Values, group);
    let general =
        || WindowBuilder::new(key, assigner).trigger(ProcessingTimeTrigger::new()).aggregate(Values, group);
    let given = run_all(&fast, script);
    assert_eq!((sorted(&given.rows), given.left), (expected.clone(), 0));
    let given = run_all(&general, script);
    assert_eq!((sorted(&given.rows), given.left), (expected, 0));
}

#[test]
fn tumbling_and_sliding() {
    let script = [
        Step::Clock(5),
        Step::Rows(vec![row(1), row(2)]),
        Step::Clock(9),
        Step::Clock(17),
        Step::Rows(vec![row(3)]),
        Step::Clock(100),
    ];
    both(TumblingProcessingTimeWindows::of(us(10)), &script, &[(0, 10, vec![1, 2]), (10, 20, vec![3])]);
    both(
        SlidingProcessingTimeWindows::of(us(20), us(10)),
        &script,
        &[(-10, 10, vec![1, 2]), (0, 20, vec![1, 2, 3]), (10, 30, vec![3])],
    );
}

#[test]
fn a_row_in_the_instant_of_a_firing_is_in_the_next_window() {
    let script = [
        Step::Clock(5),
        Step::Rows(vec![row(1)]),
        Step::Clock(9),
        Step::Rows(vec![row(2)]),
        Step::Clock(100),
    ];
    both(TumblingProcessingTimeWindows::of(us(10)), &script, &[(0, 10, vec![1]), (10, 20, vec![2])]);
}

#[test]
fn the_end_gives_what_is_there() {
    let script = [Step::Clock(5), Step::Rows(vec![row(1)]), Step::End];
    both(TumblingProcessingTimeWindows::of(us(10)), &script, &[(0, 10, vec![1])]);
    let sessions =
        || WindowBuilder::new(key, ProcessingTimeSessionWindows::with_gap(us(10))).aggregate(Values, group);
    assert_eq!(run_all(&sessions, &script).rows, [((1, 5, 15, vec![1]), 14)]);
    let continuous = || {
        WindowBuilder::new(key, GlobalWindows::new())
            .trigger(ContinuousProcessingTimeTrigger::of(us(3)))
            .aggregate(Values, group)
    };
    assert!(run_all(&continuous, &script).rows.is_empty(), "a window without an end has nothing to wait for");
}

#[test]
fn sessions() {
    let script = [
        Step::Clock(5),
        Step::Rows(vec![row(1)]),
        Step::Clock(12),
        Step::Rows(vec![row(2)]),
        Step::Clock(21),
        Step::Clock(40),
        Step::Rows(vec![row(3)]),
        Step::Clock(60),
    ];
    let dynamic = || {
        let assigner = ProcessingTimeSessionWindows::with_dynamic_gap(|_: &Row| us(10));
        WindowBuilder::new(key, assigner).aggregate(Values, group)
    };
    let given = run_all(&dynamic, &script);
    assert_eq!(given.rows, [((1, 5, 22, vec![1, 2]), 21), ((1, 40, 50, vec![3]), 49)]);
    assert_eq!(given.left, 0);
}

#[test]
fn watermarks_move_nothing() {
    let script = [Step::Clock(5), Step::Rows(vec![row(1)]), Step::Watermark(1000), Step::Clock(8)];
    let make = || WindowBuilder::new(key, TumblingProcessingTimeWindows::of(us(10))).aggregate(Values, group);
    let given = run_all(&make, &script);
    assert_eq!((given.rows.len(), given.left), (0, 1));
}
