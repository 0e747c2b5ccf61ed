//! How rows reach an operator.

use crate::lower::{Lowering, Origin};
use crate::plan::Node;
use flugs_batch::Data;
use flugs_graph::{Edge, NodeId as GraphId, Partitioning};
use flugs_sql_ops::edge::{ChangeEdge, RowsEdge};
use flugs_task::{RebalanceRoute, RecordEdge};
use flugs_types::Result;
use std::sync::Arc;

/// Which subtask a row goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Exchange {
    /// The one beside.
    Direct,
    /// The owner of the key; without a key the only one.
    Key(Vec<usize>),
    /// The only one.
    Single,
}

impl Lowering<'_> {
    /// Connects the rows of an input to an operator.
    pub(super) fn connect(
        &mut self,
        from: &Node,
        origins: &[Origin],
        to: GraphId,
        input: u16,
        parallelism: u32,
        exchange: &Exchange,
    ) -> Result<()> {
        let schema = from.schema();
        for origin in origins {
            let (partitioning, factory) = match exchange {
                Exchange::Key(keys) if !keys.is_empty() => {
                    (Partitioning::KeyGroup, ChangeEdge::by_key(&schema, keys)?)
                }
                Exchange::Key(_) | Exchange::Single => match origin.parallelism {
                    1 => (Partitioning::Forward, ChangeEdge::global()),
                    _ => (Partitioning::Global, ChangeEdge::global()),
                },
                Exchange::Direct if origin.parallelism == parallelism => {
                    (Partitioning::Forward, ChangeEdge::rebalance())
                }
                // Changes of one row keep their order only on one way.
                Exchange::Direct if !from.changes.is_append() => {
                    let all: Vec<usize> = (0..from.fields.len()).collect();
                    (Partitioning::KeyGroup, ChangeEdge::by_key(&schema, &all)?)
                }
                Exchange::Direct => (Partitioning::Rebalance, ChangeEdge::rebalance()),
            };
            let edge = Edge { from: origin.node, output: origin.output, to, input, partitioning };
            self.builder.edge(edge, Arc::new(factory));
        }
        Ok(())
    }

    /// Connects records of batches: between connectors and their bridges.
    pub(super) fn connect_rows(&mut self, from: GraphId, output: u16, to: GraphId) {
        let edge = Edge { from, output, to, input: 0, partitioning: Partitioning::Forward };
        self.builder.edge(edge, Arc::new(RowsEdge));
    }

    /// Connects records of another type.
    pub(super) fn connect_records<T: Data>(&mut self, from: GraphId, output: u16, to: GraphId) {
        let edge = Edge { from, output, to, input: 0, partitioning: Partitioning::Forward };
        let edge_of = RecordEdge::<T>::new(|sender| Box::new(RebalanceRoute::new(sender)));
        self.builder.edge(edge, Arc::new(edge_of));
    }
}
