//! The nodes and edges of a logical graph.

use flugs_types::OperatorUid;
use std::fmt;

/// A node's number within its logical graph: its position there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeKind {
    /// Has no inputs.
    Source,
    /// Has inputs, and outputs as a rule.
    Operator,
    /// Has inputs only.
    Sink,
}

impl NodeKind {
    /// The kind in words, as it stands in plans and errors.
    pub fn as_str(self) -> &'static str {
        match self {
            NodeKind::Source => "source",
            NodeKind::Operator => "operator",
            NodeKind::Sink => "sink",
        }
    }
}

impl fmt::Display for NodeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which subtasks of the consumer a row may go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Partitioning {
    /// Subtask `i` to subtask `i`; needs equal parallelism.
    Forward,
    /// To the subtask that owns the key group of the row's key.
    KeyGroup,
    /// In turn to all subtasks.
    Rebalance,
    /// In turn to a share of the subtasks, so that each channel stays local where it can.
    Rescale,
    /// To every subtask.
    Broadcast,
    /// To subtask 0.
    Global,
    /// To the subtask that a function of the user names.
    Custom,
}

impl Partitioning {
    /// The name under which Flink's plans print it.
    pub fn as_str(self) -> &'static str {
        match self {
            Partitioning::Forward => "FORWARD",
            Partitioning::KeyGroup => "HASH",
            Partitioning::Rebalance => "REBALANCE",
            Partitioning::Rescale => "RESCALE",
            Partitioning::Broadcast => "BROADCAST",
            Partitioning::Global => "GLOBAL",
            Partitioning::Custom => "CUSTOM",
        }
    }
}

impl fmt::Display for Partitioning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// With what a node may share a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Chaining {
    /// With its input and with its consumers.
    #[default]
    Always,
    /// With its consumers, but not with its input: it starts a chain.
    Head,
    /// With nothing.
    Never,
}

/// An operator, source or sink as the program wrote it down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its position in [`LogicalGraph::nodes`](crate::LogicalGraph::nodes); set by
    /// [`add_node`](crate::LogicalGraph::add_node).
    pub id: NodeId,
    /// The uid that the user gave. Without one it is derived from the name and the inputs.
    pub uid: Option<OperatorUid>,
    /// What users see. Need not be unique.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// How many subtasks it has: 1 to 32,768.
    pub parallelism: u32,
    /// With what it may share a task.
    pub chaining: Chaining,
    /// Whether it keeps state in checkpoints.
    pub stateful: bool,
    /// What it does in one line, for plans; may be empty. No part of the uid or the fingerprint.
    pub description: String,
}

impl Node {
    /// A stateless node with parallelism 1 that may be chained. Its id is set when it is added to a graph.
    pub fn new(name: impl Into<String>, kind: NodeKind) -> Self {
        Node {
            id: NodeId(0),
            uid: None,
            name: name.into(),
            kind,
            parallelism: 1,
            chaining: Chaining::Always,
            stateful: false,
            description: String::new(),
        }
    }
}

/// A stream between two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Edge {
    /// The producer.
    pub from: NodeId,
    /// Its output: 0 is the main one, `n` the n-th side output.
    pub output: u16,
    /// The consumer.
    pub to: NodeId,
    /// Its input: 0, or 1 for a second input. Several edges into one input are a union.
    pub input: u16,
    /// Which subtasks of the consumer a row may go to.
    pub partitioning: Partitioning,
}
