//! Operators and calls of Flink's as calls of functions that have its meaning.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName,
    UnaryOperator, Value, Visit, VisitMut, VisitorMut,
};
use std::ops::ControlFlow;

/// Rewrites `LIKE`, which has no default escape in Flink, roundings to a unit of time, and `CURRENT_DATABASE()`, whose value the
/// caller knows.
pub(super) fn rewrite<T: VisitMut + Visit>(tree: &mut T, database: &str) {
    let _ = VisitMut::visit(tree, &mut Calls { database });
}

struct Calls<'a> {
    database: &'a str,
}

/// A call of a function by name.
pub(super) fn call(name: Ident, args: Vec<Expr>) -> Expr {
    Expr::Function(Function {
        name: ObjectName::from(vec![name]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.into_iter().map(|e| FunctionArg::Unnamed(FunctionArgExpr::Expr(e))).collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

fn args_of(function: &Function) -> usize {
    match &function.args {
        FunctionArguments::List(list) => list.args.len(),
        _ => 0,
    }
}

/// The name, where it has one part.
fn name_of(function: &Function) -> Option<String> {
    match &function.name.0[..] {
        [part] => part.as_ident().map(|ident| ident.value.to_lowercase()),
        _ => None,
    }
}

/// Whether it stands without parentheses.
fn is_bare(function: &Function) -> bool {
    matches!(function.args, FunctionArguments::None)
}

impl VisitorMut for Calls<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Like { negated, any: false, expr: text, pattern, escape_char } => {
                let mut args = vec![text.as_ref().clone(), pattern.as_ref().clone()];
                args.extend(escape_char.take().map(|escape| {
                    Expr::Value(match escape.value {
                        Value::SingleQuotedString(_) => escape,
                        other => Value::SingleQuotedString(other.to_string()).with_empty_span(),
                    })
                }));
                let like = call(Ident::new("like"), args);
                *expr = match *negated {
                    true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(like) },
                    false => like,
                };
            }
            Expr::Function(function)
                if args_of(function) == 0
                    && !is_bare(function)
                    && name_of(function).as_deref() == Some("current_database") =>
            {
                *expr = Expr::Value(Value::SingleQuotedString(self.database.to_owned()).with_empty_span());
            }
            Expr::Function(function) if args_of(function) == 2 => match name_of(function).as_deref() {
                Some("floor") => function.name = ObjectName::from(vec![Ident::new("floor_to")]),
                Some("ceil" | "ceiling") => function.name = ObjectName::from(vec![Ident::new("ceil_to")]),
                _ => {}
            },
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
