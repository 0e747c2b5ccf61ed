//! Rows beside those that were found or made for them, given out in bounded batches with the kinds of the former.

use super::pairs::{Pairs, rows_of};
use super::plan::{JoinPlan, NONE, PlanSpec, Rows, Selection, Side};
use super::spec::JoinType;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion_physical_expr::PhysicalExpr;
use flugs_batch::{Batch, ChangeBatch};
use flugs_task::{Output, Progress};
use flugs_types::{Error, Result, RowKind};
use std::sync::Arc;

/// Rows of an output batch (tests see several).
pub(super) const BATCH_ROWS: usize = if cfg!(test) { 4 } else { 4096 };

/// What rows are given out from.
pub(super) struct AttachSpec<'a> {
    pub(super) join_type: JoinType,
    pub(super) left: &'a SchemaRef,
    pub(super) right: &'a SchemaRef,
    pub(super) condition: Option<&'a Arc<dyn PhysicalExpr>>,
    pub(super) output: &'a [usize],
    pub(super) schema: &'a SchemaRef,
}

/// Rows beside those that a function finds for them. See the module.
pub(super) struct Attach {
    beside: Beside,
    batch: ChangeBatch,
    /// How many rows of the batch are done.
    done: usize,
}

impl Attach {
    pub(super) fn new(spec: &AttachSpec<'_>) -> Result<Self> {
        let beside = Beside::new(&PlanSpec {
            join_type: spec.join_type,
            left: spec.left,
            right: spec.right,
            keys: &[],
            condition: spec.condition,
            output: spec.output,
            schema: spec.schema,
            first: [&[], &[]],
        })?;
        Ok(Attach { beside, batch: ChangeBatch::default(), done: 0 })
    }

    /// The batch that is next.
    pub(super) fn start(&mut self, batch: ChangeBatch) {
        (self.batch, self.done) = (batch, 0);
    }

    /// Goes on with the batch until the output asks to stop. `find` gives rows for about `rows` of its rows at a time, and for each the
    /// row that it is for, in ascending order; none where it is to be asked for the same rows again later.
    pub(super) fn run(
        &mut self,
        rows: usize,
        out: &mut Output<ChangeBatch>,
        mut find: impl FnMut(&RecordBatch) -> Result<Option<(RecordBatch, Vec<u32>)>>,
    ) -> Result<Progress> {
        loop {
            if !self.beside.give(out)? {
                return Ok(Progress::More);
            }
            if self.done >= self.batch.len() {
                self.start(ChangeBatch::default());
                return Ok(Progress::Done);
            }
            if !out.is_ready() {
                return Ok(Progress::More);
            }
            let left = piece(&self.batch, self.done, rows);
            let Some((right, of)) = find(left.rows())? else { return Ok(Progress::Blocked) };
            self.done += left.len();
            if of.len() != right.num_rows() {
                return Err(Error::bug("rows were made for a batch that do not say what they were made of"));
            }
            let plan = &self.beside.plan;
            let (lefts, rights) = (plan.left.columns(left.rows()), plan.right.columns(&right));
            self.beside.put(kinds_of(&left), lefts, rights, of)?;
        }
    }
}

/// Rows of the left on their way out, each beside those of the right that are for it.
pub(super) struct Beside {
    pub(super) plan: JoinPlan,
    outer: bool,
    pending: Option<Pending>,
}

struct Pending {
    left: Vec<ArrayRef>,
    right: Vec<ArrayRef>,
    /// Rows of both.
    pairs: Vec<(RowKind, u32, u32)>,
    at: usize,
}

impl Beside {
    pub(super) fn new(spec: &PlanSpec<'_>) -> Result<Self> {
        if !matches!(spec.join_type, JoinType::Inner | JoinType::Left) {
            return Err(Error::bug(format!("this join cannot be {:?}", spec.join_type)));
        }
        let outer = spec.join_type == JoinType::Left;
        Ok(Beside { plan: JoinPlan::new(spec)?, outer, pending: None })
    }

    /// Whether rows of the left come out beside NULLs where there is none for them.
    pub(super) fn is_outer(&self) -> bool {
        self.outer
    }

    /// Puts rows of the right beside those of the left that `of` names, in ascending order. Both are stored columns. What was put
    /// before must have been given out.
    pub(super) fn put(
        &mut self,
        kinds: Vec<RowKind>,
        left: Vec<ArrayRef>,
        right: Vec<ArrayRef>,
        of: Vec<u32>,
    ) -> Result<()> {
        let rows = kinds.len();
        let ascending = of.is_sorted() && of.last().is_none_or(|last| (*last as usize) < rows);
        if !ascending || of.len() >= NONE as usize || self.pending.is_some() {
            return Err(Error::bug(
                "rows were made for a batch that do not say in order what they were made of",
            ));
        }
        let mut ends = vec![0; rows + 1];
        of.iter().for_each(|row| ends[*row as usize + 1] += 1);
        (0..rows).for_each(|row| ends[row + 1] += ends[row]);
        let passed = match &self.plan.condition {
            Some(condition) if !of.is_empty() => {
                let pairs = of.len();
                let at = Selection::new(of, rows_of(&left));
                Some(condition.matches(Rows::at(&left, &at), Rows::all(&right), pairs)?)
            }
            _ => None,
        };
        let matches = |row: usize| {
            let passed = passed.as_ref();
            (ends[row]..ends[row + 1]).filter(move |at| passed.is_none_or(|passed| passed.value(*at)))
        };
        let counts: Vec<usize> =
            (0..rows).map(|row| matches(row).count().max(usize::from(self.outer))).collect();
        let mut pairs = Vec::with_capacity(counts.iter().sum());
        for (row, kind) in carried_kinds(kinds, &counts).into_iter().enumerate() {
            let before = pairs.len();
            pairs.extend(matches(row).map(|at| (kind, row as u32, at as u32)));
            if self.outer && pairs.len() == before {
                pairs.push((kind, row as u32, NONE));
            }
        }
        if !pairs.is_empty() {
            self.pending = Some(Pending { left, right, pairs, at: 0 });
        }
        Ok(())
    }

    /// Gives out what was put, until the output asks to stop. Says whether all is out.
    pub(super) fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<bool> {
        while let Some(pending) = self.pending.as_mut().filter(|_| out.is_ready()) {
            let mut end = pending.pairs.len().min(pending.at + BATCH_ROWS);
            // A -U is not parted from its +U.
            if end < pending.pairs.len() && pending.pairs[end - 1].0 == RowKind::UpdateBefore {
                end += 1;
            }
            let mut pairs = Pairs::default();
            pending.pairs[pending.at..end].iter().for_each(|(kind, l, r)| pairs.push(*kind, *l, *r));
            let batch = pairs.put_out(&self.plan, Side::Left, &pending.left, &pending.right)?;
            pending.at = end;
            if end == pending.pairs.len() {
                self.pending = None;
            }
            if let Some(batch) = batch {
                let _ = out.push(batch)?;
            }
        }
        Ok(self.pending.is_none())
    }
}

/// The kinds of a batch's rows.
pub(super) fn kinds_of(batch: &ChangeBatch) -> Vec<RowKind> {
    (0..batch.len()).map(|row| batch.kind(row)).collect()
}

/// The kinds of rows of which each gives so many. An update stays one where both of its rows give one row; else what it was is taken
/// back, and what it became is added.
fn carried_kinds(mut kinds: Vec<RowKind>, counts: &[usize]) -> Vec<RowKind> {
    for row in 0..kinds.len() {
        if kinds[row] != RowKind::UpdateBefore {
            continue;
        }
        let next = row + 1;
        if next < kinds.len() && kinds[next] == RowKind::UpdateAfter {
            if (counts[row], counts[next]) != (1, 1) {
                (kinds[row], kinds[next]) = (RowKind::Delete, RowKind::Insert);
            }
        } else {
            kinds[row] = RowKind::Delete;
        }
    }
    kinds
}

/// From `at` on about this many rows of a batch; a `-U` is not parted from its `+U`.
pub(super) fn piece(batch: &ChangeBatch, at: usize, rows: usize) -> ChangeBatch {
    let mut end = batch.len().min(at + rows);
    if end < batch.len() && batch.kind(end - 1) == RowKind::UpdateBefore {
        end += 1;
    }
    batch.slice(at, end - at)
}
