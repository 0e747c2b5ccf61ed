//! Scalar subqueries that may give more than one row: they are their `SINGLE_VALUE`, which fails where there are two.
//!
//! A scalar subquery is joined to the rows outside, and a join would multiply them instead. That of one that looks at the row outside
//! is grouped by what ties both when DataFusion takes it apart, so that each row outside has a single value of its own.

use crate::bind::ties::ties_of;
use crate::bind::views;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Column, Result, plan_err};
use datafusion_expr::expr::AggregateFunction;
use datafusion_expr::logical_plan::Subquery;
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use flugs_sql_functions::FunctionRegistry;
use std::sync::Arc;

/// The value's column.
const VALUE: &str = "$single";

/// Guards each of them, wherever it stands.
pub(super) fn expand(plan: LogicalPlan, functions: &FunctionRegistry) -> Result<LogicalPlan> {
    let guarded = |e| match e {
        Expr::ScalarSubquery(query) if !gives_one(&query)? => {
            Ok(Transformed::yes(Expr::ScalarSubquery(single(query, functions)?)))
        }
        other => Ok(Transformed::no(other)),
    };
    let node = |plan: LogicalPlan| plan.map_expressions(|e| e.transform(guarded));
    Ok(plan.transform_up_with_subqueries(node)?.data)
}

/// Whether these calls are what guards a subquery.
pub(super) fn is_single(calls: &[Expr]) -> bool {
    matches!(calls, [Expr::Alias(value)] if value.name == VALUE)
}

/// Whether there is one row at most for each row outside. What gives more than one column is refused elsewhere.
fn gives_one(query: &Subquery) -> Result<bool> {
    let plan = views::expand(query.subquery.as_ref().clone())?;
    Ok(plan.max_rows().is_some_and(|rows| rows <= 1)
        || plan.schema().fields().len() != 1
        || is_grouped_by_ties(&plan))
}

/// Whether a subquery is grouped by what ties it to the row outside alone.
fn is_grouped_by_ties(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(above) => is_grouped_by_ties(&above.input),
        LogicalPlan::SubqueryAlias(above) => is_grouped_by_ties(&above.input),
        LogicalPlan::Aggregate(aggregate) if !aggregate.aggr_expr.is_empty() => {
            let LogicalPlan::Filter(filter) = aggregate.input.as_ref() else { return false };
            ties_of(filter).is_some_and(|ties| aggregate.group_expr.iter().all(|e| ties.keys.contains(e)))
        }
        _ => false,
    }
}

fn single(query: Subquery, functions: &FunctionRegistry) -> Result<Subquery> {
    let Some(function) = functions.aggregate("single_value") else {
        return plan_err!("function 'single_value' is missing");
    };
    let (column, name) =
        (query.subquery.schema().columns().remove(0), query.subquery.schema().field(0).name());
    let args = vec![Expr::Column(column)];
    let call = AggregateFunction::new_udf(function.clone(), args, false, None, Vec::new(), None);
    let value = Expr::Column(Column::from_name(VALUE)).alias(name);
    let plan = LogicalPlanBuilder::from(query.subquery.as_ref().clone())
        .aggregate(Vec::<Expr>::new(), [Expr::AggregateFunction(call).alias(VALUE)])?
        .project([value])?
        .build()?;
    Ok(Subquery { subquery: Arc::new(plan), ..query })
}
