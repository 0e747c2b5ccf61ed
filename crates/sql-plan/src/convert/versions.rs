//! The right side of a join `FOR SYSTEM_TIME AS OF`: a table as the log of its versions.
//!
//! Operators that make a table of a log (`ChangelogNormalize`, a `ROW_NUMBER` that keeps the last row of each key, the fold of batch
//! mode) give what became of a key in a batch, not what was in between, and take a row back at the time from which it was valid. The
//! join keeps versions by key and time itself, so that it reads the log below them. A filter above them must not keep the end of a
//! version from the join: it becomes a column that the join's condition asks for.

use crate::convert::join::{Joined, concatenated};
use crate::convert::{Converter, df_schema, field_of_expr, unique};
use crate::error::{PlanResult, lower, semantic, unsupported};
use crate::plan::{NodeId, Op, PlanField, columns_of, is_column};
use datafusion_common::Column;
use datafusion_expr::{BinaryExpr, Expr, Operator};
use flugs_sql_parser::SqlError;
use flugs_sql_types::TimeKind;
use std::sync::Arc;

/// A column of the versions that says whether the table's filter lets a version through.
const LETS_THROUGH: &str = "$visible";

impl Converter<'_> {
    /// Settles the right side of a temporal join: it is joined by its primary key, with what else is compared as a condition, and by
    /// event time every version of it is read. Gives the time columns of both sides.
    pub(super) fn versioned(
        &mut self,
        joined: &mut Joined,
        left_time: Option<usize>,
    ) -> PlanResult<Option<(usize, usize)>> {
        let [left, right] = joined.inputs;
        let times = match left_time {
            Some(left_time) => {
                if !self.plan.node(left).changes.is_append() {
                    return Err(changing_left(self.plan.node(left).op.name()));
                }
                let fields = self.fields(right);
                let rowtime = fields.iter().position(|f| f.time == Some(TimeKind::Rowtime));
                Some((left_time, rowtime.ok_or_else(no_event_time)?))
            }
            None => None,
        };
        let keyed = self.by_primary_key(joined, times.is_some())?;
        let width = self.fields(right).len();
        let Some(versions) = self.log_of(right, times.map(|(_, time)| time), keyed)? else {
            return Ok(times);
        };
        joined.inputs[1] = versions;
        let added = self.fields(left).len();
        let all = concatenated(self.fields(left), self.fields(versions));
        joined.residual.extend(all[added + width..].iter().map(column));
        Ok(times)
    }

    /// Moves the keys that are not of the primary key into the condition. Gives whether the table has one.
    fn by_primary_key(&mut self, joined: &mut Joined, by_event_time: bool) -> PlanResult<bool> {
        let [left, right] = joined.inputs;
        let node = self.plan.node(right);
        let compared = |c: &usize| joined.keys.iter().any(|(_, r, _)| r == c);
        let Some(key) = node.keys.iter().find(|key| key.iter().all(compared)).cloned() else {
            // Rows that are only added replace each other by what they are compared by.
            return if by_event_time || !node.changes.is_append() { Err(not_by_key()) } else { Ok(false) };
        };
        let all = concatenated(self.fields(left), self.fields(right));
        let added = self.fields(left).len();
        let (mut keys, mut rest): (Vec<(usize, usize, bool)>, Vec<_>) = (Vec::new(), Vec::new());
        for pair in std::mem::take(&mut joined.keys) {
            let is_first = keys.iter().all(|(_, r, _)| *r != pair.1);
            if key.contains(&pair.1) && is_first { keys.push(pair) } else { rest.push(pair) }
        }
        joined.keys = keys;
        joined.residual.extend(rest.into_iter().map(|(l, r, _)| {
            Expr::BinaryExpr(BinaryExpr::new(
                Box::new(column(&all[l])),
                Operator::Eq,
                Box::new(column(&all[added + r])),
            ))
        }));
        Ok(true)
    }

    fn has_key(&self, id: NodeId) -> bool {
        !self.plan.node(id).keys.is_empty()
    }

    /// The log of the versions of a table, where that is another node: with the same columns, and behind them those that say whether
    /// a version is visible. `time` is the event time by which versions are told apart; without one only the newest is looked at, and
    /// there need not be every one. `keyed` says whether its rows replace each other by a key of its own.
    fn log_of(&mut self, id: NodeId, time: Option<usize>, keyed: bool) -> PlanResult<Option<NodeId>> {
        let node = self.plan.node(id).clone();
        let below = |at: usize| node.inputs[at];
        match &node.op {
            Op::Calc { filter, exprs } => {
                let input = below(0);
                let time_below = time.and_then(|time| {
                    let name = is_column(&exprs[time])?;
                    self.fields(input).iter().position(|f| f.name() == name)
                });
                let width = self.fields(input).len();
                let log = match self.log_of(input, time_below, keyed)? {
                    // Rows that are only added are the log themselves where they have a key that they replace each other by.
                    None if filter.is_some() && keyed && self.has_key(input) => Some(input),
                    log => log,
                };
                log.map(|log| self.with_visible(log, width, filter.as_ref(), exprs, &node.fields)).transpose()
            }
            Op::Scan(_) if !node.changes.is_append() => Ok(Some(id)),
            Op::Normalize { .. } | Op::Fold if time.is_some() => {
                let input = below(0);
                Ok(Some(self.log_of(input, time, keyed)?.unwrap_or(input)))
            }
            Op::Deduplicate { last: true, time: order, time_kind, .. } if time.is_some() => {
                let by_version = time == Some(*order) || *time_kind == TimeKind::Proctime;
                match by_version && self.log_of(below(0), time, keyed)?.is_none() {
                    true => Ok(Some(below(0))),
                    false => Err(no_log(node.op.name())),
                }
            }
            op => match (self.plan.traits(op, &node.inputs).0.is_append(), time) {
                (true, _) => Ok(None),
                (false, None) => Ok(Some(id)),
                (false, Some(_)) => Err(no_log(op.name())),
            },
        }
    }

    /// The columns of a projection over a log whose first `width` columns it is made of, without its filter.
    fn with_visible(
        &mut self,
        log: NodeId,
        width: usize,
        filter: Option<&Expr>,
        exprs: &[Expr],
        fields: &[PlanField],
    ) -> PlanResult<NodeId> {
        let schema = df_schema(self.fields(log))?;
        let mut exprs = exprs.to_vec();
        let mut fields = fields.to_vec();
        let carried = self.fields(log)[width..].iter().map(column);
        for visible in carried.chain(filter.cloned()) {
            let field = field_of_expr(&visible, &schema)?.as_ref().clone().with_name(LETS_THROUGH);
            fields.push(PlanField::new(Arc::new(field)));
            exprs.push(visible);
        }
        for expr in &exprs {
            columns_of(expr, self.fields(log)).map_err(lower)?;
        }
        Ok(self.plan.add(Op::Calc { filter: None, exprs }, vec![log], unique(fields)))
    }
}

fn column(field: &PlanField) -> Expr {
    Expr::Column(Column::new_unqualified(field.name()))
}

fn no_event_time() -> SqlError {
    semantic("the table of FOR SYSTEM_TIME AS OF has no event time")
        .help("declare a WATERMARK and a PRIMARY KEY for it, so that it has versions")
}

fn not_by_key() -> SqlError {
    semantic("a join FOR SYSTEM_TIME AS OF must have the primary key of its table in ON")
        .help("declare PRIMARY KEY (...) NOT ENFORCED, and compare all of its columns")
}

fn changing_left(maker: &str) -> SqlError {
    unsupported(format!("FOR SYSTEM_TIME AS OF by event time, of rows that are updated or deleted ({maker})"))
        .help("take rows that are only added on the left side, or join the changing tables without FOR SYSTEM_TIME")
}

/// An operator that gives the newest state of its rows, not every version.
fn no_log(maker: &str) -> SqlError {
    unsupported(format!(
        "FOR SYSTEM_TIME AS OF by event time, of what {maker} makes: its versions are not known"
    ))
    .help(
        "take a table with PRIMARY KEY and WATERMARK, or a view of rows that are only added, \
         WHERE ROW_NUMBER() OVER (PARTITION BY key ORDER BY rowtime DESC) = 1",
    )
}
