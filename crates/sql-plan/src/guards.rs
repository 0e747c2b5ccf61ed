//! What guards conditions that may fail, through DataFusion's rules.
//!
//! A condition guards those that stand behind it (`sql-ops/src/logic.rs`), and a filter those above it. DataFusion takes a division for
//! something cheap that may come first, takes what `ON` says behind `WHERE`, and pushes conditions on its partition below `OVER`, where rows
//! meet them that a filter above it leaves out. What cannot fail may go wherever it likes.

use arrow::datatypes::{DataType, FieldRef};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Result, plan_err};
use datafusion_expr::logical_plan::{Filter, Join};
use datafusion_expr::utils::{conjunction, split_conjunction, split_conjunction_owned};
use datafusion_expr::{
    BinaryExpr, ColumnarValue, Expr, JoinType, LogicalPlan, Operator, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion_optimizer::push_down_filter::PushDownFilter;
use datafusion_optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use flugs_sql_ops::logic::is_total;
use std::sync::Arc;

/// Pushes conditions down as DataFusion does, with each behind what guards it.
#[derive(Debug, Default)]
pub(crate) struct PushDown(PushDownFilter);

impl OptimizerRule for PushDown {
    fn name(&self) -> &str {
        "push_down"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Filter(filter) = plan else { return self.0.rewrite(plan, config) };
        let (filter, merged) = merged(filter)?;
        let (kept, pushed) = match filter.input.as_ref() {
            LogicalPlan::Window(_) => {
                split_conjunction_owned(filter.predicate).into_iter().partition(may_fail)
            }
            _ => (Vec::new(), split_conjunction_owned(filter.predicate)),
        };
        let pushed = match conjunction(pushed) {
            Some(predicate) => {
                self.0.rewrite(LogicalPlan::Filter(Filter::try_new(predicate, filter.input)?), config)?
            }
            None => Transformed::no(Arc::unwrap_or_clone(filter.input)),
        };
        let changed = merged || pushed.transformed;
        let plan = match conjunction(kept) {
            Some(predicate) => LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(pushed.data))?),
            None => pushed.data,
        };
        Ok(Transformed::new_transformed(plan, changed))
    }
}

/// A filter with those below it, and with what an inner join below it asks for where either may fail: in the order of their rows' way.
/// Says whether there was anything to be merged.
fn merged(mut filter: Filter) -> Result<(Filter, bool)> {
    let mut any = false;
    loop {
        let (below, input) = match filter.input.as_ref() {
            LogicalPlan::Filter(below) => (below.predicate.clone(), below.input.clone()),
            LogicalPlan::Join(join) if join.join_type == JoinType::Inner => match &join.filter {
                Some(on) if fails_in_part(on) && fails_in_part(&filter.predicate) => {
                    let bare = Join { filter: None, ..join.clone() };
                    (on.clone(), Arc::new(LogicalPlan::Join(bare)))
                }
                _ => return Ok((filter, any)),
            },
            _ => return Ok((filter, any)),
        };
        let mut conditions = split_conjunction_owned(below);
        for condition in split_conjunction_owned(filter.predicate) {
            if !conditions.contains(&condition) {
                conditions.push(condition);
            }
        }
        let Some(predicate) = conjunction(conditions) else { return plan_err!("a filter has a condition") };
        filter = Filter::try_new(predicate, input)?;
        any = true;
    }
}

fn fails_in_part(predicate: &Expr) -> bool {
    split_conjunction(predicate).into_iter().any(may_fail)
}

/// Whether there may be rows for which an expression is an error.
fn may_fail(expr: &Expr) -> bool {
    let fails = |e: &Expr| {
        Ok(match e {
            Expr::ScalarFunction(call) => !is_total(call.name()),
            other => is_division(other),
        })
    };
    expr.exists(fails).unwrap_or(true)
}

/// A division by what rows have.
fn is_division(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { op: Operator::Divide | Operator::Modulo, right, .. }) => {
            !right.column_refs().is_empty()
        }
        _ => false,
    }
}

/// Makes of divisions what no rule takes for something cheap.
pub(crate) fn mark(plan: LogicalPlan) -> Result<LogicalPlan> {
    let function = Arc::new(ScalarUDF::from(Marked { signature: Signature::any(1, Volatility::Immutable) }));
    everywhere(plan, |e| {
        Ok(match is_division(&e) {
            true => Transformed::yes(function.call(vec![e])),
            false => Transformed::no(e),
        })
    })
}

/// Makes them divisions again.
pub(crate) fn unmark(plan: LogicalPlan) -> Result<LogicalPlan> {
    everywhere(plan, |e| match e {
        Expr::ScalarFunction(mut call) if call.func.inner().is::<Marked>() => {
            Ok(Transformed::yes(call.args.swap_remove(0)))
        }
        other => Ok(Transformed::no(other)),
    })
}

fn everywhere(plan: LogicalPlan, change: impl Fn(Expr) -> Result<Transformed<Expr>>) -> Result<LogicalPlan> {
    let node = |plan: LogicalPlan| plan.map_expressions(|e| e.transform_up(&change));
    Ok(plan.transform_up_with_subqueries(node)?.data)
}

/// What its argument is, and called like it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Marked {
    signature: Signature,
}

impl ScalarUDFImpl for Marked {
    fn name(&self) -> &str {
        "division"
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        Ok(args.iter().map(ToString::to_string).collect())
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(args.iter().map(|e| e.schema_name().to_string()).collect())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        match args {
            [of] => Ok(of.clone()),
            _ => plan_err!("a division was expected"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match args.arg_fields {
            [of] => Ok(of.clone()),
            _ => plan_err!("a division was expected"),
        }
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.pop() {
            Some(value) => Ok(value),
            None => plan_err!("a division was expected"),
        }
    }
}
