//! Rows that a job could not make use of, as its operators count them.

use crate::SqlJob;
use std::collections::BTreeMap;
use std::fmt;

/// What was wrong with rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropCause {
    /// They came when their time was over (`numLateRecordsDropped`).
    Late,
    /// They could not be read (`numMalformedRecords`).
    Malformed,
}

/// Rows that an operator of a job has left out, or handed to the table that is named for such rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The operator, as EXPLAIN calls it; of a scan, its table.
    pub operator: String,
    /// Why.
    pub cause: DropCause,
    /// How many, over all subtasks and restarts. The second phase of an aggregate counts what the first has summed up as one row.
    pub rows: u64,
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = if self.rows == 1 { "row" } else { "rows" };
        let why = match self.cause {
            DropCause::Late => "came too late",
            DropCause::Malformed => "could not be read",
        };
        write!(f, "{} {rows} {why} (at operator '{}')", self.rows, self.operator)
    }
}

impl SqlJob {
    /// The rows that it could not make use of till now, by operator.
    pub fn dropped(&self) -> Vec<Dropped> {
        let mut found: BTreeMap<(String, DropCause), u64> = BTreeMap::new();
        for (operator, _, name, count) in self.handle.metrics().list() {
            let cause = match name.as_str() {
                "numLateRecordsDropped" => DropCause::Late,
                "numMalformedRecords" => DropCause::Malformed,
                _ => continue,
            };
            if count > 0 {
                *found.entry((operator, cause)).or_default() += count.unsigned_abs();
            }
        }
        found.into_iter().map(|((operator, cause), rows)| Dropped { operator, cause, rows }).collect()
    }
}
