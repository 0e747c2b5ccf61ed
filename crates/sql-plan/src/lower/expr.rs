//! Expressions that are evaluated.

use crate::convert::waiting::waits;
use crate::lower::Lowering;
use crate::plan::PlanField;
use arrow::datatypes::{DataType, Schema};
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, DataFusionError};
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_expr::{Expr, ExprSchemable};
use datafusion_physical_expr::{PhysicalExpr, create_physical_expr};
use flugs_sql_functions::temporal::datetime_binary;
use flugs_sql_ops::division::wrapping;
use flugs_sql_ops::logic::guarding;
use flugs_types::{Error, Result};
use std::sync::Arc;

/// An expression over these columns, to be evaluated.
pub fn physical(
    expr: &Expr,
    fields: &[PlanField],
    options: &Arc<ConfigOptions>,
) -> Result<Arc<dyn PhysicalExpr>> {
    if waits(expr) {
        return Err(Error::job(format!(
            "{} waits for something outside, and cannot be called here",
            expr.human_display()
        ))
        .mend("call it in SELECT, WHERE or GROUP BY: make it a column of a subquery, and use that"));
    }
    let schema = Schema::new(fields.iter().map(|f| f.field.clone()).collect::<Vec<_>>());
    let bug = |e: DataFusionError| {
        Error::job(format!("{} cannot be evaluated", expr.human_display())).caused_by(e.strip_backtrace())
    };
    let input = DFSchema::try_from(schema.clone()).map_err(bug)?;
    let mut properties = ExecutionProps::new();
    properties.config_options = Some(options.clone());
    let expr = &moving(expr.clone(), &input).map_err(bug)?;
    create_physical_expr(expr, &input, &properties, &PhysicalPlanningContext::default())
        .and_then(|made| wrapping(made, &schema))
        .and_then(|made| guarding(made, &schema))
        .map_err(bug)
}

/// Timestamps are moved by an interval as a number: Arrow goes through the calendar for each row, with the same result.
fn moving(expr: Expr, input: &DFSchema) -> Result<Expr, DataFusionError> {
    let moved = expr.transform_up(|part| {
        let Expr::BinaryExpr(binary) = part else { return Ok(Transformed::no(part)) };
        let moves = matches!(binary.left.get_type(input)?, DataType::Timestamp(..))
            && matches!(binary.right.get_type(input)?, DataType::Interval(_));
        Ok(match datetime_binary(binary.op).filter(|_| moves) {
            Some(function) => {
                let call = ScalarFunction::new_udf(function, vec![*binary.left, *binary.right]);
                Transformed::yes(Expr::ScalarFunction(call))
            }
            None => Transformed::no(Expr::BinaryExpr(binary)),
        })
    });
    Ok(moved?.data)
}

impl Lowering<'_> {
    pub(super) fn expr(&self, expr: &Expr, fields: &[PlanField]) -> Result<Arc<dyn PhysicalExpr>> {
        physical(expr, fields, &self.options)
    }

    pub(super) fn condition(
        &self,
        expr: &Option<Expr>,
        fields: &[PlanField],
    ) -> Result<Option<Arc<dyn PhysicalExpr>>> {
        expr.as_ref().map(|e| self.expr(e, fields)).transpose()
    }
}
