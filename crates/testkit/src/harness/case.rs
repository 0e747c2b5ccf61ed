//! One scripted case, replayed in every way that must not change its result.
//!
//! After a restore the last watermark is sent again: how an operator treats late rows between a restore and the next
//! watermark is the source's affair, not the operator's.

use super::batch::{CaseBatch, Route};
use super::{HarnessBuilder, OperatorHarness};
use bytes::Bytes;
use flugs_batch::Records;
use flugs_task::Operator;
use flugs_types::{KeyGroup, Result, SubtaskId, Timestamp};
use std::fmt::Debug;

#[derive(Clone)]
enum Step<B> {
    Batch(B),
    Watermark(Timestamp),
    ProcessingTime(Timestamp),
    End,
}

/// What came out between two control steps, up to and with the second: rows as `time value`, such as `5 "a"`,
/// microseconds, `-` for none; after them those of each side output `p` as `p: time value`.
pub type Segment = Vec<String>;

type Show<O> = Box<dyn Fn(&mut OperatorHarness<O>) -> Vec<String>>;
type Declare = Box<dyn Fn(HarnessBuilder) -> HarnessBuilder>;
type Router<B> = Box<dyn Fn(&B) -> Route>;

/// One scripted case of an operator, replayed in every way that must not change its result: row by row, with all batches merged
/// between control steps, with a snapshot and a restore after each step, with an output that is full at every other push, and,
/// where a [route](Case::route) is given, as two subtasks that become one and two again.
///
/// After a restore the last watermark is sent again: how late rows are treated between a restore and the next watermark is
/// the source's affair, not the operator's.
///
/// ```
/// # use flugs_batch::Records; use flugs_task::{Operator, Output, Progress}; use flugs_types::{Result, Timestamp};
/// # struct Double;
/// # impl Operator for Double {
/// #     type In = Records<i64>;
/// #     type Out = Records<i64>;
/// #     fn process(&mut self, mut rows: Records<i64>, out: &mut Output<Records<i64>>) -> Result<Progress> {
/// #         rows.values.iter_mut().for_each(|x| *x *= 2);
/// #         let _ = out.push(rows)?;
/// #         Ok(Progress::Done)
/// #     }
/// # }
/// use flugs_testkit::Case;
///
/// let out = Case::new(|| Double)
///     .batch(Records::untimed(vec![1, 2]))
///     .watermark(Timestamp(5))
///     .batch(Records::untimed(vec![3]))
///     .end()
///     .run();
/// assert_eq!(out[0], ["- 2", "- 4"]);
/// assert_eq!(out[1], ["- 6"]);
/// ```
pub struct Case<O: Operator> {
    make: Box<dyn Fn() -> O>,
    steps: Vec<Step<O::In>>,
    show: Vec<Show<O>>,
    declare: Vec<Declare>,
    route: Option<Router<O::In>>,
    ordered: bool,
}

/// A way to replay a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    AsGiven,
    RowByRow,
    Merged,
    RestoredAfterEachStep,
    RefusingOutput,
    /// As two subtasks, which become one after each control step and two again.
    Rescaled,
}

const MODES: [Mode; 5] =
    [Mode::RowByRow, Mode::Merged, Mode::RestoredAfterEachStep, Mode::RefusingOutput, Mode::Rescaled];

impl<O, T> Case<O>
where
    O: Operator<Out = Records<T>>,
    O::In: CaseBatch,
    T: Debug + Send + 'static,
{
    /// A case of the operator that `make` makes.
    pub fn new(make: impl Fn() -> O + 'static) -> Self {
        Case {
            make: Box::new(make),
            steps: Vec::new(),
            show: vec![Box::new(|harness| shown("", harness.output()))],
            declare: Vec::new(),
            route: None,
            ordered: true,
        }
    }

    /// Then these rows.
    #[must_use]
    pub fn batch(mut self, batch: O::In) -> Self {
        self.steps.push(Step::Batch(batch));
        self
    }

    /// Then event time advances.
    #[must_use]
    pub fn watermark(mut self, watermark: Timestamp) -> Self {
        self.steps.push(Step::Watermark(watermark));
        self
    }

    /// Then processing time advances; it starts at 0.
    #[must_use]
    pub fn processing_time(mut self, now: Timestamp) -> Self {
        self.steps.push(Step::ProcessingTime(now));
        self
    }

    /// Then the input ends, after the last watermark.
    #[must_use]
    pub fn end(mut self) -> Self {
        self.steps.extend([Step::Watermark(Timestamp::MAX), Step::End]);
        self
    }

    /// Compares side output `port` too.
    #[must_use]
    pub fn side<S: Debug + Send + 'static>(mut self, port: usize) -> Self {
        self.declare.push(Box::new(move |builder| builder.side::<S>(port)));
        self.show.push(Box::new(move |harness| shown(&format!("{port}: "), harness.side::<S>(port))));
        self
    }

    /// Also runs as two subtasks, to which single rows are routed by `route`.
    #[must_use]
    pub fn route(mut self, route: impl Fn(&O::In) -> Route + 'static) -> Self {
        self.route = Some(Box::new(route));
        self
    }

    /// Compares what comes out between two control steps without its order.
    #[must_use]
    pub fn unordered(mut self) -> Self {
        self.ordered = false;
        self
    }

    /// Replays the case in all ways and returns what comes out when it is replayed as given: one segment for each
    /// control step, and one for what follows the last.
    ///
    /// # Panics
    /// If another way gives another result, or fails.
    pub fn run(&self) -> Vec<Segment> {
        let expected = self.replay(Mode::AsGiven);
        for mode in MODES {
            if mode == Mode::Rescaled && self.route.is_none() {
                continue;
            }
            let sorted = !self.ordered || mode == Mode::Rescaled;
            let order = |segments: Vec<Segment>| -> Vec<Segment> {
                segments.into_iter().map(|s| if sorted { sort(s) } else { s }).collect()
            };
            assert_eq!(order(self.replay(mode)), order(expected.clone()), "{mode:?} (left) against as given");
        }
        expected
    }

    fn replay(&self, mode: Mode) -> Vec<Segment> {
        let replay = || -> Result<Vec<Segment>> {
            let mut run = Run::new(self, mode)?;
            for step in self.steps_of(mode) {
                run.step(step)?;
            }
            run.close();
            Ok(run.closed)
        };
        replay().unwrap_or_else(|e| panic!("{mode:?}: {e}"))
    }

    fn steps_of(&self, mode: Mode) -> Vec<Step<O::In>> {
        let mut steps: Vec<Step<O::In>> = Vec::new();
        for step in self.steps.iter().cloned() {
            match (mode, step) {
                (Mode::RowByRow | Mode::Rescaled, Step::Batch(batch)) => {
                    steps.extend(batch.rows().into_iter().map(Step::Batch));
                }
                (Mode::Merged, Step::Batch(batch)) => {
                    let rest = match steps.last_mut() {
                        Some(Step::Batch(last)) => last.merge(batch),
                        _ => Some(batch),
                    };
                    steps.extend(rest.map(Step::Batch));
                }
                (_, step) => steps.push(step),
            }
        }
        steps
    }
}

/// A replay in progress.
struct Run<'a, O: Operator> {
    case: &'a Case<O>,
    mode: Mode,
    harnesses: Vec<OperatorHarness<O>>,
    watermark: Option<Timestamp>,
    now: Timestamp,
    closed: Vec<Segment>,
    /// By output.
    open: Vec<Segment>,
}

impl<'a, O: Operator> Run<'a, O>
where
    O::In: CaseBatch,
{
    fn new(case: &'a Case<O>, mode: Mode) -> Result<Self> {
        let mut run = Run {
            case,
            mode,
            harnesses: Vec::new(),
            watermark: None,
            now: Timestamp::EPOCH,
            closed: Vec::new(),
            open: vec![Segment::new(); case.show.len()],
        };
        run.open(if mode == Mode::Rescaled { 2 } else { 1 }, &[])?;
        Ok(run)
    }

    fn open(&mut self, parallelism: u32, snapshots: &[Bytes]) -> Result<()> {
        self.harnesses.clear();
        for index in 0..parallelism {
            let mut builder = HarnessBuilder::new()
                .subtask(SubtaskId::new(index, parallelism))
                .processing_time(self.now)
                .restore(snapshots.iter().cloned());
            if self.mode == Mode::RefusingOutput {
                builder = builder.refusing();
            }
            let builder = self.case.declare.iter().fold(builder, |builder, declare| declare(builder));
            let mut harness = builder.open((self.case.make)())?;
            if let Some(watermark) = self.watermark {
                harness.watermark(watermark)?;
            }
            self.harnesses.push(harness);
        }
        self.collect();
        Ok(())
    }

    fn step(&mut self, step: Step<O::In>) -> Result<()> {
        let (control, last) = (!matches!(step, Step::Batch(_)), matches!(step, Step::End));
        match step {
            Step::Batch(batch) => self.push(batch)?,
            Step::Watermark(watermark) => {
                self.watermark = Some(watermark);
                self.harnesses.iter_mut().try_for_each(|h| h.watermark(watermark))?;
            }
            Step::ProcessingTime(now) => {
                self.now = self.now.max(now);
                self.harnesses.iter_mut().try_for_each(|h| h.set_processing_time(now))?;
            }
            Step::End => self.harnesses.iter_mut().try_for_each(OperatorHarness::end)?,
        }
        self.collect();
        if !last {
            match self.mode {
                Mode::RestoredAfterEachStep => self.restore(1)?,
                Mode::Rescaled if control => {
                    self.restore(1)?;
                    self.restore(2)?;
                }
                _ => {}
            }
        }
        if control {
            self.close();
        }
        Ok(())
    }

    fn push(&mut self, batch: O::In) -> Result<()> {
        let Some(route) = self.case.route.as_ref().filter(|_| self.harnesses.len() > 1) else {
            return self.harnesses[0].push_batch(batch);
        };
        match route(&batch) {
            Route::Key(hash) => {
                let owner = KeyGroup::of_hash(hash).owner(self.harnesses.len() as u32);
                self.harnesses[owner as usize].push_batch(batch)
            }
            Route::All => self.harnesses.iter_mut().try_for_each(|h| h.push_batch(batch.clone())),
        }
    }

    fn restore(&mut self, parallelism: u32) -> Result<()> {
        let snapshots =
            self.harnesses.iter_mut().map(OperatorHarness::snapshot).collect::<Result<Vec<_>>>()?;
        self.collect();
        self.open(parallelism, &snapshots)
    }

    fn collect(&mut self) {
        for harness in &mut self.harnesses {
            for (show, rows) in self.case.show.iter().zip(&mut self.open) {
                rows.extend(show(harness));
            }
        }
    }

    fn close(&mut self) {
        self.closed.push(self.open.iter_mut().flat_map(std::mem::take).collect());
    }
}

fn sort(mut segment: Segment) -> Segment {
    segment.sort();
    segment
}

fn shown<T: Debug>(port: &str, rows: Records<T>) -> Vec<String> {
    let time = |time: Timestamp| match time {
        Timestamp::MIN => "-".to_owned(),
        Timestamp(micros) => micros.to_string(),
    };
    rows.into_iter().map(|(value, at)| format!("{port}{} {value:?}", time(at))).collect()
}
