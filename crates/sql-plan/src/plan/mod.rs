//! The plan between SQL and the job graph: what each operator does, over columns by number.
//!
//! Nodes stand in an arena; equal nodes over equal inputs are one node, so common parts of a statement set are computed once.
//! A node's digest says what it computes, whatever its place: it addresses the node's state.

mod expr;
mod node;

pub use expr::{column_index, columns_of, is_column, pretty, remap, substitute};
pub use node::{
    AggregateCall, CallDigest, Changes, CorrelateFn, Emit, JoinKind, LookupSpec, Node, NodeId, Op, OverCall,
    PlanField, RankFunction, ScanOp, SinkOp, SortKey, WindowRole, WindowSpec,
};

use flugs_types::hash_bytes;
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
}

impl Plan {
    /// A plan without nodes, in streaming or batch mode.
    pub fn new(batch: bool) -> Self {
        Plan { batch, ..Plan::default() }
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
        let of_inputs: Vec<String> = inputs.iter().map(|i| self.nodes[*i].digest.clone()).collect();
        let meaning = format!("{}({}):{}", op.meaning(), of_inputs.join(","), node::names(&fields));
        if let Some(id) = self.known.get(&meaning) {
            return *id;
        }
        let digest = format!("{:016x}", hash_bytes(meaning.as_bytes()));
        let (changes, keys) = match (self.traits(&op, &inputs), &op) {
            // Only a source can have changes, before they are folded.
            ((_, keys), op) if self.batch && !matches!(op, Op::Scan(_)) => (Changes::APPEND, keys),
            (traits, _) => traits,
        };
        let id = self.nodes.len();
        self.known.insert(meaning, id);
        self.nodes.push(Node { op, inputs, fields, digest, changes, keys, update_before: false });
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
