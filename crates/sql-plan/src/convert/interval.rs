//! Joins of rows whose times are near each other: found by the conditions on the time attributes of both sides.

use crate::bind::group_windows::millis_of;
use crate::convert::Converter;
use crate::convert::join::{Joined, column_at, concatenated, sides};
use crate::error::PlanResult;
use crate::plan::{JoinKind, NodeId, Op, PlanField};
use datafusion_expr::utils::conjunction;
use datafusion_expr::{BinaryExpr, Expr, Operator};
use flugs_sql_types::TimeKind;

/// A time attribute and what is added to it, in milliseconds.
fn shifted(expr: &Expr, fields: &[PlanField]) -> Option<(usize, TimeKind, i64)> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Plus, right }) => {
            let (column, kind, by) = shifted(left, fields)?;
            Some((column, kind, by + millis_of(right).ok()?))
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Minus, right }) => {
            let (column, kind, by) = shifted(left, fields)?;
            Some((column, kind, by - millis_of(right).ok()?))
        }
        // Precisions that differ are made one for the comparison.
        Expr::Cast(cast) => shifted(&cast.expr, fields),
        Expr::Alias(alias) => shifted(&alias.expr, fields),
        Expr::Column(_) => {
            let column = column_at(expr, fields)?;
            fields[column].time.map(|kind| (column, kind, 0))
        }
        _ => None,
    }
}

/// A comparison of the times of both sides: `left - right op bound`.
fn bound(expr: &Expr, fields: &[PlanField], width: usize) -> Option<(usize, usize, TimeKind, Operator, i64)> {
    let (left, op, right) = sides(expr, fields, width)?;
    let (l, left_kind, left_by) = shifted(&left, fields)?;
    let (r, right_kind, right_by) = shifted(&right, fields)?;
    (left_kind == right_kind).then_some((l, r - width, left_kind, op, right_by - left_by))
}

impl Converter<'_> {
    pub(super) fn interval_join(&mut self, joined: &Joined) -> PlanResult<Option<NodeId>> {
        let [left, right] = joined.inputs;
        let appends = self.plan.node(left).changes.is_append() && self.plan.node(right).changes.is_append();
        if !appends || joined.kind == JoinKind::NullAwareAnti {
            return Ok(None);
        }
        let all = with_times(self.fields(left), self.fields(right));
        let width = self.fields(left).len();
        let (mut lower, mut upper) = (None::<i64>, None::<i64>);
        let mut times = None;
        let mut residual = Vec::new();
        // Equal times are a key and an interval of nothing.
        let equal_keys = joined.keys.iter().filter_map(|(l, r, _)| {
            let (a, b) = (self.fields(left)[*l].time?, self.fields(right)[*r].time?);
            (a == b).then_some((*l, *r, a))
        });
        for (l, r, kind) in equal_keys {
            if times.is_none_or(|t| t == (l, r, kind)) {
                times = Some((l, r, kind));
                lower = Some(lower.map_or(0, |x: i64| x.max(0)));
                upper = Some(upper.map_or(0, |x: i64| x.min(0)));
            }
        }
        for conjunct in &joined.residual {
            let found = bound(conjunct, &all, width)
                .filter(|(l, r, kind, ..)| times.is_none_or(|t| t == (*l, *r, *kind)));
            let Some((l, r, kind, op, by)) = found else {
                residual.push(conjunct.clone());
                continue;
            };
            let mut at_least = |x: i64| lower = Some(lower.map_or(x, |y| y.max(x)));
            match op {
                Operator::GtEq => at_least(by),
                Operator::Gt => at_least(by + 1),
                Operator::LtEq => upper = Some(upper.map_or(by, |y| y.min(by))),
                Operator::Lt => upper = Some(upper.map_or(by - 1, |y| y.min(by - 1))),
                Operator::Eq => {
                    at_least(by);
                    upper = Some(upper.map_or(by, |y| y.min(by)));
                }
                _ => {
                    residual.push(conjunct.clone());
                    continue;
                }
            }
            times = Some((l, r, kind));
            // Finer times than milliseconds are compared again.
            residual.push(conjunct.clone());
        }
        let (Some((l, r, time_kind)), Some(lower), Some(upper)) = (times, lower, upper) else {
            return Ok(None);
        };
        if time_kind == TimeKind::Proctime {
            residual.retain(|e| bound(e, &all, width).is_none());
        }
        let op = Op::IntervalJoin {
            kind: joined.kind,
            keys: joined.keys.clone(),
            times: (l, r),
            time_kind,
            bounds: (lower, upper),
            residual: conjunction(residual),
        };
        self.finished(op, joined, true).map(Some)
    }
}

/// The concatenation with the time attributes of both sides.
fn with_times(left: &[PlanField], right: &[PlanField]) -> Vec<PlanField> {
    concatenated(left, right)
}
