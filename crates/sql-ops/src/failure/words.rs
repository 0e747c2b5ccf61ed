//! Physical expressions as they would be written in SQL, nearly.

use super::literal::literal;
use crate::division::Division;
use crate::logic::Logic;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{BinaryExpr, Column, Literal};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion_physical_expr_common::physical_expr::fmt_sql;
use flugs_sql_types::from_arrow;
use std::sync::Arc;

/// The most characters of a text, and of an expression, in an error.
const TEXT_MAX: usize = 40;
const EXPRESSION_MAX: usize = 160;

/// An expression in SQL's words, not too long.
pub(super) fn in_words(expr: &Arc<dyn PhysicalExpr>) -> String {
    cut(&written(expr), EXPRESSION_MAX)
}

/// A value, not too long.
pub(super) fn shortened(value: &str) -> String {
    cut(value, TEXT_MAX)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

/// The operator of two sides that an expression is, whichever function computes it.
pub(super) fn operator_of(expr: &Arc<dyn PhysicalExpr>) -> Option<Operator> {
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        return Some(*binary.op());
    }
    if let Some(division) = expr.downcast_ref::<Division>() {
        return Some(division.operator());
    }
    if let Some(logic) = expr.downcast_ref::<Logic>() {
        return Some(logic.operator());
    }
    operator_named(expr.downcast_ref::<ScalarFunctionExpr>()?.name())
}

/// The operator that a function of two arguments is planned for.
pub fn operator_named(function: &str) -> Option<Operator> {
    Some(match function.to_ascii_uppercase().as_str() {
        "DECIMAL_ADD" | "DATETIME_ADD" => Operator::Plus,
        "DECIMAL_SUBTRACT" | "DATETIME_SUB" => Operator::Minus,
        "DECIMAL_MULTIPLY" => Operator::Multiply,
        "DECIMAL_DIVIDE" => Operator::Divide,
        "DECIMAL_REMAINDER" => Operator::Modulo,
        _ => return None,
    })
}

fn written(expr: &Arc<dyn PhysicalExpr>) -> String {
    if let Some(column) = expr.downcast_ref::<Column>() {
        return column.name().to_owned();
    }
    if let Some(literal) = expr.downcast_ref::<Literal>() {
        return constant(literal.value());
    }
    if let (Some(operator), [left, right]) = (operator_of(expr), &expr.children()[..]) {
        let side = |side: &Arc<dyn PhysicalExpr>, is_right: bool| match operator_of(side) {
            Some(of) if of.precedence() < operator.precedence() => format!("({})", written(side)),
            Some(of) if is_right && of.precedence() == operator.precedence() => {
                format!("({})", written(side))
            }
            _ => written(side),
        };
        return format!("{} {operator} {}", side(left, false), side(right, true));
    }
    let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() else {
        return fmt_sql(expr.as_ref()).to_string();
    };
    let arguments: Vec<String> = call.args().iter().map(written).collect();
    match (call.name(), &arguments[..]) {
        (name @ ("CAST" | "TRY_CAST"), [argument]) => match from_arrow(call.return_type()) {
            Ok(target) => format!("{name}({argument} AS {target})"),
            Err(_) => format!("{name}({argument})"),
        },
        ("get_field", [row, field]) => format!("{row}.{}", field.trim_matches('\'')),
        (name, arguments) => format!("{}({})", name.to_uppercase(), arguments.join(", ")),
    }
}

fn constant(value: &ScalarValue) -> String {
    match value {
        ScalarValue::Utf8View(Some(text)) | ScalarValue::Utf8(Some(text)) => {
            format!("'{}'", shortened(text))
        }
        other => literal(other),
    }
}
