//! From the logical graph to tasks.

use crate::{JobGraph, LogicalGraph};
use flugs_types::{Error, Result};

impl LogicalGraph {
    /// Validates the graph, derives missing uids and draws nodes together into tasks.
    pub fn to_job_graph(&self) -> Result<JobGraph> {
        self.validate()?;
        Err(Error::bug("chaining is not there yet"))
    }
}
