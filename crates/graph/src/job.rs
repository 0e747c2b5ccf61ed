//! The graph as the runtime runs it: tasks, each a chain of operators, and the exchanges between them.

use crate::{NodeId, NodeKind, Partitioning};
use flugs_types::OperatorUid;
use std::fmt;

/// A task's number within its job graph: its position there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(pub u32);

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A chained job graph. Made by [`LogicalGraph::to_job_graph`](crate::LogicalGraph::to_job_graph).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobGraph {
    /// The job's name.
    pub name: String,
    /// The tasks in topological order: each stands behind all that it reads from. The id of each is its position.
    pub tasks: Vec<TaskNode>,
    /// The exchanges, ordered by producer (task, place in its chain, output) and then by consumer.
    pub edges: Vec<TaskEdge>,
}

/// A chain of nodes that run together, as `parallelism` subtasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskNode {
    /// Its position in [`JobGraph::tasks`].
    pub id: TaskId,
    /// The names of its nodes: `a -> b -> (c, d)`.
    pub name: String,
    /// Its nodes, the head first and each behind the one that feeds it. A tree: each but the head has
    /// exactly one input, from a node of the same chain.
    pub chain: Vec<ChainNode>,
    /// How many subtasks it has; the same for all of its nodes.
    pub parallelism: u32,
}

/// A node within a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainNode {
    /// The node of the logical graph.
    pub node: NodeId,
    /// Its uid, given or derived.
    pub uid: OperatorUid,
    /// What users see.
    pub name: String,
    /// What it does in one line; may be empty.
    pub description: String,
    /// What it is.
    pub kind: NodeKind,
    /// Whether it keeps state in checkpoints.
    pub stateful: bool,
    /// The chained edge that feeds it: position in the chain and output of the producer. `None` for the head,
    /// which reads the task's inputs.
    pub feed: Option<(usize, u16)>,
    /// The chained edges that it feeds, ordered by output. An output may have several followers here, and
    /// [exchanges](JobGraph::edges) as well.
    pub followers: Vec<Follower>,
}

/// The far end of a chained edge. It is always the follower's input 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Follower {
    /// The output that feeds it.
    pub output: u16,
    /// Where it stands in [`TaskNode::chain`].
    pub position: usize,
}

/// An exchange between two tasks. Its consumer is always the head of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskEdge {
    /// The producing task.
    pub from: TaskId,
    /// The node in it that produces.
    pub from_node: NodeId,
    /// The output of that node.
    pub output: u16,
    /// The consuming task.
    pub to: TaskId,
    /// Its head.
    pub to_node: NodeId,
    /// The input of that node.
    pub input: u16,
    /// Which subtasks of the consumer a row may go to. [`Partitioning::Forward`] stays pointwise.
    pub partitioning: Partitioning,
}

impl TaskNode {
    /// The node that reads the task's inputs.
    pub fn head(&self) -> &ChainNode {
        &self.chain[0]
    }

    /// Whether the task reads from no other.
    pub fn is_source(&self) -> bool {
        self.head().kind == NodeKind::Source
    }
}

impl ChainNode {
    /// The positions in the chain of what an output feeds directly.
    pub fn followers_of(&self, output: u16) -> impl Iterator<Item = usize> + '_ {
        self.followers.iter().filter(move |f| f.output == output).map(|f| f.position)
    }
}

impl JobGraph {
    /// The task with this id, if there is one.
    pub fn task(&self, id: TaskId) -> Option<&TaskNode> {
        self.tasks.get(id.0 as usize)
    }

    /// The exchanges that a task reads, in the order of [`edges`](Self::edges).
    pub fn inputs_of(&self, task: TaskId) -> impl Iterator<Item = &TaskEdge> {
        self.edges.iter().filter(move |e| e.to == task)
    }

    /// The exchanges that a task writes, in the order of [`edges`](Self::edges).
    pub fn outputs_of(&self, task: TaskId) -> impl Iterator<Item = &TaskEdge> {
        self.edges.iter().filter(move |e| e.from == task)
    }

    /// Where an operator runs: its task and its position in the chain.
    pub fn find(&self, uid: &OperatorUid) -> Option<(TaskId, usize)> {
        self.operators().find(|(_, _, n)| n.uid == *uid).map(|(task, position, _)| (task.id, position))
    }

    /// All operators with their tasks and positions, task by task in topological order.
    pub fn operators(&self) -> impl Iterator<Item = (&TaskNode, usize, &ChainNode)> {
        self.tasks.iter().flat_map(|t| t.chain.iter().enumerate().map(move |(i, n)| (t, i, n)))
    }

    /// How many subtasks the job has in all.
    pub fn subtasks(&self) -> u64 {
        self.tasks.iter().map(|t| u64::from(t.parallelism)).sum()
    }
}
