//! Conditions that are offered to sources.

use crate::convert::reads::path_of;
use crate::plan::Op;
use datafusion_common::ScalarValue;
use datafusion_expr::utils::split_conjunction;
use datafusion_expr::{BinaryExpr, Expr, Operator};
use flugs_table::{FieldPath, Literal, Predicate, PredicateOp};

/// The conditions that a source could use.
pub(super) fn offers(filter: &Expr, scan: &crate::plan::Node, width: usize) -> Vec<Predicate> {
    let Op::Scan(op) = &scan.op else { return Vec::new() };
    let full = |expr: &Expr| -> Option<FieldPath> {
        let path = path_of(expr)?;
        let index = scan.fields.iter().position(|f| f.name() == path[0]).filter(|i| *i < width)?;
        let mut full = op.columns[index].0.clone();
        full.extend(path[1..].iter().cloned());
        Some(FieldPath(full))
    };
    split_conjunction(filter).into_iter().filter_map(|conjunct| offer(conjunct, &full)).collect()
}

fn offer(expr: &Expr, path: &impl Fn(&Expr) -> Option<FieldPath>) -> Option<Predicate> {
    match expr {
        // Equalities of one field with several constants.
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            let (mut one, other) = (offer(left, path)?, offer(right, path)?);
            let is_equality = |p: &Predicate| p.op == PredicateOp::Eq;
            if !is_equality(&one) || !is_equality(&other) || one.path != other.path {
                return None;
            }
            one.literals.extend(other.literals);
            Some(one)
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (side, op, value) = match (literal(left), literal(right)) {
                (None, Some(value)) => (left, *op, value),
                (Some(value), None) => (right, op.swap()?, value),
                _ => return None,
            };
            let op = match op {
                Operator::Eq => PredicateOp::Eq,
                Operator::Lt => PredicateOp::Lt,
                Operator::LtEq => PredicateOp::LtEq,
                Operator::Gt => PredicateOp::Gt,
                Operator::GtEq => PredicateOp::GtEq,
                _ => return None,
            };
            Some(Predicate { path: path(side)?, op, literals: vec![value] })
        }
        Expr::InList(list) if !list.negated => {
            let literals = list.list.iter().map(literal).collect::<Option<Vec<_>>>()?;
            Some(Predicate { path: path(&list.expr)?, op: PredicateOp::Eq, literals })
        }
        Expr::Between(_) => None,
        _ => None,
    }
}

fn literal(expr: &Expr) -> Option<Literal> {
    let Expr::Literal(value, _) = expr else { return None };
    match value {
        ScalarValue::Int8(Some(n)) => Some(Literal::Int(i64::from(*n))),
        ScalarValue::Int16(Some(n)) => Some(Literal::Int(i64::from(*n))),
        ScalarValue::Int32(Some(n)) => Some(Literal::Int(i64::from(*n))),
        ScalarValue::Int64(Some(n)) => Some(Literal::Int(*n)),
        ScalarValue::Float32(Some(x)) => Some(Literal::Double(f64::from(*x))),
        ScalarValue::Float64(Some(x)) => Some(Literal::Double(*x)),
        ScalarValue::Boolean(Some(b)) => Some(Literal::Boolean(*b)),
        ScalarValue::Utf8View(Some(s)) | ScalarValue::Utf8(Some(s)) => Some(Literal::String(s.clone())),
        ScalarValue::TimestampMillisecond(Some(t), None) => t.checked_mul(1000).map(Literal::Timestamp),
        ScalarValue::TimestampMicrosecond(Some(t), None) => Some(Literal::Timestamp(*t)),
        _ => None,
    }
}

/// What holds for the rows of either: what both say, and of equalities with constants of one field all constants of both.
pub(super) fn either(left: Vec<Predicate>, right: &[Predicate]) -> Vec<Predicate> {
    let weaker = |predicate: Predicate| {
        if right.contains(&predicate) {
            return Some(predicate);
        }
        let is_equality = |p: &&Predicate| p.op == PredicateOp::Eq && p.path == predicate.path;
        let other = right.iter().find(is_equality).filter(|_| predicate.op == PredicateOp::Eq)?;
        let mut literals = predicate.literals.clone();
        literals.extend(other.literals.iter().filter(|l| !predicate.literals.contains(l)).cloned());
        Some(Predicate { literals, ..predicate })
    };
    left.into_iter().filter_map(weaker).collect()
}
