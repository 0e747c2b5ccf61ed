//! Subqueries that the optimizer could not make joins of: nothing evaluates them, so they are errors that say what is in the way.

use crate::bind::singles::is_single;
use crate::error::{PlanResult, planning, unsupported};
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, Result};
use datafusion_expr::{Expr, LogicalPlan};
use flugs_sql_parser::{Location, Span, SqlError};

/// Checks a query that is optimized.
pub(super) fn check(plan: &LogicalPlan) -> PlanResult<()> {
    let mut found = None;
    let walked = plan.apply(|plan| {
        found = of_node(plan)?;
        Ok(if found.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    walked.map_err(planning)?;
    found.map_or(Ok(()), Err)
}

/// Checks a query that is bound for what the optimizer would take apart wrongly: before `EXISTS` it takes a limit for one that lets
/// some row through, and of an outer join it makes a condition that nothing can be compared in.
pub(super) fn check_bound(plan: &LogicalPlan) -> PlanResult<()> {
    let mut found = None;
    let walked = plan.apply_with_subqueries(|plan| {
        let is_wrong = match plan {
            LogicalPlan::Limit(_) => looks_outside(plan)?,
            LogicalPlan::Join(_) => plan.contains_outer_reference(),
            _ => false,
        };
        if is_wrong {
            found = Some(told(plan, None)?);
        }
        Ok(if found.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    walked.map_err(planning)?;
    found.map_or(Ok(()), Err)
}

/// Whether a query looks at the row outside of it, the subqueries within it aside.
fn looks_outside(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply(|plan| {
        found |= plan.contains_outer_reference();
        Ok(match plan {
            LogicalPlan::Subquery(_) => TreeNodeRecursion::Jump,
            _ if found => TreeNodeRecursion::Stop,
            _ => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(found)
}

fn of_node(plan: &LogicalPlan) -> Result<Option<SqlError>> {
    if let LogicalPlan::Subquery(lateral) = plan {
        return told(&lateral.subquery, None).map(Some);
    }
    let mut found = None;
    plan.apply_expressions(|e| {
        e.apply(|e| {
            found = match e {
                Expr::ScalarSubquery(query) => Some(told(&query.subquery, None)?),
                Expr::Exists(exists) => Some(told(&exists.subquery.subquery, None)?),
                Expr::InSubquery(called) => Some(told(&called.subquery.subquery, None)?),
                Expr::OuterReferenceColumn(_, column) => Some(told(plan, Some(column))?),
                _ => None,
            };
            Ok(if found.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    Ok(found)
}

/// What a subquery does with the row outside.
fn told(query: &LogicalPlan, outside: Option<&Column>) -> Result<SqlError> {
    let (mut column, mut place, mut way) = (outside.cloned(), None, None);
    query.apply_with_subqueries(|plan| {
        way = way.or(clause(plan));
        plan.apply_expressions(|e| {
            e.apply(|e| {
                match e {
                    Expr::OuterReferenceColumn(_, outside) if column.is_none() => {
                        column = Some(outside.clone())
                    }
                    Expr::Column(inner) => place = place.or_else(|| inner.spans().first()),
                    _ => {}
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    let of_row = match column {
        Some(Column { relation: Some(table), name, .. }) => format!(", '{}.{name}',", table.table()),
        Some(Column { name, .. }) => format!(", '{name}',"),
        None => String::new(),
    };
    let way = way.unwrap_or("by another condition than =");
    let error = unsupported(format!("a subquery that looks at a column of the row outside{of_row} {way}"));
    let error = error.help(
        "compare it by = in the WHERE of the subquery that is next to the tables, \
         or join with a query that has GROUP BY or PARTITION BY what is compared",
    );
    Ok(match place {
        Some(span) => error.at(Span::new(
            Location::new(span.start.line, span.start.column),
            Location::new(span.end.line, span.end.column),
        )),
        None => error,
    })
}

/// What of a node is in the way of taking a subquery apart.
fn clause(plan: &LogicalPlan) -> Option<&'static str> {
    match plan {
        LogicalPlan::Limit(_) => Some("below LIMIT"),
        LogicalPlan::Window(_) => Some("below OVER"),
        LogicalPlan::Aggregate(aggregate) if is_single(&aggregate.aggr_expr) => None,
        LogicalPlan::Aggregate(aggregate) if aggregate.aggr_expr.is_empty() => Some("below DISTINCT"),
        LogicalPlan::Aggregate(_) => Some("below an aggregate"),
        LogicalPlan::Union(_) => Some("below UNION"),
        LogicalPlan::Distinct(_) => Some("below DISTINCT"),
        LogicalPlan::Join(_) if plan.contains_outer_reference() => Some("in ON of an outer JOIN"),
        LogicalPlan::Join(_) => Some("below JOIN"),
        LogicalPlan::Projection(_) if plan.contains_outer_reference() => Some("in its SELECT"),
        _ => None,
    }
}
