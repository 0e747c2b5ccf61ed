//! Joins: of windows, of intervals, and of all rows that ever were.

use crate::bind::hints::hint_of;
use crate::convert::{Converter, Made, localized, unique};
use crate::error::{PlanResult, planning, unsupported};
use crate::plan::{JoinKind, NodeId, Op, PlanField, WindowRole, column_index};
use datafusion_common::{Column, DFSchema, NullEquality};
use datafusion_expr::logical_plan::Join;
use datafusion_expr::utils::{conjunction, split_conjunction_owned};
use datafusion_expr::{BinaryExpr, Expr, JoinType, Operator, lit};
use std::time::Duration;

/// A join whose keys are columns.
pub(super) struct Joined {
    pub(super) kind: JoinKind,
    pub(super) inputs: [NodeId; 2],
    pub(super) keys: Vec<(usize, usize, bool)>,
    pub(super) residual: Vec<Expr>,
    /// The columns of the output, of the concatenation.
    pub(super) output: Vec<usize>,
    /// What `STATE_TTL` says of the inputs.
    pub(super) ttl: [Option<Duration>; 2],
}

/// The columns of two inputs beside each other, under different names: over these stand conditions of joins.
pub(crate) fn concatenated(left: &[PlanField], right: &[PlanField]) -> Vec<PlanField> {
    unique(left.iter().chain(right).cloned().collect())
}

impl Converter<'_> {
    pub(super) fn join(&mut self, join: &Join) -> PlanResult<NodeId> {
        // A join that keeps the right side alone is one that keeps the left with the sides changed.
        let (swap, kind) = match join.join_type {
            JoinType::Inner => (false, JoinKind::Inner),
            JoinType::Left => (false, JoinKind::Left),
            JoinType::Right => (false, JoinKind::Right),
            JoinType::Full => (false, JoinKind::Full),
            JoinType::LeftSemi => (false, JoinKind::Semi),
            JoinType::LeftAnti if join.null_aware => (false, JoinKind::NullAwareAnti),
            JoinType::LeftAnti => (false, JoinKind::Anti),
            JoinType::RightSemi => (true, JoinKind::Semi),
            JoinType::RightAnti => (true, JoinKind::Anti),
            JoinType::LeftMark => return self.marks(join),
            JoinType::RightMark => return Err(unsupported("a join that marks rows of its right side")),
        };
        self.join_as(join, swap, kind)
    }

    /// Rows of the left with whether they have a match: those that have one, and those that have none, each with the answer.
    fn marks(&mut self, join: &Join) -> PlanResult<NodeId> {
        let mut sides = Vec::new();
        for (kind, has) in [(JoinKind::Semi, true), (JoinKind::Anti, false)] {
            let node = self.join_as(join, false, kind)?;
            let columns = self.fields(node).iter().map(|f| f.name().to_owned());
            let mut made: Vec<Made> =
                columns.map(|name| (Expr::Column(Column::new_unqualified(&name)), name)).collect();
            made.push((lit(has), "mark".to_owned()));
            sides.push(self.calc(node, None, made)?);
        }
        self.union(sides)
    }

    fn join_as(&mut self, join: &Join, swap: bool, kind: JoinKind) -> PlanResult<NodeId> {
        let left = self.convert(&join.left)?;
        let right = self.convert(&join.right)?;
        let schema = join.left.schema().join(join.right.schema()).map_err(planning)?;
        let null_safe = join.null_equality == NullEquality::NullEqualsNull;
        let on: Vec<(Expr, Expr)> = join
            .on
            .iter()
            .map(|(l, r)| {
                Ok((self.local(l, join.left.schema(), left)?, self.local(r, join.right.schema(), right)?))
            })
            .collect::<PlanResult<_>>()?;
        let mut joined = self.keyed(kind, left, right, on, null_safe, join.filter.as_ref(), &schema)?;
        joined.ttl = [&join.left, &join.right].map(|side| hint_of(side).and_then(|said| said.ttl));
        if swap {
            joined = self.swapped(joined)?;
        }
        if joined.kind == JoinKind::NullAwareAnti {
            // The comparison of NOT IN stands behind the keys that correlate.
            joined.keys.rotate_left(1);
        }
        let left_only = matches!(joined.kind, JoinKind::Semi | JoinKind::Anti | JoinKind::NullAwareAnti);
        let widths = if swap {
            (join.right.schema(), join.left.schema())
        } else {
            (join.left.schema(), join.right.schema())
        };
        let added = self.fields(joined.inputs[0]).len();
        joined.output = (0..widths.0.fields().len()).collect();
        if !left_only {
            joined.output.extend((0..widths.1.fields().len()).map(|c| added + c));
        }
        self.chosen(joined)
    }

    /// The join with its keys as columns, behind the columns of the inputs where they are computed.
    #[expect(clippy::too_many_arguments, reason = "the parts of a join")]
    pub(super) fn keyed(
        &mut self,
        kind: JoinKind,
        left: NodeId,
        right: NodeId,
        on: Vec<(Expr, Expr)>,
        null_safe: bool,
        filter: Option<&Expr>,
        schema: &DFSchema,
    ) -> PlanResult<Joined> {
        // The condition is over the columns as they are now: computed keys come behind those of each side.
        let (lefts, rights): (Vec<Expr>, Vec<Expr>) = on.into_iter().unzip();
        let widths = (self.fields(left).len(), self.fields(right).len());
        let (new_left, left_keys) = self.as_columns(left, &lefts)?;
        let (new_right, right_keys) = self.as_columns(right, &rights)?;
        let all = concatenated(self.fields(new_left), self.fields(new_right));
        let added = self.fields(new_left).len();
        let places = (0..widths.0).chain((0..widths.1).map(|c| added + c));
        let visible: Vec<PlanField> = places.map(|c| all[c].clone()).collect();
        let residual = filter.map(|f| localized(f, schema, &visible)).transpose()?;
        let residual = residual.map(split_conjunction_owned).unwrap_or_default();
        let keys = left_keys.into_iter().zip(right_keys).map(|(l, r)| (l, r, null_safe)).collect();
        Ok(Joined { kind, inputs: [new_left, new_right], keys, residual, output: Vec::new(), ttl: [None; 2] })
    }

    fn swapped(&mut self, joined: Joined) -> PlanResult<Joined> {
        let [left, right] = joined.inputs;
        let (l, r) = (self.fields(left).to_vec(), self.fields(right).to_vec());
        let before = concatenated(&l, &r);
        let after = concatenated(&r, &l);
        // The same columns in the other order.
        let reordered: Vec<PlanField> = before[l.len()..].iter().chain(&before[..l.len()]).cloned().collect();
        let residual = joined.residual.into_iter().map(|e| crate::plan::remap(e, &reordered, &after));
        let residual = residual.collect::<flugs_types::Result<Vec<_>>>().map_err(crate::error::lower)?;
        let keys = joined.keys.into_iter().map(|(a, b, n)| (b, a, n)).collect();
        let [ttl, of_right] = joined.ttl;
        Ok(Joined { inputs: [right, left], keys, residual, ttl: [of_right, ttl], ..joined })
    }

    /// The operator that needs the least state.
    fn chosen(&mut self, joined: Joined) -> PlanResult<NodeId> {
        // Of bounded inputs all rows are there.
        if !self.plan.batch {
            if let Some(node) = self.window_join(&joined)? {
                return Ok(node);
            }
            if let Some(node) = self.interval_join(&joined)? {
                return Ok(node);
            }
        }
        let batch = self.plan.batch;
        let Joined { kind, inputs, keys, residual, output, ttl } = joined;
        let [left, right] = inputs;
        let fields = output_fields(kind, self.fields(left), self.fields(right));
        let fields: Vec<PlanField> = output
            .iter()
            .map(|c| match batch {
                true => fields[*c].clone(),
                false => PlanField { time: None, window: None, ..fields[*c].clone() },
            })
            .collect();
        let op = Op::Join { kind, keys, residual: conjunction(residual), output, ttl };
        Ok(self.plan.add(op, vec![left, right], fields))
    }

    /// The output's columns of an operator that gives the whole concatenation.
    pub(super) fn finished(&mut self, op: Op, joined: &Joined, keeps_time: bool) -> PlanResult<NodeId> {
        let [left, right] = joined.inputs;
        let mut fields = output_fields(joined.kind, self.fields(left), self.fields(right));
        if !keeps_time {
            fields.iter_mut().for_each(|f| f.time = None);
        }
        let node = self.plan.add(op, vec![left, right], fields);
        self.select(node, &joined.output)
    }

    fn window_join(&mut self, joined: &Joined) -> PlanResult<Option<NodeId>> {
        let [left, right] = joined.inputs;
        let appends = self.plan.node(left).changes.is_append() && self.plan.node(right).changes.is_append();
        let (l, r) = (self.fields(left), self.fields(right));
        let pair = |role: WindowRole| {
            joined.keys.iter().position(|(a, b, _)| l[*a].window == Some(role) && r[*b].window == Some(role))
        };
        let (Some(start), Some(end)) = (pair(WindowRole::Start), pair(WindowRole::End)) else {
            return Ok(None);
        };
        if !appends || joined.kind == JoinKind::NullAwareAnti {
            return Ok(None);
        }
        let windows =
            ((joined.keys[start].0, joined.keys[end].0), (joined.keys[start].1, joined.keys[end].1));
        let rest = joined.keys.iter().enumerate().filter(|(i, _)| *i != start && *i != end);
        let keys = rest.map(|(_, key)| *key).collect();
        let residual = conjunction(joined.residual.clone());
        let op = Op::WindowJoin { kind: joined.kind, keys, windows, residual };
        self.finished(op, joined, true).map(Some)
    }
}

/// The columns that a join gives, without a choice of them.
fn output_fields(kind: JoinKind, left: &[PlanField], right: &[PlanField]) -> Vec<PlanField> {
    let padded = |fields: &[PlanField]| fields.iter().map(PlanField::padded).collect::<Vec<_>>();
    let (l, r) = match kind {
        JoinKind::Semi | JoinKind::Anti | JoinKind::NullAwareAnti => (left.to_vec(), Vec::new()),
        JoinKind::Inner => (left.to_vec(), right.to_vec()),
        JoinKind::Left => (left.to_vec(), padded(right)),
        JoinKind::Right => (padded(left), right.to_vec()),
        JoinKind::Full => (padded(left), padded(right)),
    };
    unique(l.into_iter().chain(r).collect())
}

/// A comparison of columns of the left with columns of the right, as `left op right`.
pub(super) fn sides(expr: &Expr, fields: &[PlanField], width: usize) -> Option<(Expr, Operator, Expr)> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else { return None };
    let side = |e: &Expr| -> Option<bool> {
        let columns = crate::plan::columns_of(e, fields).ok()?;
        match (columns.iter().all(|c| *c < width), columns.iter().all(|c| *c >= width)) {
            _ if columns.is_empty() => None,
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    };
    match (side(left)?, side(right)?) {
        (true, false) => Some((left.as_ref().clone(), *op, right.as_ref().clone())),
        (false, true) => Some((right.as_ref().clone(), op.swap()?, left.as_ref().clone())),
        _ => None,
    }
}

/// The column that an expression is, of these.
pub(super) fn column_at(expr: &Expr, fields: &[PlanField]) -> Option<usize> {
    column_index(expr, fields)
}
