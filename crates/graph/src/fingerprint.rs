//! The fingerprint of a job graph.

use crate::uid::push_text;
use crate::{JobGraph, NodeKind, Partitioning};
use flugs_types::hash_bytes;
use std::collections::HashMap;

impl JobGraph {
    /// Equal for equal programs in any process: a hash over uids, kinds, parallelism, chains and edges.
    ///
    /// Names, descriptions and node ids are no part of it (but names are part of derived uids). Graphs with equal
    /// fingerprints number their tasks, chains and edges alike.
    pub fn fingerprint(&self) -> u64 {
        let mut bytes = Vec::new();
        let mut positions = HashMap::new();
        for task in &self.tasks {
            bytes.extend_from_slice(&task.parallelism.to_le_bytes());
            bytes.extend_from_slice(&(task.chain.len() as u64).to_le_bytes());
            for (position, node) in task.chain.iter().enumerate() {
                positions.insert(node.node, position as u64);
                push_text(&mut bytes, node.uid.as_str());
                bytes.push(kind(node.kind));
                bytes.push(u8::from(node.stateful));
                let (producer, output) = node.feed.map_or((u64::MAX, 0), |(p, o)| (p as u64, o));
                bytes.extend_from_slice(&producer.to_le_bytes());
                bytes.extend_from_slice(&output.to_le_bytes());
            }
        }
        for edge in &self.edges {
            let position = positions.get(&edge.from_node).copied().unwrap_or(u64::MAX);
            bytes.extend_from_slice(&edge.from.0.to_le_bytes());
            bytes.extend_from_slice(&position.to_le_bytes());
            bytes.extend_from_slice(&edge.output.to_le_bytes());
            bytes.extend_from_slice(&edge.to.0.to_le_bytes());
            bytes.extend_from_slice(&edge.input.to_le_bytes());
            bytes.push(partitioning(edge.partitioning));
        }
        hash_bytes(&bytes)
    }
}

// Spelled out, so that moving a variant within its enum changes no fingerprint.

fn kind(kind: NodeKind) -> u8 {
    match kind {
        NodeKind::Source => 0,
        NodeKind::Operator => 1,
        NodeKind::Sink => 2,
    }
}

fn partitioning(partitioning: Partitioning) -> u8 {
    match partitioning {
        Partitioning::Forward => 0,
        Partitioning::KeyGroup => 1,
        Partitioning::Rebalance => 2,
        Partitioning::Rescale => 3,
        Partitioning::Broadcast => 4,
        Partitioning::Global => 5,
        Partitioning::Custom => 6,
    }
}
