//! The harness finds what it is there to find.

use super::*;
use flugs_state::{KeyedTable, ListTable, SnapshotTable};
use flugs_task::Progress;
use flugs_types::hash_key;
use std::panic::catch_unwind;

/// Emits running sums by key, and is wrong in one way.
struct Sums {
    wrong: Wrong,
    sums: Option<KeyedTable<u64, u64>>,
    /// Beside the state, lost at a restore.
    unsaved: u64,
    rest: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrong {
    No,
    /// Keeps part of its state to itself.
    ForgetsState,
    /// Treats the first row of a batch differently.
    CountsBatches,
    /// Drops the rest of its input when its output is full.
    LosesRest,
}

impl Sums {
    fn new(wrong: Wrong) -> Self {
        Sums { wrong, sums: None, unsaved: 0, rest: Vec::new() }
    }
}

impl Operator for Sums {
    type In = Records<(u64, u64)>;
    type Out = Records<u64>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.sums = Some(context.state.keyed("sums")?);
        Ok(())
    }

    fn process(&mut self, batch: Self::In, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.rest = batch.values.into_iter().rev().collect();
        if self.wrong == Wrong::CountsBatches {
            self.rest.push((0, 1000));
        }
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Output<Self::Out>) -> Result<Progress> {
        let sums = self.sums.as_mut().expect("open was called");
        while let Some((key, x)) = self.rest.pop() {
            self.unsaved += x;
            let sum = sums.get_or_insert_with(key, || 0);
            *sum += x;
            let given = match self.wrong {
                Wrong::ForgetsState => self.unsaved,
                _ => *sum,
            };
            if out.push(Records::untimed(vec![given]))? != Flow::Ready {
                if self.wrong == Wrong::LosesRest {
                    self.rest.clear();
                }
                return Ok(Progress::More);
            }
        }
        Ok(Progress::Done)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.sums.iter_mut().map(|table| table as &mut dyn SnapshotTable).collect()
    }
}

fn case(wrong: Wrong, keys: u64) -> Case<Sums> {
    let rows = |from: u64| Records::untimed((from..from + 4).map(|x| (x % keys, x)).collect());
    Case::new(move || Sums::new(wrong))
        .route(|batch| Route::Key(hash_key(&batch.values[0].0)))
        .batch(rows(0))
        .batch(rows(4))
        .watermark(Timestamp(1))
        .batch(rows(8))
        .end()
}

#[test]
fn a_right_operator_passes() {
    let out = case(Wrong::No, 2).run();
    let rows = |rows: &[u64]| rows.iter().map(|sum| format!("- {sum}")).collect::<Vec<_>>();
    let expected = [rows(&[0, 1, 2, 4, 6, 9, 12, 16]), rows(&[20, 25, 30, 36]), Vec::new(), Vec::new()];
    assert_eq!(out, expected);
}

#[test]
fn wrong_operators_are_found() {
    let found = |case: fn() -> Case<Sums>, mode: &str| {
        let panic = catch_unwind(|| case().run()).expect_err("found");
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).expect("a message");
        assert!(text.contains(mode), "{text}");
    };
    found(|| case(Wrong::ForgetsState, 1), "RestoredAfterEachStep");
    found(|| case(Wrong::CountsBatches, 1), "RowByRow");
    found(|| case(Wrong::LosesRest, 1), "RefusingOutput");
    // Rows of one key go to different subtasks.
    let misled = || case(Wrong::No, 2).route(|batch| Route::Key(hash_key(&batch.values[0].1)));
    found(misled, "another subtask's key group");
}

/// Opens a list and does not show it.
struct Hides(Option<ListTable<u8>>);

impl Operator for Hides {
    type In = Records<u8>;
    type Out = Records<u8>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.0 = Some(context.state.list("hidden")?);
        Ok(())
    }

    fn process(&mut self, _: Records<u8>, _: &mut Output<Records<u8>>) -> Result<Progress> {
        Ok(Progress::Done)
    }
}

#[test]
fn state_that_is_not_shown_or_not_opened_is_refused() {
    let error = OperatorHarness::new(Hides(None)).map(|_| ()).unwrap_err();
    assert!(error.message().contains("hidden"));
    let mut sums = OperatorHarness::new(Sums::new(Wrong::No)).unwrap();
    sums.push([((1, 1), Timestamp::MIN)]).unwrap();
    let snapshot = sums.snapshot().unwrap();
    struct Stateless;
    impl Operator for Stateless {
        type In = Records<u8>;
        type Out = Records<u8>;
        fn process(&mut self, _: Records<u8>, _: &mut Output<Records<u8>>) -> Result<Progress> {
            Ok(Progress::Done)
        }
    }
    let error = HarnessBuilder::new().restore([snapshot]).open(Stateless).map(|_| ()).unwrap_err();
    assert!(error.message().contains("'sums'"));
}
