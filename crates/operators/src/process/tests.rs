//! Functions over streams without keys: time, side outputs, operator state.

use super::*;
use crate::{OperatorList, OutputTag};
use flugs_testkit::{Case, HarnessBuilder, OperatorHarness};
use flugs_types::{SubtaskId, Timestamp};

fn at<T>(rows: impl IntoIterator<Item = (i64, T)>) -> Records<T> {
    rows.into_iter().map(|(time, value)| (value, Timestamp(time))).collect()
}

const LATE: OutputTag<i64> = OutputTag::new(0);

/// Splits off what is late; counts it.
#[derive(Default)]
struct SplitLate {
    late: Option<flugs_task::Counter>,
}

impl ProcessFunction for SplitLate {
    type In = i64;
    type Out = i64;

    fn open(&mut self, open: &mut OpenFunction<'_, '_>) -> Result<()> {
        self.late = Some(open.counter("late"));
        Ok(())
    }

    fn process(&mut self, x: i64, cx: &mut Context<'_>, out: &mut Collector<i64>) -> Result<()> {
        if cx.timestamp().is_some_and(|t| t > cx.current_watermark()) {
            out.collect(x);
        } else {
            self.late.as_ref().expect("open was called").add(1);
            out.side(LATE, x);
        }
        Ok(())
    }
}

#[test]
fn a_function_knows_the_time_of_its_row_and_the_watermark() {
    let case = Case::new(|| Process::operator(SplitLate::default()))
        .side::<i64>(0)
        .batch(at([(1, 1), (2, 2)]))
        .watermark(Timestamp(5))
        .batch(at([(5, 5), (6, 6)]))
        .batch(Records::untimed(vec![7]))
        .end();
    assert_eq!(case.run()[..2], [vec!["1 1", "2 2"], vec!["6 6", "0: 5 5", "0: - 7"]]);
    let mut harness = HarnessBuilder::new().open(Process::operator(SplitLate::default())).unwrap();
    harness.push(at([(Timestamp::MIN.0, 1)])).unwrap();
    assert_eq!(harness.counter("late").get(), 1);
}

#[test]
fn two_streams_by_closures() {
    let left = || Either::Left(at([(1, 1), (2, 2)]));
    let right = || Either::Right(at([(3, "x".to_owned())]));
    let mapped = Case::new(|| CoMap::operator(|x: i64| x.to_string(), |text: String| text + "!"))
        .batch(left())
        .batch(right())
        .batch(left())
        .run();
    let expected = ["1 \"1\"", "2 \"2\"", "3 \"x!\"", "1 \"1\"", "2 \"2\""];
    assert_eq!(mapped[0], expected);

    let flat = Case::new(|| {
        CoFlatMap::operator(
            |x: i64, out: &mut Collector<'_, String>| (0..x).for_each(|i| out.collect(format!("{x}.{i}"))),
            |text: String, out: &mut Collector<'_, String>| -> Result<()> {
                out.collect_at(text, Timestamp(99));
                Ok(())
            },
        )
    })
    .batch(left())
    .batch(right())
    .run();
    assert_eq!(flat[0], ["1 \"1.0\"", "2 \"2.0\"", "2 \"2.1\"", "99 \"x\""]);
}

/// Numbers the rows of both inputs in the order in which they come.
#[derive(Default)]
struct Number(u32);

impl CoProcessFunction for Number {
    type In1 = char;
    type In2 = bool;
    type Out = String;

    fn process1(&mut self, value: char, _: &mut Context<'_>, out: &mut Collector<String>) -> Result<()> {
        self.0 += 1;
        out.collect(format!("{} {value}", self.0));
        Ok(())
    }

    fn process2(&mut self, value: bool, cx: &mut Context<'_>, out: &mut Collector<String>) -> Result<()> {
        self.0 += 1;
        out.collect(format!("{} {value} at {}", self.0, cx.processing_time().0));
        Ok(())
    }
}

#[test]
fn two_streams_by_one_function() {
    let mut harness = OperatorHarness::new(CoProcess::operator(Number::default())).unwrap();
    harness.push_left([('a', Timestamp(1))]).unwrap();
    harness.set_processing_time(Timestamp(50)).unwrap();
    harness.push_right([(true, Timestamp(1)), (false, Timestamp(2))]).unwrap();
    harness.push_left([('b', Timestamp(1))]).unwrap();
    assert_eq!(harness.output().values, ["1 a", "2 true at 50", "3 false at 50", "4 b"]);
}

/// Hands rows on three at a time, with how many came before the restore.
struct Threes {
    waiting: OperatorList<i64>,
    given: OperatorList<u64>,
}

impl ProcessFunction for Threes {
    type In = i64;
    type Out = (Vec<i64>, u64);

    fn process(&mut self, x: i64, cx: &mut Context<'_>, out: &mut Collector<Self::Out>) -> Result<()> {
        let waiting = self.waiting.items_mut(cx);
        waiting.push(x);
        if waiting.len() == 3 {
            let three = std::mem::take(waiting);
            let before = self.given.items(cx).iter().sum();
            self.given.items_mut(cx).push(3);
            out.collect((three, before));
        }
        Ok(())
    }
}

#[test]
fn operator_state_is_kept_and_dealt_out() {
    let make = || {
        Process::opened_by(|open| {
            Ok(Threes { waiting: open.operator_list("waiting")?, given: open.union_list("given")? })
        })
    };
    let out = Case::new(make)
        .batch(at([(1, 1), (2, 2), (3, 3), (4, 4)]))
        .watermark(Timestamp(4))
        .batch(at([(5, 5), (6, 6), (7, 7)]))
        .end()
        .run();
    assert_eq!(out[0], ["3 ([1, 2, 3], 0)"]);
    assert_eq!(out[1], ["6 ([4, 5, 6], 3)"]);

    let mut old = OperatorHarness::new(make()).unwrap();
    old.push(at((1..=8).map(|x| (x, x)))).unwrap();
    let snapshot = old.snapshot().unwrap();
    let mut new: Vec<_> = (0..2)
        .map(|index| {
            let builder = HarnessBuilder::new().subtask(SubtaskId::new(index, 2));
            builder.restore([snapshot.clone()]).open(make()).unwrap()
        })
        .collect();
    // Seven and eight waited: one for each; both know of the six that were given.
    new[0].push(at([(9, 9), (9, 10)])).unwrap();
    new[1].push(at([(9, 11), (9, 12)])).unwrap();
    assert_eq!(new[0].output().values, [(vec![7, 9, 10], 6)]);
    assert_eq!(new[1].output().values, [(vec![8, 11, 12], 6)]);
}
