//! What operators keep, and for how long.

use crate::bind::nodes::WindowKind;
use crate::config::PlanConfig;
use crate::plan::{NodeId, Op, Plan};
use flugs_connector::Boundedness;
use std::time::Duration;

/// What an operator keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateNote {
    /// What is kept.
    pub what: String,
    /// Until when, in words; `None` where there is no bound.
    pub bound: Option<String>,
}

/// What an operator keeps; `None` where it keeps nothing.
pub fn state_of(plan: &Plan, id: NodeId, config: &PlanConfig) -> Option<StateNote> {
    let node = plan.node(id);
    if plan.batch {
        return None;
    }
    let ended = is_bounded(plan, id);
    let lasting = |hint: Option<Duration>| match (hint, config.state_ttl) {
        (Some(ttl), _) if !ttl.is_zero() => Some(format!("{} after the last change (STATE_TTL)", shown(ttl))),
        (None, Some(ttl)) => Some(format!("{} after the last change (table.exec.state.ttl)", shown(ttl))),
        _ if ended => Some("the input ends".to_owned()),
        _ => None,
    };
    let kept = |what: &str, bound: Option<String>| StateNote { what: what.to_owned(), bound };
    let for_ever = |what: &str| kept(what, lasting(None));
    let until = |what: &str, bound: String| StateNote { what: what.to_owned(), bound: Some(bound) };
    Some(match &node.op {
        Op::Aggregate { keys, buckets: None, .. } if keys.is_empty() => {
            until("one row of accumulators", "one row".to_owned())
        }
        Op::Aggregate { ttl, buckets: Some(_), .. } => {
            kept("accumulators of each group, distinct values of each bucket", lasting(*ttl))
        }
        Op::Aggregate { ttl, .. } => kept("accumulators of each group", lasting(*ttl)),
        Op::WindowAssign { window, .. } => match window.kind {
            WindowKind::Session { .. } => {
                until("rows of open sessions", "the watermark closes a session".to_owned())
            }
            _ => return None,
        },
        Op::WindowAggregate { .. } => {
            until("accumulators of open windows", "the watermark closes a window".to_owned())
        }
        Op::Join { ttl: [left, right], .. } if left == right => {
            kept("all rows of both inputs", lasting(*left))
        }
        Op::Join { ttl: [left, right], .. } => {
            let sides = lasting(*left).zip(lasting(*right));
            kept("all rows of both inputs", sides.map(|(l, r)| format!("left: {l}, right: {r}")))
        }
        Op::IntervalJoin { bounds, .. } => until(
            "rows of both inputs",
            format!("{} of event time", shown(Duration::from_millis((bounds.1 - bounds.0).unsigned_abs()))),
        ),
        Op::WindowJoin { .. } => until("rows of open windows", "the watermark closes a window".to_owned()),
        Op::TemporalJoin { times: Some(_), .. } => {
            for_ever("versions of the right, rows of the left until the watermark")
        }
        Op::TemporalJoin { times: None, .. } => for_ever("the newest version of each row of the right"),
        Op::Rank { range: Some((_, last)), .. } if plan.node(node.inputs[0]).changes.is_append() => {
            for_ever(&format!("the first {last} rows of each partition"))
        }
        Op::Rank { .. } => for_ever("all rows of each partition"),
        Op::Deduplicate { .. } => for_ever("one row of each key"),
        Op::WindowRank { .. } => {
            until("the first rows of open windows", "the watermark closes a window".to_owned())
        }
        Op::Over { .. } => for_ever("rows that frames can still reach"),
        Op::Sort { order, fetch, .. } => match (order.is_empty(), fetch) {
            (true, _) if plan.node(node.inputs[0]).changes.is_append() => return None,
            (_, Some(n)) if plan.node(node.inputs[0]).changes.is_append() => {
                until("rows", format!("{n} rows"))
            }
            _ => for_ever("all rows"),
        },
        Op::AsyncCalc { .. } => {
            until("rows whose calls wait", format!("{} rows", config.async_scalar.capacity))
        }
        Op::Normalize { .. } => for_ever("the newest row of each key"),
        Op::Settle { .. } => until("rows that may be taken back", "the watermark passes them".to_owned()),
        Op::Materialize { .. } => for_ever("the rows of each key of the sink"),
        _ => return None,
    })
}

/// Whether all that a node reads ends.
pub fn is_bounded(plan: &Plan, id: NodeId) -> bool {
    let node = plan.node(id);
    match &node.op {
        Op::Scan(scan) => scan.source.boundedness() == Boundedness::Bounded,
        _ => node.inputs.iter().all(|i| is_bounded(plan, *i)),
    }
}

/// What a user should know before the plan runs: state without a bound.
pub fn warnings(plan: &Plan, config: &PlanConfig) -> Vec<String> {
    let mut warnings = Vec::new();
    for id in plan.reachable() {
        if let Some(StateNote { what, bound: None }) = state_of(plan, id, config) {
            warnings.push(format!(
                "{} keeps {what} for ever, since its input does not end: set 'table.exec.state.ttl' to let unused state expire",
                plan.node(id).op.name()
            ));
        }
    }
    warnings
}

pub(super) fn shown(duration: Duration) -> String {
    let ms = duration.as_millis();
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
    match units.into_iter().find(|(length, _)| ms > 0 && ms.is_multiple_of(*length)) {
        Some((length, unit)) => format!("{} {unit}", ms / length),
        None => format!("{ms} ms"),
    }
}
