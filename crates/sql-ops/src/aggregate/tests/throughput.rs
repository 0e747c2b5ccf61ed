//! Rows a second on one thread. Run alone: `cargo test --release -p flugs-sql-ops throughput -- --ignored --nocapture`.

use crate::aggregate::{AggregateCall, GroupAggregate, GroupAggregateSpec, LocalAggregate};
use crate::row::RowCodec;
use crate::testing::{Driver, schema};
use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use flugs_batch::ChangeBatch;
use flugs_sql_types::AggregateKind as Kind;
use flugs_types::{Clock, SystemClock};
use std::hint::black_box;
use std::sync::Arc;

const ROWS: usize = 4096;
const BATCHES: usize = 1000;

fn batches(schema: &SchemaRef, keys: u64) -> Vec<ChangeBatch> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    (0..BATCHES)
        .map(|_| {
            let k: ArrayRef =
                Arc::new(Int64Array::from_iter_values((0..ROWS).map(|_| (next() % keys) as i64)));
            let v: ArrayRef =
                Arc::new(Int64Array::from_iter_values((0..ROWS).map(|_| (next() % 100_000) as i64)));
            ChangeBatch::inserts(RecordBatch::try_new(schema.clone(), vec![k, v]).unwrap())
        })
        .collect()
}

fn measured(name: &str, run: impl FnOnce()) {
    let start = SystemClock.monotonic();
    run();
    let seconds = (SystemClock.monotonic() - start).as_secs_f64();
    let millions = (ROWS * BATCHES) as f64 / seconds / 1e6;
    println!("{name:<50} {millions:>8.1} M rows/s");
}

fn call(schema: &SchemaRef, kind: Kind, args: &[usize]) -> AggregateCall {
    AggregateCall::new(kind, args.to_vec(), "c", schema.fields()).unwrap()
}

fn aggregated(name: &str, spec: &GroupAggregateSpec, batches: &[ChangeBatch]) {
    let mut driver = Driver::new(GroupAggregate::new(spec.clone())).unwrap();
    measured(name, || {
        for batch in batches {
            driver.push(batch.clone()).unwrap();
            black_box(driver.take());
        }
    });
}

#[test]
#[ignore = "measures"]
fn throughput() {
    let schema = schema("k BIGINT NOT NULL, v BIGINT");
    for keys in [1_000, 1_000_000] {
        let input = batches(&schema, keys);
        let codec = RowCodec::new(&[DataType::Int64]).unwrap();
        measured(&format!("encode and hash BIGINT, {keys} keys"), || {
            for batch in &input {
                black_box(codec.encode(&batch.rows().columns()[..1], ROWS).unwrap().hashes().len());
            }
        });
        let count = vec![call(&schema, Kind::Count, &[])];
        let kinds = [Kind::Count, Kind::Sum, Kind::Min, Kind::Max, Kind::Avg];
        let five: Vec<AggregateCall> = kinds.iter().map(|kind| call(&schema, kind.clone(), &[1])).collect();
        let more = [Kind::VarPop, Kind::StddevSamp, Kind::Sum0];
        let eight =
            [five.clone(), more.iter().map(|kind| call(&schema, kind.clone(), &[1])).collect()].concat();
        let distinct = vec![call(&schema, Kind::Count, &[1]).distinct()];
        for (name, calls) in
            [("COUNT", count), ("5 aggregates", five), ("8 aggregates", eight), ("COUNT(DISTINCT)", distinct)]
        {
            let spec = GroupAggregateSpec {
                retract: false,
                emit_update_before: false,
                ..GroupAggregateSpec::new(schema.clone(), vec![0], calls)
            };
            aggregated(&format!("{name}, {keys} keys"), &spec, &input);
            aggregated(
                &format!("{name}, {keys} keys, with -U"),
                &GroupAggregateSpec { emit_update_before: true, ..spec.clone() },
                &input,
            );
            let mut local = Driver::new(LocalAggregate::new(spec)).unwrap();
            measured(&format!("{name}, {keys} keys, first phase"), || {
                for batch in &input {
                    local.push(batch.clone()).unwrap();
                    black_box(local.take());
                }
            });
        }
    }
}
