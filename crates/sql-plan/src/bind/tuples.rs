//! `(a, b) IN (SELECT c, d ...)` as `EXISTS`, since DataFusion's `IN` compares one column.

use crate::bind::inside;
use crate::bind::text::{form, parse_expression};
use crate::error::semantic;
use datafusion_common::{DFSchema, Result};
use flugs_sql_parser::Span;
use sqlparser::ast::{
    self, BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Select, SetExpr,
    TableAlias, TableFactor, UnaryOperator, Visit, VisitMut, VisitorMut,
};
use std::ops::ControlFlow;

/// The subquery's alias. Its columns are `$0`, `$1` ...
const ALIAS: &str = "$in";

/// Rewrites each of them: where unknown counts as false to one `EXISTS`, else to a `CASE` of two.
pub(super) fn rewrite<T: VisitMut + Visit>(tree: &mut T) {
    let _ = VisitMut::visit(tree, &mut Tuples);
}

struct Tuples;

impl VisitorMut for Tuples {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        select.selection.iter_mut().chain(&mut select.having).chain(&mut select.qualify).for_each(condition);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(tuple) = Tuple::of(expr) {
            let negated = tuple.negated;
            let case = tuple.three_valued();
            *expr = if negated { not(case) } else { case };
        }
        ControlFlow::Continue(())
    }
}

/// Where unknown is as good as false.
fn condition(expr: &mut Expr) {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
            condition(left);
            condition(right);
        }
        Expr::Nested(inner) => condition(inner),
        other => {
            if let Some(tuple) = Tuple::of(other) {
                *other = match tuple.negated {
                    // No row may be equal, and of none may it be unknown.
                    true => tuple.exists(|equal| Expr::IsNotFalse(Box::new(equal)), true),
                    false => tuple.exists(|equal| equal, false),
                };
            }
        }
    }
}

fn not(expr: Expr) -> Expr {
    Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(Expr::Nested(Box::new(expr))) }
}

/// Operands, the query, and whether it is `NOT IN`.
struct Tuple {
    operands: Vec<Expr>,
    query: Box<ast::Query>,
    negated: bool,
}

impl Tuple {
    fn of(expr: &Expr) -> Option<Tuple> {
        let Expr::InSubquery { expr: operand, subquery, negated } = expr else { return None };
        let mut operand = operand.as_ref();
        while let Expr::Nested(inner) = operand {
            operand = inner;
        }
        let Expr::Function(row) = operand else { return None };
        let FunctionArguments::List(list) = &row.args else { return None };
        if row.name.to_string() != "row" || list.args.len() < 2 {
            return None;
        }
        let operands = list.args.iter().map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
            _ => None,
        });
        let operands = operands.collect::<Option<Vec<_>>>()?;
        Some(Tuple { operands, query: subquery.clone(), negated: *negated })
    }

    /// Whether there is a row for which this is true of its being equal to the operands.
    fn exists(&self, of_equal: impl Fn(Expr) -> Expr, negated: bool) -> Expr {
        let columns: Vec<Ident> =
            (0..self.operands.len()).map(|i| Ident::with_quote('`', format!("${i}"))).collect();
        let pairs = self.operands.iter().zip(&columns).map(|(operand, column)| Expr::BinaryOp {
            left: Box::new(Expr::CompoundIdentifier(vec![Ident::with_quote('`', ALIAS), column.clone()])),
            op: BinaryOperator::Eq,
            right: Box::new(Expr::Nested(Box::new(operand.clone()))),
        });
        let both = |a, b| Expr::BinaryOp { left: Box::new(a), op: BinaryOperator::And, right: Box::new(b) };
        let equal = pairs.reduce(both).map(of_equal);
        let columns = columns.iter().map(Ident::to_string).collect::<Vec<_>>().join(", ");
        let mut query = form(&format!("SELECT 1 FROM (SELECT 1) AS `{ALIAS}`({columns})"));
        if let SetExpr::Select(select) = query.body.as_mut() {
            select.selection = equal;
            if let TableFactor::Derived { subquery, .. } = &mut select.from[0].relation {
                *subquery = self.query.clone();
            }
        }
        Expr::Exists { subquery: query, negated }
    }

    fn three_valued(&self) -> Expr {
        let form = parse_expression("CASE WHEN TRUE THEN TRUE WHEN TRUE THEN NULL ELSE FALSE END");
        let mut case = form.expect("the form is an expression").ast;
        if let Expr::Case { conditions, .. } = &mut case {
            conditions[0].condition = self.exists(|equal| equal, false);
            conditions[1].condition = self.exists(|equal| Expr::IsNull(Box::new(equal)), false);
        }
        case
    }
}

/// Whether the query of such an alias has as many columns as there are operands.
pub(super) fn check_width(alias: &TableAlias, columns: &DFSchema, at: Span) -> Result<()> {
    let (operands, columns) = (alias.columns.len(), columns.fields().len());
    if alias.name.value != ALIAS || operands == columns {
        return Ok(());
    }
    let many = if columns == 1 { "" } else { "s" };
    let error = semantic(format!("{operands} values are compared with a subquery of {columns} column{many}"));
    Err(inside(error.at(at).help("SELECT as many columns as there are values before IN")))
}
