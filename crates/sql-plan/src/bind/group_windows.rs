//! The older group windows: `GROUP BY TUMBLE(ts, INTERVAL ...)` with `TUMBLE_START(...)` and its like.
//!
//! Before binding, `TUMBLE_START(a...)` becomes the field `window_start` of `TUMBLE(a...)`, which is a call that only planning
//! knows. Afterwards an aggregate by such a call becomes one over the window's table function, with the call's value put
//! together from its columns.

use crate::bind::nodes::{WindowKind, WindowNode};
use arrow::datatypes::{DataType, Field, Fields, TimeUnit};
use datafusion_common::tree_node::Transformed;
use datafusion_common::{Column, Result, ScalarValue, not_impl_err, plan_err};
use datafusion_expr::logical_plan::{Aggregate, Projection};
use datafusion_expr::{
    ColumnarValue, Expr, Extension, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use sqlparser::ast::{
    self, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName, Visit,
    VisitMut, VisitorMut,
};
use std::ops::ControlFlow;
use std::sync::Arc;

const WINDOWS: [&str; 4] = ["tumble", "hop", "session", "cumulate"];

/// Rewrites `TUMBLE_START(...)` and its like in a query.
pub(crate) fn rewrite_auxiliary<T: VisitMut + Visit>(query: &mut T) {
    struct Auxiliary;
    impl VisitorMut for Auxiliary {
        type Break = ();
        fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
            if let ast::Expr::Function(function) = expr
                && let Some((window, field)) = auxiliary(&function.name)
            {
                let mut call = function.clone();
                call.name = ObjectName::from(vec![Ident::new(window)]);
                let name = ast::Expr::value(ast::Value::SingleQuotedString(field.to_owned()));
                function.name = ObjectName::from(vec![Ident::new("get_field")]);
                function.args = FunctionArguments::List(FunctionArgumentList {
                    duplicate_treatment: None,
                    args: [ast::Expr::Function(call), name]
                        .map(|e| FunctionArg::Unnamed(FunctionArgExpr::Expr(e)))
                        .into(),
                    clauses: Vec::new(),
                });
            }
            ControlFlow::Continue(())
        }
    }
    let _ = VisitMut::visit(query, &mut Auxiliary);
}

fn auxiliary(name: &ObjectName) -> Option<(&'static str, &'static str)> {
    let [part] = &name.0[..] else { return None };
    let lower = part.as_ident()?.value.to_lowercase();
    let (window, suffix) = lower.rsplit_once('_')?;
    let window = WINDOWS.iter().find(|w| **w == window)?;
    let field = match suffix {
        "start" => "window_start",
        "end" => "window_end",
        "rowtime" | "proctime" => "window_time",
        _ => return None,
    };
    Some((window, field))
}

/// The planning-only function of a group window, or the access to a field.
pub(crate) fn function(name: &str) -> Option<Arc<ScalarUDF>> {
    let lower = name.to_lowercase();
    if lower == "get_field" {
        return Some(datafusion_functions::core::get_field());
    }
    let window = WINDOWS.iter().find(|w| **w == lower)?;
    Some(Arc::new(ScalarUDF::from(GroupWindow {
        name: window,
        // Equal calls are one group, whatever the clock says.
        signature: Signature::variadic_any(Volatility::Immutable),
    })))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct GroupWindow {
    name: &'static str,
    signature: Signature,
}

fn struct_of(time: &DataType) -> DataType {
    let plain = DataType::Timestamp(TimeUnit::Millisecond, None);
    let time = match time {
        DataType::Timestamp(_, Some(zone)) => DataType::Timestamp(TimeUnit::Millisecond, Some(zone.clone())),
        _ => plain.clone(),
    };
    DataType::Struct(Fields::from(vec![
        Field::new("window_start", plain.clone(), false),
        Field::new("window_end", plain, false),
        Field::new("window_time", time, false),
    ]))
}

impl ScalarUDFImpl for GroupWindow {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        match args.first() {
            Some(time @ DataType::Timestamp(..)) => Ok(struct_of(time)),
            _ => plan_err!(
                "{} takes a time attribute and intervals: {}(ts, INTERVAL '1' HOUR)",
                self.name.to_uppercase(),
                self.name.to_uppercase()
            ),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<Arc<Field>> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|f| f.data_type().clone()).collect();
        Ok(Arc::new(Field::new(self.name, self.return_type(&types)?, false)))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        plan_err!("{} stands in GROUP BY only", self.name.to_uppercase())
    }
}

pub(super) fn window_call(expr: &Expr) -> Option<&datafusion_expr::expr::ScalarFunction> {
    match expr {
        Expr::ScalarFunction(call) if call.func.inner().is::<GroupWindow>() => Some(call),
        Expr::Alias(alias) => window_call(&alias.expr),
        _ => None,
    }
}

/// An interval as milliseconds.
pub(crate) fn millis_of(expr: &Expr) -> Result<i64> {
    let millis = match expr {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(i)), _) if i.months == 0 => {
            Some(i64::from(i.days) * 86_400_000 + i.nanoseconds / 1_000_000)
        }
        Expr::Literal(ScalarValue::IntervalDayTime(Some(i)), _) => {
            Some(i64::from(i.days) * 86_400_000 + i64::from(i.milliseconds))
        }
        Expr::Literal(ScalarValue::DurationMillisecond(Some(ms)), _) => Some(*ms),
        Expr::Negative(inner) => Some(-millis_of(inner)?),
        Expr::Alias(alias) => Some(millis_of(&alias.expr)?),
        _ => None,
    };
    match millis {
        Some(millis) => Ok(millis),
        None => plan_err!("a constant interval of days to seconds was expected in place of {expr}"),
    }
}

/// The window of a function and its intervals, checked as Flink checks them.
pub(crate) fn kind_of(name: &str, intervals: &[i64]) -> Result<WindowKind> {
    let positive = |what: &str, ms: i64| -> Result<i64> {
        if ms > 0 { Ok(ms) } else { plan_err!("the {what} of {} must be positive", name.to_uppercase()) }
    };
    match (name, intervals) {
        ("tumble", [size]) => Ok(WindowKind::Tumble { size: positive("size", *size)?, offset: 0 }),
        ("tumble", [size, offset]) => {
            Ok(WindowKind::Tumble { size: positive("size", *size)?, offset: *offset })
        }
        ("hop", [slide, size]) | ("hop", [slide, size, _]) => {
            let (slide, size) = (positive("slide", *slide)?, positive("size", *size)?);
            if size % slide != 0 {
                return plan_err!(
                    "HOP requires that its size ({size} ms) is a multiple of its slide ({slide} ms)"
                );
            }
            Ok(WindowKind::Hop { size, slide, offset: intervals.get(2).copied().unwrap_or(0) })
        }
        ("cumulate", [step, size]) | ("cumulate", [step, size, _]) => {
            let (step, size) = (positive("step", *step)?, positive("size", *size)?);
            if size % step != 0 {
                return plan_err!(
                    "CUMULATE requires that its size ({size} ms) is a multiple of its step ({step} ms)"
                );
            }
            Ok(WindowKind::Cumulate { size, step, offset: intervals.get(2).copied().unwrap_or(0) })
        }
        ("session", [gap]) => Ok(WindowKind::Session { gap: positive("gap", *gap)? }),
        _ => plan_err!("{} does not take {} intervals", name.to_uppercase(), intervals.len()),
    }
}

/// Puts window table functions in place of group windows.
pub(crate) fn expand(plan: LogicalPlan) -> Result<LogicalPlan> {
    Ok(plan.transform_up_with_subqueries(expand_node)?.data)
}

fn expand_node(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Aggregate(aggregate) = plan else { return Ok(Transformed::no(plan)) };
    let calls: Vec<_> = aggregate.group_expr.iter().filter_map(window_call).cloned().collect();
    let Some(call) = calls.first() else {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    };
    if calls.len() > 1 {
        return not_impl_err!("GROUP BY with more than one window");
    }
    let intervals = call.args[1..].iter().map(millis_of).collect::<Result<Vec<_>>>()?;
    let kind = kind_of(call.name(), &intervals)?;
    let partition: Vec<Expr> = match kind {
        WindowKind::Session { .. } => {
            aggregate.group_expr.iter().filter(|e| window_call(e).is_none()).cloned().collect()
        }
        _ => Vec::new(),
    };
    let window = WindowNode::new(
        Arc::unwrap_or_clone(aggregate.input.clone()),
        call.args[0].clone(),
        kind,
        partition,
    )?;
    let window = LogicalPlan::Extension(Extension { node: Arc::new(window) });
    let column = |name: &str| Expr::Column(Column::new_unqualified(name));
    let bounds = ["window_start", "window_end", "window_time"];
    let mut groups: Vec<Expr> =
        aggregate.group_expr.iter().filter(|e| window_call(e).is_none()).cloned().collect();
    groups.extend(bounds.map(column));
    let inner = Aggregate::try_new(Arc::new(window), groups, aggregate.aggr_expr.clone())?;
    // The columns of the former aggregate under their names.
    let fields = bounds.iter().flat_map(|name| [Expr::Literal(ScalarValue::from(*name), None), column(name)]);
    let together = datafusion_functions::core::named_struct().call(fields.collect());
    let exprs = aggregate.schema.iter().enumerate().map(|(i, (qualifier, field))| {
        if aggregate.group_expr.get(i).is_some_and(|e| window_call(e).is_some()) {
            together.clone().alias_qualified(qualifier.cloned(), field.name())
        } else {
            Expr::Column(Column::new(qualifier.cloned(), field.name()))
        }
    });
    let projection = Projection::try_new(exprs.collect(), Arc::new(LogicalPlan::Aggregate(inner)))?;
    Ok(Transformed::yes(LogicalPlan::Projection(projection)))
}
