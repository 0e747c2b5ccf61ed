//! One scripted case, replayed in every way that must not change its result.

use super::driver::{Driver, DriverOptions};
use super::fold::{Folded, fold_by_key, fold_rows};
use super::table::rows_text;
use flugs_batch::{Batch, ChangeBatch, Either};
use flugs_task::Operator;
use flugs_types::Result;

/// A step of a case. Times are in milliseconds.
#[derive(Debug, Clone)]
pub enum Step<B> {
    /// These rows come.
    Batch(B),
    /// Event time advances.
    Watermark(i64),
    /// Processing time advances.
    Time(i64),
    /// The input ends, after its last watermark.
    End,
}

/// A batch that can be cut into rows.
pub trait TestBatch: Batch + Clone {
    /// Each row as a batch of its own.
    fn rows(&self) -> Vec<Self>;
}

impl TestBatch for ChangeBatch {
    fn rows(&self) -> Vec<Self> {
        (0..self.len()).map(|row| self.slice(row, 1)).collect()
    }
}

impl<L: TestBatch, R: TestBatch> TestBatch for Either<L, R> {
    fn rows(&self) -> Vec<Self> {
        match self {
            Either::Left(left) => left.rows().into_iter().map(Either::Left).collect(),
            Either::Right(right) => right.rows().into_iter().map(Either::Right).collect(),
        }
    }
}

/// What is the same in every replay besides the text.
#[derive(Debug, Clone)]
pub enum Compare {
    /// The table that changes of all four kinds describe.
    Rows,
    /// The table that changes by key describe, without `-U`.
    Keys(Vec<usize>),
}

impl Compare {
    fn fold(&self, batches: &[ChangeBatch], mode: Mode) -> Folded {
        let folded = match self {
            Compare::Rows => fold_rows(batches, mode != Mode::RowByRow),
            Compare::Keys(keys) => fold_by_key(batches, keys),
        };
        folded.unwrap_or_else(|e| panic!("{e} in\n{}", text_of(batches)))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    AsGiven,
    RefusingOutput,
    RestoredAfterEachStep,
    RowByRow,
}

/// Replays the case as given, with an output that refuses every other offer, with a snapshot and a restore after each step (the last
/// watermark is sent again), and row by row. The first three must give the same rows in the same order, and the last the
/// same table at the end. Returns what was given as given.
///
/// # Panics
/// Where the replays differ, fail, or give a changelog that makes no sense.
pub fn replay<O>(make: impl Fn() -> O, steps: &[Step<O::In>], compare: &Compare) -> Vec<ChangeBatch>
where
    O: Operator<Out = ChangeBatch>,
    O::In: TestBatch,
{
    let run = |mode| run(&make, steps, mode).unwrap_or_else(|e| panic!("{mode:?}: {e}"));
    let expected = run(Mode::AsGiven);
    let table = compare.fold(&expected, Mode::AsGiven);
    for mode in [Mode::RefusingOutput, Mode::RestoredAfterEachStep] {
        assert_eq!(text_of(&run(mode)), text_of(&expected), "{mode:?} (left) against as given");
    }
    assert_eq!(
        compare.fold(&run(Mode::RowByRow), Mode::RowByRow),
        table,
        "row by row (left) against as given"
    );
    expected
}

fn text_of(batches: &[ChangeBatch]) -> String {
    batches.iter().flat_map(rows_text).collect::<Vec<_>>().join("\n")
}

fn run<O>(make: &impl Fn() -> O, steps: &[Step<O::In>], mode: Mode) -> Result<Vec<ChangeBatch>>
where
    O: Operator<Out = ChangeBatch>,
    O::In: TestBatch,
{
    let refusing = mode == Mode::RefusingOutput;
    let mut driver = Driver::with(make(), refusing, None)?;
    let mut given = Vec::new();
    let mut watermark = None;
    for step in steps {
        match step {
            Step::Batch(batch) if mode == Mode::RowByRow => {
                batch.rows().into_iter().try_for_each(|row| driver.push(row))?;
            }
            Step::Batch(batch) => driver.push(batch.clone())?,
            Step::Watermark(millis) => {
                watermark = Some(*millis);
                driver.watermark(*millis)?;
            }
            Step::Time(millis) => driver.set_time(*millis)?,
            Step::End => driver.end()?,
        }
        given.extend(driver.take());
        if mode == Mode::RestoredAfterEachStep && !matches!(step, Step::End) {
            let snapshots = vec![driver.snapshot()?];
            given.extend(driver.take());
            let now = driver.now();
            driver = Driver::open(make(), DriverOptions { snapshots, now, ..DriverOptions::default() })?;
            if let Some(watermark) = watermark {
                driver.watermark(watermark)?;
            }
            given.extend(driver.take());
        }
    }
    Ok(given)
}
