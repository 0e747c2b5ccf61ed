//! The plan as text.

use crate::JobGraph;

impl JobGraph {
    /// A plan to read: the tasks with their chains and parallelism, the exchanges between them, and what keeps state.
    pub fn explain(&self) -> String {
        String::new()
    }
}
