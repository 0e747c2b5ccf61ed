//! Logical graphs, as a program builds them, and chained job graphs, as the runtime runs them. Plain data.
//!
//! [`LogicalGraph`] is what the programming interfaces fill in: one [`Node`] for each operator that was
//! written down. [`LogicalGraph::to_job_graph`] validates it, gives each node its uid, and draws nodes together
//! into chains: a [`JobGraph`] of tasks. Nothing here runs anything: no I/O, threads or clocks.
//!
//! Invariant: the job graph is a function of the program text alone. Two processes that build the same program
//! get equal uids, task ids, edges and [fingerprints](JobGraph::fingerprint), in whatever order unrelated
//! parts were added.

mod chain;
mod explain;
mod fingerprint;
mod job;
mod logical;
mod node;
mod uid;
mod validate;

pub use job::{ChainNode, Follower, JobGraph, TaskEdge, TaskId, TaskNode};
pub use logical::LogicalGraph;
pub use node::{Chaining, Edge, Node, NodeId, NodeKind, Partitioning};
