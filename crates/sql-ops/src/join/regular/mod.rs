//! Joins of two changing tables, all of whose rows are kept.
//!
//! A batch of one input changes that input's state first (`side`, `taking`); what it changed (`work`) is then joined with the rows of the
//! other input in bounded chunks (`probe`), and given out as Flink does (`results`). An outer join must know whether a row has a
//! match: without a condition that is whether the other input has rows of the key, otherwise each row keeps the number.

mod gather;
mod probe;
mod results;
mod side;
mod taking;
mod work;

use super::plan::{JoinPlan, PlanSpec, Side};
use super::spec::{InputUniqueness, JoinInput, RegularJoinSpec};
use flugs_batch::{ChangeBatch, Either};
use flugs_state::{Fuel, SnapshotTable};
use flugs_table::ChangelogMode;
use flugs_task::{Counter, OpenContext, Operator, Output, Progress};
use flugs_types::{Clock, Error, Result, Timestamp};
use probe::Rules;
use side::{JoinSide, Tally};
use std::sync::Arc;
use std::time::Duration;
use work::Work;

/// Chunks that are joined without a look at the output.
const CHUNKS_PER_SLICE: usize = 16;
/// How much state one tick looks through for expired rows, in bytes.
const SWEEP_BYTES: usize = 256 << 10;
/// The pause between ticks while there is more to look through, and the least pause between passes.
const SWEEP_PAUSE: Duration = Duration::from_millis(1);
/// A pass begins so many times in a time to live, and at least this often.
const PASSES_PER_LIFE: i64 = 8;
const PASS_PAUSE_MAX: i64 = 60_000_000;

/// Joins two changing tables. See [`RegularJoinSpec`].
///
/// Changes come out as in Flink: `+I` and `-D` for pairs that come and go, `-D` of the padded row before the first pair of an outer
/// join and `+I` of it behind the last. An update whose old and new row have one join key gives `-U` and `+U` for pairs that stay,
/// and nothing where no output column differs. A `-U` is never left without its `+U`.
///
/// A row that is taken back and is not there is counted (`numUnknownRetractions`) and gives nothing, unless its input has a time to
/// live: then it may have expired, and its results are taken back.
pub struct RegularJoin {
    spec: RegularJoinSpec,
    opened: Option<Opened>,
}

struct Opened {
    plan: JoinPlan,
    left: JoinSide,
    right: JoinSide,
    left_rules: Rules,
    right_rules: Rules,
    work: Option<Work>,
    clock: Arc<dyn Clock>,
    sweep: Sweep,
    unknown: Counter,
    expired: Counter,
}

/// When expired rows are looked for, and where.
struct Sweep {
    at: Option<Timestamp>,
    side: Side,
    pass_pause: Duration,
}

impl RegularJoin {
    /// A join of this kind.
    pub fn new(spec: RegularJoinSpec) -> Self {
        RegularJoin { spec, opened: None }
    }

    fn opened(&mut self) -> Result<&mut Opened> {
        self.opened.as_mut().ok_or_else(|| Error::bug("the operator is not open"))
    }
}

/// The columns that stand first in stored rows.
fn first_columns(input: &JoinInput) -> &[usize] {
    match &input.unique {
        InputUniqueness::HasUniqueKey(columns) => columns,
        _ => &[],
    }
}

fn check_mode(input: &JoinInput) -> Result<()> {
    if input.mode == ChangelogMode::Upsert && input.unique == InputUniqueness::None {
        return Err(Error::bug("an input without a unique key cannot be an upsert changelog"));
    }
    Ok(())
}

impl Opened {
    fn take_in(&mut self, side: Side, batch: &ChangeBatch) -> Result<()> {
        let now = self.clock.now().0;
        let (own, rules) = match side {
            Side::Left => (&mut self.left, &self.left_rules),
            Side::Right => (&mut self.right, &self.right_rules),
        };
        let (work, tally) = own.take_in(side, self.plan.side(side), batch, now, rules.may_be_lonely())?;
        self.count(tally);
        self.work = Some(work);
        Ok(())
    }

    fn count(&self, tally: Tally) {
        if tally.unknown > 0 {
            self.unknown.add(tally.unknown);
        }
        if tally.expired > 0 {
            self.expired.add(tally.expired);
        }
    }

    fn join(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let Opened { plan, left, right, left_rules, right_rules, work, .. } = self;
        let Some(pending) = work else { return Ok(Progress::Done) };
        let (rules, own, other) = match pending.side {
            Side::Left => (left_rules, left, right),
            Side::Right => (right_rules, right, left),
        };
        for _ in 0..CHUNKS_PER_SLICE {
            if pending.is_done() {
                *work = None;
                return Ok(Progress::Done);
            }
            if let Some(batch) = probe::step(plan, rules, pending, own, other)? {
                let _ = out.push(batch)?;
                if !out.is_ready() {
                    break;
                }
            }
        }
        if pending.is_done() {
            *work = None;
            return Ok(Progress::Done);
        }
        Ok(Progress::More)
    }

    /// Looks through a part of one input's state for expired rows.
    fn sweep(&mut self, now: Timestamp) -> Result<()> {
        let mut fuel = Fuel(SWEEP_BYTES);
        let side = self.sweep.side;
        let own = match side {
            Side::Left => &mut self.left,
            Side::Right => &mut self.right,
        };
        let (complete, work, tally) = own.sweep(side, self.plan.side(side), now.0, &mut fuel)?;
        self.count(tally);
        self.work = work;
        let mut pause = SWEEP_PAUSE;
        if complete {
            self.sweep.side = side.other();
            if side == Side::Right {
                pause = self.sweep.pass_pause;
            }
        }
        self.sweep.at = Some(now.saturating_add(pause));
        Ok(())
    }
}

impl Operator for RegularJoin {
    type In = Either<ChangeBatch, ChangeBatch>;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        let spec = &self.spec;
        check_mode(&spec.left)?;
        check_mode(&spec.right)?;
        let plan = JoinPlan::new(&PlanSpec {
            join_type: spec.join_type,
            left: &spec.left.schema,
            right: &spec.right.schema,
            keys: &spec.keys,
            condition: spec.condition.as_ref(),
            output: &spec.output,
            schema: &spec.schema,
            first: [first_columns(&spec.left), first_columns(&spec.right)],
        })?;
        let conditional = plan.condition.is_some();
        // Where rows of the other input may vanish silently, its number of rows does not say who was matched.
        let tracks = |shows: bool, other: &JoinInput| {
            shows && (conditional || other.ttl.is_some_and(|ttl| !ttl.is_zero()) && !spec.retract_on_expiry)
        };
        let left_shows = spec.join_type.pads_left() || spec.join_type.is_left_only();
        let tracks = [tracks(left_shows, &spec.right), tracks(spec.join_type.pads_right(), &spec.left)];
        let now = context.clock.now();
        let mut side = |name: &str, input: &JoinInput, plan, tracked| {
            JoinSide::open(context.state, name, input, plan, tracked, spec.retract_on_expiry, now.0)
        };
        let mut left = side("left", &spec.left, &plan.left, tracks[0])?;
        let mut right = side("right", &spec.right, &plan.right, tracks[1])?;
        left.count_matches(&right);
        right.count_matches(&left);
        let rules = |side| Rules::new(spec.join_type, side, tracks, conditional, spec.emit_update_before);
        let shortest = left.ttl().into_iter().chain(right.ttl()).min();
        let pass_pause = shortest.map_or(0, |ttl| (ttl / PASSES_PER_LIFE).clamp(1, PASS_PAUSE_MAX));
        let pass_pause = Duration::from_micros(pass_pause as u64).max(SWEEP_PAUSE);
        self.opened = Some(Opened {
            left_rules: rules(Side::Left),
            right_rules: rules(Side::Right),
            plan,
            left,
            right,
            work: None,
            clock: context.clock.clone(),
            sweep: Sweep {
                at: shortest.map(|_| now.saturating_add(pass_pause)),
                side: Side::Left,
                pass_pause,
            },
            unknown: context.counter("numUnknownRetractions"),
            expired: context.counter("numExpiredState"),
        });
        Ok(())
    }

    fn process(&mut self, batch: Self::In, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let opened = self.opened()?;
        match &batch {
            Either::Left(batch) => opened.take_in(Side::Left, batch)?,
            Either::Right(batch) => opened.take_in(Side::Right, batch)?,
        }
        opened.join(out)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened()?.join(out)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.opened.as_ref()?.sweep.at
    }

    fn tick(&mut self, now: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let opened = self.opened()?;
        opened.sweep(now)?;
        opened.join(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        match &mut self.opened {
            Some(opened) => vec![&mut opened.left.table, &mut opened.right.table],
            None => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
