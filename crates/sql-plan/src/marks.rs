//! `IN` and `EXISTS` of a subquery inside of expressions: under `OR` and `CASE`, in a `SELECT`, in arguments of aggregates.
//!
//! DataFusion turns those that a `WHERE` asks for into joins that mark each row with whether it has a match. Here others come to
//! stand below such a filter for a moment, and what may be unknown, by NULL on either side, is said by more than one mark.

use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::expr::{Exists, InSubquery};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::logical_plan::{Filter, Projection, Subquery};
use datafusion_expr::utils::{conjunction, split_conjunction_owned};
use datafusion_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, lit, when};
use datafusion_optimizer::decorrelate_predicate_subquery::DecorrelatePredicateSubquery;
use datafusion_optimizer::{OptimizerContext, OptimizerRule};
use std::sync::Arc;

/// Puts marks in the place of subqueries that are no condition by themselves.
pub(crate) fn expand(plan: LogicalPlan, config: &OptimizerContext) -> Result<LogicalPlan> {
    Ok(plan.transform_up_with_subqueries(|plan| node(plan, config))?.data)
}

fn node(plan: LogicalPlan, config: &OptimizerContext) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Filter(filter) if has_subquery(&filter.predicate) => {
            let schema = filter.input.schema().clone();
            let conditions = split_conjunction_owned(filter.predicate);
            let conditions = conditions.into_iter().map(|e| match is_condition(&e) {
                true => Ok(e),
                false => decided(e, true, &schema),
            });
            let conditions = conditions.collect::<Result<Vec<_>>>()?;
            let predicate = conjunction(conditions).unwrap_or_else(|| lit(true));
            Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, filter.input)?)))
        }
        LogicalPlan::Projection(_)
        | LogicalPlan::Aggregate(_)
        | LogicalPlan::Window(_)
        | LogicalPlan::Sort(_)
            if plan.expressions().iter().any(has_subquery) =>
        {
            marked(plan, config).map(Transformed::yes)
        }
        other => Ok(Transformed::no(other)),
    }
}

fn is_subquery(expr: &Expr) -> bool {
    matches!(expr, Expr::InSubquery(_) | Expr::Exists(_))
}

fn has_subquery(expr: &Expr) -> bool {
    expr.exists(|e| Ok(is_subquery(e))).unwrap_or(false)
}

/// Whether a condition is a subquery alone: a semi or anti join serves it.
fn is_condition(expr: &Expr) -> bool {
    match expr {
        Expr::Not(inner) => is_subquery(inner),
        other => is_subquery(other),
    }
}

/// The expression with `IN` in three values; `unknown_is_false` where nobody tells them apart.
fn decided(expr: Expr, unknown_is_false: bool, schema: &datafusion_common::DFSchema) -> Result<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right })
            if unknown_is_false =>
        {
            let (left, right) = (decided(*left, true, schema)?, decided(*right, true, schema)?);
            Ok(Expr::BinaryExpr(BinaryExpr { left: Box::new(left), op, right: Box::new(right) }))
        }
        Expr::InSubquery(InSubquery { negated: false, .. }) if unknown_is_false => Ok(expr),
        other => Ok(other
            .transform_up(|e| match e {
                Expr::InSubquery(called) => Ok(Transformed::yes(three_valued(called, schema)?)),
                e => Ok(Transformed::no(e)),
            })?
            .data),
    }
}

fn three_valued(called: InSubquery, schema: &datafusion_common::DFSchema) -> Result<Expr> {
    let InSubquery { expr, subquery, negated } = called;
    let inner = subquery.subquery.schema();
    let (column, operand_may) = (Expr::Column(inner.columns()[0].clone()), expr.nullable(schema)?);
    let column_may = inner.field(0).is_nullable();
    let exists = |plan: Arc<LogicalPlan>| {
        let subquery = Subquery { subquery: plan, ..subquery.clone() };
        Expr::Exists(Exists { subquery, negated: false })
    };
    let operand = expr.as_ref().clone();
    let found = Expr::InSubquery(InSubquery { expr, subquery: subquery.clone(), negated: false });
    let of_operand = operand_may.then(|| operand.is_null().and(exists(subquery.subquery.clone())));
    let of_column = match column_may {
        true => {
            let nulls = Filter::try_new(column.is_null(), subquery.subquery.clone())?;
            Some(exists(Arc::new(LogicalPlan::Filter(nulls))))
        }
        false => None,
    };
    let found = match [of_operand, of_column].into_iter().flatten().reduce(Expr::or) {
        Some(unknown) => {
            when(found, lit(true)).when(unknown, lit(ScalarValue::Boolean(None))).otherwise(lit(false))?
        }
        None => found,
    };
    Ok(if negated { Expr::Not(Box::new(found)) } else { found })
}

/// The plan over marks of its input's rows.
fn marked(plan: LogicalPlan, config: &OptimizerContext) -> Result<LogicalPlan> {
    let [input] = &plan.inputs()[..] else { return Ok(plan) };
    let (schema, outside) = (input.schema().clone(), plan.schema().columns());
    let mut input = (*input).clone();
    let names = NamePreserver::new(&plan);
    let mut exprs = Vec::new();
    for expr in plan.expressions() {
        let name = names.save(&expr);
        let expr = decided(expr, false, &schema)?.transform_up(|e| match is_subquery(&e) {
            true => match mark(&input, e.clone(), config)? {
                Some((joined, mark)) => {
                    input = joined;
                    Ok(Transformed::yes(mark))
                }
                None => Ok(Transformed::no(e)),
            },
            false => Ok(Transformed::no(e)),
        });
        exprs.push(name.restore(expr?.data));
    }
    let plan = plan.with_new_exprs(exprs, vec![input])?;
    if plan.schema().fields().len() == outside.len() {
        return Ok(plan);
    }
    let columns = outside.into_iter().map(Expr::Column).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
}

/// The rows with a mark, and the mark: what DataFusion makes of a filter that looks at the subquery's truth.
fn mark(
    input: &LogicalPlan,
    subquery: Expr,
    config: &OptimizerContext,
) -> Result<Option<(LogicalPlan, Expr)>> {
    let predicate = Expr::IsTrue(Box::new(subquery));
    let filter = LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(input.clone()))?);
    let rewritten = DecorrelatePredicateSubquery::new().rewrite(filter, config)?.data;
    let LogicalPlan::Projection(projection) = rewritten else { return Ok(None) };
    let LogicalPlan::Filter(filter) = projection.input.as_ref() else { return Ok(None) };
    let Expr::IsTrue(mark) = &filter.predicate else { return Ok(None) };
    Ok(Some((filter.input.as_ref().clone(), mark.as_ref().clone())))
}
