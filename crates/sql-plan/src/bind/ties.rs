//! What ties a subquery to the row outside of it.
//!
//! DataFusion takes a subquery apart by lifting such conditions out of it, through projections and aggregates but not through the alias
//! of a query in `FROM` or out of the `ON` of a join. Here they are lifted above those, with what they compare carried in columns of its own.

use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Column, DFSchema, Result};
use datafusion_expr::logical_plan::{Filter, Join, Sort, Subquery, SubqueryAlias};
use datafusion_expr::utils::{conjunction, split_conjunction};
use datafusion_expr::{
    BinaryExpr, Expr, FetchType, JoinType, LogicalPlan, LogicalPlanBuilder, Operator, SkipType,
};
use std::sync::Arc;

/// Expressions of a subquery that equal some of the row outside.
pub(super) struct Ties {
    /// Expressions of the subquery.
    pub(super) keys: Vec<Expr>,
    /// What each equals of the row outside.
    pub(super) outside: Vec<Expr>,
    /// The other conditions.
    pub(super) rest: Vec<Expr>,
}

/// None where the row outside is looked at in another way than by equality, or not at all.
pub(super) fn ties_of(filter: &Filter) -> Option<Ties> {
    let mut ties = Ties { keys: Vec::new(), outside: Vec::new(), rest: Vec::new() };
    for conjunct in split_conjunction(&filter.predicate) {
        if !conjunct.contains_outer() {
            ties.rest.push(conjunct.clone());
            continue;
        }
        let (inner, outside) = equal(conjunct)?;
        ties.keys.push(inner.clone());
        ties.outside.push(outside.clone());
    }
    (!ties.keys.is_empty()).then_some(ties)
}

/// What is equal by a condition: of the subquery, and of the row outside.
fn equal(condition: &Expr) -> Option<(&Expr, &Expr)> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else { return None };
    let (inner, outside) = if left.contains_outer() { (right, left) } else { (left, right) };
    let is_apart = !inner.contains_outer() && outside.column_refs().is_empty();
    is_apart.then_some((inner, outside))
}

/// Lifts the conditions above joins and the aliases of queries.
pub(super) fn lift(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut lift = Lift { carried: 0 };
    let node = |plan: LogicalPlan| {
        let lifted = match &plan {
            LogicalPlan::SubqueryAlias(alias) => lift.above_alias(alias)?,
            LogicalPlan::Join(join) if join.join_type == JoinType::Inner => lift.above_join(join)?,
            _ => None,
        };
        Ok(match lifted {
            Some(lifted) => Transformed::yes(lifted),
            None => Transformed::no(plan),
        })
    };
    Ok(plan.transform_up_with_subqueries(node)?.data)
}

/// What columns that are carried begin with; a number follows that no other of the query has.
const CARRIED: &str = "$tie";

struct Lift {
    carried: usize,
}

/// A query without the conditions that look at the row outside, with all columns that they need.
struct Bare {
    plan: LogicalPlan,
    conditions: Vec<Expr>,
}

impl Lift {
    fn above_alias(&mut self, alias: &SubqueryAlias) -> Result<Option<LogicalPlan>> {
        let Some(bare) = self.bare(&alias.input)? else { return Ok(None) };
        let above = |column: &Column| Column::new(Some(alias.alias.clone()), &column.name);
        let conditions = bare.conditions.into_iter().map(|condition| {
            let renamed = condition.transform(|e| match e {
                Expr::Column(column) => Ok(Transformed::yes(Expr::Column(above(&column)))),
                other => Ok(Transformed::no(other)),
            });
            renamed.map(|renamed| renamed.data)
        });
        let conditions = conditions.collect::<Result<Vec<_>>>()?;
        let plan = LogicalPlanBuilder::from(bare.plan).alias(alias.alias.clone())?.build()?;
        filtered(Bare { plan, conditions }, &alias.schema).map(Some)
    }

    fn above_join(&mut self, join: &Join) -> Result<Option<LogicalPlan>> {
        let sides = [&join.left, &join.right];
        let [left, right] = sides.map(|side| self.bare(side));
        let (left, right) = (left?, right?);
        let conjuncts = join.filter.iter().flat_map(split_conjunction).cloned();
        let (own, rest): (Vec<_>, Vec<_>) = conjuncts.partition(Expr::contains_outer);
        if left.is_none() && right.is_none() && own.is_empty() {
            return Ok(None);
        }
        let plain = |side: &Arc<LogicalPlan>| Bare { plan: side.as_ref().clone(), conditions: Vec::new() };
        let left = left.unwrap_or_else(|| plain(&join.left));
        let right = right.unwrap_or_else(|| plain(&join.right));
        let inner = Join::try_new(
            Arc::new(left.plan),
            Arc::new(right.plan),
            join.on.clone(),
            conjunction(rest),
            join.join_type,
            join.join_constraint,
            join.null_equality,
            join.null_aware,
        )?;
        let conditions = left.conditions.into_iter().chain(right.conditions).chain(own).collect();
        filtered(Bare { plan: LogicalPlan::Join(inner), conditions }, &join.schema).map(Some)
    }

    /// None where there are no conditions of the row outside, above what is no projection and no filter.
    fn bare(&mut self, plan: &LogicalPlan) -> Result<Option<Bare>> {
        match plan {
            LogicalPlan::Filter(filter) => {
                let conjuncts = split_conjunction(&filter.predicate).into_iter().cloned();
                let (own, rest): (Vec<_>, Vec<_>) = conjuncts.partition(Expr::contains_outer);
                let below = self.bare(&filter.input)?;
                if below.is_none() && own.is_empty() {
                    return Ok(None);
                }
                let plain = || Bare { plan: filter.input.as_ref().clone(), conditions: Vec::new() };
                let mut bare = below.unwrap_or_else(plain);
                if let Some(rest) = conjunction(rest) {
                    bare.plan = LogicalPlan::Filter(Filter::try_new(rest, Arc::new(bare.plan))?);
                }
                bare.conditions.extend(own);
                Ok(Some(bare))
            }
            LogicalPlan::Projection(projection) => match self.bare(&projection.input)? {
                Some(below) => self.carry(below, &projection.expr).map(Some),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// The query with these columns, and behind them what the conditions compare.
    fn carry(&mut self, below: Bare, columns: &[Expr]) -> Result<Bare> {
        let (mut behind, mut made_columns): (Vec<(Expr, Expr)>, Vec<Expr>) = (Vec::new(), columns.to_vec());
        let mut above = |e: Expr| {
            if let Some((_, column)) = behind.iter().find(|(other, _)| *other == e) {
                return column.clone();
            }
            let (made, column) = match &e {
                Expr::Column(carried) if carried.name.starts_with(CARRIED) => (e.clone(), e.clone()),
                _ => {
                    let name = format!("{CARRIED}{}", self.carried);
                    self.carried += 1;
                    (e.clone().alias(&name), Expr::Column(Column::from_name(name)))
                }
            };
            behind.push((e, column.clone()));
            made_columns.push(made);
            column
        };
        let conditions = below.conditions.into_iter().map(|condition| match equal(&condition) {
            Some((inner, outside)) => Ok(above(inner.clone()).eq(outside.clone())),
            None => condition
                .transform(|e| match e {
                    Expr::Column(_) => Ok(Transformed::yes(above(e))),
                    other => Ok(Transformed::no(other)),
                })
                .map(|rewritten| rewritten.data),
        });
        let conditions = conditions.collect::<Result<Vec<_>>>()?;
        let plan = LogicalPlanBuilder::from(below.plan).project(made_columns)?.build()?;
        Ok(Bare { plan, conditions })
    }
}

/// The columns of `schema` of the rows for which the conditions hold.
fn filtered(bare: Bare, schema: &DFSchema) -> Result<LogicalPlan> {
    let filtered = match conjunction(bare.conditions) {
        Some(condition) => LogicalPlan::Filter(Filter::try_new(condition, Arc::new(bare.plan))?),
        None => bare.plan,
    };
    LogicalPlanBuilder::from(filtered).project(schema.columns().into_iter().map(Expr::Column))?.build()
}

/// Takes away from subqueries in expressions what says nothing there: an order without a limit, and before `EXISTS` one with a limit
/// of more than no row.
pub(super) fn unsorted(plan: LogicalPlan) -> Result<LogicalPlan> {
    let of_query = |query: Subquery, any_row: bool| -> Result<Subquery> {
        if query.outer_ref_columns.is_empty() {
            return Ok(query);
        }
        let plan = match query.subquery.as_ref() {
            LogicalPlan::Limit(limit) if any_row => match (limit.get_skip_type()?, limit.get_fetch_type()?) {
                (SkipType::Literal(0), FetchType::Literal(Some(fetch))) if fetch > 0 => &limit.input,
                _ => &query.subquery,
            },
            _ => &query.subquery,
        };
        let subquery = Arc::new(without_sort(plan)?);
        Ok(Subquery { subquery, ..query })
    };
    let expr = |e: Expr| {
        Ok(Transformed::yes(match e {
            Expr::Exists(mut exists) => {
                exists.subquery = of_query(exists.subquery, true)?;
                Expr::Exists(exists)
            }
            Expr::InSubquery(mut called) => {
                called.subquery = of_query(called.subquery, false)?;
                Expr::InSubquery(called)
            }
            Expr::ScalarSubquery(query) => Expr::ScalarSubquery(of_query(query, false)?),
            other => return Ok(Transformed::no(other)),
        }))
    };
    let node = |plan: LogicalPlan| plan.map_expressions(|e| e.transform(expr));
    Ok(plan.transform_up_with_subqueries(node)?.data)
}

fn without_sort(plan: &LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Sort(Sort { input, fetch: None, .. }) => Ok(input.as_ref().clone()),
        LogicalPlan::Projection(above) if matches!(above.input.as_ref(), LogicalPlan::Sort(_)) => {
            let below = without_sort(&above.input)?;
            LogicalPlanBuilder::from(below).project(above.expr.clone())?.build()
        }
        other => Ok(other.clone()),
    }
}
