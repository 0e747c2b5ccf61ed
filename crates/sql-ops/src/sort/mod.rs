//! Rows in order, and the first of them.
//!
//! None of these operators is partitioned: each has one subtask, and refuses to run as one of several.

mod limit;
mod spec;
mod stream;
mod temporal;

pub use limit::{Limit, SortLimit};
pub use spec::{LimitSpec, SortLimitSpec, SortTime, StreamSortSpec, TemporalSortSpec};
pub use stream::StreamSort;
pub use temporal::TemporalSort;

use flugs_task::OpenContext;
use flugs_types::{Error, Result};

/// An error where there are several subtasks.
fn single(context: &OpenContext<'_>, what: &str) -> Result<()> {
    match context.ident.subtask.parallelism {
        1 => Ok(()),
        n => Err(Error::bug(format!("{what} was planned for one subtask, not for {n}"))),
    }
}

#[cfg(test)]
mod tests;
