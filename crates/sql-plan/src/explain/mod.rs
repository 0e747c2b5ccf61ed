//! Plans as people and programs read them: the operators, the changes of every edge, what each keeps and for how long.

mod estimate;
mod expr;
mod line;
mod names;
mod state;

pub use state::{StateNote, is_bounded, warnings};

use crate::config::PlanConfig;
use crate::lower::{is_two_phase, unsplit};
use crate::plan::{Changes, Node, NodeId, Op, Plan};
use flugs_sql_parser::ExplainDetail;
use names::Names;
use state::state_of;
use std::collections::HashMap;
use std::fmt::Write;

/// A plan as `EXPLAIN` shows it.
pub fn explain(plan: &Plan, config: &PlanConfig, details: &[ExplainDetail]) -> String {
    let mut walk = Walk {
        plan,
        config,
        details,
        names: Names::of_plan(plan),
        rows: estimate::rows(plan),
        shown: HashMap::new(),
        text: String::from("== Optimized Execution Plan ==\n"),
    };
    for sink in &plan.sinks {
        walk.node(*sink, 0);
        walk.text.push('\n');
    }
    let mut text = walk.text;
    let warnings = warnings(plan, config);
    if !warnings.is_empty() {
        text.push_str("== Advice ==\n");
        warnings.iter().for_each(|w| {
            let _ = writeln!(text, "{w}");
        });
    }
    if details.contains(&ExplainDetail::JsonExecutionPlan) {
        let _ = writeln!(text, "== Physical Execution Plan ==\n{}", explain_json(plan, config));
    }
    text
}

/// What is told of a plan, and what has been told of it.
struct Walk<'a> {
    plan: &'a Plan,
    config: &'a PlanConfig,
    details: &'a [ExplainDetail],
    names: Names,
    rows: HashMap<NodeId, f64>,
    /// The number of each part that several others read.
    shown: HashMap<NodeId, usize>,
    text: String,
}

impl Walk<'_> {
    /// A node, and what it reads under it.
    fn node(&mut self, id: NodeId, depth: usize) {
        let indent = if depth == 0 { String::new() } else { format!("{}+- ", "   ".repeat(depth - 1)) };
        self.text.push_str(&indent);
        if let Some(number) = self.shown.get(&id) {
            let _ = writeln!(self.text, "Reused(reference_id=[{number}])");
            return;
        }
        let node = self.plan.node(id);
        let first = first_phase(self.plan, node, self.config);
        let line = self.names.line(self.plan, id);
        let _ = write!(self.text, "{}{line}", first.map_or("", |(_, last)| last));
        self.remarks(id);
        if readers(self.plan, id) > 1 {
            let number = self.shown.len() + 1;
            self.shown.insert(id, number);
            let _ = write!(self.text, "(reuse_id=[{number}])");
        }
        self.text.push('\n');
        let mut depth = depth + 1;
        if let Some((first, _)) = first {
            let _ = writeln!(self.text, "{}+- {first}{line}", "   ".repeat(depth - 1));
            depth += 1;
        }
        for input in &node.inputs {
            self.node(*input, depth);
        }
    }

    /// What is said of a node beside what it does.
    fn remarks(&mut self, id: NodeId) {
        let node = self.plan.node(id);
        if let Some(why) = not_split(self.plan, node, self.config) {
            let _ = write!(self.text, ", notSplit=[{why}]");
        }
        if self.details.contains(&ExplainDetail::ChangelogMode) {
            let _ = write!(self.text, ", changelogMode=[{}]", mode(node));
        }
        if let Some(state) = state_of(self.plan, id, self.config) {
            let bound = state.bound.unwrap_or_else(|| "UNBOUNDED".to_owned());
            let _ = write!(self.text, ", state=[{}; until: {bound}]", state.what);
        }
        if self.details.contains(&ExplainDetail::EstimatedCost) {
            let parallelism = if needs_one(&node.op) { 1 } else { self.config.parallelism };
            let rows = self.rows.get(&id).map_or("unknown".to_owned(), |rows| format!("{}", rows.ceil()));
            let _ = write!(self.text, ", parallelism=[{parallelism}], rowcount=[{rows}]");
        }
    }
}

/// How often a node is read; a join of it with itself reads it twice.
fn readers(plan: &Plan, id: NodeId) -> usize {
    plan.reachable().iter().flat_map(|node| &plan.node(*node).inputs).filter(|input| **input == id).count()
}

/// What stands before the names of the operators of a node that is more than one: of the first, and of the last.
fn first_phase(plan: &Plan, node: &Node, config: &PlanConfig) -> Option<(&'static str, &'static str)> {
    match node.op {
        Op::Aggregate { buckets: Some(_), .. } => Some(("Partial", "Final")),
        _ => is_two_phase(plan, node, config).then_some(("Local", "Global")),
    }
}

/// Why the distinct values of an aggregate are not spread over buckets, where that is wanted.
fn not_split(plan: &Plan, node: &Node, config: &PlanConfig) -> Option<String> {
    let Op::Aggregate { calls, buckets: None, .. } = &node.op else { return None };
    if config.distinct_buckets.is_none() || !calls.iter().any(|call| call.distinct) {
        return None;
    }
    unsplit(plan, plan.node(node.inputs[0]), &node.op, config)
}

fn needs_one(op: &Op) -> bool {
    match op {
        Op::Aggregate { keys, .. } | Op::WindowAggregate { keys, .. } => keys.is_empty(),
        Op::Rank { partition, .. } | Op::Over { partition, .. } => partition.is_empty(),
        Op::Join { keys, .. } => keys.is_empty(),
        Op::Sort { .. } | Op::Values(_) => true,
        _ => false,
    }
}

/// The changes of a node's output, as Flink names them.
fn mode(node: &Node) -> String {
    if matches!(node.op, Op::Sink(_)) {
        return "NONE".to_owned();
    }
    let Changes { updates, deletes } = node.changes;
    let mut kinds = vec!["I"];
    if updates {
        if node.update_before {
            kinds.push("UB");
        }
        kinds.push("UA");
    }
    if deletes {
        kinds.push("D");
    }
    kinds.join(",")
}

/// A plan as JSON: `{"nodes": [{"id", "type", "contents", "changelog", "state", "bounded", "uid", "predecessors"}]}`.
pub fn explain_json(plan: &Plan, config: &PlanConfig) -> String {
    let quoted = |text: &str| {
        let mut out = String::from("\"");
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                c if c.is_control() => {
                    let _ = write!(out, "\\u{:04x}", u32::from(c));
                }
                c => out.push(c),
            }
        }
        out.push('"');
        out
    };
    let names = Names::of_plan(plan);
    let mut nodes = Vec::new();
    for id in plan.reachable() {
        let node = plan.node(id);
        let state = match state_of(plan, id, config) {
            None => "null".to_owned(),
            Some(state) => format!(
                "{{\"keeps\":{},\"until\":{}}}",
                quoted(&state.what),
                state.bound.map_or("null".to_owned(), |b| quoted(&b))
            ),
        };
        let inputs = node.inputs.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        nodes.push(format!(
            "    {{\"id\":{id},\"type\":{},\"contents\":{},\"changelog\":{},\"state\":{state},\"uid\":{},\"predecessors\":[{inputs}]}}",
            quoted(node.op.name()),
            quoted(&names.line(plan, id)),
            quoted(&mode(node)),
            quoted(&node.digest)
        ));
    }
    format!("{{\n  \"nodes\": [\n{}\n  ]\n}}", nodes.join(",\n"))
}
