//! Each refusal, with the nodes and the mend that it names.

use crate::{Edge, LogicalGraph, Node, NodeId, NodeKind, Partitioning};
use flugs_types::{ErrorKind, OperatorUid};

fn node(name: &str, kind: NodeKind, parallelism: u32) -> Node {
    Node { parallelism, ..Node::new(name, kind) }
}

fn edge(from: NodeId, to: NodeId, partitioning: Partitioning) -> Edge {
    Edge { from, output: 0, to, input: 0, partitioning }
}

/// src -> map -> out.
fn line() -> (LogicalGraph, [NodeId; 3]) {
    let mut graph = LogicalGraph::new("job");
    let src = graph.add_node(node("src", NodeKind::Source, 1));
    let map = graph.add_node(node("map", NodeKind::Operator, 1));
    let out = graph.add_node(node("out", NodeKind::Sink, 1));
    graph.add_edge(edge(src, map, Partitioning::Forward));
    graph.add_edge(edge(map, out, Partitioning::Forward));
    (graph, [src, map, out])
}

fn refusal(graph: &LogicalGraph) -> String {
    let error = graph.validate().expect_err("must be refused");
    assert_eq!(error.kind(), ErrorKind::Job);
    assert_eq!(graph.to_job_graph().expect_err("must be refused").to_string(), error.to_string());
    error.to_string()
}

#[test]
fn a_line_is_valid() {
    line().0.validate().unwrap();
}

#[test]
fn cycles_are_named() {
    let (mut graph, [_, map, _]) = line();
    let again = graph.add_node(node("again", NodeKind::Operator, 1));
    graph.add_edge(edge(map, again, Partitioning::Forward));
    graph.add_edge(edge(again, map, Partitioning::Forward));
    let message = refusal(&graph);
    assert!(
        message.contains("'map' (operator 1) -> 'again' (operator 3) -> 'map' (operator 1)")
            || message.contains("'again' (operator 3) -> 'map' (operator 1) -> 'again' (operator 3)"),
        "{message}"
    );
}

#[test]
fn a_loop_to_itself_is_a_cycle() {
    let (mut graph, [_, map, _]) = line();
    graph.add_edge(edge(map, map, Partitioning::Rebalance));
    assert!(refusal(&graph).contains("cycle: 'map' (operator 1) -> 'map' (operator 1)"));
}

#[test]
fn dangling_edges_are_refused() {
    let (mut graph, [src, ..]) = line();
    graph.add_edge(edge(src, NodeId(9), Partitioning::Forward));
    assert!(refusal(&graph).contains("an edge from node 0 to node 9 has no node 9"));
}

#[test]
fn equal_uids_are_refused() {
    let (mut graph, _) = line();
    graph.nodes[0].uid = Some(OperatorUid::new("x"));
    graph.nodes[1].uid = Some(OperatorUid::new("x"));
    assert!(refusal(&graph).contains("'src' (source 0) and 'map' (operator 1) have the same uid 'x'"));
    graph.nodes[0].uid = Some(OperatorUid::new(" "));
    assert!(refusal(&graph).contains("uid of 'src' (source 0) is empty"));
}

#[test]
fn forward_needs_equal_parallelism() {
    let (mut graph, _) = line();
    graph.nodes[1].parallelism = 4;
    let message = refusal(&graph);
    assert!(message.contains(
        "'src' (source 0) with parallelism 1 cannot forward to 'map' (operator 1) with parallelism 4"
    ));
    assert!(message.ends_with("put rebalance() between them, or set equal parallelism"), "{message}");
}

#[test]
fn parallelism_is_bounded() {
    for (parallelism, ok) in [(0, false), (1, true), (32_768, true), (32_769, false), (u32::MAX, false)] {
        let (mut graph, _) = line();
        graph.nodes.iter_mut().for_each(|n| n.parallelism = parallelism);
        assert_eq!(graph.validate().is_ok(), ok, "{parallelism}");
    }
}

#[test]
fn inputs_and_outputs_must_fit_the_kind() {
    let (mut graph, [src, _, out]) = line();
    let lost = graph.add_node(node("lost", NodeKind::Operator, 1));
    assert!(refusal(&graph).contains("'lost' (operator 3) reads nothing"));
    graph.add_edge(Edge { input: 1, ..edge(src, lost, Partitioning::Forward) });
    assert!(refusal(&graph).contains("'lost' (operator 3) has a second input but no first one"));
    graph.add_edge(edge(src, lost, Partitioning::Forward));
    graph.validate().unwrap();
    graph.add_edge(Edge { input: 2, ..edge(src, lost, Partitioning::Forward) });
    assert!(refusal(&graph).contains("'lost' (operator 3) has an input 2"));
    graph.edges.pop();
    graph.add_edge(edge(out, lost, Partitioning::Forward));
    assert!(refusal(&graph).contains("'out' (sink 2) is a sink but feeds 'lost' (operator 3)"));
    graph.edges.pop();
    graph.add_edge(edge(lost, src, Partitioning::Forward));
    assert!(refusal(&graph).contains("'src' (source 0) is a source but reads 'lost' (operator 3)"));
}

#[test]
fn a_job_needs_a_sink() {
    assert!(refusal(&LogicalGraph::new("empty")).contains("job 'empty' has no sink"));
    let (mut graph, _) = line();
    graph.nodes[2].kind = NodeKind::Operator;
    assert!(refusal(&graph).contains("has no sink"));
}

#[test]
fn misnumbered_nodes_are_refused() {
    let (mut graph, _) = line();
    graph.nodes.swap(0, 1);
    assert!(refusal(&graph).contains("node 1 stands at position 0"));
}
