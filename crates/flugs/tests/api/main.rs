//! Every window, trigger, join, state and way of the fluent API once, on a few rows whose results are worked out by hand.
#![allow(clippy::unwrap_used, reason = "what a test cannot set up fails it")]

mod jobs;
mod joins;
mod state;
mod streams;
mod triggers;
mod watched;
mod windows;

use flugs::prelude::*;
use flugs::testing::{TestJob, TestSource};

/// Key and value.
type Row = (char, i64);

/// What comes in, or happens.
#[derive(Clone, Copy)]
enum Event {
    /// Key, value, and the second of its event time.
    Row(char, i64, i64),
    /// Event time has come to this second: the windows that end there are over.
    Watermark(i64),
    /// So many seconds pass on the machine's clock.
    Wait(u64),
}
use Event::{Row as R, Wait, Watermark as W};

const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn second(time: Timestamp) -> i64 {
    time.as_millis() / 1000
}

/// The results of a program over these rows, in the order in which it gives them, until the input has ended. Everything
/// runs in one subtask, and each event is worked off before the next.
fn results<O: Data>(
    events: &[Event],
    program: impl Fn(DataStream<Row>) -> DataStream<O> + 'static,
) -> Vec<O> {
    let (source, out) = (TestSource::new(), MemorySink::immediate());
    let (rows, sink) = (source.clone(), out.clone());
    let mut job = TestJob::start(move |env| {
        program(rows.stream(env, "rows")).sink_to(sink.clone(), "out");
    })
    .unwrap();
    for event in events {
        match *event {
            R(key, value, second) => source.push_at((key, value), Timestamp::from_secs(second)),
            W(second) => source.watermark(Timestamp::from_secs(second)),
            Wait(n) => job.advance(seconds(n)).unwrap(),
        }
        job.run().unwrap();
    }
    source.end();
    job.finish().unwrap();
    out.rows()
}

/// Likewise, sorted.
fn sorted<O: Data + Ord>(
    events: &[Event],
    program: impl Fn(DataStream<Row>) -> DataStream<O> + 'static,
) -> Vec<O> {
    let mut rows = results(events, program);
    rows.sort();
    rows
}
