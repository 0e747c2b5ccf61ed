//! Records in memory and, beyond it, in files.
//!
//! A record is a key and a value, both bytes. A [`Sorter`] gives them back by key, a [`Spool`] as they came. Both work in steps of at
//! most about [`STEP_BYTES`], so that a task that spills answers in between; reads and writes of that size are made in the task
//! itself.
//!
//! Files have no names (they are unlinked as soon as they are made), so nothing is left behind whatever happens to the process.

mod block;
mod chunk;
mod file;
mod kept;
mod merge;
mod sorter;
mod spool;

pub(super) use block::Record;
pub(super) use kept::{Kept, Ranking, grouped, ungrouped};
pub(super) use sorter::Sorter;
pub(super) use spool::{Spool, SpoolReader, Spools};

/// About how many bytes are read, written or sorted in one step.
pub(super) const STEP_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests;
