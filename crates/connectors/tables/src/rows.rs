//! Rows that are there already, as a table.

use flugs_batch::{Batch, ChangeBatch};
use flugs_connector::{Boundedness, CollectionSource};
use flugs_table::{ChangelogMode, ScanRequest, TableScan, TableSource, select};
use flugs_types::{Error, Result};

/// Larger batches are cut.
const BATCH_ROWS: usize = 4096;

/// A bounded table of rows in memory: of `VALUES`, or of what was collected. Rows come in their order, so there is one reader.
/// A job must be restored with the same rows.
#[derive(Debug, Clone)]
pub struct RowsTable {
    batches: Vec<ChangeBatch>,
    mode: ChangelogMode,
}

impl RowsTable {
    /// Rows that have the columns of the table, by name. Their changelog is of the least mode that has all their kinds.
    pub fn new(batches: Vec<ChangeBatch>) -> Self {
        let is_append = batches.iter().all(ChangeBatch::is_insert_only);
        let mode = if is_append { ChangelogMode::Append } else { ChangelogMode::Retract };
        RowsTable { batches, mode }
    }

    /// Says what the rows do.
    #[must_use]
    pub fn mode(mut self, mode: ChangelogMode) -> Self {
        self.mode = mode;
        self
    }
}

impl TableSource for RowsTable {
    fn changelog_mode(&self) -> ChangelogMode {
        self.mode
    }

    fn boundedness(&self) -> Boundedness {
        Boundedness::Bounded
    }

    fn rows(&self) -> Option<u64> {
        Some(self.batches.iter().map(|batch| batch.len() as u64).sum())
    }

    fn parallelism(&self) -> Option<u32> {
        Some(1)
    }

    fn scan(&self, request: &ScanRequest) -> Result<TableScan> {
        if !request.metadata.is_empty() {
            return Err(Error::job("rows in memory have no metadata columns"));
        }
        let mut batches = Vec::new();
        for batch in self.batches.iter().filter(|batch| !batch.is_empty()) {
            let rows = batch.with_rows(select(batch.rows(), &request.columns, &request.schema)?)?;
            let starts = (0..rows.len()).step_by(BATCH_ROWS);
            batches.extend(starts.map(|start| rows.slice(start, BATCH_ROWS.min(rows.len() - start))));
        }
        Ok(Box::new(CollectionSource::new(batches).batch_rows(1)))
    }
}
