//! Scalar subqueries where DataFusion does not look for them: in keys and arguments of aggregates, before `OVER`, in `ORDER BY`.
//!
//! They become columns of the rows below.

use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Column, Result};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

/// Moves them down.
pub(super) fn expand(plan: LogicalPlan) -> Result<LogicalPlan> {
    Ok(plan.transform_up_with_subqueries(node)?.data)
}

fn node(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    // Below ORDER BY the columns of the row outside may be gone.
    let sorts = matches!(plan, LogicalPlan::Sort(_));
    let is_scalar = |e: &Expr| {
        Ok(matches!(e, Expr::ScalarSubquery(query) if !sorts || query.outer_ref_columns.is_empty()))
    };
    let moved = matches!(plan, LogicalPlan::Aggregate(_) | LogicalPlan::Window(_) | LogicalPlan::Sort(_));
    if !moved || !plan.expressions().iter().any(|e| e.exists(is_scalar).unwrap_or(false)) {
        return Ok(Transformed::no(plan));
    }
    let inputs = plan.inputs();
    let [input] = inputs[..] else { return Ok(Transformed::no(plan)) };
    let outside = plan.schema().columns();
    let mut scalars: Vec<Expr> = Vec::new();
    let names = NamePreserver::new(&plan);
    let mut exprs = Vec::new();
    for expr in plan.expressions() {
        let name = names.save(&expr);
        let expr = expr.transform(|e| {
            if !is_scalar(&e)? {
                return Ok(Transformed::no(e));
            }
            let at = scalars.iter().position(|other| *other == e).unwrap_or(scalars.len());
            if at == scalars.len() {
                scalars.push(e);
            }
            Ok(Transformed::yes(Expr::Column(Column::from_name(format!("$scalar{at}")))))
        });
        exprs.push(name.restore(expr?.data));
    }
    let columns = input.schema().columns().into_iter().map(Expr::Column);
    let added = scalars.into_iter().enumerate().map(|(at, e)| e.alias(format!("$scalar{at}")));
    let below = LogicalPlanBuilder::from(input.clone()).project(columns.chain(added))?.build()?;
    let plan = plan.with_new_exprs(exprs, vec![below])?;
    if plan.schema().fields().len() == outside.len() {
        return Ok(Transformed::yes(plan));
    }
    let outside: Vec<Expr> = outside.into_iter().map(Expr::Column).collect();
    Ok(Transformed::yes(LogicalPlanBuilder::from(plan).project(outside)?.build()?))
}
