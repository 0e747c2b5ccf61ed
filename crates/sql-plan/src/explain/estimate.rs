//! How many rows operators give, roughly: numbers of tables that say theirs, and the simple factors that Calcite's and so Flink's
//! planner takes where it knows nothing of the values.

use crate::plan::{JoinKind, Node, NodeId, Op, Plan, RankFunction};
use datafusion_expr::{BinaryExpr, Expr, Operator};
use flugs_table::{Predicate, PredicateOp};
use std::collections::HashMap;

/// The share of rows for which an equality holds, a comparison, and anything else.
const EQUAL: f64 = 0.15;
const COMPARED: f64 = 0.5;
const OTHER: f64 = 0.25;
/// The share of rows that are not NULL.
const PRESENT: f64 = 0.9;
/// Groups of so many rows.
const ROWS_A_GROUP: f64 = 10.0;

/// The rows of each node that a sink needs; nodes of whose inputs nothing is known are not there.
pub(super) fn rows(plan: &Plan) -> HashMap<NodeId, f64> {
    let mut rows = HashMap::new();
    // Inputs have smaller numbers.
    for id in plan.reachable() {
        let node = plan.node(id);
        let inputs: Option<Vec<f64>> = node.inputs.iter().map(|input| rows.get(input).copied()).collect();
        let estimate = match &node.op {
            Op::Aggregate { keys, .. } if keys.is_empty() => Some(1.0),
            _ => inputs.and_then(|inputs| of(node, &inputs)),
        };
        if let Some(estimate) = estimate {
            rows.insert(id, estimate);
        }
    }
    rows
}

fn of(node: &Node, inputs: &[f64]) -> Option<f64> {
    let first = inputs.first().copied().unwrap_or_default();
    Some(match &node.op {
        // The plan filters again what the source may let pass.
        Op::Scan(scan) => {
            let all = scan.source.rows()? as f64;
            let passing =
                scan.predicates.iter().filter(|p| scan.source.applies(p)).map(offered).product::<f64>();
            let most = scan.limit.map_or(f64::INFINITY, |limit| limit as f64);
            (all * passing).min(most)
        }
        Op::Values(rows) => rows.num_rows() as f64,
        Op::Calc { filter, .. } => first * filter.as_ref().map_or(1.0, selectivity),
        Op::Union => inputs.iter().sum(),
        Op::Expand { nulls, .. } => first * nulls.len() as f64,
        Op::Aggregate { .. } | Op::WindowAggregate { .. } | Op::Deduplicate { .. } => grouped(first),
        Op::Join { kind, keys, residual, .. }
        | Op::IntervalJoin { kind, keys, residual, .. }
        | Op::WindowJoin { kind, keys, residual, .. } => {
            let second = inputs.get(1).copied().unwrap_or_default();
            joined(*kind, first, second, !keys.is_empty(), residual.as_ref())
        }
        Op::Rank { function: RankFunction::RowNumber, partition, range: Some((from, to)), .. } => {
            let partitions = if partition.is_empty() { 1.0 } else { grouped(first) };
            first.min(partitions * (to - from + 1) as f64)
        }
        Op::Sort { offset, fetch, .. } => {
            (first - *offset as f64).max(0.0).min(fetch.map_or(f64::INFINITY, |n| n as f64))
        }
        // Rows that should not be there, if all goes well.
        Op::LateRows | Op::Malformed => 0.0,
        _ => first,
    })
}

fn grouped(rows: f64) -> f64 {
    (rows / ROWS_A_GROUP).max(rows.min(1.0))
}

/// With equal columns each row of the larger side finds one of the smaller.
fn joined(kind: JoinKind, left: f64, right: f64, by_key: bool, residual: Option<&Expr>) -> f64 {
    let pairs = if by_key { left.min(right).min(1.0) * left.max(right) } else { left * right };
    let pairs = pairs * residual.map_or(1.0, selectivity);
    match kind {
        JoinKind::Inner => pairs,
        JoinKind::Left => pairs.max(left),
        JoinKind::Right => pairs.max(right),
        JoinKind::Full => pairs.max(left).max(right),
        JoinKind::Semi | JoinKind::Anti | JoinKind::NullAwareAnti => left * COMPARED,
    }
}

fn offered(predicate: &Predicate) -> f64 {
    match predicate.op {
        PredicateOp::Eq => (EQUAL * predicate.literals.len() as f64).min(1.0),
        _ => COMPARED,
    }
}

/// The share of rows for which a condition holds.
fn selectivity(condition: &Expr) -> f64 {
    match condition {
        Expr::Alias(alias) => selectivity(&alias.expr),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::And => selectivity(left) * selectivity(right),
            Operator::Or => {
                let (left, right) = (selectivity(left), selectivity(right));
                left + right - left * right
            }
            Operator::Eq | Operator::IsNotDistinctFrom => EQUAL,
            Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => COMPARED,
            _ => OTHER,
        },
        Expr::Not(inner) => 1.0 - selectivity(inner),
        Expr::IsNotNull(_) => PRESENT,
        Expr::IsNull(_) => 1.0 - PRESENT,
        Expr::InList(list) => {
            let among = (EQUAL * list.list.len() as f64).min(COMPARED);
            if list.negated { 1.0 - among } else { among }
        }
        _ => OTHER,
    }
}
