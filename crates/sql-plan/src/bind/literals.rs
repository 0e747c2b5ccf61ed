//! Number literals in Flink's types, before binding: DataFusion takes integers for `BIGINT`, and chooses functions and types by that.
//!
//! Those with an exponent are `DOUBLE`, where DataFusion takes them for decimals. Intervals of months are `INTERVAL YEAR TO MONTH`, where
//! DataFusion has one type for all intervals.
//!
//! A literal becomes `CAST(n AS INT)`, which typing folds. Where DataFusion wants a bare number (limits, ordinals, frames) it
//! stays one.

use flugs_sql_parser::{Interval, Span, cast_data_type, cast_type, interval_of};
use flugs_sql_types::LogicalType;
use sqlparser::ast::{
    self, CastKind, DataType, Expr, GroupByExpr, LimitClause, OrderByKind, Query, Select, Spanned, Value,
    ValueWithSpan, Visit, VisitMut, VisitorMut, WindowFrameBound, WindowType,
};
use std::ops::ControlFlow;

/// Rewrites the literals of a query or expression.
pub(super) fn rewrite<T: VisitMut + Visit>(tree: &mut T) {
    let _ = VisitMut::visit(tree, &mut Literals);
}

struct Literals;

fn is_small(text: &str) -> bool {
    text.parse::<i32>().is_ok()
}

fn has_exponent(text: &str) -> bool {
    text.contains(['e', 'E']) && text.parse::<f64>().is_ok_and(f64::is_finite)
}

fn cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, format: None, array: false }
}

fn months(n: i64, span: Span) -> Expr {
    let n = Value::Number(n.to_string(), false).with_span(span);
    cast(Expr::Value(n), cast_data_type(&LogicalType::IntervalYearMonth.nullable(), Some("MONTH")))
}

/// A bare number or interval again.
fn bare(expr: &mut Expr) {
    let Expr::Cast { expr: inner, data_type, .. } = expr else { return };
    let Expr::Value(ValueWithSpan { value: Value::Number(n, _), span }) = inner.as_ref() else { return };
    if *data_type == DataType::Int(None) {
        *expr = inner.as_ref().clone();
    } else if cast_type(data_type).is_some_and(|t| t.kind == LogicalType::IntervalYearMonth) {
        *expr = Expr::Interval(ast::Interval {
            value: Box::new(Expr::Value(Value::SingleQuotedString(n.clone()).with_span(*span))),
            leading_field: Some(ast::DateTimeField::Month),
            leading_precision: None,
            last_field: None,
            fractional_seconds_precision: None,
        });
    }
}

impl VisitorMut for Literals {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Value(ValueWithSpan { value: Value::Number(text, false), .. }) if is_small(text) => {
                *expr = cast(expr.clone(), DataType::Int(None));
            }
            Expr::Value(ValueWithSpan { value: Value::Number(text, _), .. }) if has_exponent(text) => {
                let text = Expr::value(Value::SingleQuotedString(text.to_string()));
                *expr = cast(text, DataType::Double(ast::ExactNumberInfo::None));
            }
            Expr::Interval(_) => {
                if let Some(Interval::Months(n)) = interval_of(expr)
                    && i32::try_from(n).is_ok()
                {
                    *expr = months(n, expr.span());
                }
            }
            Expr::Function(call) => {
                if let Some(WindowType::WindowSpec(spec)) = &mut call.over
                    && let Some(frame) = &mut spec.window_frame
                {
                    bare_bound(&mut frame.start_bound);
                    frame.end_bound.iter_mut().for_each(bare_bound);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        match &mut query.limit_clause {
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                limit.iter_mut().for_each(bare);
                offset.iter_mut().for_each(|o| bare(&mut o.value));
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
                bare(offset);
                bare(limit);
            }
            None => {}
        }
        if let Some(fetch) = &mut query.fetch {
            fetch.quantity.iter_mut().for_each(bare);
        }
        if let Some(order) = &mut query.order_by
            && let OrderByKind::Expressions(exprs) = &mut order.kind
        {
            exprs.iter_mut().for_each(|o| bare(&mut o.expr));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if let GroupByExpr::Expressions(exprs, _) = &mut select.group_by {
            exprs.iter_mut().for_each(bare);
        }
        for ast::NamedWindowDefinition(_, window) in &mut select.named_window {
            if let ast::NamedWindowExpr::WindowSpec(spec) = window
                && let Some(frame) = &mut spec.window_frame
            {
                bare_bound(&mut frame.start_bound);
                frame.end_bound.iter_mut().for_each(bare_bound);
            }
        }
        ControlFlow::Continue(())
    }
}

fn bare_bound(bound: &mut WindowFrameBound) {
    if let WindowFrameBound::Preceding(Some(n)) | WindowFrameBound::Following(Some(n)) = bound {
        bare(n);
    }
}
