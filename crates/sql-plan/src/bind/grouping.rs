//! `GROUPING`, `GROUPING_ID` and `GROUP_ID`: bits of the number that an aggregate by grouping sets gives each row.

use crate::bind::inside;
use crate::error::semantic;
use arrow::datatypes::DataType;
use datafusion_common::tree_node::Transformed;
use datafusion_common::{Column, Result};
use datafusion_expr::logical_plan::{Aggregate, Projection};
use datafusion_expr::utils::grouping_set_to_exprlist;
use datafusion_expr::{Expr, LogicalPlan, Operator, binary_expr, cast, lit};
use std::sync::Arc;

/// Puts expressions over the number of the grouping set in the place of the calls.
pub(super) fn expand(plan: LogicalPlan) -> Result<LogicalPlan> {
    Ok(plan.transform_up_with_subqueries(expand_node)?.data)
}

fn expand_node(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Aggregate(aggregate) = plan else { return Ok(Transformed::no(plan)) };
    if !aggregate.aggr_expr.iter().any(|e| call(e).is_some()) {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let keys: Vec<Expr> = grouping_set_to_exprlist(&aggregate.group_expr)?.into_iter().cloned().collect();
    let is_sets = matches!(&aggregate.group_expr[..], [Expr::GroupingSet(_)]);
    let columns = aggregate.schema.columns();
    let mut exprs: Vec<Expr> = columns[..keys.len()].iter().cloned().map(Expr::Column).collect();
    let mut others = Vec::new();
    let results = &columns[keys.len() + usize::from(is_sets)..];
    for (expr, column) in aggregate.aggr_expr.iter().zip(results) {
        exprs.push(match call(expr) {
            Some((name, args)) => {
                let number = match is_sets {
                    true => number(name, args, &keys)?,
                    false => args.iter().try_fold(lit(0i64), |zero, e| bit(e, &keys).map(|_| zero))?,
                };
                number.alias_qualified(column.relation.clone(), &column.name)
            }
            None => {
                others.push(expr.clone());
                Expr::Column(column.clone())
            }
        });
    }
    let inner = Aggregate::try_new(aggregate.input.clone(), aggregate.group_expr.clone(), others)?;
    let projection = Projection::try_new(exprs, Arc::new(LogicalPlan::Aggregate(inner)))?;
    Ok(Transformed::yes(LogicalPlan::Projection(projection)))
}

/// The name and the arguments of such a call.
fn call(expr: &Expr) -> Option<(&str, &[Expr])> {
    match expr {
        Expr::Alias(alias) => call(&alias.expr),
        Expr::AggregateFunction(f) if matches!(f.func.name(), "grouping" | "grouping_id" | "group_id") => {
            Some((f.func.name(), &f.params.args))
        }
        _ => None,
    }
}

/// The place of an argument among the bits of the set's number: the last key's is the lowest.
fn bit(arg: &Expr, keys: &[Expr]) -> Result<usize> {
    let place = keys.iter().rev().position(|key| key == arg);
    place.ok_or_else(|| {
        let shown = keys.iter().map(|k| k.human_display().to_string()).collect::<Vec<_>>().join(", ");
        let arg = arg.human_display();
        let error = semantic(format!("GROUPING takes what is grouped by ({shown}), and {arg} is not"));
        inside(error.help("add it to GROUP BY"))
    })
}

fn number(name: &str, args: &[Expr], keys: &[Expr]) -> Result<Expr> {
    let id = cast(Expr::Column(Column::from_name(Aggregate::INTERNAL_GROUPING_ID)), DataType::Int64);
    let shifted = |by: usize| binary_expr(id.clone(), Operator::BitwiseShiftRight, lit(by as i64));
    if name == "group_id" {
        // Above the keys' bits stands how often the same set stood before.
        return Ok(shifted(keys.len()));
    }
    let bits = args.iter().rev().enumerate().map(|(to, arg)| {
        let one = binary_expr(shifted(bit(arg, keys)?), Operator::BitwiseAnd, lit(1i64));
        Ok(binary_expr(one, Operator::BitwiseShiftLeft, lit(to as i64)))
    });
    let together = bits.reduce(|a: Result<Expr>, b| Ok(binary_expr(a?, Operator::BitwiseOr, b?)));
    together.unwrap_or_else(|| Ok(lit(0i64)))
}
