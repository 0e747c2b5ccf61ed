//! Where rows go that come too late for an operator: where the tables that it reads say, or the session.

mod carry;

use crate::bind::is_written;
use crate::catalog::ObjectPath;
use crate::convert::sink::{SinkColumn, Target};
use crate::error::{PlanResult, lower, semantic};
use crate::plan::{LateRoute, Node, NodeId, Op, Plan, ScanOp};
use crate::planner::Planner;
use std::collections::{HashMap, HashSet};

/// The plan with sinks for late rows.
pub(crate) fn route(planner: &Planner, plan: &Plan) -> PlanResult<Plan> {
    let of_session = planner.config().late_table.as_ref().map(|name| {
        let parts: Vec<String> = name.split('.').map(str::to_owned).collect();
        planner.catalogs().resolve(&parts).map_err(lower)
    });
    let of_session = of_session.transpose()?;
    let (mut hinted, mut heeded) = (HashSet::new(), HashSet::new());
    let mut routed = plan.emptied();
    let mut places: HashMap<NodeId, NodeId> = HashMap::new();
    let mut late = Vec::new();
    for id in plan.reachable() {
        let node = plan.node(id);
        if let Op::Scan(scan) = &node.op
            && scan.late.as_ref().is_some_and(|late| late.is_hint)
        {
            hinted.insert(id);
        }
        let inputs: Vec<NodeId> = node.inputs.iter().map(|input| places[input]).collect();
        let to = if node.op.has_late_rows() {
            let scans = scans_below(plan, node.inputs[0]);
            heeded.extend(scans.iter().map(|(id, _)| *id));
            said(&scans)?.map_or_else(|| of_session.clone(), |route| route.to)
        } else {
            None
        };
        let new = match to {
            None => routed.add(node.op.clone(), inputs, node.fields.clone()),
            Some(path) => {
                let (new, sink) = with_late_rows(planner, &mut routed, node, inputs, &path)?;
                late.push(sink);
                new
            }
        };
        places.insert(id, new);
    }
    if let Some(lost) = hinted.difference(&heeded).min() {
        return Err(lost_hint(plan, *lost));
    }
    routed.sinks = plan.sinks.iter().map(|id| places[id]).chain(late).collect();
    Ok(routed)
}

/// An operator, and a sink that writes its late rows into a table, by the names of its columns.
fn with_late_rows(
    planner: &Planner,
    plan: &mut Plan,
    node: &Node,
    mut inputs: Vec<NodeId>,
    path: &ObjectPath,
) -> PlanResult<(NodeId, NodeId)> {
    let table = planner.binder().table_beside(path, "late rows")?;
    let written: Vec<_> = table.columns.iter().filter(|c| is_written(&c.kind)).collect();
    let names: Vec<&str> = written.iter().map(|c| c.name.as_str()).collect();
    let before = inputs[0];
    let (wider, found) = carry::carried(plan, before, &names);
    inputs[0] = wider;
    let op = match &node.op {
        Op::WindowAggregate { .. } => plan.add(node.op.clone(), inputs, node.fields.clone()),
        op => carry::passed_through(plan, op, inputs, before, &node.fields),
    };
    let fields = plan.node(wider).fields.clone();
    // What the query computes is written where the tables have no such column.
    let place = |name: &str| {
        let of_input = found.get(name).map_or(name, String::as_str);
        fields.iter().position(|f| f.name() == of_input)
    };
    let columns = names.iter().map(|name| place(name).map_or(SinkColumn::Null, SinkColumn::Query)).collect();
    let late = plan.add(Op::LateRows, vec![op], fields);
    let options = table.options.clone();
    let target = Target { path, table: &table, options, overwrite: false, columns };
    let sink = planner.converter(plan).write(late, &target)?;
    Ok((carry::only(plan, op, &node.fields), sink))
}

fn scans_below(plan: &Plan, id: NodeId) -> Vec<(NodeId, &ScanOp)> {
    let (mut open, mut seen, mut found) = (vec![id], HashSet::new(), Vec::new());
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        match &plan.node(id).op {
            Op::Scan(scan) => found.push((id, scan.as_ref())),
            _ => open.extend(&plan.node(id).inputs),
        }
    }
    found
}

/// What tables that one operator reads say of their late rows. It does not tell them apart.
fn said(scans: &[(NodeId, &ScanOp)]) -> PlanResult<Option<LateRoute>> {
    let mut found: Option<(&ScanOp, &LateRoute)> = None;
    for (_, scan) in scans {
        let Some(late) = &scan.late else { continue };
        match found {
            Some((other, route)) if route.to != late.to => {
                return Err(semantic(format!(
                    "late rows of '{}' and of '{}' go to different places, and one operator reads both",
                    other.table, scan.table
                ))
                .help("say the same of both: OPTIONS('late' = 'route:TABLE')"));
            }
            _ => found = Some((scan, late)),
        }
    }
    Ok(found.map(|(_, route)| route.clone()))
}

fn lost_hint(plan: &Plan, scan: NodeId) -> flugs_sql_parser::SqlError {
    let table = match &plan.node(scan).op {
        Op::Scan(scan) => scan.table.as_str(),
        _ => "the table",
    };
    semantic(format!("'late' is said of '{table}', and nothing in the query can find a row of it late"))
        .help("leave it out: late rows are those of windows, and of inner joins FOR SYSTEM_TIME AS OF")
}
