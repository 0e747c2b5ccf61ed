//! The plan as text.

use crate::{ChainNode, JobGraph, TaskEdge, TaskNode};
use std::fmt;

/// Deeper levels of a chain are not indented any further.
const INDENT_MAX: usize = 16;

impl JobGraph {
    /// A plan to read: the tasks with their chains and parallelism, the exchanges between them, and what keeps state.
    pub fn explain(&self) -> String {
        Plan(self).to_string()
    }

    fn name_of(&self, edge_end: (crate::TaskId, crate::NodeId)) -> &str {
        let chain = self.task(edge_end.0).map_or(&[][..], |t| &t.chain);
        chain.iter().find(|n| n.node == edge_end.1).map_or("?", |n| &n.name)
    }
}

struct Plan<'a>(&'a JobGraph);

impl fmt::Display for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (job, tasks) = (self.0, self.0.tasks.len());
        write!(
            f,
            "job '{}': {}, {}",
            job.name,
            count(tasks as u64, "task"),
            count(job.subtasks(), "subtask")
        )?;
        writeln!(f, ", fingerprint {:016x}", job.fingerprint())?;
        for task in &job.tasks {
            writeln!(
                f,
                "\ntask {}: {}, {}",
                task.id,
                task.name,
                count(u64::from(task.parallelism), "subtask")
            )?;
            self.inputs(f, task)?;
            self.chain(f, task)?;
        }
        Ok(())
    }
}

impl Plan<'_> {
    fn inputs(&self, f: &mut fmt::Formatter<'_>, task: &TaskNode) -> fmt::Result {
        let two = self.0.inputs_of(task.id).any(|e| e.input > 0);
        for edge in self.0.inputs_of(task.id) {
            write!(
                f,
                "  <= {} from '{}' of task {}",
                edge.partitioning,
                self.0.name_of((edge.from, edge.from_node)),
                edge.from
            )?;
            write!(f, "{}", side(edge.output))?;
            if two {
                write!(f, " into input {}", edge.input)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn chain(&self, f: &mut fmt::Formatter<'_>, task: &TaskNode) -> fmt::Result {
        let outputs: Vec<&TaskEdge> = self.0.outputs_of(task.id).collect();
        let mut depth = Vec::with_capacity(task.chain.len());
        for node in &task.chain {
            let level = node.feed.map_or(0, |(producer, _)| depth[producer] + 1usize);
            depth.push(level);
            let indent = 2 + 3 * level.min(INDENT_MAX);
            operator(f, node, indent)?;
            for edge in outputs.iter().filter(|e| e.from_node == node.node) {
                let to = self.0.name_of((edge.to, edge.to_node));
                write!(f, "{:indent$}   => {} to '{to}' of task {}", "", edge.partitioning, edge.to)?;
                writeln!(f, "{}", side(edge.output))?;
            }
        }
        Ok(())
    }
}

fn operator(f: &mut fmt::Formatter<'_>, node: &ChainNode, indent: usize) -> fmt::Result {
    match node.feed {
        None => write!(f, "{:indent$}", "")?,
        Some((_, output)) => write!(f, "{:1$}-> ", "", indent - 3).and_then(|()| match output {
            0 => Ok(()),
            n => write!(f, "(side output {n}) "),
        })?,
    }
    let stateful = if node.stateful { ", stateful" } else { "" };
    write!(f, "{} [{}{stateful}, uid {}]", node.name, node.kind, node.uid)?;
    if !node.description.is_empty() {
        write!(f, ": {}", node.description)?;
    }
    writeln!(f)
}

fn side(output: u16) -> String {
    if output == 0 { String::new() } else { format!(" (side output {output})") }
}

fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use crate::{Edge, LogicalGraph, Node, NodeKind, Partitioning};
    use flugs_types::OperatorUid;

    #[test]
    fn a_plan_reads_well() {
        let mut graph = LogicalGraph::new("word count");
        let uid = |n: Node, uid: &str| Node { uid: Some(OperatorUid::new(uid)), ..n };
        let lines = graph.add_node(uid(
            Node {
                stateful: true,
                description: "reads words.txt".into(),
                ..Node::new("lines", NodeKind::Source)
            },
            "src",
        ));
        let split = graph.add_node(uid(Node::new("split", NodeKind::Operator), "sp"));
        let count = graph.add_node(uid(
            Node { parallelism: 2, stateful: true, ..Node::new("count", NodeKind::Operator) },
            "cnt",
        ));
        let print = graph.add_node(uid(Node { parallelism: 2, ..Node::new("print", NodeKind::Sink) }, "out"));
        let bad = graph.add_node(uid(Node::new("bad", NodeKind::Sink), "bad"));
        let mut edge = |from, output, to, partitioning| {
            graph.add_edge(Edge { from, output, to, input: 0, partitioning });
        };
        edge(lines, 0, split, Partitioning::Forward);
        edge(split, 0, count, Partitioning::KeyGroup);
        edge(split, 1, bad, Partitioning::Forward);
        edge(count, 0, print, Partitioning::Forward);
        let job = graph.to_job_graph().unwrap();
        let expected = format!(
            "\
job 'word count': 2 tasks, 3 subtasks, fingerprint {:016x}

task 0: lines -> split -> bad, 1 subtask
  lines [source, stateful, uid src]: reads words.txt
  -> split [operator, uid sp]
        => HASH to 'count' of task 1
     -> (side output 1) bad [sink, uid bad]

task 1: count -> print, 2 subtasks
  <= HASH from 'split' of task 0
  count [operator, stateful, uid cnt]
  -> print [sink, uid out]
",
            job.fingerprint()
        );
        assert_eq!(job.explain(), expected);
    }
}
