//! `INTERSECT ALL` and `EXCEPT ALL`, which DataFusion binds as joins that lose how often a row is there.
//!
//! As in Flink, both sides come together, equal rows are counted for each side, and each row is given as often as the counts say.

use crate::bind::nodes::{CorrelateNode, FunctionRef};
use crate::plan::CorrelateFn;
use datafusion_common::tree_node::Transformed;
use datafusion_common::{Column, DFSchema, NullEquality, Result, ScalarValue, plan_err};
use datafusion_expr::logical_plan::{Distinct, Join, JoinType};
use datafusion_expr::type_coercion::binary::type_union_coercion;
use datafusion_expr::{Expr, Extension, LogicalPlan, LogicalPlanBuilder, cast, lit, when};
use flugs_sql_functions::FunctionRegistry;
use std::sync::Arc;

/// Puts counting in the place of the joins.
pub(super) fn expand(plan: LogicalPlan, functions: &FunctionRegistry) -> Result<LogicalPlan> {
    Ok(plan.transform_up_with_subqueries(|plan| node(plan, functions))?.data)
}

fn node(plan: LogicalPlan, functions: &FunctionRegistry) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Join(join) if is_set_operation(&join) => match join.left.as_ref() {
            LogicalPlan::Distinct(Distinct::All(left)) => in_common_types(&join, left),
            _ => counted(&join, functions).map(Transformed::yes),
        },
        other => Ok(Transformed::no(other)),
    }
}

/// Only set operations are semi and anti joins in which NULL equals NULL. Without `ALL` the left side is made distinct first.
fn is_set_operation(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNull
}

/// Without `ALL`, with the columns of the left in the types that those of both sides have in common.
fn in_common_types(join: &Join, left: &LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let mut changed = false;
    let sides = left.schema().iter().zip(join.right.schema().fields());
    let columns = sides.map(|((qualifier, field), other)| {
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        match type_union_coercion(field.data_type(), other.data_type()) {
            Some(common) if common != *field.data_type() => {
                changed = true;
                cast(column, common).alias_qualified(qualifier.cloned(), field.name())
            }
            _ => column,
        }
    });
    let columns: Vec<Expr> = columns.collect();
    if !changed {
        return Ok(Transformed::no(LogicalPlan::Join(join.clone())));
    }
    let left = LogicalPlanBuilder::from(left.clone()).project(columns)?.distinct()?.build()?;
    let join = Join { left: Arc::new(left), ..join.clone() };
    Ok(Transformed::yes(LogicalPlan::Join(join).recompute_schema()?))
}

fn column(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

fn counted(join: &Join, functions: &FunctionRegistry) -> Result<LogicalPlan> {
    let width = join.left.schema().fields().len();
    let names: Vec<String> = (0..width).map(|i| format!("c{i}")).collect();
    let side = |plan: &LogicalPlan, is_left: bool| {
        let mark = |here: bool| lit(if here { ScalarValue::from(true) } else { ScalarValue::Boolean(None) });
        let columns = plan.schema().columns().into_iter().zip(&names);
        let columns = columns.map(|(c, name)| Expr::Column(c).alias(name));
        let marks = [mark(is_left).alias("$left"), mark(!is_left).alias("$right")];
        LogicalPlanBuilder::from(plan.clone()).project(columns.chain(marks))?.build()
    };
    let Some(count) = functions.aggregate("count") else { return plan_err!("function 'count' is missing") };
    let count = |of: &str, name: &str| count.call(vec![column(of)]).alias(name);
    let (left, right) = (column("$lefts"), column("$rights"));
    let times = match join.join_type {
        JoinType::LeftSemi => when(left.clone().lt(right.clone()), left).otherwise(right)?,
        _ => left - right,
    };
    let input = LogicalPlanBuilder::from(side(&join.left, true)?)
        .union(side(&join.right, false)?)?
        .aggregate(
            names.iter().map(|name| column(name)),
            [count("$left", "$lefts"), count("$right", "$rights")],
        )?
        .project(names.iter().map(|name| column(name)).chain([times.alias("$times")]))?
        .build()?;
    let (name, function) = (CorrelateFn::Repeat.name().to_owned(), FunctionRef(CorrelateFn::Repeat));
    let nothing = Arc::new(DFSchema::empty());
    let repeated = CorrelateNode::new(input, name, function, vec![column("$times")], false, nothing)?;
    let named = join.left.schema().iter().zip(&names);
    let named = named
        .map(|((qualifier, field), name)| column(name).alias_qualified(qualifier.cloned(), field.name()));
    LogicalPlanBuilder::from(LogicalPlan::Extension(Extension { node: Arc::new(repeated) }))
        .project(named.collect::<Vec<_>>())?
        .build()
}
