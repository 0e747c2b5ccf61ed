//! Changelogs folded into the tables that they describe.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use flugs_batch::{Batch, ChangeBatch};
use flugs_sql_ops::row::{RowBytes, RowCodec};
use flugs_types::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};

/// The rows of a table by a changelog with all kinds, in the order in which they came. Equal rows are kept as often as they are
/// there.
#[derive(Default)]
pub struct Folded {
    /// The rows by when they came.
    rows: BTreeMap<u64, RowBytes>,
    /// When each came.
    places: BTreeMap<RowBytes, BTreeSet<u64>>,
    /// The place of an update's old row, where its new row goes.
    vacated: Option<u64>,
    next: u64,
    /// Whether rows were forgotten.
    forgetful: bool,
    /// How many rows were taken back that had not been given.
    unmatched: u64,
    codec: Option<(RowCodec, SchemaRef)>,
}

impl Folded {
    /// No rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How many rows were taken back that had not been given: the input of the query had deletions of rows that it never gave.
    pub fn unmatched(&self) -> u64 {
        self.unmatched
    }

    /// Takes changes. A row that is taken back and is not there is counted.
    pub fn add(&mut self, batch: &ChangeBatch) -> Result<()> {
        if self.codec.is_none() {
            let types: Vec<_> = batch.schema().fields().iter().map(|f| f.data_type().clone()).collect();
            self.codec = Some((RowCodec::new(&types)?, batch.schema()));
        }
        let Some((codec, _)) = &self.codec else { return Ok(()) };
        let encoded = codec.encode(batch.rows().columns(), batch.len())?;
        for at in 0..batch.len() {
            let row = RowBytes::new(encoded.row(at));
            if batch.kind(at).is_addition() {
                let place = self.vacated.take().unwrap_or(self.next);
                self.next = self.next.max(place + 1);
                self.places.entry(row.clone()).or_default().insert(place);
                self.rows.insert(place, row);
                continue;
            }
            let place = self.places.get_mut(&row).and_then(BTreeSet::pop_last);
            let Some(place) = place else {
                self.unmatched += u64::from(!self.forgetful);
                continue;
            };
            if self.places.get(&row).is_some_and(BTreeSet::is_empty) {
                self.places.remove(&row);
            }
            self.rows.remove(&place);
            self.vacated = (batch.kind(at) == flugs_types::RowKind::UpdateBefore).then_some(place);
        }
        Ok(())
    }

    /// Forgets the oldest rows beyond so many. Changes of a row that was forgotten are left out from then on.
    pub fn keep_newest(&mut self, rows_max: usize) {
        while self.rows.len() > rows_max
            && let Some((place, row)) = self.rows.pop_first()
        {
            self.forgetful = true;
            if let Some(places) = self.places.get_mut(&row) {
                places.remove(&place);
                if places.is_empty() {
                    self.places.remove(&row);
                }
            }
        }
    }

    /// The rows by the order of their columns; `None` where no change ever came.
    pub fn rows(&self) -> Result<Option<RecordBatch>> {
        let repeated = self.places.iter().flat_map(|(row, places)| places.iter().map(move |_| row));
        self.decoded(repeated)
    }

    /// The rows in the order in which they came, new rows of updates in the places of the old; `None` where no change ever came.
    pub fn rows_as_they_came(&self) -> Result<Option<RecordBatch>> {
        self.decoded(self.rows.values())
    }

    /// Some rows in the order in which they came.
    pub fn page(&self, skip: usize, count: usize) -> Result<Option<RecordBatch>> {
        self.decoded(self.rows.values().skip(skip).take(count))
    }

    fn decoded<'r>(&self, rows: impl Iterator<Item = &'r RowBytes>) -> Result<Option<RecordBatch>> {
        let Some((codec, schema)) = &self.codec else { return Ok(None) };
        let rows: Vec<&[u8]> = rows.map(RowBytes::as_slice).collect();
        let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let columns = codec.decode(rows)?;
        RecordBatch::try_new_with_options(schema.clone(), columns, &options)
            .map(Some)
            .map_err(|e| Error::bug("folded rows do not fit their columns").caused_by(e))
    }
}
