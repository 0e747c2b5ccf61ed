//! Expressions of a plan as SQL.
//!
//! Functions that the binder puts in the place of syntax are shown as that syntax, with as many parentheses as the order of
//! operators needs.

use super::names::Names;
use datafusion_common::{Column, ScalarValue};
use datafusion_expr::expr::{Case, Like, ScalarFunction};
use datafusion_expr::{BinaryExpr, Expr, Operator};
use flugs_sql_ops::failure::{literal, operator_named};
use flugs_sql_types::from_field;

/// How tightly parts of an expression are bound, the loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Or,
    And,
    Not,
    Comparison,
    Sum,
    Product,
    Sign,
    Atom,
}

impl Names {
    /// The expression.
    pub(super) fn expr(&self, expr: &Expr) -> String {
        self.bound(expr).0
    }

    /// The expression as one of several conditions that all must hold.
    pub(super) fn condition(&self, expr: &Expr) -> String {
        self.within(expr, Binding::And)
    }

    /// The expression in parentheses if it is bound more loosely than that.
    fn within(&self, expr: &Expr, least: Binding) -> String {
        let (text, binding) = self.bound(expr);
        if binding < least { format!("({text})") } else { text }
    }

    fn bound(&self, expr: &Expr) -> (String, Binding) {
        let is = |inner: &Expr, what: &str| {
            (format!("{} IS {what}", self.within(inner, Binding::Sum)), Binding::Comparison)
        };
        match expr {
            Expr::Alias(alias) => self.bound(&alias.expr),
            Expr::Column(column) => (self.shown(&column.name).to_owned(), Binding::Atom),
            Expr::Literal(value, _) => constant(value),
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => self.operator(left, *op, right),
            Expr::Not(inner) => (format!("NOT {}", self.within(inner, Binding::Not)), Binding::Not),
            Expr::Negative(inner) => (format!("-{}", self.within(inner, Binding::Atom)), Binding::Sign),
            Expr::IsNull(inner) => is(inner, "NULL"),
            Expr::IsNotNull(inner) => is(inner, "NOT NULL"),
            Expr::IsTrue(inner) => is(inner, "TRUE"),
            Expr::IsNotTrue(inner) => is(inner, "NOT TRUE"),
            Expr::IsFalse(inner) => is(inner, "FALSE"),
            Expr::IsNotFalse(inner) => is(inner, "NOT FALSE"),
            Expr::IsUnknown(inner) => is(inner, "UNKNOWN"),
            Expr::IsNotUnknown(inner) => is(inner, "NOT UNKNOWN"),
            Expr::Like(like) => (self.like(like, "LIKE"), Binding::Comparison),
            Expr::SimilarTo(like) => (self.like(like, "SIMILAR TO"), Binding::Comparison),
            Expr::Between(between) => {
                let sides =
                    [&between.expr, &between.low, &between.high].map(|e| self.within(e, Binding::Sum));
                let [value, low, high] = sides;
                (format!("{value} {}BETWEEN {low} AND {high}", not(between.negated)), Binding::Comparison)
            }
            Expr::InList(list) => {
                let value = self.within(&list.expr, Binding::Sum);
                let text = format!("{value} {}IN ({})", not(list.negated), self.list(&list.list));
                (text, Binding::Comparison)
            }
            Expr::Case(case) => (self.case(case), Binding::Atom),
            Expr::Cast(cast) => (self.cast("CAST", &cast.expr, &cast.field), Binding::Atom),
            Expr::TryCast(cast) => (self.cast("TRY_CAST", &cast.expr, &cast.field), Binding::Atom),
            Expr::ScalarFunction(call) => self.function(call),
            // Of no operator once a query is planned.
            other => (other.human_display().to_string(), Binding::Atom),
        }
    }

    fn list(&self, exprs: &[Expr]) -> String {
        exprs.iter().map(|e| self.expr(e)).collect::<Vec<_>>().join(", ")
    }

    fn operator(&self, left: &Expr, op: Operator, right: &Expr) -> (String, Binding) {
        // The same on the right needs parentheses, but where the order does not matter.
        let (binding, least_right) = match op {
            Operator::Or => (Binding::Or, Binding::Or),
            Operator::And => (Binding::And, Binding::And),
            Operator::Plus | Operator::Minus | Operator::StringConcat => (Binding::Sum, Binding::Product),
            Operator::Multiply | Operator::Divide | Operator::Modulo => (Binding::Product, Binding::Sign),
            _ => (Binding::Comparison, Binding::Sum),
        };
        let least_left = if binding == Binding::Comparison { Binding::Sum } else { binding };
        let symbol = if op == Operator::NotEq { "<>".to_owned() } else { op.to_string() };
        (format!("{} {symbol} {}", self.within(left, least_left), self.within(right, least_right)), binding)
    }

    fn like(&self, like: &Like, operator: &str) -> String {
        let escape = like.escape_char.map(|c| format!(" ESCAPE '{c}'")).unwrap_or_default();
        let (value, pattern) =
            (self.within(&like.expr, Binding::Sum), self.within(&like.pattern, Binding::Sum));
        format!("{value} {}{operator} {pattern}{escape}", not(like.negated))
    }

    fn case(&self, case: &Case) -> String {
        let mut text = "CASE".to_owned();
        let mut part = |word: &str, expr: &Expr| text.push_str(&format!(" {word}{}", self.expr(expr)));
        case.expr.iter().for_each(|value| part("", value));
        for (when, then) in &case.when_then_expr {
            part("WHEN ", when);
            part("THEN ", then);
        }
        case.else_expr.iter().for_each(|other| part("ELSE ", other));
        text + " END"
    }

    fn cast(&self, name: &str, expr: &Expr, field: &arrow::datatypes::FieldRef) -> String {
        let target = from_field(field).map_or_else(|_| field.data_type().to_string(), |t| t.kind.to_string());
        format!("{name}({} AS {target})", self.expr(expr))
    }

    fn function(&self, call: &ScalarFunction) -> (String, Binding) {
        let name = call.func.name().to_uppercase();
        if let (Some(op), [left, right]) = (operator_named(&name), &call.args[..]) {
            return self.operator(left, op, right);
        }
        let compared = |operator: &str, value: &Expr, pattern: &Expr| {
            let sides = (self.within(value, Binding::Sum), self.within(pattern, Binding::Sum));
            (format!("{} {operator} {}", sides.0, sides.1), Binding::Comparison)
        };
        let text = match (name.as_str(), &call.args[..]) {
            ("CAST" | "TRY_CAST", [value]) => {
                // It alone knows its target.
                let value = Expr::Column(Column::new_unqualified(self.expr(value)));
                call.func.schema_name(&[value]).unwrap_or_else(|_| name.clone())
            }
            ("GET_FIELD", [row, Expr::Literal(field, _)]) => {
                format!("{}.{}", self.within(row, Binding::Atom), field)
            }
            ("ITEM", [collection, key]) => {
                format!("{}[{}]", self.within(collection, Binding::Atom), self.expr(key))
            }
            ("ARRAY" | "MAP", elements) => format!("{name}[{}]", self.list(elements)),
            ("FLOOR_TO" | "CEIL_TO", [time, Expr::Literal(unit, _)]) => {
                let name = name.trim_end_matches("_TO");
                format!("{name}({} TO {unit})", self.expr(time))
            }
            ("EXTRACT", [Expr::Literal(unit, _), time]) => {
                format!("EXTRACT({unit} FROM {})", self.expr(time))
            }
            ("LIKE", [value, pattern]) => return compared("LIKE", value, pattern),
            ("SIMILAR_TO", [value, pattern]) => return compared("SIMILAR TO", value, pattern),
            (_, args) => match on_null(&name) {
                Some((name, clause)) => format!("{name}({} {clause})", self.list(args)),
                None => format!("{name}({})", self.list(args)),
            },
        };
        (text, Binding::Atom)
    }
}

fn not(negated: bool) -> &'static str {
    if negated { "NOT " } else { "" }
}

/// A function of JSON by two names, and what tells these apart.
fn on_null(name: &str) -> Option<(&str, &'static str)> {
    let clauses = [("_NULL_ON_NULL", "NULL ON NULL"), ("_ABSENT_ON_NULL", "ABSENT ON NULL")];
    clauses.into_iter().find_map(|(suffix, clause)| Some((name.strip_suffix(suffix)?, clause)))
}

fn constant(value: &ScalarValue) -> (String, Binding) {
    let text = literal(value);
    let binding = match text.starts_with('-') {
        true => Binding::Sign,
        false if text.contains(" + ") && text.starts_with("INTERVAL") => Binding::Sum,
        false => Binding::Atom,
    };
    (text, binding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion_expr::{col, lit, not as negated, when};
    use flugs_sql_functions::FunctionRegistry;
    use flugs_sql_functions::cast::cast_function;
    use flugs_sql_types::{LogicalType, SqlType};
    use std::collections::HashMap;

    fn shown(expr: Expr) -> String {
        Names::renaming(HashMap::from([("count(*)".to_owned(), "EXPR$0".to_owned())])).expr(&expr)
    }

    #[test]
    fn expressions_read_as_sql() {
        let functions = FunctionRegistry::builtin();
        let call = |name: &str, args: Vec<Expr>| functions.scalar(name).unwrap().call(args);
        let int = SqlType { kind: LogicalType::Decimal(10, 2), nullable: true };
        let (a, b, p) = (col("a"), col("b"), col("p"));
        let cases = [
            (a.clone() - (b.clone() - lit(1)), "a - (b - 1)"),
            (a.clone() - b.clone() - lit(1), "a - b - 1"),
            ((a.clone() + b.clone()) * lit(-2), "(a + b) * -2"),
            (p.clone().or(a.clone().gt(lit(2))).and(negated(p.clone())), "(p OR a > 2) AND NOT p"),
            (p.clone().and(a.clone().is_null()).or(p.clone()), "p AND a IS NULL OR p"),
            (a.clone().not_eq(lit("it's")), "a <> 'it''s'"),
            (a.clone().in_list(vec![lit(1), lit(2)], true), "a NOT IN (1, 2)"),
            (when(p, lit("x")).otherwise(lit("y")).unwrap(), "CASE WHEN p THEN 'x' ELSE 'y' END"),
            (cast_function(int, true).call(vec![a.clone() + b]), "TRY_CAST(a + b AS DECIMAL(10, 2))"),
            (call("get_field", vec![a.clone(), lit("f")]), "a.f"),
            (call("item", vec![a.clone(), lit(1)]), "a[1]"),
            (call("floor_to", vec![a.clone(), lit("HOUR")]), "FLOOR(a TO HOUR)"),
            (call("json_array_null_on_null", vec![a.clone()]), "JSON_ARRAY(a NULL ON NULL)"),
            (call("upper", vec![a]), "UPPER(a)"),
            (Expr::Column(Column::new_unqualified("count(*)")), "EXPR$0"),
        ];
        for (expr, text) in cases {
            assert_eq!(shown(expr), text);
        }
    }
}
