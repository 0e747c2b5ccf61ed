//! The newest version of a table when a row comes.

use crate::join::attach::{carried_kinds, piece};
use crate::join::pairs::{Pairs, rows_of};
use crate::join::plan::{JoinPlan, NONE, PlanSpec, Rows, Selection, Side};
use crate::join::spec::{JoinType, ProcTimeTemporalJoinSpec};
use crate::row::RowBytes;
use flugs_batch::{Batch, ChangeBatch, Either};
use flugs_state::{Fuel, KeyedTable, SnapshotTable};
use flugs_task::{Counter, OpenContext, Operator, Output, Progress};
use flugs_types::{Clock, Error, Result, RowKind, Timestamp};
use std::sync::Arc;
use std::time::Duration;

/// Rows of an output batch (tests see several).
const BATCH_ROWS: usize = if cfg!(test) { 3 } else { 4096 };
/// How much state one tick looks through for expired rows, in bytes.
const SWEEP_BYTES: usize = 256 << 10;
const SWEEP_PAUSE: Duration = Duration::from_millis(1);
/// A pass begins so many times in a time to live.
const PASSES_PER_LIFE: u32 = 8;

/// Joins rows with the newest version of a changing table. See [`ProcTimeTemporalJoinSpec`].
///
/// Rows of the left are not kept: what has been given out is not corrected when the table changes later. An update of the left of
/// which only one row has a match comes out as a deletion or an insertion.
pub struct ProcTimeTemporalJoin {
    spec: ProcTimeTemporalJoinSpec,
    opened: Option<Opened>,
}

struct Opened {
    plan: JoinPlan,
    /// The newest row of a key and when it came.
    table: KeyedTable<RowBytes, (Timestamp, RowBytes)>,
    batch: ChangeBatch,
    at: usize,
    clock: Arc<dyn Clock>,
    cursor: u64,
    sweep_at: Option<Timestamp>,
    expired: Counter,
}

impl ProcTimeTemporalJoin {
    /// A join of this kind.
    pub fn new(spec: ProcTimeTemporalJoinSpec) -> Self {
        let ttl = spec.ttl.filter(|ttl| !ttl.is_zero());
        ProcTimeTemporalJoin { spec: ProcTimeTemporalJoinSpec { ttl, ..spec }, opened: None }
    }

    fn opened(&mut self) -> Result<(&ProcTimeTemporalJoinSpec, &mut Opened)> {
        let opened = self.opened.as_mut().ok_or_else(|| Error::bug("the operator is not open"))?;
        Ok((&self.spec, opened))
    }
}

impl Opened {
    fn change(&mut self, batch: &ChangeBatch) -> Result<()> {
        let now = self.clock.now();
        let plan = &self.plan.right;
        let keys = plan.keys(batch.rows())?;
        let rows = plan.codec.encode(&plan.columns(batch.rows()), batch.len())?;
        for row in (0..batch.len()).filter(|row| !keys.is_null(*row)) {
            let (hash, key) = (keys.hashes[row], &keys.keys[row]);
            match batch.kind(row) {
                RowKind::UpdateBefore => {}
                RowKind::Delete => {
                    self.table.remove_hashed(hash, key);
                }
                _ => {
                    let new = || (now, RowBytes::default());
                    *self.table.get_or_insert_hashed(hash, key, new) = (now, rows.to_key(row));
                }
            }
        }
        Ok(())
    }

    /// Joins the next rows of the batch.
    fn join(&mut self, spec: &ProcTimeTemporalJoinSpec) -> Result<Option<ChangeBatch>> {
        let batch = piece(&self.batch, self.at, BATCH_ROWS);
        self.at += batch.len();
        let dead_upto = spec.ttl.map(|ttl| self.clock.now().saturating_sub(ttl));
        let left = self.plan.left.columns(batch.rows());
        let keys = self.plan.left.keys(batch.rows())?;
        keys.hashes.iter().for_each(|hash| self.table.prefetch(*hash));
        let (mut of, mut found) = (Vec::new(), Vec::new());
        for row in (0..batch.len()).filter(|row| !keys.is_null(*row)) {
            if let Some((came, version)) = self.table.get_hashed(keys.hashes[row], &keys.keys[row])
                && dead_upto.is_none_or(|dead| *came > dead)
            {
                of.push(row as u32);
                found.push(version.as_slice());
            }
        }
        let rights = found.len();
        let right = self.plan.right.codec.decode(found)?;
        let passed = match &self.plan.condition {
            Some(condition) if rights > 0 => {
                let at = Selection::new(of.clone(), rows_of(&left));
                Some(condition.matches(Rows::at(&left, &at), Rows::all(&right), rights)?)
            }
            _ => None,
        };
        let mut matches = vec![NONE; batch.len()];
        for (at, row) in of.iter().enumerate() {
            if passed.as_ref().is_none_or(|passed| passed.value(at)) {
                matches[*row as usize] = at as u32;
            }
        }
        let outer = spec.join_type == JoinType::Left;
        let counts: Vec<usize> = matches.iter().map(|at| usize::from(outer || *at != NONE)).collect();
        let kinds = carried_kinds(&batch, &counts);
        let mut pairs = Pairs::default();
        for (row, at) in matches.into_iter().enumerate().filter(|(row, _)| counts[*row] > 0) {
            pairs.push(kinds[row], row as u32, at);
        }
        pairs.put_out(&self.plan, Side::Left, &left, &right)
    }
}

impl Operator for ProcTimeTemporalJoin {
    type In = Either<ChangeBatch, ChangeBatch>;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        let spec = &self.spec;
        if !matches!(spec.join_type, JoinType::Inner | JoinType::Left) {
            return Err(Error::bug(format!("a temporal join cannot be {:?}", spec.join_type)));
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
        self.opened = Some(Opened {
            plan,
            table: context.state.keyed("right")?,
            batch: ChangeBatch::default(),
            at: 0,
            clock: context.clock.clone(),
            cursor: 0,
            sweep_at: spec.ttl.map(|ttl| context.clock.now().saturating_add(pass_pause(ttl))),
            expired: context.counter("numExpiredState"),
        });
        Ok(())
    }

    fn process(&mut self, batch: Self::In, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let (_, opened) = self.opened()?;
        match batch {
            Either::Left(batch) => (opened.batch, opened.at) = (batch, 0),
            Either::Right(batch) => opened.change(&batch)?,
        }
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let (spec, opened) = self.opened()?;
        while opened.at < opened.batch.len() {
            if let Some(batch) = opened.join(spec)? {
                let _ = out.push(batch)?;
                if !out.is_ready() && opened.at < opened.batch.len() {
                    return Ok(Progress::More);
                }
            }
        }
        (opened.batch, opened.at) = (ChangeBatch::default(), 0);
        Ok(Progress::Done)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.opened.as_ref()?.sweep_at
    }

    fn tick(&mut self, now: Timestamp, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        let (spec, opened) = self.opened()?;
        let Some(ttl) = spec.ttl else { return Ok(Progress::Done) };
        let dead_upto = now.saturating_sub(ttl);
        let mut expired = 0;
        let complete = opened.table.sweep(
            &mut opened.cursor,
            &mut Fuel(SWEEP_BYTES),
            |_, (came, _)| *came <= dead_upto,
            |_, _| {
                expired += 1;
                false
            },
        );
        opened.expired.add(expired);
        opened.sweep_at = Some(now.saturating_add(if complete { pass_pause(ttl) } else { SWEEP_PAUSE }));
        Ok(Progress::Done)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        match &mut self.opened {
            Some(opened) => vec![&mut opened.table],
            None => Vec::new(),
        }
    }
}

fn pass_pause(ttl: Duration) -> Duration {
    (ttl / PASSES_PER_LIFE).max(SWEEP_PAUSE)
}
