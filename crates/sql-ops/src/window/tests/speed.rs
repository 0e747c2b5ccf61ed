//! Figures, not checks: `cargo test --release -p flugs-sql-ops window::tests::speed -- --ignored --nocapture --test-threads 1`.

use crate::aggregate::AggregateCall;
use crate::testing::{Driver, schema};
use crate::window::{
    Emit, SessionAggregate, SessionAggregateSpec, WindowAggregate, WindowAggregateSpec, WindowColumn,
    WindowInput, WindowShape, WindowTime,
};
use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, TimestampMillisecondArray};
use arrow::datatypes::Int64Type;
use flugs_batch::{Batch, ChangeBatch};
use flugs_sql_types::AggregateKind;
use flugs_task::Operator;
use flugs_types::{Clock, SystemClock};
use std::sync::Arc;

const ROWS: usize = 8192;
const BATCHES: usize = 500;
/// Rows of a second of event time.
const RATE: usize = 200_000;

/// Keys in order of a hash, the half of them one that changes each second if `hot`.
fn batches(keys: u64, hot: bool) -> Vec<ChangeBatch> {
    let columns = schema("k BIGINT, t TIMESTAMP(3)");
    let key = |n: usize| {
        let hash = flugs_types::hash_key(&(n as u64));
        match hot && hash >> 63 == 1 {
            true => (n / RATE) as i64,
            false => (hash % keys) as i64,
        }
    };
    let batch = |b: usize| {
        let rows = b * ROWS..(b + 1) * ROWS;
        let k: ArrayRef = Arc::new(rows.clone().map(key).collect::<Int64Array>());
        let t: TimestampMillisecondArray = rows.map(|n| Some((n * 1000 / RATE) as i64)).collect();
        ChangeBatch::inserts(RecordBatch::try_new(columns.clone(), vec![k, Arc::new(t)]).unwrap())
    };
    (0..BATCHES).map(batch).collect()
}

fn count(shape: WindowShape) -> WindowAggregate {
    let input = schema("k BIGINT, t TIMESTAMP(3)");
    WindowAggregate::new(WindowAggregateSpec {
        calls: vec![AggregateCall::new(AggregateKind::Count, vec![], "n", input.fields()).unwrap()],
        input,
        windows: WindowInput::Assigned { shape, time: WindowTime::Event { column: 1 } },
        zone: None,
        keys: vec![0],
        retract: false,
        window_columns: vec![WindowColumn::Start, WindowColumn::End],
        output: schema("k BIGINT, n BIGINT NOT NULL, ws TIMESTAMP(3) NOT NULL, we TIMESTAMP(3) NOT NULL"),
        emit: Emit::OnWatermark,
        emit_update_before: true,
        late_output: false,
    })
}

fn sessions(gap_ms: i64) -> SessionAggregate {
    let input = schema("k BIGINT, t TIMESTAMP(3)");
    SessionAggregate::new(SessionAggregateSpec {
        calls: vec![AggregateCall::new(AggregateKind::Count, vec![], "n", input.fields()).unwrap()],
        input,
        gap_ms,
        time: WindowTime::Event { column: 1 },
        zone: None,
        keys: vec![0],
        window_columns: vec![WindowColumn::Start, WindowColumn::End],
        output: schema("k BIGINT, n BIGINT NOT NULL, ws TIMESTAMP(3) NOT NULL, we TIMESTAMP(3) NOT NULL"),
        late_output: false,
    })
}

fn measure<O: Operator<In = ChangeBatch, Out = ChangeBatch>>(
    name: &str,
    batches: &[ChangeBatch],
    make: impl Fn() -> O,
) {
    let mut best = f64::MAX;
    let mut given = 0;
    for _ in 0..3 {
        let mut driver = Driver::new(make()).unwrap();
        given = 0;
        let start = SystemClock.now();
        for (at, batch) in batches.iter().enumerate() {
            driver.push(batch.clone()).unwrap();
            driver.watermark(((at + 1) * ROWS * 1000 / RATE) as i64 - 2).unwrap();
            given += driver.take().iter().map(Batch::len).sum::<usize>();
        }
        best = best.min(SystemClock.now().since(start).as_secs_f64());
    }
    let rows = (batches.len() * ROWS) as f64;
    println!("{name}\t{:.1} M rows/s\t{given} results", rows / best / 1e6);
}

#[test]
#[ignore = "figures are of interest on a quiet machine only"]
fn speed() {
    for (keys, hot) in [(1_000, false), (10_000, false), (10_000, true), (100_000, false), (1_000_000, false)]
    {
        let batches = batches(keys, hot);
        let of =
            |name: &str| format!("{name}, {keys} keys{}", if hot { ", half of the rows of one" } else { "" });
        let hop = WindowShape::Hop { size_ms: 10_000, slide_ms: 2_000, offset_ms: 0 };
        let cumulate = WindowShape::Cumulate { max_size_ms: 10_000, step_ms: 2_000, offset_ms: 0 };
        measure(&of("HOP 10 s / 2 s"), &batches, || count(hop));
        measure(&of("TUMBLE 10 s"), &batches, || {
            count(WindowShape::Tumble { size_ms: 10_000, offset_ms: 0 })
        });
        measure(&of("CUMULATE 10 s / 2 s"), &batches, || count(cumulate));
        measure(&of("SESSION 1 s"), &batches, || sessions(1_000));
    }
}

/// A thousand rows of one key, a second apart, in windows that each of them is in some 86,400 of.
#[test]
#[ignore = "figures are of interest on a quiet machine only"]
fn windows_of_many_slices() {
    let day = 86_400_000;
    for (name, shape) in [
        ("HOP 1 d / 1 s", WindowShape::Hop { size_ms: day, slide_ms: 1_000, offset_ms: 0 }),
        ("CUMULATE 1 d / 1 s", WindowShape::Cumulate { max_size_ms: day, step_ms: 1_000, offset_ms: 0 }),
    ] {
        let columns = schema("k BIGINT, t TIMESTAMP(3)");
        let k: ArrayRef = Arc::new(Int64Array::from(vec![1; 1000]));
        let t: TimestampMillisecondArray = (0..1000).map(|n| Some(n * 1000)).collect();
        let rows = RecordBatch::try_new(columns.clone(), vec![k, Arc::new(t)]).unwrap();
        let mut driver = Driver::new(count(shape)).unwrap();
        let start = SystemClock.now();
        driver.push(ChangeBatch::inserts(rows)).unwrap();
        driver.end().unwrap();
        let given = driver.take();
        let windows: usize = given.iter().map(Batch::len).sum();
        let counted: i64 =
            given.iter().map(|b| b.column(1).as_primitive::<Int64Type>().values().iter().sum::<i64>()).sum();
        println!(
            "{name}\t{:.2} s\t{windows} results in {} batches, of {counted} rows",
            SystemClock.now().since(start).as_secs_f64(),
            given.len()
        );
    }
}
