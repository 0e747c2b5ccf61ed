//! From the logical graph to tasks: which edges are calls within a task and which are exchanges.
//!
//! A chained edge is its consumer's only one, so a chain is a tree, and an exchange can only lead to the head
//! of one: contracting chained edges therefore makes no cycle. All orders follow from uids, never from the
//! order of insertion, so that equal programs number their tasks alike.

use crate::uid;
use crate::{
    ChainNode, Chaining, Edge, Follower, JobGraph, LogicalGraph, Partitioning, TaskEdge, TaskId, TaskNode,
};
use flugs_types::{OperatorUid, Result};
use std::collections::BTreeSet;

impl LogicalGraph {
    /// Validates the graph, derives missing uids and draws nodes together into tasks.
    ///
    /// An edge is chained when it is the only one of its consumer, both ends have equal parallelism and allow
    /// it, and it moves nothing: it is a forward edge, or there is one subtask on either side.
    pub fn to_job_graph(&self) -> Result<JobGraph> {
        let order = self.validated_order()?;
        Ok(Chains::new(self, uid::assign(self, &order), &order).into_job_graph())
    }

    fn is_chained(&self, edge: &Edge, inputs_of_consumer: usize) -> bool {
        let (from, to) = (&self.nodes[edge.from.0 as usize], &self.nodes[edge.to.0 as usize]);
        inputs_of_consumer == 1
            && from.parallelism == to.parallelism
            && from.chaining != Chaining::Never
            && to.chaining == Chaining::Always
            && (edge.partitioning == Partitioning::Forward || from.parallelism == 1)
    }
}

/// Where each node stands. Nodes are known by their position in the logical graph.
struct Chains<'a> {
    graph: &'a LogicalGraph,
    uids: Vec<OperatorUid>,
    /// The chained edges that each node feeds: output and follower, ordered by output and the follower's uid.
    followers: Vec<Vec<(u16, usize)>>,
    /// The head of each node's chain.
    head: Vec<usize>,
    exchanges: Vec<&'a Edge>,
}

impl<'a> Chains<'a> {
    fn new(graph: &'a LogicalGraph, uids: Vec<OperatorUid>, order: &[usize]) -> Self {
        let mut inputs = vec![0usize; graph.nodes.len()];
        for edge in &graph.edges {
            inputs[edge.to.0 as usize] += 1;
        }
        let mut followers = vec![Vec::new(); graph.nodes.len()];
        let mut head: Vec<usize> = (0..graph.nodes.len()).collect();
        let mut exchanges = Vec::new();
        for edge in &graph.edges {
            let (from, to) = (edge.from.0 as usize, edge.to.0 as usize);
            if graph.is_chained(edge, inputs[to]) {
                followers[from].push((edge.output, to));
                head[to] = from;
            } else {
                exchanges.push(edge);
            }
        }
        for &at in order {
            head[at] = head[head[at]];
        }
        for of_node in &mut followers {
            of_node.sort_by_key(|&(output, at)| (output, &uids[at]));
        }
        Chains { graph, uids, followers, head, exchanges }
    }

    fn into_job_graph(self) -> JobGraph {
        let heads = self.ordered_heads();
        let tasks: Vec<TaskNode> =
            heads.iter().zip(0..).map(|(&head, id)| self.task(TaskId(id), head)).collect();
        let mut place = vec![(TaskId(0), 0); self.graph.nodes.len()];
        for task in &tasks {
            for (position, node) in task.chain.iter().enumerate() {
                place[node.node.0 as usize] = (task.id, position);
            }
        }
        let mut edges: Vec<TaskEdge> = self
            .exchanges
            .iter()
            .map(|e| TaskEdge {
                from: place[e.from.0 as usize].0,
                from_node: e.from,
                output: e.output,
                to: place[e.to.0 as usize].0,
                to_node: e.to,
                input: e.input,
                partitioning: e.partitioning,
            })
            .collect();
        edges.sort_by_key(|e| {
            (e.from, place[e.from_node.0 as usize].1, e.output, e.to, e.input, e.partitioning)
        });
        JobGraph { name: self.graph.name.clone(), tasks, edges }
    }

    /// The heads of the tasks in topological order; of those that are free to come next, that of the least uid.
    fn ordered_heads(&self) -> Vec<usize> {
        let mut open = vec![0usize; self.head.len()];
        let mut consumers = vec![Vec::new(); self.head.len()];
        for edge in &self.exchanges {
            let (from, to) = (self.head[edge.from.0 as usize], edge.to.0 as usize);
            open[to] += 1;
            consumers[from].push(to);
        }
        let heads = (0..self.head.len()).filter(|&at| self.head[at] == at);
        let mut ready: BTreeSet<(&OperatorUid, usize)> =
            heads.filter(|&at| open[at] == 0).map(|at| (&self.uids[at], at)).collect();
        let mut ordered = Vec::new();
        while let Some((_, at)) = ready.pop_first() {
            ordered.push(at);
            for &to in &consumers[at] {
                open[to] -= 1;
                if open[to] == 0 {
                    ready.insert((&self.uids[to], to));
                }
            }
        }
        ordered
    }

    fn task(&self, id: TaskId, head: usize) -> TaskNode {
        let mut chain: Vec<ChainNode> = Vec::new();
        let mut stack: Vec<(usize, Option<(usize, u16)>)> = vec![(head, None)];
        while let Some((at, feed)) = stack.pop() {
            let position = chain.len();
            if let Some((producer, output)) = feed {
                chain[producer].followers.push(Follower { output, position });
            }
            chain.push(self.chain_node(at, feed));
            stack.extend(self.followers[at].iter().rev().map(|&(output, to)| (to, Some((position, output)))));
        }
        TaskNode { id, name: name(&chain), chain, parallelism: self.graph.nodes[head].parallelism }
    }

    fn chain_node(&self, at: usize, feed: Option<(usize, u16)>) -> ChainNode {
        let node = &self.graph.nodes[at];
        ChainNode {
            node: node.id,
            uid: self.uids[at].clone(),
            name: node.name.clone(),
            description: node.description.clone(),
            kind: node.kind,
            stateful: node.stateful,
            feed,
            followers: Vec::new(),
        }
    }
}

/// `a -> b -> (c, d -> e)`.
fn name(chain: &[ChainNode]) -> String {
    enum Piece {
        Node(usize),
        Text(&'static str),
    }
    let mut name = String::new();
    let mut stack = vec![Piece::Node(0)];
    while let Some(piece) = stack.pop() {
        let node = match piece {
            Piece::Text(text) => {
                name.push_str(text);
                continue;
            }
            Piece::Node(at) => &chain[at],
        };
        name.push_str(&node.name);
        let forks = node.followers.len() > 1;
        if forks {
            stack.push(Piece::Text(")"));
        }
        for (i, follower) in node.followers.iter().enumerate().rev() {
            stack.push(Piece::Node(follower.position));
            stack.push(Piece::Text(match (i, forks) {
                (0, true) => " -> (",
                (0, false) => " -> ",
                _ => ", ",
            }));
        }
    }
    name
}

#[cfg(test)]
mod tests;
