//! Each operator against a naive twin, with so little memory that everything spills.

mod aggregate;
mod join;
mod over;
mod sort;

use super::spec::SpillSpec;
use crate::testing::{Driver, changes, rows_text};
use arrow::datatypes::Schema;
use flugs_batch::ChangeBatch;
use flugs_task::Operator;
use flugs_types::Timestamp;

/// Everything spills.
fn tiny() -> SpillSpec {
    SpillSpec { memory_bytes: 2 << 10, spill_dir: None }
}

/// What the operator gives, the same whether its output refuses or not; nothing before the end, and no watermark before the last row.
fn given<O: Operator<Out = ChangeBatch>>(make: impl Fn() -> O, batches: &[O::In]) -> Vec<String>
where
    O::In: Clone,
{
    let run = |refusing| {
        let mut driver = Driver::with(make(), refusing, None).unwrap();
        for batch in batches {
            driver.push(batch.clone()).unwrap();
            driver.watermark(5).unwrap();
        }
        assert!(driver.take().is_empty() && driver.watermarks().is_empty());
        driver.end().unwrap();
        assert_eq!(driver.watermarks(), [Timestamp::MAX]);
        // A last barrier.
        assert_eq!(driver.snapshot().unwrap().entries(), 0);
        driver.take().iter().flat_map(rows_text).collect::<Vec<_>>()
    };
    let text = run(false);
    assert_eq!(run(true), text, "an output that refuses (left) against one that does not");
    text
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort();
    rows
}

fn text_of<T: ToString>(value: Option<T>) -> String {
    value.map_or("NULL".to_owned(), |value| value.to_string())
}

/// Batches of at most so many rows, given as lines without a kind.
fn batches(schema: &Schema, rows: &[String], size: usize) -> Vec<ChangeBatch> {
    rows.chunks(size)
        .map(|rows| {
            let lines: Vec<String> = rows.iter().map(|row| format!("+I | {row}")).collect();
            changes(schema, &lines.join("\n"))
        })
        .collect()
}
