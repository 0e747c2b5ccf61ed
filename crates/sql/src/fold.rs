//! Changelogs folded into the tables that they describe.

use arrow::array::RecordBatch;
use flugs_batch::{Batch, ChangeBatch};
use flugs_sql_ops::row::{RowBytes, RowCodec};
use flugs_types::{Error, Result};
use std::collections::BTreeMap;

/// The rows of a table, with how often each is there, by a changelog with all kinds.
#[derive(Default)]
pub struct Folded {
    rows: BTreeMap<RowBytes, i64>,
    codec: Option<(RowCodec, arrow::datatypes::SchemaRef)>,
}

impl Folded {
    /// No rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes changes.
    pub fn add(&mut self, batch: &ChangeBatch) -> Result<()> {
        if self.codec.is_none() {
            let types: Vec<_> = batch.schema().fields().iter().map(|f| f.data_type().clone()).collect();
            self.codec = Some((RowCodec::new(&types)?, batch.schema()));
        }
        let Some((codec, _)) = &self.codec else { return Ok(()) };
        let encoded = codec.encode(batch.rows().columns(), batch.len())?;
        for row in 0..batch.len() {
            let key = encoded.to_key(row);
            let count = self.rows.entry(key.clone()).or_insert(0);
            *count += if batch.kind(row).is_addition() { 1 } else { -1 };
            if *count == 0 {
                self.rows.remove(&key);
            }
        }
        Ok(())
    }

    /// The rows in the order of their columns, each as often as it is there.
    pub fn rows(&self) -> Result<Option<RecordBatch>> {
        let Some((codec, schema)) = &self.codec else { return Ok(None) };
        if let Some((_, count)) = self.rows.iter().find(|(_, count)| **count < 0) {
            return Err(Error::bug(format!("a row was taken back {} times more than given", -count)));
        }
        let rows = self.rows.iter().flat_map(|(row, count)| (0..*count).map(move |_| row.as_slice()));
        let columns = codec.decode(rows)?;
        let count = self.rows.values().sum::<i64>() as usize;
        let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(count));
        RecordBatch::try_new_with_options(schema.clone(), columns, &options)
            .map(Some)
            .map_err(|e| Error::bug("folded rows do not fit their columns").caused_by(e))
    }
}
