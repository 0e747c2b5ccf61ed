//! What DataFusion binds although it makes no sense.

use crate::bind::group_windows;
use crate::error::{PlanResult, planning, semantic};
use arrow::datatypes::DataType;
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::expr::WindowFunction;
use datafusion_expr::utils::merge_schema;
use datafusion_expr::{Expr, ExprSchemable, LogicalPlan, WindowFrameBound, WindowFrameUnits};
use flugs_sql_functions::FunctionRegistry;
use flugs_sql_parser::{SqlError, SqlErrorKind};
use sqlparser::ast::{self, Spanned, Visit, Visitor};
use std::ops::ControlFlow;

/// Window functions that mean nothing without an order of rows.
const ORDERED: [&str; 8] =
    ["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lead", "lag"];

/// Checks the calls of a query that is not bound yet.
pub(super) fn calls(query: &ast::Query, functions: &FunctionRegistry) -> PlanResult<()> {
    match query.visit(&mut Calls(functions)) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Calls<'f>(&'f FunctionRegistry);

impl Visitor for Calls<'_> {
    type Break = SqlError;

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<SqlError> {
        let ast::Expr::Function(call) = expr else { return ControlFlow::Continue(()) };
        let name = call.name.to_string();
        let is_scalar = || {
            let others = self.0.aggregate(&name).is_some() || self.0.window(&name).is_some();
            self.0.scalar(&name).is_some() && !others
        };
        if (call.over.is_some() || call.filter.is_some()) && is_scalar() {
            let upper = name.to_uppercase();
            let clause = if call.over.is_some() { "OVER" } else { "FILTER" };
            let error = semantic(format!("{upper} is no aggregate, and {clause} stands behind aggregates"));
            return ControlFlow::Break(error.at(call.name.span()).help(format!("remove {clause} (...)")));
        }
        ControlFlow::Continue(())
    }
}

/// Checks a query that is bound.
pub(super) fn plan(plan: &LogicalPlan) -> PlanResult<()> {
    let mut found = None;
    let walked = plan.apply_with_subqueries(|plan| {
        let schema = merge_schema(&plan.inputs());
        if let LogicalPlan::Filter(filter) = plan {
            found = of_filter(&filter.predicate);
        }
        if found.is_none() {
            plan.apply_expressions(|e| {
                e.apply(|e| {
                    found = of_expression(e, &schema)?;
                    Ok(if found.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
                })
            })?;
        }
        Ok(if found.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    walked.map_err(planning)?;
    found.map_or(Ok(()), Err)
}

fn of_filter(predicate: &Expr) -> Option<SqlError> {
    let is_window = |e: &Expr| Ok(matches!(e, Expr::WindowFunction(_)));
    predicate.exists(is_window).unwrap_or(false).then(|| {
        semantic("WHERE looks at rows before OVER does")
            .help("put the function with OVER into a subquery, and the condition outside of it")
    })
}

fn of_expression(expr: &Expr, schema: &DFSchema) -> Result<Option<SqlError>> {
    let is_condition =
        |e: &Expr| -> Result<bool> { Ok(matches!(e.get_type(schema)?, DataType::Boolean | DataType::Null)) };
    match expr {
        Expr::AggregateFunction(call) => match &call.params.filter {
            Some(filter) if !is_condition(filter)? => Ok(Some(no_condition("FILTER (WHERE ...)", filter))),
            _ => Ok(None),
        },
        Expr::Case(case) if case.expr.is_none() => {
            for (when, _) in &case.when_then_expr {
                if !is_condition(when)? {
                    return Ok(Some(no_condition("WHEN", when)));
                }
            }
            Ok(None)
        }
        Expr::WindowFunction(call) => of_window(call, schema),
        Expr::ScalarFunction(_) => Ok(group_windows::window_call(expr).map(|call| {
            let name = call.name().to_uppercase();
            semantic(format!("{name} stands in GROUP BY alone")).help(format!(
                "add GROUP BY {name}(...), or read from TABLE({name}(TABLE t, DESCRIPTOR(ts), ...))"
            ))
        })),
        _ => Ok(None),
    }
}

fn no_condition(clause: &str, expr: &Expr) -> SqlError {
    SqlError::new(SqlErrorKind::Type, format!("{clause} takes a BOOLEAN, and {expr} is none"))
        .help("compare it with something, as in x > 0")
}

fn of_window(call: &WindowFunction, schema: &DFSchema) -> Result<Option<SqlError>> {
    let name = call.fun.name().to_uppercase();
    let params = &call.params;
    if params.order_by.is_empty() && ORDERED.contains(&name.to_lowercase().as_str()) {
        let error = semantic(format!("{name} needs an order of rows"));
        return Ok(Some(error.help("add ORDER BY to its OVER (...)")));
    }
    let frame = &params.window_frame;
    let backwards = matches!(
        (&frame.start_bound, &frame.end_bound),
        (WindowFrameBound::CurrentRow, WindowFrameBound::Preceding(_))
            | (WindowFrameBound::Following(_), WindowFrameBound::Preceding(_) | WindowFrameBound::CurrentRow)
    );
    if backwards {
        let error = semantic("a frame BETWEEN a later and an earlier row holds nothing");
        return Ok(Some(error.help("write ... BETWEEN 1 PRECEDING AND CURRENT ROW")));
    }
    let [order] = &params.order_by[..] else { return Ok(None) };
    let by_time = matches!(order.expr.get_type(schema)?, DataType::Timestamp(..) | DataType::Date32);
    let is_number = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(n) | WindowFrameBound::Following(n) => {
            !n.is_null()
                && !matches!(n, ScalarValue::IntervalMonthDayNano(_) | ScalarValue::IntervalDayTime(_))
                && n.to_string().parse::<f64>().is_ok()
        }
        WindowFrameBound::CurrentRow => false,
    };
    // The text of an interval, until types are coerced.
    let is_of_months = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(ScalarValue::Utf8(Some(text)))
        | WindowFrameBound::Following(ScalarValue::Utf8(Some(text))) => text.ends_with("MONTH"),
        _ => false,
    };
    if is_of_months(&frame.start_bound) || is_of_months(&frame.end_bound) {
        let error =
            SqlError::new(SqlErrorKind::Type, "a frame's INTERVAL is one of days to seconds, not of months");
        return Ok(Some(error.help("write INTERVAL '30' DAY")));
    }
    let numbers = is_number(&frame.start_bound) || is_number(&frame.end_bound);
    Ok((frame.units == WindowFrameUnits::Range && by_time && numbers).then(|| {
        SqlError::new(SqlErrorKind::Type, "RANGE over a time takes intervals, not numbers")
            .help("write RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW, or ROWS")
    }))
}
