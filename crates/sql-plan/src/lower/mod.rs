//! From a plan to operators of a job.
//!
//! Each node becomes an operator, its inputs exchanges: by key where the operator keeps state by key, to one subtask where it
//! keeps state without one, and direct where it keeps none. A node's uid is its digest, that of a source or sink its table: what
//! state means does not depend on where in the text an expression stands.

mod aggregates;
mod bounded;
mod exchange;
mod expr;
mod joins;
mod operators;
mod streams;
mod tables;
mod waiting;

pub(crate) use aggregates::{is_two_phase, unsplit};
pub use expr::physical;

use crate::config::PlanConfig;
use crate::plan::{Node, NodeId, Op, Plan};
use datafusion_common::config::ConfigOptions;
use flugs_graph::{Edge, Node as GraphNode, NodeId as GraphId, NodeKind};
use flugs_task::{EdgeFactory, NodeFactory};
use flugs_types::{Error, OperatorUid, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// Takes the operators and streams of a job.
pub trait JobBuilder {
    /// Adds an operator.
    fn node(&mut self, node: GraphNode, factory: Arc<dyn NodeFactory>) -> GraphId;

    /// Adds a stream.
    fn edge(&mut self, edge: Edge, factory: Arc<dyn EdgeFactory>);
}

/// Where a node's rows come out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) node: GraphId,
    pub(crate) output: u16,
    pub(crate) parallelism: u32,
}

/// How often each uid was given to operators of a job.
#[derive(Debug, Clone, Default)]
pub struct Uids(HashMap<String, u32>);

/// Adds the operators of a settled plan to a job that has no others.
pub fn lower(plan: &Plan, config: &PlanConfig, builder: &mut dyn JobBuilder) -> Result<()> {
    lower_into(plan, config, builder, &mut Uids::default()).map(|_| ())
}

/// Adds the operators of a settled plan to a job that has more, among them those of other plans, whose uids are told. Gives the
/// operators that end in streams, in the order of the sinks.
pub fn lower_into(
    plan: &Plan,
    config: &PlanConfig,
    builder: &mut dyn JobBuilder,
    uids: &mut Uids,
) -> Result<Vec<GraphId>> {
    if config.parallelism == 0 {
        let error = Error::job("operators have no subtasks: the parallelism is 0");
        return Err(error.mend("set 'parallelism.default' to 1 or more"));
    }
    let options = crate::bind::options(&config.time_zone);
    let (origins, dead_letters, streams) = (HashMap::new(), HashMap::new(), Vec::new());
    let mut lowering = Lowering { plan, config, options, builder, origins, dead_letters, uids, streams };
    for id in plan.reachable() {
        let origins = lowering.add(id)?;
        lowering.origins.insert(id, origins);
    }
    Ok(lowering.streams)
}

/// Whether somebody asks for the late rows of a node.
fn wants_late(plan: &Plan, node: &Node) -> bool {
    let of_node = |id: &NodeId| std::ptr::eq(plan.node(*id), node);
    plan.reachable().into_iter().any(|id| {
        let other = plan.node(id);
        matches!(other.op, Op::LateRows) && other.inputs.iter().any(of_node)
    })
}

pub(crate) struct Lowering<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) config: &'a PlanConfig,
    pub(crate) options: Arc<ConfigOptions>,
    builder: &'a mut dyn JobBuilder,
    /// More than one after a union.
    origins: HashMap<NodeId, Vec<Origin>>,
    /// Where the records of a scan come out that cannot be read.
    dead_letters: HashMap<NodeId, Origin>,
    uids: &'a mut Uids,
    /// The operators that end in streams of the program.
    streams: Vec<GraphId>,
}

impl Lowering<'_> {
    fn add(&mut self, id: NodeId) -> Result<Vec<Origin>> {
        let plan = self.plan;
        let node = plan.node(id);
        match &node.op {
            Op::Scan(scan) => self.scan(id, scan),
            Op::Values(rows) => self.values(node, rows),
            Op::Sink(sink) => self.sink(node, sink),
            Op::LateRows => self.late_rows(node),
            Op::AsyncCalc { calls } => self.async_calls(node, calls),
            Op::Malformed => self.malformed(node),
            Op::Union => Ok(node.inputs.iter().flat_map(|i| self.origins[i].clone()).collect()),
            Op::Join { .. }
            | Op::IntervalJoin { .. }
            | Op::WindowJoin { .. }
            | Op::TemporalJoin { .. }
            | Op::LookupJoin { .. }
            | Op::Correlate { .. } => self.join(node),
            _ => self.operator(node),
        }
    }

    /// A node for an operator; a second one of the same uid gets a number.
    pub(crate) fn graph_node(
        &mut self,
        name: &str,
        kind: NodeKind,
        uid: &str,
        parallelism: u32,
        stateful: bool,
    ) -> GraphNode {
        let uid = self.unique_uid(uid);
        let mut node = GraphNode::new(name, kind);
        node.uid = Some(OperatorUid::new(uid));
        node.parallelism = parallelism;
        node.stateful = stateful;
        node
    }

    /// The uid, with a number where it was given before.
    fn unique_uid(&mut self, uid: &str) -> String {
        let times = self.uids.0.entry(uid.to_owned()).or_default();
        *times += 1;
        if *times == 1 { uid.to_owned() } else { format!("{uid}#{times}") }
    }

    /// The parallelism of an operator with state by these keys.
    pub(crate) fn keyed_parallelism(&self, keys: &[usize]) -> u32 {
        if keys.is_empty() { 1 } else { self.config.parallelism }
    }

    pub(crate) fn input(&self, node: &Node, at: usize) -> &Node {
        self.plan.node(node.inputs[at])
    }

    pub(crate) fn origins_of(&self, node: &Node, at: usize) -> Vec<Origin> {
        self.origins[&node.inputs[at]].clone()
    }
}
