//! The kit with which users test their jobs.

use flugs::operators::{
    Collector, KeyedContext, KeyedProcessFunction, OpenKeyed, Timer, TumblingEventTimeWindows,
};
use flugs::prelude::*;
use flugs::testing::{TestJob, TestSource};

fn at(second: i64) -> Timestamp {
    Timestamp::from_secs(second)
}

/// Says how many rows a key had when it had none for a minute.
#[derive(Clone, Default)]
struct Quiet {
    rows: Option<ValueState<(u64, Timestamp)>>,
}

const MINUTE: Duration = Duration::from_secs(60);

impl KeyedProcessFunction for Quiet {
    type Key = u64;
    type In = u64;
    type Out = (u64, u64);

    fn open(&mut self, open: &mut OpenKeyed<'_, '_, u64>) -> flugs::Result<()> {
        self.rows = Some(open.value("rows")?);
        Ok(())
    }

    fn process(
        &mut self,
        _: u64,
        cx: &mut KeyedContext<'_, u64>,
        _: &mut Collector<'_, (u64, u64)>,
    ) -> flugs::Result<()> {
        let rows = self.rows.expect("open");
        let due = cx.processing_time() + MINUTE;
        let n = match rows.get(cx).copied() {
            Some((n, timer)) => {
                cx.delete_processing_time_timer(timer);
                n
            }
            None => 0,
        };
        rows.set(cx, (n + 1, due));
        cx.register_processing_time_timer(due);
        Ok(())
    }

    fn on_timer(
        &mut self,
        _: Timer,
        cx: &mut KeyedContext<'_, u64>,
        out: &mut Collector<'_, (u64, u64)>,
    ) -> flugs::Result<()> {
        let rows = self.rows.expect("open");
        let (n, _) = rows.get(cx).copied().expect("a timer is set with a row");
        rows.clear(cx);
        out.collect((*cx.key(), n));
        Ok(())
    }
}

#[test]
fn processing_time_goes_on_when_the_test_says_so() {
    let (numbers, out) = (TestSource::new(), MemorySink::immediate());
    let (source, sink) = (numbers.clone(), out.clone());
    let mut job = TestJob::start(move |env| {
        source
            .stream(env, "numbers")
            .key_by(|n| n % 2)
            .process(Quiet::default())
            .sink_to(sink.clone(), "out");
    })
    .unwrap();
    numbers.push(1);
    job.run().unwrap();
    job.advance(MINUTE / 2).unwrap();
    numbers.push(3);
    numbers.push(2);
    job.advance(MINUTE / 2).unwrap();
    assert!(out.is_empty());
    // A timer that is restored fires at its time.
    job.rescale(2).unwrap();
    job.advance(MINUTE / 2 - Duration::from_micros(1)).unwrap();
    assert!(out.is_empty());
    job.advance(Duration::from_micros(1)).unwrap();
    let mut rows = out.rows();
    rows.sort_unstable();
    assert_eq!(rows, [(0, 1), (1, 2)]);
    assert_eq!(job.now(), Timestamp::EPOCH + MINUTE * 3 / 2);
}

#[test]
fn late_rows_idleness_and_restores() {
    let (left, right, out) = (TestSource::new(), TestSource::new(), MemorySink::new());
    let (a, b, sink) = (left.clone(), right.clone(), out.clone());
    let mut job = TestJob::start(move |env| {
        let both = a.stream(env, "left").union(&b.stream(env, "right"));
        let windows = both.key_by(|_: &u64| 0u64).window(TumblingEventTimeWindows::of(MINUTE));
        windows.count().name("windows").sink_to(sink.clone(), "out");
    })
    .unwrap();
    left.push_at(1, at(10));
    left.watermark(at(60));
    job.checkpoint().unwrap();
    assert!(out.is_empty(), "the right holds the watermark back");
    right.idle();
    job.checkpoint().unwrap();
    assert_eq!(out.rows(), [(0, 1)]);
    left.push_at(2, at(20));
    left.push_at(3, at(70));
    job.run().unwrap();
    assert_eq!(job.counter("windows", "numLateRecordsDropped"), 1);
    job.fail_and_restore().unwrap();
    assert_eq!(job.counter("windows", "numLateRecordsDropped"), 1, "read again, and late again");
    left.watermark(at(120));
    job.checkpoint().unwrap();
    assert_eq!(out.rows(), [(0, 1), (0, 1)], "the right is still idle");
    left.end();
    job.run().unwrap();
    let error = job.finish().unwrap_err().to_string();
    assert!(error.contains("Running") && error.contains("end all of its sources"), "{error}");
    right.end();
    assert_eq!(job.finish().unwrap().restored_from.map(|c| c.0), Some(2));
}

#[test]
fn a_failure_is_the_error_of_the_call_in_which_it_happens() {
    let numbers = TestSource::new();
    let source = numbers.clone();
    let mut job = TestJob::start(move |env| {
        let fails = |n: u64, out: &mut Collector<u64>| match n {
            7 => Err(flugs::Error::user("seven")),
            n => {
                out.collect(n);
                Ok(())
            }
        };
        source.stream(env, "numbers").flat_map(fails).name("no sevens").sink_to(MemorySink::new(), "out");
    })
    .unwrap();
    numbers.push(6);
    job.run().unwrap();
    numbers.push(7);
    let error = job.run().unwrap_err().to_string();
    assert!(error.contains("seven") && error.contains("no sevens"), "{error}");
    let error = job.checkpoint().unwrap_err().to_string();
    assert!(error.contains("fail"), "{error}");
}
