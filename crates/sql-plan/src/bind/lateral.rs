//! Joins with a table function, and with a table as it was at a time: from what DataFusion binds to nodes of our own.

use crate::bind::nodes::{AsOfNode, CorrelateNode, FunctionScanNode, HintedNode, TemporalJoinNode};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{NullEquality, Result, not_impl_err};
use datafusion_expr::logical_plan::{Filter, Join};
use datafusion_expr::utils::{find_valid_equijoin_key_pair, split_conjunction_owned};
use datafusion_expr::{BinaryExpr, Expr, Extension, JoinType, LogicalPlan, Operator, SubqueryAlias};
use std::sync::Arc;

/// Puts correlations and temporal joins in the place of the joins around them.
pub(crate) fn expand(plan: LogicalPlan) -> Result<LogicalPlan> {
    Ok(plan.transform_up_with_subqueries(node)?.data)
}

fn node(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Join(join) = plan else { return Ok(Transformed::no(plan)) };
    if let Some(scan) = function_scan(&join.right) {
        return correlate(&join, &scan).map(Transformed::yes);
    }
    if let Some((time, right)) = as_of(&join.right)? {
        return temporal(join, time, right).map(Transformed::yes);
    }
    Ok(Transformed::no(LogicalPlan::Join(join)))
}

fn function_scan(plan: &LogicalPlan) -> Option<FunctionScanNode> {
    match plan {
        LogicalPlan::Subquery(subquery) => function_scan(&subquery.subquery),
        LogicalPlan::Extension(extension) => {
            extension.node.as_any().downcast_ref::<FunctionScanNode>().cloned()
        }
        _ => None,
    }
}

fn correlate(join: &Join, scan: &FunctionScanNode) -> Result<LogicalPlan> {
    let left = match join.join_type {
        JoinType::Inner => false,
        JoinType::Left => true,
        other => return not_impl_err!("a {other} join with a table function"),
    };
    if left && (join.filter.as_ref().is_some_and(|f| !is_true(f)) || !join.on.is_empty()) {
        return not_impl_err!("a LEFT JOIN with a table function by another condition than ON TRUE");
    }
    let args = scan.args.iter().cloned().map(here).collect::<Result<_>>()?;
    let (name, function) = (scan.name.clone(), scan.function.clone());
    let input = Arc::unwrap_or_clone(join.left.clone());
    let correlate = CorrelateNode::new(input, name, function, args, left, scan.schema.clone())?;
    let plan = LogicalPlan::Extension(Extension { node: Arc::new(correlate) });
    let on = join.on.iter().map(|(l, r)| l.clone().eq(r.clone()));
    match on.chain(join.filter.clone()).filter(|f| !is_true(f)).reduce(Expr::and) {
        Some(condition) => Ok(LogicalPlan::Filter(Filter::try_new(condition, Arc::new(plan))?)),
        None => Ok(plan),
    }
}

fn is_true(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(datafusion_common::ScalarValue::Boolean(Some(true)), _))
}

/// References to the row outside are columns of the input.
fn here(expr: Expr) -> Result<Expr> {
    let replaced = expr.transform(|e| match e {
        Expr::OuterReferenceColumn(_, column) => Ok(Transformed::yes(Expr::Column(column))),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(replaced.data)
}

/// The time and the table of an `AS OF`, with the aliases around it.
fn as_of(plan: &LogicalPlan) -> Result<Option<(Expr, LogicalPlan)>> {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => Ok(match as_of(&alias.input)? {
            Some((time, input)) => {
                let alias = SubqueryAlias::try_new(Arc::new(input), alias.alias.clone())?;
                Some((time, LogicalPlan::SubqueryAlias(alias)))
            }
            None => None,
        }),
        LogicalPlan::Extension(extension) => {
            let node = extension.node.as_any();
            if let Some(hinted) = node.downcast_ref::<HintedNode>() {
                return Ok(as_of(&hinted.input)?.map(|(time, input)| {
                    let node = Arc::new(HintedNode { input, said: hinted.said.clone() });
                    (time, LogicalPlan::Extension(Extension { node }))
                }));
            }
            let node = node.downcast_ref::<AsOfNode>();
            Ok(node.map(|node| (node.time.clone(), node.input.clone())))
        }
        _ => Ok(None),
    }
}

fn temporal(join: Join, time: Expr, right: LogicalPlan) -> Result<LogicalPlan> {
    if !matches!(join.join_type, JoinType::Inner | JoinType::Left) {
        let kind = join.join_type.to_string().to_uppercase();
        return not_impl_err!("a {kind} join FOR SYSTEM_TIME AS OF");
    }
    if join.null_equality == NullEquality::NullEqualsNull {
        return not_impl_err!("a join FOR SYSTEM_TIME AS OF by IS NOT DISTINCT FROM");
    }
    let (on, filter) = equalities(&join)?;
    let left = Arc::unwrap_or_clone(join.left);
    let node = TemporalJoinNode::new(left, right, join.join_type, time, on, filter)?;
    Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
}

/// The equalities of a join's condition, left side first, and what else it asks for: DataFusion's rule that takes them apart
/// knows its own joins alone.
#[expect(clippy::type_complexity, reason = "pairs and what is left")]
fn equalities(join: &Join) -> Result<(Vec<(Expr, Expr)>, Option<Expr>)> {
    let mut on = join.on.clone();
    let mut rest = Vec::new();
    for condition in join.filter.clone().map(split_conjunction_owned).unwrap_or_default() {
        let pair = match &condition {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
                find_valid_equijoin_key_pair(left, right, join.left.schema(), join.right.schema())?
            }
            _ => None,
        };
        match pair {
            Some(pair) => on.push(pair),
            None => rest.push(condition),
        }
    }
    Ok((on, rest.into_iter().reduce(Expr::and)))
}
