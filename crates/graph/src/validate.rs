//! What makes a logical graph a runnable job.

use crate::{Edge, LogicalGraph, Node, NodeKind, Partitioning};
use flugs_types::{Error, KEY_GROUPS, Result};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

impl LogicalGraph {
    /// Checks that the graph can run: ends of edges, parallelism, uids, inputs and outputs, cycles.
    ///
    /// The error names the nodes and the mend; its kind is [`Job`](flugs_types::ErrorKind::Job).
    pub fn validate(&self) -> Result<()> {
        self.validated_order().map(drop)
    }

    /// Validates, and gives the positions of the nodes in topological order: among those that are free
    /// to come next the one that was added first.
    pub(crate) fn validated_order(&self) -> Result<Vec<usize>> {
        for (at, node) in self.nodes.iter().enumerate() {
            if node.id.0 as usize != at {
                return Err(Error::job(format!("node {} stands at position {at} of the graph", node.id))
                    .mend("add nodes by add_node, which numbers them"));
            }
            check_node(node)?;
        }
        self.check_uids()?;
        for edge in &self.edges {
            self.check_edge(edge)?;
        }
        self.check_inputs()?;
        if !self.nodes.iter().any(|n| n.kind == NodeKind::Sink) {
            return Err(Error::job(format!("job '{}' has no sink: its results go nowhere", self.name))
                .mend("end a stream in a sink, such as print() or discard()"));
        }
        self.topological_order()
    }

    fn check_uids(&self) -> Result<()> {
        let mut seen: HashMap<&str, &Node> = HashMap::new();
        for node in &self.nodes {
            let Some(uid) = &node.uid else { continue };
            if uid.as_str().trim().is_empty() {
                return Err(Error::job(format!("the uid of {} is empty", label(node)))
                    .mend("give it a name, or leave it out to have one derived"));
            }
            if let Some(other) = seen.insert(uid.as_str(), node) {
                return Err(Error::job(format!(
                    "{} and {} have the same uid '{uid}': their state could not be told apart",
                    label(other),
                    label(node)
                ))
                .mend("give each operator a uid of its own"));
            }
        }
        Ok(())
    }

    fn check_edge(&self, edge: &Edge) -> Result<()> {
        let end = |id| {
            self.node(id).ok_or_else(|| {
                Error::job(format!("an edge from node {} to node {} has no node {id}", edge.from, edge.to))
                    .mend("add the node to the graph before the edge")
            })
        };
        let (from, to) = (end(edge.from)?, end(edge.to)?);
        if from.kind == NodeKind::Sink {
            return Err(Error::job(format!("{} is a sink but feeds {}", label(from), label(to)))
                .mend("read from what feeds the sink instead"));
        }
        if to.kind == NodeKind::Source {
            return Err(Error::job(format!("{} is a source but reads {}", label(to), label(from)))
                .mend("make it an operator"));
        }
        if edge.input > 1 {
            return Err(Error::job(format!("{} has an input {}", label(to), edge.input))
                .mend("an operator has inputs 0 and 1; union streams to bring more into one of them"));
        }
        if edge.partitioning == Partitioning::Forward && from.parallelism != to.parallelism {
            return Err(Error::job(format!(
                "{} with parallelism {} cannot forward to {} with parallelism {}",
                label(from),
                from.parallelism,
                label(to),
                to.parallelism
            ))
            .mend("put rebalance() between them, or set equal parallelism"));
        }
        Ok(())
    }

    fn check_inputs(&self) -> Result<()> {
        let mut has = vec![[false; 2]; self.nodes.len()];
        for edge in &self.edges {
            has[edge.to.0 as usize][usize::from(edge.input)] = true;
        }
        for (node, [first, second]) in self.nodes.iter().zip(has) {
            if node.kind == NodeKind::Source || first {
                continue;
            }
            let what = if second { "has a second input but no first one" } else { "reads nothing" };
            return Err(Error::job(format!("{} {what}", label(node)))
                .mend("connect its input, or remove it from the program"));
        }
        Ok(())
    }

    fn topological_order(&self) -> Result<Vec<usize>> {
        let mut consumers: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut open = vec![0usize; self.nodes.len()];
        for edge in &self.edges {
            consumers[edge.from.0 as usize].push(edge.to.0 as usize);
            open[edge.to.0 as usize] += 1;
        }
        let mut ready: BinaryHeap<Reverse<usize>> =
            (0..open.len()).filter(|&at| open[at] == 0).map(Reverse).collect();
        let mut order = Vec::with_capacity(open.len());
        while let Some(Reverse(at)) = ready.pop() {
            order.push(at);
            for &to in &consumers[at] {
                open[to] -= 1;
                if open[to] == 0 {
                    ready.push(Reverse(to));
                }
            }
        }
        if order.len() < self.nodes.len() { Err(self.cycle(&open)) } else { Ok(order) }
    }

    /// The error for a graph in which the nodes with `open` inputs are on or behind a cycle.
    fn cycle(&self, open: &[usize]) -> Error {
        let mut feeder = vec![None; open.len()];
        for edge in &self.edges {
            let (from, to) = (edge.from.0 as usize, edge.to.0 as usize);
            if open[from] > 0 && open[to] > 0 {
                feeder[to] = Some(from);
            }
        }
        // Each open node is fed by an open one, so walking up comes back to where it has been.
        let mut walked = Vec::new();
        let mut next = open.iter().position(|&n| n > 0);
        while let Some(at) = next {
            if let Some(start) = walked.iter().position(|&w| w == at) {
                walked.drain(..start);
                break;
            }
            walked.push(at);
            next = feeder[at];
        }
        walked.extend(walked.first().copied());
        let names: Vec<String> = walked.iter().rev().map(|&at| label(&self.nodes[at])).collect();
        Error::job(format!("the streams form a cycle: {}", names.join(" -> ")))
            .mend("remove one of these edges; a loop over a bounded stream is written as an iteration")
    }
}

fn check_node(node: &Node) -> Result<()> {
    if node.parallelism == 0 || node.parallelism > KEY_GROUPS {
        return Err(Error::job(format!("{} has parallelism {}", label(node), node.parallelism))
            .mend(format!("choose one from 1 to {KEY_GROUPS}")));
    }
    Ok(())
}

/// How an error names a node: names alone need not be unique.
fn label(node: &Node) -> String {
    format!("'{}' ({} {})", node.name, node.kind, node.id)
}

#[cfg(test)]
mod tests;
