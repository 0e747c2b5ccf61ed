//! Uids for nodes to which the user gave none.
//!
//! A derived uid is a readable stem of the node's name and a hash of what the node is: its name, the uids of what it
//! reads, and its ordinal among nodes of equal name and inputs, in the order in which they were added. So state
//! finds its operator again after anything elsewhere in the program was added, removed or re-ordered. It does not
//! after a rename, after a change further up, or when an equal sibling is put in front: for those cases there
//! are given uids. The parallelism, the partitioning and the order of a union's inputs are left out on purpose.

use crate::LogicalGraph;
use flugs_types::{OperatorUid, hash_bytes};
use std::collections::{HashMap, HashSet};

/// The longest stem, in bytes.
const STEM_MAX: usize = 32;

/// The uid of each node, by position. `order` is a topological order in which equal siblings stand as they
/// were added.
pub(crate) fn assign(graph: &LogicalGraph, order: &[usize]) -> Vec<OperatorUid> {
    let mut inputs: Vec<Vec<(u16, usize, u16)>> = vec![Vec::new(); graph.nodes.len()];
    for edge in &graph.edges {
        inputs[edge.to.0 as usize].push((edge.input, edge.from.0 as usize, edge.output));
    }
    let given = graph.nodes.iter().filter_map(|n| n.uid.clone());
    let mut taken: HashSet<OperatorUid> = given.collect();
    let mut siblings: HashMap<Vec<u8>, u32> = HashMap::new();
    let mut uids: Vec<Option<OperatorUid>> = vec![None; graph.nodes.len()];
    for &at in order {
        let node = &graph.nodes[at];
        let signature = signature(&node.name, &inputs[at], &uids);
        // Nodes with a given uid count too: giving one to a node must not move its siblings.
        let ordinal = siblings.entry(signature.clone()).or_insert(0);
        let uid = match &node.uid {
            Some(given) => given.clone(),
            None => derive(&node.name, signature, *ordinal, &mut taken),
        };
        *ordinal += 1;
        uids[at] = Some(uid);
    }
    uids.into_iter().map(|uid| uid.expect("a topological order has every node")).collect()
}

/// What two nodes must share to be told apart by their ordinal alone.
fn signature(name: &str, inputs: &[(u16, usize, u16)], uids: &[Option<OperatorUid>]) -> Vec<u8> {
    let mut inputs: Vec<(u16, &str, u16)> = inputs
        .iter()
        .map(|&(input, from, output)| {
            (input, uids[from].as_ref().expect("what feeds a node stands before it").as_str(), output)
        })
        .collect();
    inputs.sort_unstable();
    let mut bytes = Vec::new();
    push_text(&mut bytes, name);
    for (input, from, output) in inputs {
        bytes.extend_from_slice(&input.to_le_bytes());
        push_text(&mut bytes, from);
        bytes.extend_from_slice(&output.to_le_bytes());
    }
    bytes
}

/// The length goes in first, so that no two lists of texts give the same bytes.
pub(crate) fn push_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

fn derive(name: &str, mut key: Vec<u8>, ordinal: u32, taken: &mut HashSet<OperatorUid>) -> OperatorUid {
    key.extend_from_slice(&ordinal.to_le_bytes());
    let stem = stem(name);
    loop {
        let hash = hash_bytes(&key);
        let uid = OperatorUid::new(format!("{stem}-{:08x}", (hash >> 32) as u32 ^ hash as u32));
        if taken.insert(uid.clone()) {
            return uid;
        }
        // Another node has this uid by a collision of hashes, or because a user gave it: hash once more.
        key.push(0);
    }
}

/// The name in lower case, with everything but ASCII letters and digits drawn together to single dashes.
fn stem(name: &str) -> String {
    let mut stem = String::new();
    for c in name.chars() {
        if stem.len() == STEM_MAX {
            break;
        }
        if c.is_ascii_alphanumeric() {
            stem.push(c.to_ascii_lowercase());
        } else if !stem.is_empty() && !stem.ends_with('-') {
            stem.push('-');
        }
    }
    let stem = stem.trim_end_matches('-');
    if stem.is_empty() { "node".to_owned() } else { stem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_are_readable() {
        assert_eq!(stem("Window(Tumbling 5 s)"), "window-tumbling-5-s");
        assert_eq!(stem("  "), "node");
        assert_eq!(stem("\u{e9}t\u{e9}"), "t");
        assert_eq!(stem(&"x".repeat(100)), "x".repeat(32));
    }

    #[test]
    fn a_taken_uid_is_derived_once_more() {
        let mut taken = HashSet::new();
        let first = derive("map", b"key".to_vec(), 0, &mut taken);
        let second = derive("map", b"key".to_vec(), 0, &mut taken);
        assert_ne!(first, second);
        assert!(second.as_str().starts_with("map-") && second.as_str().len() == 12, "{second}");
    }
}
