//! The plan between SQL and the job graph: what each operator does, over columns by number.
//!
//! Nodes stand in an arena; equal nodes over equal inputs are one node, so common parts of a statement set are computed once.
//! A node's digest says what it computes, whatever its place and names: it addresses the node's state (see [`Meaning`]).

pub(crate) mod canonical;
mod expr;
mod meaning;
mod node;
mod op;
mod spec;
mod waiting;

pub(crate) use expr::joined;
pub use expr::{column_index, columns_of, is_column, remap, substitute};
pub use meaning::Meaning;
pub(crate) use meaning::call_digest;
pub use node::{Changes, Node, NodeId, PlanField, WindowRole};
pub use op::Op;
pub use spec::{
    AggregateCall, CallDigest, CorrelateFn, Emit, JoinKind, LateRoute, LookupSpec, Malformed, OverCall,
    RankFunction, ScanOp, SinkOp, SortKey, WindowSpec,
};
pub use waiting::{AsyncCall, WaitingFunction};

use std::collections::HashMap;

/// The nodes of a statement or statement set.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    nodes: Vec<Node>,
    /// By what they compute.
    known: HashMap<String, NodeId>,
    /// The sinks, in the order of the statements.
    pub sinks: Vec<NodeId>,
    /// Whether it runs in batch mode: operators give results once, when their inputs have ended.
    pub batch: bool,
    /// The session's time zone, where it is another than UTC.
    zone: Option<String>,
}

impl Plan {
    /// A plan without nodes, in streaming or batch mode, for a session in this zone; none is UTC.
    pub fn new(batch: bool, zone: Option<String>) -> Self {
        Plan { batch, zone, ..Plan::default() }
    }

    /// A plan without nodes for the same session.
    pub(crate) fn emptied(&self) -> Self {
        Plan::new(self.batch, self.zone.clone())
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }

    /// A node, to be changed in what its digest does not say.
    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id]
    }

    /// How many nodes there are. Every node stands behind its inputs.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds a node, or finds the one that computes the same.
    pub fn add(&mut self, op: Op, inputs: Vec<NodeId>, fields: Vec<PlanField>) -> NodeId {
        self.insert(op, inputs, fields, None)
    }

    /// Adds a projection or filter, part of which its input does already: it means what it did before that.
    pub(crate) fn add_like(
        &mut self,
        op: Op,
        inputs: Vec<NodeId>,
        fields: Vec<PlanField>,
        meaning: Meaning,
    ) -> NodeId {
        self.insert(op, inputs, fields, Some(meaning))
    }

    fn insert(
        &mut self,
        op: Op,
        inputs: Vec<NodeId>,
        fields: Vec<PlanField>,
        meaning: Option<Meaning>,
    ) -> NodeId {
        let known = format!("{} {inputs:?}: {} {}", op.meaning(), node::names(&fields), op.said());
        if let Some(id) = self.known.get(&known).filter(|_| op.is_repeatable()) {
            return *id;
        }
        let (changes, keys) = match (self.traits(&op, &inputs), &op) {
            // Only a source can have changes, before they are folded.
            ((_, keys), op) if self.batch && !matches!(op, Op::Scan(_)) => (Changes::APPEND, keys),
            (traits, _) => traits,
        };
        let of_inputs: Vec<&Node> = inputs.iter().map(|id| &self.nodes[*id]).collect();
        let (digest, meaning) = match meaning {
            Some(meaning) => (meaning::calc_digest(&meaning), meaning),
            None => {
                let described = meaning::describe(&op, &of_inputs, &fields, self.zone.as_deref());
                (described.digest, described.meaning)
            }
        };
        let id = self.nodes.len();
        self.known.insert(known, id);
        self.nodes.push(Node { op, inputs, fields, digest, meaning, changes, keys, update_before: false });
        id
    }

    /// The nodes that the sinks need, each behind its inputs.
    pub fn reachable(&self) -> Vec<NodeId> {
        let mut needed = vec![false; self.nodes.len()];
        let mut open: Vec<NodeId> = self.sinks.clone();
        while let Some(id) = open.pop() {
            if !std::mem::replace(&mut needed[id], true) {
                open.extend(&self.nodes[id].inputs);
            }
        }
        (0..self.nodes.len()).filter(|id| needed[*id]).collect()
    }
}
