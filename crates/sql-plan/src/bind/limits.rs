//! `LIMIT` in a `LATERAL` subquery: the first rows for each row outside, which is a rank within the columns that tie the subquery to
//! it.

use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Column, Result, plan_err};
use datafusion_expr::expr::{Sort as SortKey, WindowFunction};
use datafusion_expr::logical_plan::{Filter, Limit, Projection, Sort};
use datafusion_expr::utils::{conjunction, split_conjunction};
use datafusion_expr::{
    BinaryExpr, Expr, ExprFunctionExt, FetchType, LogicalPlan, LogicalPlanBuilder, Operator, SkipType,
    WindowFunctionDefinition, lit,
};
use flugs_sql_functions::FunctionRegistry;
use std::sync::Arc;

/// The rank's column.
const RANK: &str = "$rank";

/// Puts ranks in the place of such limits.
pub(super) fn expand(plan: LogicalPlan, functions: &FunctionRegistry) -> Result<LogicalPlan> {
    Ok(plan.transform_up(|plan| node(plan, functions))?.data)
}

fn node(plan: LogicalPlan, functions: &FunctionRegistry) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Limit(limit) = &plan else { return Ok(Transformed::no(plan)) };
    Ok(match limited(limit, functions)? {
        Some(ranked) => Transformed::yes(ranked),
        None => Transformed::no(plan),
    })
}

fn limited(limit: &Limit, functions: &FunctionRegistry) -> Result<Option<LogicalPlan>> {
    let (FetchType::Literal(Some(fetch)), SkipType::Literal(skip)) =
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
    let (first, last) = (rank().gt(lit(skip as i64)), rank().lt_eq(lit(skip.saturating_add(fetch) as i64)));
    let columns: Vec<Expr> = match above {
        Some(above) => above.expr.clone(),
        None => body.schema.columns().into_iter().map(Expr::Column).collect(),
    };
    let keys = || names.iter().map(|name| Expr::Column(Column::from_name(name)));
    let kept = LogicalPlanBuilder::from(ranked(body, filter, &ties, order, &names, functions)?)
        .filter(if skip > 0 { first.and(last) } else { last })?
        .project(columns.into_iter().chain(keys()))?;
    // What ties the subquery to the row outside comes after the rank, which is the same for all rows outside of equal keys.
    let tied = keys().zip(ties.outside).map(|(key, outside)| key.eq(outside)).reduce(Expr::and);
    let visible = kept.schema().columns().into_iter().take(kept.schema().fields().len() - names.len());
    let visible: Vec<Expr> = visible.map(Expr::Column).collect();
    kept.filter(tied.unwrap_or_else(|| lit(true)))?.project(visible)?.build().map(Some)
}

/// What ties a subquery to the row outside.
pub(super) struct Ties {
    /// Expressions of the subquery.
    pub(super) keys: Vec<Expr>,
    /// What each equals of the row outside.
    outside: Vec<Expr>,
    /// The other conditions.
    rest: Vec<Expr>,
}

/// None where the row outside is looked at in another way than by equality, or not at all.
pub(super) fn ties_of(filter: &Filter) -> Option<Ties> {
    let mut ties = Ties { keys: Vec::new(), outside: Vec::new(), rest: Vec::new() };
    for conjunct in split_conjunction(&filter.predicate) {
        if !conjunct.contains_outer() {
            ties.rest.push(conjunct.clone());
            continue;
        }
        let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = conjunct else { return None };
        let (inner, outside) = if left.contains_outer() { (right, left) } else { (left, right) };
        if inner.contains_outer() || !outside.column_refs().is_empty() {
            return None;
        }
        ties.keys.push(inner.as_ref().clone());
        ties.outside.push(outside.as_ref().clone());
    }
    (!ties.keys.is_empty()).then_some(ties)
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
