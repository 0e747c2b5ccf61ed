//! The chaining rule by example, and random graphs against the rule taken literally.

use crate::{Chaining, Edge, JobGraph, LogicalGraph, Node, NodeId, NodeKind, Partitioning, TaskId};
use flugs_types::OperatorUid;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn node(name: &str, kind: NodeKind, parallelism: u32) -> Node {
    Node { parallelism, ..Node::new(name, kind) }
}

fn edge(from: NodeId, to: NodeId, partitioning: Partitioning) -> Edge {
    Edge { from, output: 0, to, input: 0, partitioning }
}

fn names(job: &JobGraph) -> Vec<&str> {
    job.tasks.iter().map(|t| t.name.as_str()).collect()
}

/// A source, a middle node and a sink, with the given parallelisms and first partitioning.
fn two_step(par: [u32; 3], chaining: [Chaining; 3], partitioning: Partitioning) -> LogicalGraph {
    let mut graph = LogicalGraph::new("job");
    let kinds = [("a", NodeKind::Source), ("b", NodeKind::Operator), ("c", NodeKind::Sink)];
    let ids: Vec<NodeId> = (0..3)
        .map(|i| graph.add_node(Node { chaining: chaining[i], ..node(kinds[i].0, kinds[i].1, par[i]) }))
        .collect();
    graph.add_edge(edge(ids[0], ids[1], partitioning));
    let second = if par[1] == par[2] { Partitioning::Forward } else { Partitioning::Rebalance };
    graph.add_edge(edge(ids[1], ids[2], second));
    graph
}

#[test]
fn the_chaining_rule() {
    use Chaining::{Always, Head, Never};
    use Partitioning::{Broadcast, Forward, KeyGroup};
    for (par, chaining, partitioning, expected) in [
        ([4, 4, 4], [Always; 3], Forward, vec!["a -> b -> c"]),
        ([4, 4, 4], [Always; 3], KeyGroup, vec!["a", "b -> c"]),
        ([1, 1, 1], [Always; 3], KeyGroup, vec!["a -> b -> c"]),
        ([1, 1, 1], [Always; 3], Broadcast, vec!["a -> b -> c"]),
        ([1, 4, 4], [Always; 3], KeyGroup, vec!["a", "b -> c"]),
        ([4, 4, 1], [Always; 3], Forward, vec!["a -> b", "c"]),
        ([4, 4, 4], [Always, Head, Always], Forward, vec!["a", "b -> c"]),
        ([4, 4, 4], [Always, Never, Always], Forward, vec!["a", "b", "c"]),
        ([4, 4, 4], [Head, Always, Always], Forward, vec!["a -> b -> c"]),
        ([4, 4, 4], [Never, Always, Always], Forward, vec!["a", "b -> c"]),
    ] {
        let job = two_step(par, chaining, partitioning).to_job_graph().unwrap();
        assert_eq!(names(&job), expected, "{par:?} {chaining:?} {partitioning}");
    }
}

#[test]
fn a_chain_may_fork_and_feed_exchanges_as_well() {
    let mut graph = LogicalGraph::new("job");
    let a = graph.add_node(node("a", NodeKind::Source, 2));
    let b = graph.add_node(node("b", NodeKind::Operator, 2));
    let c = graph.add_node(node("c", NodeKind::Sink, 2));
    let d = graph.add_node(node("d", NodeKind::Operator, 2));
    let e = graph.add_node(node("e", NodeKind::Sink, 2));
    let keyed = graph.add_node(node("keyed", NodeKind::Sink, 2));
    graph.add_edge(edge(a, b, Partitioning::Forward));
    graph.add_edge(edge(b, c, Partitioning::Forward));
    graph.add_edge(Edge { output: 1, ..edge(b, d, Partitioning::Forward) });
    graph.add_edge(edge(b, keyed, Partitioning::KeyGroup));
    graph.add_edge(edge(d, e, Partitioning::Forward));
    let job = graph.to_job_graph().unwrap();
    assert_eq!(names(&job), ["a -> b -> (c, d -> e)", "keyed"]);
    let chain = &job.tasks[0].chain;
    assert_eq!(chain[1].followers_of(0).map(|i| chain[i].name.as_str()).collect::<Vec<_>>(), ["c"]);
    assert_eq!(chain[1].followers_of(1).map(|i| chain[i].name.as_str()).collect::<Vec<_>>(), ["d"]);
    assert_eq!(chain[4].feed, Some((3, 0)));
    assert_eq!(job.edges.len(), 1);
    assert_eq!((job.edges[0].from, job.edges[0].from_node, job.edges[0].to), (TaskId(0), b, TaskId(1)));
}

#[test]
fn followers_stand_by_uid_whatever_was_added_first() {
    let job_of = |names: [&str; 3]| {
        let mut graph = LogicalGraph::new("job");
        let a = graph.add_node(node("a", NodeKind::Source, 2));
        for name in names {
            let sink = graph.add_node(node(name, NodeKind::Sink, 2));
            graph.add_edge(edge(a, sink, Partitioning::Forward));
        }
        graph.to_job_graph().unwrap()
    };
    let (one, other) = (job_of(["d", "b", "c"]), job_of(["c", "d", "b"]));
    assert_eq!(one.tasks[0].name, "a -> (b, c, d)");
    assert_eq!(other.tasks[0].name, "a -> (b, c, d)");
    assert_eq!(one.fingerprint(), other.fingerprint());
}

#[test]
fn a_node_of_two_inputs_or_a_union_is_a_head() {
    for second in [0, 1] {
        let mut graph = LogicalGraph::new("job");
        let a = graph.add_node(node("a", NodeKind::Source, 1));
        let b = graph.add_node(node("b", NodeKind::Source, 1));
        let join = graph.add_node(node("join", NodeKind::Sink, 1));
        graph.add_edge(edge(a, join, Partitioning::Forward));
        graph.add_edge(Edge { input: second, ..edge(b, join, Partitioning::Broadcast) });
        let job = graph.to_job_graph().unwrap();
        assert_eq!(job.tasks.len(), 3);
        assert_eq!(job.tasks[2].name, "join");
        assert_eq!(job.inputs_of(TaskId(2)).map(|e| e.input).max(), Some(second));
    }
}

#[test]
fn a_stream_may_be_united_with_itself() {
    let mut graph = LogicalGraph::new("job");
    let a = graph.add_node(node("a", NodeKind::Source, 1));
    let out = graph.add_node(node("out", NodeKind::Sink, 1));
    graph.add_edge(edge(a, out, Partitioning::Forward));
    graph.add_edge(edge(a, out, Partitioning::Forward));
    assert_eq!(graph.to_job_graph().unwrap().edges.len(), 2);
}

/// Pinned: a change of the derivation orphans the state of every program without given uids.
#[test]
fn derived_uids_have_not_changed() {
    let job = two_step([1, 1, 1], [Chaining::Always; 3], Partitioning::Forward).to_job_graph().unwrap();
    let uids: Vec<&str> = job.tasks[0].chain.iter().map(|n| n.uid.as_str()).collect();
    assert_eq!(uids, ["a-4188e2da", "b-8c25b885", "c-6d00481c"]);
    assert_eq!(job.fingerprint(), 9_002_305_503_913_908_166);
}

#[test]
fn a_given_uid_leaves_its_siblings_alone() {
    let mut graph = LogicalGraph::new("job");
    let a = graph.add_node(node("a", NodeKind::Source, 1));
    for _ in 0..3 {
        let out = graph.add_node(node("out", NodeKind::Sink, 1));
        graph.add_edge(edge(a, out, Partitioning::Forward));
    }
    let uid_of = |graph: &LogicalGraph, id: u32| {
        let job = graph.to_job_graph().unwrap();
        job.operators().find(|(_, _, n)| n.node == NodeId(id)).map(|(_, _, n)| n.uid.clone()).unwrap()
    };
    let before = [uid_of(&graph, 1), uid_of(&graph, 2), uid_of(&graph, 3)];
    assert_eq!(before.iter().collect::<BTreeSet<_>>().len(), 3);
    graph.nodes[2].uid = Some(OperatorUid::new("mine"));
    assert_eq!(uid_of(&graph, 1), before[0]);
    assert_eq!(uid_of(&graph, 2), OperatorUid::new("mine"));
    assert_eq!(uid_of(&graph, 3), before[2]);
}

#[test]
fn names_and_descriptions_are_no_part_of_the_fingerprint_where_uids_are_given() {
    let mut graph = two_step([2, 2, 1], [Chaining::Always; 3], Partitioning::Forward);
    for node in &mut graph.nodes {
        node.uid = Some(OperatorUid::new(format!("u-{}", node.id)));
    }
    let print = |g: &LogicalGraph| g.to_job_graph().unwrap().fingerprint();
    let before = print(&graph);
    graph.nodes[1].name = "other".into();
    graph.nodes[1].description = "other".into();
    assert_eq!(print(&graph), before);
    let mut seen = BTreeSet::from([before]);
    for change in [
        |g: &mut LogicalGraph| g.nodes[1].uid = Some(OperatorUid::new("v")),
        |g: &mut LogicalGraph| g.nodes[2].parallelism = 3,
        |g: &mut LogicalGraph| g.nodes[1].stateful = true,
        |g: &mut LogicalGraph| g.edges[0].partitioning = Partitioning::Rebalance,
        |g: &mut LogicalGraph| g.edges[0].output = 1,
        |g: &mut LogicalGraph| g.nodes[1].chaining = Chaining::Never,
    ] {
        let mut changed = graph.clone();
        change(&mut changed);
        assert!(seen.insert(print(&changed)));
    }
}

/// A random graph: each node but the sources reads from earlier ones.
fn graphs() -> impl Strategy<Value = LogicalGraph> {
    let input = || (any::<prop::sample::Index>(), 0u16..2, 0usize..12);
    let inputs =
        prop_oneof![3 => prop::collection::vec(input(), 1), 1 => prop::collection::vec(input(), 2..4)];
    let spec = (0u8..3, 1u32..3, 0u8..6, inputs);
    prop::collection::vec(spec, 2..24).prop_map(|specs| {
        let mut graph = LogicalGraph::new("random");
        for (i, (name, parallelism, flavor, inputs)) in specs.iter().enumerate() {
            let source = i == 0 || *flavor == 0;
            let kind = if source { NodeKind::Source } else { NodeKind::Operator };
            let chaining = [Chaining::Always, Chaining::Always, Chaining::Head, Chaining::Never]
                [usize::from(*flavor) % 4];
            let id = graph
                .add_node(Node { chaining, ..node(["x", "y", "z"][usize::from(*name)], kind, *parallelism) });
            if source {
                continue;
            }
            for (n, (from, output, partitioning)) in inputs.iter().enumerate() {
                let from = NodeId(from.index(i) as u32);
                let input = u16::from(n == 2);
                let all = [
                    Partitioning::Forward,
                    Partitioning::KeyGroup,
                    Partitioning::Rebalance,
                    Partitioning::Rescale,
                    Partitioning::Broadcast,
                    Partitioning::Global,
                    Partitioning::Custom,
                ];
                let forward = *partitioning > 5;
                let equal = graph.nodes[from.0 as usize].parallelism == *parallelism;
                let partitioning =
                    if forward && equal { Partitioning::Forward } else { all[1 + *partitioning % 6] };
                graph.add_edge(Edge { from, output: *output, to: id, input, partitioning });
            }
        }
        let last = graph.nodes.len() as u32 - 1;
        let out = graph.add_node(node("out", NodeKind::Sink, 1));
        graph.add_edge(edge(NodeId(last), out, Partitioning::Rebalance));
        graph
    })
}

/// Says of each edge whether it is chained, straight from the rule.
fn naive_chained(graph: &LogicalGraph) -> Vec<bool> {
    let chained = |e: &Edge| {
        let (from, to) = (&graph.nodes[e.from.0 as usize], &graph.nodes[e.to.0 as usize]);
        graph.edges.iter().filter(|o| o.to == e.to).count() == 1
            && from.parallelism == to.parallelism
            && from.chaining != Chaining::Never
            && to.chaining == Chaining::Always
            && (e.partitioning == Partitioning::Forward || (from.parallelism == 1 && to.parallelism == 1))
    };
    graph.edges.iter().map(chained).collect()
}

/// The same graph with its nodes added in another topological order that keeps equal names in their order.
fn reordered(graph: &LogicalGraph, seed: u64) -> LogicalGraph {
    let mut state = seed | 1;
    let mut next = move |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let mut left: Vec<NodeId> = graph.nodes.iter().map(|n| n.id).collect();
    let mut renamed: BTreeMap<NodeId, NodeId> = BTreeMap::new();
    let mut result = LogicalGraph::new(graph.name.clone());
    while !left.is_empty() {
        let free: Vec<usize> = (0..left.len())
            .filter(|&i| {
                let name = &graph.nodes[left[i].0 as usize].name;
                let first = left[..i].iter().all(|o| graph.nodes[o.0 as usize].name != *name);
                first && graph.edges.iter().filter(|e| e.to == left[i]).all(|e| renamed.contains_key(&e.from))
            })
            .collect();
        let id = left.remove(free[next(free.len())]);
        renamed.insert(id, result.add_node(graph.nodes[id.0 as usize].clone()));
    }
    let mut edges = graph.edges.clone();
    while !edges.is_empty() {
        let e = edges.remove(next(edges.len()));
        result.add_edge(Edge { from: renamed[&e.from], to: renamed[&e.to], ..e });
    }
    result
}

/// A job graph without what may differ between insertion orders: the node ids.
fn shape(job: &JobGraph) -> Vec<String> {
    let tasks = job.tasks.iter().map(|t| {
        let chain: Vec<_> = t.chain.iter().map(|n| (&n.uid, &n.name, n.feed, &n.followers)).collect();
        format!("{} {} {} {chain:?}", t.id, t.name, t.parallelism)
    });
    let uid = |task: TaskId, node: NodeId| {
        job.tasks[task.0 as usize].chain.iter().find(|n| n.node == node).map(|n| n.uid.clone()).unwrap()
    };
    let edges = job.edges.iter().map(|e| {
        let (from, to) = (uid(e.from, e.from_node), uid(e.to, e.to_node));
        format!("{} {from} {} -> {} {to} {} {}", e.from, e.output, e.to, e.input, e.partitioning)
    });
    tasks.chain(edges).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nodes_and_edges_are_kept(graph in graphs()) {
        let job = graph.to_job_graph().unwrap();
        let mut nodes: Vec<NodeId> = job.operators().map(|(_, _, n)| n.node).collect();
        nodes.sort_unstable();
        prop_assert_eq!(nodes, graph.nodes.iter().map(|n| n.id).collect::<Vec<_>>());
        let uids: BTreeSet<_> = job.operators().map(|(_, _, n)| &n.uid).collect();
        prop_assert_eq!(uids.len(), graph.nodes.len());

        let chained = naive_chained(&graph);
        let mut expected_chained: Vec<_> =
            graph.edges.iter().zip(&chained).filter(|(_, c)| **c).map(|(e, _)| (e.from, e.output, e.to)).collect();
        let mut expected_exchanged: Vec<_> = graph.edges.iter().zip(&chained).filter(|(_, c)| !**c).map(|(e, _)| *e).collect();
        let mut found_chained = Vec::new();
        for task in &job.tasks {
            for (position, node) in task.chain.iter().enumerate() {
                prop_assert_eq!(node.feed.is_none(), position == 0);
                for f in &node.followers {
                    prop_assert!(f.position > position);
                    prop_assert_eq!(task.chain[f.position].feed, Some((position, f.output)));
                    found_chained.push((node.node, f.output, task.chain[f.position].node));
                }
                prop_assert_eq!(graph.nodes[node.node.0 as usize].parallelism, task.parallelism);
            }
        }
        let mut found_exchanged: Vec<Edge> = job.edges.iter()
            .map(|e| Edge { from: e.from_node, output: e.output, to: e.to_node, input: e.input, partitioning: e.partitioning })
            .collect();
        expected_chained.sort_unstable();
        found_chained.sort_unstable();
        expected_exchanged.sort_unstable();
        found_exchanged.sort_unstable();
        prop_assert_eq!(found_chained, expected_chained);
        prop_assert_eq!(found_exchanged, expected_exchanged);
    }

    #[test]
    fn tasks_stand_in_topological_order(graph in graphs()) {
        let job = graph.to_job_graph().unwrap();
        for (i, task) in job.tasks.iter().enumerate() {
            prop_assert_eq!(task.id.0 as usize, i);
        }
        for edge in &job.edges {
            prop_assert!(edge.from < edge.to);
            prop_assert_eq!(job.tasks[edge.to.0 as usize].head().node, edge.to_node);
        }
    }

    #[test]
    fn the_order_of_unrelated_insertions_changes_nothing(graph in graphs(), seed in any::<u64>()) {
        let (one, other) = (graph.to_job_graph().unwrap(), reordered(&graph, seed).to_job_graph().unwrap());
        prop_assert_eq!(shape(&one), shape(&other));
        prop_assert_eq!(one.fingerprint(), other.fingerprint());
    }

    #[test]
    fn another_branch_changes_no_uid(graph in graphs(), at in any::<prop::sample::Index>()) {
        let before: BTreeSet<_> = graph.to_job_graph().unwrap().operators().map(|(_, _, n)| n.uid.clone()).collect();
        let mut grown = graph.clone();
        let from = NodeId(at.index(graph.nodes.len() - 1) as u32);
        let branch = grown.add_node(node("branch", NodeKind::Sink, 1));
        grown.add_edge(edge(from, branch, Partitioning::Rebalance));
        let after: BTreeSet<_> = grown.to_job_graph().unwrap().operators().map(|(_, _, n)| n.uid.clone()).collect();
        prop_assert!(before.is_subset(&after));
    }
}
