//! `LIMIT` in a subquery that looks at the row outside: the first rows for each row outside, which is a rank within the columns that tie the subquery to
//! it.

use crate::bind::ties::{Ties, ties_of};
use datafusion_common::tree_node::Transformed;
use datafusion_common::{Column, Result, plan_err};
use datafusion_expr::expr::{Sort as SortKey, WindowFunction};
use datafusion_expr::logical_plan::{Filter, Limit, Projection, Sort};
use datafusion_expr::utils::conjunction;
use datafusion_expr::{
    Expr, ExprFunctionExt, FetchType, LogicalPlan, LogicalPlanBuilder, SkipType, WindowFunctionDefinition,
    lit,
};
use flugs_sql_functions::FunctionRegistry;
use std::sync::Arc;

/// The rank's column.
const RANK: &str = "$rank";

/// Puts ranks in the place of such limits.
pub(super) fn expand(plan: LogicalPlan, functions: &FunctionRegistry) -> Result<LogicalPlan> {
    Ok(plan.transform_up_with_subqueries(|plan| node(plan, functions))?.data)
}

fn node(plan: LogicalPlan, functions: &FunctionRegistry) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Limit(limit) = &plan else { return Ok(Transformed::no(plan)) };
    Ok(match limited(limit, functions)? {
        Some(ranked) => Transformed::yes(ranked),
        None => Transformed::no(plan),
    })
}

fn limited(limit: &Limit, functions: &FunctionRegistry) -> Result<Option<LogicalPlan>> {
    let (FetchType::Literal(fetch), SkipType::Literal(skip)) =
        (limit.get_fetch_type()?, limit.get_skip_type()?)
    else {
        return Ok(None);
    };
    // [Projection] Sort Projection Filter, from the top.
    let (above, sorted) = match limit.input.as_ref() {
        LogicalPlan::Projection(above) if matches!(above.input.as_ref(), LogicalPlan::Sort(_)) => {
            (Some(above), above.input.as_ref())
        }
        other => (None, other),
    };
    let (order, body) = match sorted {
        LogicalPlan::Sort(Sort { expr, input, fetch: None }) => (expr.clone(), input.as_ref()),
        other => (Vec::new(), other),
    };
    let LogicalPlan::Projection(body) = body else { return Ok(None) };
    let LogicalPlan::Filter(filter) = body.input.as_ref() else { return Ok(None) };
    let Some(ties) = ties_of(filter) else { return Ok(None) };
    let names: Vec<String> = (0..ties.keys.len()).map(|i| format!("$key{i}")).collect();
    let rank = || Expr::Column(Column::from_name(RANK));
    // There are not as many rows.
    let most = |n: usize, most: i64| lit(i64::try_from(n).unwrap_or(most).min(most));
    let first = (skip > 0).then(|| rank().gt(most(skip, i64::MAX - 1)));
    let last = fetch.map(|fetch| rank().lt_eq(most(skip.saturating_add(fetch), i64::MAX)));
    let kept = first.into_iter().chain(last).reduce(Expr::and).unwrap_or_else(|| lit(true));
    let columns: Vec<Expr> = match above {
        Some(above) => above.expr.clone(),
        None => body.schema.columns().into_iter().map(Expr::Column).collect(),
    };
    let keys = || names.iter().map(|name| Expr::Column(Column::from_name(name)));
    let kept = LogicalPlanBuilder::from(ranked(body, filter, &ties, order, &names, functions)?)
        .filter(kept)?
        .project(columns.into_iter().chain(keys()))?;
    // What ties the subquery to the row outside comes after the rank, which is the same for all rows outside of equal keys.
    let tied = keys().zip(ties.outside).map(|(key, outside)| key.eq(outside)).reduce(Expr::and);
    let visible = kept.schema().columns().into_iter().take(kept.schema().fields().len() - names.len());
    let visible: Vec<Expr> = visible.map(Expr::Column).collect();
    kept.filter(tied.unwrap_or_else(|| lit(true)))?.project(visible)?.build().map(Some)
}

/// The rows with their rank in the order among those of equal keys, which have these names.
fn ranked(
    body: &Projection,
    filter: &Filter,
    ties: &Ties,
    order: Vec<SortKey>,
    names: &[String],
    functions: &FunctionRegistry,
) -> Result<LogicalPlan> {
    let Some(row_number) = functions.window("row_number") else {
        return plan_err!("function 'row_number' is missing");
    };
    let mut input = LogicalPlanBuilder::from(Arc::unwrap_or_clone(filter.input.clone()));
    if let Some(rest) = conjunction(ties.rest.iter().cloned()) {
        input = input.filter(rest)?;
    }
    let named = ties.keys.iter().zip(names).map(|(key, name)| key.clone().alias(name));
    let input = input.project(body.expr.iter().cloned().chain(named))?;
    let keys: Vec<Expr> = names.iter().map(|name| Expr::Column(Column::from_name(name))).collect();
    let order = match order.is_empty() {
        // Any rows will do.
        true => keys.iter().map(|key| key.clone().sort(true, true)).collect(),
        false => order,
    };
    let function = WindowFunctionDefinition::WindowUDF(row_number.clone());
    let rank = Expr::from(WindowFunction::new(function, Vec::new()));
    let rank = rank.partition_by(keys).order_by(order).build()?.alias(RANK);
    input.window([rank])?.build()
}
