//! Joins of two append-only inputs whose times lie within an interval of each other.
//!
//! Rows are kept in panes of time, which are dropped as a whole when time has passed them: there are no timers. As in Flink, a row
//! that is late still meets what is kept; it is dropped (and counted) only where it meets nothing and nothing else becomes of it.

mod probe;
mod side;

use super::pairs::Pairs;
use super::plan::{JoinPlan, NONE, PlanSpec, Side};
use super::spec::{IntervalJoinSpec, JoinTime, JoinType};
use super::time::{check_event_time, event_times};
use arrow::array::{ArrayRef, UInt64Array};
use flugs_batch::{Batch, ChangeBatch, Either, Records};
use flugs_state::SnapshotTable;
use flugs_task::{Counter, OpenContext, Operator, Output, Progress};
use flugs_types::{Clock, Error, Result, RowKind, Timestamp};
use probe::Work;
use side::TimedSide;
use std::sync::Arc;

/// Chunks or panes that are done without a look at the output.
const STEPS_PER_SLICE: usize = 16;
/// Rows of an output batch.
const BATCH_ROWS: usize = 4096;

/// Joins rows whose times lie within an interval of each other. See [`IntervalJoinSpec`].
///
/// All results are `+I`. Rows of an outer join (and of an anti join) that meet nothing come out when time has passed all that they
/// could meet, in the order of their times; rows whose key is NULL come out at once. In processing time they also come out at the end
/// of the input.
///
/// Late rows that meet nothing and are not given out are counted (`numLateRecordsDropped`) and go to side output 0 (of the left) or
/// 1 (of the right) if the specification says so.
pub struct IntervalJoin {
    spec: IntervalJoinSpec,
    opened: Option<Opened>,
}

struct Opened {
    plan: JoinPlan,
    left: TimedSide,
    right: TimedSide,
    work: Option<Work>,
    /// Rows that met nothing, on their way out.
    unmet: Option<Unmet>,
    clock: Arc<dyn Clock>,
    /// The watermark, or in processing time the time.
    reached: Timestamp,
    /// The last watermark that was handed on.
    handed_on: Timestamp,
    late: Counter,
}

struct Unmet {
    side: Side,
    columns: Vec<ArrayRef>,
    at: usize,
}

impl IntervalJoin {
    /// A join of this kind.
    pub fn new(spec: IntervalJoinSpec) -> Self {
        IntervalJoin { spec, opened: None }
    }

    fn opened(&mut self) -> Result<(&IntervalJoinSpec, &mut Opened)> {
        let opened = self.opened.as_mut().ok_or_else(|| Error::bug("the operator is not open"))?;
        Ok((&self.spec, opened))
    }

    fn is_processing_time(&self) -> bool {
        self.spec.time == JoinTime::Processing
    }

    /// How far the watermark is held back.
    fn hold(&self) -> i64 {
        let Some(opened) = &self.opened else { return 0 };
        let of =
            |side: &TimedSide| side.life.max(0).saturating_add(if side.gives_unmet { side.width } else { 0 });
        of(&opened.left).max(of(&opened.right))
    }

    fn run(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let (spec, opened) = self.opened()?;
        for _ in 0..STEPS_PER_SLICE {
            let batch = if opened.unmet.is_some() {
                opened.give_unmet()?
            } else if opened.work.is_some() {
                opened.join(spec, out)?
            } else if let Some(batch) = opened.drop_pane()? {
                batch
            } else {
                return self.hand_on(out).map(|()| Progress::Done);
            };
            if let Some(batch) = batch {
                let _ = out.push(batch)?;
                if !out.is_ready() {
                    break;
                }
            }
        }
        Ok(Progress::More)
    }

    /// Everything is given out that the watermark promises.
    fn hand_on(&mut self, out: &mut Output<ChangeBatch>) -> Result<()> {
        if self.is_processing_time() {
            return Ok(());
        }
        let hold = self.hold();
        let (_, opened) = self.opened()?;
        let watermark = match opened.reached {
            end @ (Timestamp::MIN | Timestamp::MAX) => end,
            reached => Timestamp(reached.0.saturating_sub(hold)),
        };
        if watermark > opened.handed_on {
            opened.handed_on = watermark;
            let _ = out.watermark(watermark)?;
        }
        Ok(())
    }
}

impl Opened {
    fn join(
        &mut self,
        spec: &IntervalJoinSpec,
        out: &mut Output<ChangeBatch>,
    ) -> Result<Option<ChangeBatch>> {
        let Opened { plan, left, right, work, reached, .. } = self;
        let Some(pending) = work else { return Ok(None) };
        let (own, other) = match pending.side {
            Side::Left => (left, right),
            Side::Right => (right, left),
        };
        let batch = probe::step(plan, spec.join_type, pending, own, other, *reached)?;
        if pending.is_done() {
            if !pending.late.is_empty() {
                self.late.add(pending.late.len());
                if spec.late_output {
                    let late = pending.batch.take(&UInt64Array::from(std::mem::take(&mut pending.late)))?;
                    let port = usize::from(pending.side == Side::Right);
                    let _ = out.push_side(port, Records::untimed(vec![late]))?;
                }
            }
            *work = None;
        }
        Ok(batch)
    }

    /// Drops a pane that is over; `None` where there is none.
    fn drop_pane(&mut self) -> Result<Option<Option<ChangeBatch>>> {
        for side in [Side::Left, Side::Right] {
            let own = if side == Side::Left { &mut self.left } else { &mut self.right };
            if let Some(columns) = own.drop_pane(self.plan.side(side), self.reached)? {
                if !columns.is_empty() {
                    self.unmet = Some(Unmet { side, columns, at: 0 });
                }
                return Ok(Some(None));
            }
        }
        Ok(None)
    }

    fn give_unmet(&mut self) -> Result<Option<ChangeBatch>> {
        let Some(unmet) = &mut self.unmet else { return Ok(None) };
        let rows = super::pairs::rows_of(&unmet.columns);
        let end = rows.min(unmet.at + BATCH_ROWS);
        let mut results = Pairs::default();
        (unmet.at..end).for_each(|row| results.push(RowKind::Insert, row as u32, NONE));
        let batch = results.put_out(&self.plan, unmet.side, &unmet.columns, &[])?;
        unmet.at = end;
        if end == rows {
            self.unmet = None;
        }
        Ok(batch)
    }
}

impl Operator for IntervalJoin {
    type In = Either<ChangeBatch, ChangeBatch>;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        let spec = &self.spec;
        if spec.join_type == JoinType::LeftAntiNullAware {
            return Err(Error::bug("NOT IN cannot be an interval join"));
        }
        if spec.lower > spec.upper {
            let (lower, upper) = (spec.lower, spec.upper);
            return Err(Error::job(format!("a join's interval begins at {lower} us and ends at {upper} us"))
                .mend("exchange the bounds: no row can lie between them"));
        }
        if let JoinTime::Event { left, right } = spec.time {
            check_event_time(&spec.left, left)?;
            check_event_time(&spec.right, right)?;
        }
        let plan = JoinPlan::new(&PlanSpec {
            join_type: spec.join_type,
            left: &spec.left,
            right: &spec.right,
            keys: &spec.keys,
            condition: spec.condition.as_ref(),
            output: &spec.output,
            schema: &spec.schema,
            first: [&[], &[]],
        })?;
        let (lower, upper) = (spec.lower, spec.upper);
        let gives_left = spec.join_type.pads_left() || spec.join_type == JoinType::LeftAnti;
        // Rows of the right come up to `-lower` after those of the left.
        let mirrored = (upper.saturating_neg(), lower.saturating_neg());
        let left = TimedSide::open(context.state, "left", mirrored, gives_left)?;
        let right = TimedSide::open(context.state, "right", (lower, upper), spec.join_type.pads_right())?;
        self.opened = Some(Opened {
            plan,
            left,
            right,
            work: None,
            unmet: None,
            clock: context.clock.clone(),
            reached: Timestamp::MIN,
            handed_on: Timestamp::MIN,
            late: context.counter("numLateRecordsDropped"),
        });
        Ok(())
    }

    fn process(&mut self, batch: Self::In, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let (spec, opened) = self.opened()?;
        let (side, batch) = match batch {
            Either::Left(batch) => (Side::Left, batch),
            Either::Right(batch) => (Side::Right, batch),
        };
        if !batch.is_insert_only() {
            return Err(Error::bug("an interval join takes rows that are only added"));
        }
        let times = match spec.time {
            JoinTime::Processing => {
                opened.reached = opened.reached.max(opened.clock.now());
                vec![opened.reached.0; batch.len()]
            }
            JoinTime::Event { left, right } => {
                let column = if side == Side::Left { left } else { right };
                event_times(batch.column(column).as_ref(), batch.schema().field(column).name())?
            }
        };
        opened.work = Some(Work::new(&opened.plan, side, batch, times)?);
        self.run(out)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.run(out)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if self.is_processing_time() {
            return Ok(Progress::Done);
        }
        let (_, opened) = self.opened()?;
        opened.reached = opened.reached.max(watermark);
        self.run(out)
    }

    fn forwards_watermarks(&self) -> bool {
        self.is_processing_time()
    }

    fn next_tick(&self) -> Option<Timestamp> {
        let opened = self.opened.as_ref().filter(|_| self.is_processing_time())?;
        opened.left.due().into_iter().chain(opened.right.due()).min()
    }

    fn tick(&mut self, now: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let (_, opened) = self.opened()?;
        opened.reached = opened.reached.max(now);
        self.run(out)
    }

    /// No row follows, whatever the time is.
    fn end(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let (_, opened) = self.opened()?;
        opened.reached = Timestamp::MAX;
        self.run(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        match &mut self.opened {
            Some(opened) => vec![&mut opened.left.panes, &mut opened.right.panes],
            None => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
