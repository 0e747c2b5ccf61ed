//! Plans become operators of a program.

use flugs_api::Environment;
use flugs_graph::{Edge, Node, NodeId};
use flugs_sql_plan::JobBuilder;
use flugs_task::{EdgeFactory, NodeFactory};
use std::sync::Arc;

/// Adds a plan's operators to a program.
pub(crate) struct ProgramBuilder<'e>(pub(crate) &'e Environment);

impl JobBuilder for ProgramBuilder<'_> {
    fn node(&mut self, node: Node, factory: Arc<dyn NodeFactory>) -> NodeId {
        self.0.add_node(node, factory)
    }

    fn edge(&mut self, edge: Edge, factory: Arc<dyn EdgeFactory>) {
        self.0.add_edge(edge, factory);
    }
}
