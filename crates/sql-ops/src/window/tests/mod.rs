mod aggregate;
mod aggregate_property;
mod assign;
mod deduplicate;
mod join;
mod rank;
mod session_aggregate;
mod session_assign;
mod speed;

use crate::row::RowCodec;
use crate::testing::{Driver, DriverOptions, Folded, Snapshot, Step, fold, rows_text};
use arrow::array::UInt64Array;
use flugs_batch::{Batch, ChangeBatch};
use flugs_task::Operator;
use flugs_types::{KeyGroup, SubtaskId};

/// 2021-03-28 00:00 in Berlin, a day of 23 hours, and 2021-10-31, one of 25, as instants in milliseconds.
const SHORT_DAY: i64 = 1_616_886_000_000;
const LONG_DAY: i64 = 1_635_631_200_000;
const HOUR: i64 = 3_600_000;

/// The rows that go to each of so many subtasks, by the key of these columns.
fn split(batch: &ChangeBatch, keys: &[usize], parallelism: u32) -> Vec<ChangeBatch> {
    let columns: Vec<_> = keys.iter().map(|key| batch.column(*key).clone()).collect();
    let types: Vec<_> = columns.iter().map(|column| column.data_type().clone()).collect();
    let encoded = RowCodec::new(&types).unwrap().encode(&columns, batch.len()).unwrap();
    (0..parallelism)
        .map(|subtask| {
            let own = |row: &usize| KeyGroup::of_hash(encoded.hash(*row)).owner(parallelism) == subtask;
            let rows: UInt64Array = (0..batch.len()).filter(own).map(|row| row as u64).collect();
            batch.take(&rows).unwrap()
        })
        .collect()
}

/// Runs the case as one subtask, as two after the next step, and so on: what was given altogether, as a table.
fn rescaled<O>(
    make: impl Fn() -> O,
    steps: &[Step<O::In>],
    split: impl Fn(&O::In, u32) -> Vec<O::In>,
) -> Folded
where
    O: Operator<Out = ChangeBatch>,
    O::In: Clone,
{
    let open = |parallelism: u32, snapshots: &[Snapshot], now| -> Vec<Driver<O>> {
        let of = |index| DriverOptions {
            subtask: SubtaskId::new(index, parallelism),
            snapshots: snapshots.to_vec(),
            now,
            ..DriverOptions::default()
        };
        (0..parallelism).map(|index| Driver::open(make(), of(index)).unwrap()).collect()
    };
    let mut given = Vec::new();
    let mut parallelism = 1;
    let mut drivers = open(parallelism, &[], flugs_types::Timestamp::EPOCH);
    for step in steps {
        for (index, driver) in drivers.iter_mut().enumerate() {
            match step {
                Step::Batch(batch) => driver.push(split(batch, parallelism).swap_remove(index)).unwrap(),
                Step::Watermark(millis) => driver.watermark(*millis).unwrap(),
                Step::Time(millis) => driver.set_time(*millis).unwrap(),
                Step::End => driver.end().unwrap(),
            }
            given.extend(driver.take());
        }
        if !matches!(step, Step::End) {
            let snapshots: Vec<Snapshot> =
                drivers.iter_mut().map(|driver| driver.snapshot().unwrap()).collect();
            drivers.iter_mut().for_each(|driver| given.extend(driver.take()));
            let now = drivers[0].now();
            parallelism = 3 - parallelism;
            drivers = open(parallelism, &snapshots, now);
        }
    }
    fold(&given).unwrap()
}

/// The rows without their kinds, sorted.
fn sorted(batches: &[ChangeBatch]) -> Vec<String> {
    let mut rows: Vec<String> = batches.iter().flat_map(rows_text).map(|row| row[5..].to_owned()).collect();
    rows.sort();
    rows
}

/// A table of rows, each once or more often, sorted.
fn unfolded(table: &Folded) -> Vec<String> {
    table.iter().flat_map(|(row, n)| std::iter::repeat_n(row.clone(), *n as usize)).collect()
}
