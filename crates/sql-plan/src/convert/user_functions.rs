//! What functions of the program must be able to do in the plan that they stand in.

use crate::bind::nodes::WindowKind;
use crate::error::{PlanResult, semantic};
use crate::plan::{Node, Op, Plan};
use datafusion_expr::{WindowFrame, WindowFrameBound};
use flugs_sql_types::{AggregateKind, UserAggregate, WindowKind as OverKind};

/// An error where an aggregate function would have to take rows back or to merge, and cannot: as in Flink, before the job runs.
pub(crate) fn check_user_functions(plan: &Plan) -> PlanResult<()> {
    for id in plan.reachable() {
        let node = plan.node(id);
        let changing = node.inputs.iter().any(|input| !plan.node(*input).changes.is_append());
        for (function, leaves) in functions(node) {
            if (changing || leaves) && !function.retracts() {
                let why = match changing {
                    true => "its input updates or deletes rows",
                    false => "rows leave the frame of its OVER",
                };
                return Err(semantic(format!(
                    "the function {} cannot take rows back, and {why}",
                    function.name()
                ))
                .help("write its `retract` and say `const RETRACTS: bool = true`"));
            }
            if let Some(why) = merging(node, plan.batch)
                && !function.merges()
            {
                return Err(semantic(format!(
                    "the function {} cannot merge accumulators, and {why}",
                    function.name()
                ))
                .help("write its `merge` and say `const MERGES: bool = true`"));
            }
        }
    }
    Ok(())
}

/// The functions of the program that a node calls, and of each whether rows leave its frame.
fn functions(node: &Node) -> Vec<(&dyn UserAggregate, bool)> {
    match &node.op {
        Op::Aggregate { calls, .. } | Op::WindowAggregate { calls, .. } => {
            calls.iter().filter_map(|call| Some((of(&call.kind)?, false))).collect()
        }
        Op::Over { calls, .. } => calls
            .iter()
            .filter_map(|call| match &call.kind {
                OverKind::Aggregate(kind) => Some((of(kind)?, leaves(&call.frame))),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn of(kind: &AggregateKind) -> Option<&dyn UserAggregate> {
    match kind {
        AggregateKind::User(function) => Some(function.get()),
        _ => None,
    }
}

/// Whether a frame begins anywhere but at the first row.
fn leaves(frame: &WindowFrame) -> bool {
    !matches!(&frame.start_bound, WindowFrameBound::Preceding(n) if n.is_null())
}

/// Why accumulators are merged, where they are.
fn merging(node: &Node, batch: bool) -> Option<&'static str> {
    match &node.op {
        Op::Aggregate { .. } if batch => Some("batch mode merges what was spilled"),
        Op::WindowAggregate { window: Some(window), .. } => match window.kind {
            WindowKind::Tumble { .. } => None,
            WindowKind::Session { .. } => Some("SESSION windows grow together"),
            _ => Some("HOP and CUMULATE windows share rows"),
        },
        _ => None,
    }
}
