//! Window functions and their state; windows without keys; reduce.

use super::aligned::{Values, group, key, us};
use super::harness::{Row, Step, run_all, sorted};
use crate::window::*;
use flugs_state::ValueState;
use flugs_types::Result;

/// Gives how often the window and the key have fired, and the number of rows.
#[derive(Default)]
struct Firings {
    states: Option<(WindowValueState<u32>, ValueState<u32>)>,
}

impl<T: Send + 'static> ProcessWindowFunction<u8, T> for Firings {
    type Out = (u8, i64, u32, u32, usize);

    fn open(&mut self, context: &mut WindowOpenContext<'_, u8>) -> Result<()> {
        self.states = Some((context.window_value("of-window")?, context.value("of-key", None)?));
        Ok(())
    }

    fn process(
        &mut self,
        context: &mut WindowContext<'_, u8>,
        rows: &[T],
        out: &mut WindowOutput<'_, Self::Out>,
    ) -> Result<()> {
        let (of_window, of_key) = self.states.expect("opened");
        let fired = of_window.get(context).unwrap_or(0) + 1;
        of_window.set(context, fired);
        let total = of_key.get(&mut context.state()).copied().unwrap_or(0) + 1;
        of_key.set(&mut context.state(), total);
        out.collect((*context.key(), context.window().start.0, fired, total, rows.len()));
        Ok(())
    }
}

#[test]
fn state_of_windows_goes_with_them_and_state_of_keys_stays() {
    let script = [
        Step::Rows(vec![((1, 1), 1), ((1, 2), 2), ((1, 3), 3), ((1, 4), 11), ((1, 5), 12)]),
        Step::Watermark(50),
    ];
    let builder =
        || WindowBuilder::new(key, TumblingEventTimeWindows::of(us(10))).trigger(CountTrigger::of(1));
    let make = || builder().process(Firings::default());
    let given = run_all(&make, &script);
    let expected = [(1, 0, 1, 1, 1), (1, 0, 2, 2, 2), (1, 0, 3, 3, 3), (1, 10, 1, 4, 1), (1, 10, 2, 5, 2)];
    assert_eq!(given.rows.iter().map(|r| r.0).collect::<Vec<_>>(), expected);
    assert_eq!(given.left, 1, "the key's own state");

    let make = || builder().aggregate_process(Values, Firings::default());
    let given = run_all(&make, &script);
    assert!(given.rows.iter().all(|r| r.0.4 == 1), "the aggregate's result is the only row");
    assert_eq!(given.left, 1);
}

/// Sees the clocks.
struct Clocks;

impl ProcessWindowFunction<u8, Row> for Clocks {
    type Out = (i64, i64);

    fn process(
        &mut self,
        context: &mut WindowContext<'_, u8>,
        _: &[Row],
        out: &mut WindowOutput<'_, (i64, i64)>,
    ) -> Result<()> {
        out.collect((context.watermark().0, context.processing_time().0));
        Ok(())
    }
}

#[test]
fn functions_see_the_watermark() {
    let script = [Step::Clock(70), Step::Rows(vec![((1, 1), 1)]), Step::Watermark(33)];
    let make = || WindowBuilder::new(key, TumblingEventTimeWindows::of(us(10))).process(Clocks);
    let given = super::harness::run(&make, &script, super::harness::Mode::Batches);
    assert_eq!(given.rows, [((33, 70), 9)]);
}

#[test]
fn a_closure_sees_all_rows_in_order() {
    let script = [Step::Rows(vec![((1, 3), 3), ((1, 1), 1), ((1, 2), 2)]), Step::Watermark(i64::MAX)];
    let make = || {
        WindowBuilder::new(key, TumblingEventTimeWindows::of(us(10))).apply(
            |key: &u8, window, rows: &[Row], out| {
                rows.iter().for_each(|row| out.collect((*key, window.end.0, row.1)));
            },
        )
    };
    let given = run_all(&make, &script);
    assert_eq!(given.rows.iter().map(|r| r.0).collect::<Vec<_>>(), [(1, 10, 3), (1, 10, 1), (1, 10, 2)]);
}

#[test]
fn functions_give_to_side_outputs() {
    const LARGE: crate::OutputTag<Row> = crate::OutputTag::new(1);
    let make = || {
        WindowBuilder::new(key, TumblingEventTimeWindows::of(us(10))).apply(
            |_: &u8, _, rows: &[Row], out: &mut WindowOutput<'_, i64>| {
                for row in rows {
                    if row.1 > 5 { out.side(LARGE, *row) } else { out.collect(row.1) }
                }
            },
        )
    };
    let ports: [super::harness::Port<Row>; 2] = [
        |rows| super::harness::side::<Row, Row>(rows, 0, |row| row),
        |rows| super::harness::side::<Row, Row>(rows, 1, |row| row),
    ];
    let subject = super::harness::Subject { make: &make, input: super::harness::rows(), ports: &ports };
    let script =
        [Step::Rows(vec![((1, 3), 3), ((1, 8), 1)]), Step::Watermark(20), Step::Rows(vec![((1, 9), 2)])];
    for mode in super::harness::MODES {
        let given = subject.run(&script, mode).unwrap();
        assert_eq!(given.rows, [(3, 9)], "{mode:?}");
        assert_eq!(given.late, [(1, (1, 8), 9), (0, (1, 9), 2)], "{mode:?}");
    }
}

#[test]
fn windows_over_all_rows() {
    let rows: Vec<_> = (0..30).map(|n| ((n as u8, n), n)).collect();
    let script = [Step::Rows(rows), Step::Watermark(i64::MAX)];
    let make = || {
        WindowBuilder::new(|_: &Row| (), SlidingEventTimeWindows::of(us(20), us(10)))
            .aggregate(crate::Sum::of(|r: &Row| r.1), |(): &(), w: TimeWindow, sum: i64| (w.start.0, sum))
    };
    // All rows have one key, so they are one subtask's.
    let subject = super::harness::Subject {
        make: &make,
        input: super::harness::Input { hash: |_| flugs_types::hash_key(&()), ..super::harness::rows() },
        ports: &super::harness::LATE,
    };
    for mode in super::harness::MODES {
        let given = subject.run(&script, mode).unwrap();
        let sums: Vec<_> = given.rows.iter().map(|r| r.0).collect();
        assert_eq!(sums, [(-10, 45), (0, 190), (10, 390), (20, 245)], "{mode:?}");
    }
}

#[test]
fn reduced_to_one_row() {
    let script = [
        Step::Rows(vec![((1, 3), 3), ((1, 8), 1), ((2, 2), 2), ((1, 5), 9), ((1, 1), 15)]),
        Step::Watermark(i64::MAX),
    ];
    let largest = |a: &mut Row, b: Row| {
        if b.1 > a.1 {
            *a = b;
        }
    };
    let fast = || WindowBuilder::new(key, SlidingEventTimeWindows::of(us(10), us(5))).reduce(largest);
    let general = || {
        WindowBuilder::new(key, SlidingEventTimeWindows::of(us(10), us(5)))
            .trigger(EventTimeTrigger::new())
            .reduce(largest)
    };
    let expected =
        [((1, 1), 19), ((1, 1), 24), ((1, 5), 14), ((1, 8), 4), ((1, 8), 9), ((2, 2), 4), ((2, 2), 9)];
    let mut expected = expected.to_vec();
    // 5 at 9 is in [5, 15) with 1 at 15 not; [10, 20) and [15, 25) hold 1 alone.
    expected.sort();
    assert_eq!(sorted(&run_all(&fast, &script).rows), expected);
    assert_eq!(sorted(&run_all(&general, &script).rows), expected);
}

#[test]
fn the_builder_gives_the_same_by_each_operator() {
    let script = [Step::Rows(vec![((1, 3), 3), ((2, 8), 1)]), Step::Watermark(i64::MAX)];
    let fast = || WindowBuilder::new(key, TumblingEventTimeWindows::of(us(10))).aggregate(Values, group);
    let evicting = || {
        WindowBuilder::new(key, TumblingEventTimeWindows::of(us(10)))
            .evictor(CountEvictor::of(9))
            .aggregate(Values, group)
    };
    assert_eq!(sorted(&run_all(&fast, &script).rows), sorted(&run_all(&evicting, &script).rows));
}
