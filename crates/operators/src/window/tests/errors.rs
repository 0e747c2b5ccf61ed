//! What is refused, and in which words.

use super::aligned::{Values, group, key, us};
use super::harness::{LATE, Mode, Row, Step, Subject, rows};
use crate::window::*;
use flugs_types::{ErrorKind, Result};
use std::time::Duration;

fn refusal(make: &dyn Fn() -> WindowedOperator<Row, super::oracle::Group>, script: &[Step<Row>]) -> String {
    let given = Subject { make, input: rows(), ports: &LATE }.run(script, Mode::Batches);
    let error = given.map(|given| given.rows.len()).expect_err("it is refused");
    assert_eq!(error.kind(), ErrorKind::Job);
    error.to_string()
}

#[test]
fn rows_without_event_times() {
    let script = [Step::Rows(vec![((1, 1), i64::MIN)])];
    let fast = || WindowBuilder::new(key, TumblingEventTimeWindows::of(us(10))).aggregate(Values, group);
    let sessions =
        || WindowBuilder::new(key, EventTimeSessionWindows::with_gap(us(10))).aggregate(Values, group);
    let general = || {
        WindowBuilder::new(key, TumblingEventTimeWindows::of(us(10)))
            .trigger(CountTrigger::of(1))
            .aggregate(Values, group)
    };
    for make in [&fast as &dyn Fn() -> _, &sessions, &general] {
        let text = refusal(make, &script);
        assert!(text.contains("without an event time") && text.contains("watermark strategy"), "{text}");
    }
}

#[test]
fn rows_from_before_all_windows() {
    let script = [Step::Rows(vec![((1, 1), i64::MIN + 1)])];
    let make = || WindowBuilder::new(key, TumblingEventTimeWindows::of(us(10))).aggregate(Values, group);
    let subject = Subject { make: &make, input: rows(), ports: &LATE };
    let error = subject.run(&script, Mode::Batches).map(|given| given.rows.len()).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Data);
    assert!(error.to_string().contains("microseconds"), "{error}");
}

#[test]
fn windows_of_no_size() {
    let no = Duration::ZERO;
    let text =
        refusal(&|| WindowBuilder::new(key, TumblingEventTimeWindows::of(no)).aggregate(Values, group), &[]);
    assert!(text.contains("size"), "{text}");
    let text = refusal(
        &|| WindowBuilder::new(key, SlidingEventTimeWindows::of(us(10), no)).aggregate(Values, group),
        &[],
    );
    assert!(text.contains("slide"), "{text}");
    let text = refusal(
        &|| WindowBuilder::new(key, CumulativeEventTimeWindows::of(us(10), us(3))).aggregate(Values, group),
        &[],
    );
    assert!(text.contains("no multiple"), "{text}");
    let text = refusal(
        &|| WindowBuilder::new(key, EventTimeSessionWindows::with_gap(no)).aggregate(Values, group),
        &[],
    );
    assert!(text.contains("gap"), "{text}");
}

#[test]
fn a_trigger_that_cannot_merge_with_sessions() {
    let make = || {
        WindowBuilder::new(key, EventTimeSessionWindows::with_gap(us(10)))
            .trigger(DeltaTrigger::of(1.0, |a: &Row, b: &Row| (a.1 - b.1) as f64))
            .aggregate(Values, group)
    };
    assert!(refusal(&make, &[]).contains("windows that merge"));
}

/// Opens a state under a given name.
struct Opening(&'static str, bool);

impl ProcessWindowFunction<u8, Row> for Opening {
    type Out = super::oracle::Group;

    fn open(&mut self, context: &mut WindowOpenContext<'_, u8>) -> Result<()> {
        if self.1 {
            context.window_value::<u8>(self.0).map(drop)
        } else {
            context.value::<u8>(self.0, None).map(drop)
        }
    }

    fn process(
        &mut self,
        _: &mut WindowContext<'_, u8>,
        _: &[Row],
        _: &mut WindowOutput<'_, super::oracle::Group>,
    ) -> Result<()> {
        Ok(())
    }
}

#[test]
fn state_of_windows_that_merge_and_reserved_names() {
    let sessions =
        || WindowBuilder::new(key, EventTimeSessionWindows::with_gap(us(10))).process(Opening("mine", true));
    assert!(refusal(&sessions, &[]).contains("these windows merge"));
    let reserved =
        || WindowBuilder::new(key, TumblingEventTimeWindows::of(us(10))).process(Opening("window.x", false));
    assert!(refusal(&reserved, &[]).contains("belongs to the window operator"));
}

#[test]
fn state_of_windows_that_were_cut_otherwise() {
    let make = |size| {
        move || WindowBuilder::new(key, TumblingEventTimeWindows::of(us(size))).aggregate(Values, group)
    };
    let script = [Step::Rows(vec![((1, 1), 3)])];
    let ten = make(10);
    let snapshot = Subject { make: &ten, input: rows(), ports: &LATE }.snapshot(&script).unwrap();
    assert!(Subject { make: &ten, input: rows(), ports: &LATE }.restore(&snapshot).is_ok());
    let twenty = make(20);
    let error =
        Subject { make: &twenty, input: rows(), ports: &LATE }.restore(&snapshot).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::State);
    assert!(error.to_string().contains("new uid"), "{error}");
}
