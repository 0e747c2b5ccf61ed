//! The graph as the program built it.

use crate::{Edge, Node, NodeId};

/// Operators and the streams between them, as the program wrote them down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogicalGraph {
    /// The job's name.
    pub name: String,
    /// All nodes; the id of each is its position.
    pub nodes: Vec<Node>,
    /// All edges.
    pub edges: Vec<Edge>,
}

impl LogicalGraph {
    /// An empty graph.
    pub fn new(name: impl Into<String>) -> Self {
        LogicalGraph { name: name.into(), nodes: Vec::new(), edges: Vec::new() }
    }

    /// Adds a node and sets its id, whatever it was before.
    pub fn add_node(&mut self, mut node: Node) -> NodeId {
        node.id = NodeId(u32::try_from(self.nodes.len()).expect("a program of fewer than 2^32 operators"));
        let id = node.id;
        self.nodes.push(node);
        id
    }

    /// Adds an edge. That both of its ends exist is checked by [`validate`](Self::validate).
    pub fn add_edge(&mut self, edge: Edge) {
        self.edges.push(edge);
    }

    /// The node with this id, if there is one.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize)
    }
}
