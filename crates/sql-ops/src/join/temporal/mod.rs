//! Joins with the version of a table at the time of a row.
//!
//! One operator with two clocks: `event` lets rows wait until the watermark has passed them and keeps the versions that they may need,
//! `processing` joins rows as they come with the newest version. Versions stand in one kind of table (`versions`).

mod event;
mod processing;
mod versions;

use crate::join::attach::Beside;
use crate::join::plan::PlanSpec;
use crate::join::spec::{JoinTime, TemporalJoinSpec};
use crate::ttl::TimeToLive;
use arrow::array::ArrayRef;
use event::ByEventTime;
use flugs_batch::{ChangeBatch, Either};
use flugs_state::SnapshotTable;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, RowKind, Timestamp};
use processing::AsTheyCome;

/// Rows that are joined at a time (tests see several times).
const ROWS_AT_A_TIME: usize = if cfg!(test) { 3 } else { 4096 };

/// Joins rows with the version of a table at their time. See [`TemporalJoinSpec`].
///
/// State: `left` (rows that wait, by event time alone) and `right` (versions by key).
pub struct TemporalJoin {
    spec: TemporalJoinSpec,
    open: Option<Box<dyn Clocked>>,
}

impl TemporalJoin {
    /// A join of this kind.
    pub fn new(spec: TemporalJoinSpec) -> Self {
        let ttl = spec.ttl.filter(|ttl| !ttl.is_zero());
        TemporalJoin { spec: TemporalJoinSpec { ttl, ..spec }, open: None }
    }

    fn opened(&mut self) -> Result<&mut Box<dyn Clocked>> {
        self.open.as_mut().ok_or_else(|| Error::bug("the operator is not open"))
    }
}

/// What both clocks have in common: parts of [`Operator`].
trait Clocked: Send {
    /// Takes rows in.
    fn rows(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<()>;

    /// Takes changes of the table in.
    fn changes(&mut self, batch: &ChangeBatch) -> Result<()>;

    /// Goes on with what can be joined.
    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress>;

    fn advance(&mut self, watermark: Timestamp) {
        let _ = watermark;
    }

    fn ttl(&self) -> Option<&TimeToLive>;

    /// Takes state away that has expired.
    fn sweep(&mut self);

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable>;
}

impl Operator for TemporalJoin {
    type In = Either<ChangeBatch, ChangeBatch>;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        let spec = &self.spec;
        let beside = Beside::new(&PlanSpec {
            join_type: spec.join_type,
            left: &spec.left,
            right: &spec.right,
            keys: &spec.keys,
            condition: spec.condition.as_ref(),
            output: &spec.output,
            schema: &spec.schema,
            first: [&[], &[]],
        })?;
        self.open = Some(match spec.time {
            JoinTime::Event { left, right } => {
                Box::new(ByEventTime::open(spec, [left, right], beside, context)?)
            }
            JoinTime::Processing => Box::new(AsTheyCome::open(spec, beside, context)?),
        });
        Ok(())
    }

    fn process(&mut self, batch: Self::In, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let open = self.opened()?;
        match batch {
            Either::Left(batch) => {
                open.rows(batch, out)?;
                open.give(out)
            }
            Either::Right(batch) => {
                open.changes(&batch)?;
                Ok(Progress::Done)
            }
        }
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened()?.give(out)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let open = self.opened()?;
        open.advance(watermark);
        open.give(out)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.open.as_ref()?.ttl()?.next_tick()
    }

    fn tick(&mut self, _: Timestamp, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened()?.sweep();
        Ok(Progress::Done)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.open.as_mut().map_or(Vec::new(), |open| open.tables())
    }
}

/// Puts beside each row of the left the version that was found for it.
fn put_found<'v>(
    beside: &mut Beside,
    kinds: Vec<RowKind>,
    left: Vec<ArrayRef>,
    found: impl Iterator<Item = Option<&'v [u8]>>,
) -> Result<()> {
    let (mut of, mut versions) = (Vec::new(), Vec::new());
    for (row, version) in (0u32..).zip(found) {
        if let Some(version) = version {
            of.push(row);
            versions.push(version);
        }
    }
    let right = beside.plan.right.codec.decode(versions)?;
    beside.put(kinds, left, right, of)
}

#[cfg(test)]
mod tests;
