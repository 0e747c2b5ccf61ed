//! Changes on their way out: rows as bytes, until there is a batch of them.

use crate::row::RowCodec;
use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::SchemaRef;
use flugs_batch::ChangeBatch;
use flugs_task::Output;
use flugs_types::{Error, Result, RowKind};
use std::sync::Arc;

/// About how many rows a batch of changes has.
pub(crate) const OUTPUT_ROWS: usize = 4096;

/// Changes in order. They are decoded when they are sent.
pub(crate) struct Outgoing {
    codec: RowCodec,
    schema: SchemaRef,
    /// A rank for each row, where that is a column behind those of the codec.
    ranks: Option<Vec<i64>>,
    kinds: Vec<RowKind>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// How many were sent.
    sent: usize,
}

impl Outgoing {
    /// Rows of this codec, whose batches have this schema: one more column than the codec where `ranked`.
    pub(crate) fn new(codec: RowCodec, schema: SchemaRef, ranked: bool) -> Self {
        Outgoing {
            codec,
            schema,
            ranks: ranked.then(Vec::new),
            kinds: Vec::new(),
            bytes: Vec::new(),
            ends: Vec::new(),
            sent: 0,
        }
    }

    /// How many rows wait to be sent.
    pub(crate) fn len(&self) -> usize {
        self.kinds.len() - self.sent
    }

    /// Appends a row.
    #[inline]
    pub(crate) fn push(&mut self, kind: RowKind, row: &[u8], rank: u64) {
        self.push_parts(kind, [row]);
        if let Some(ranks) = &mut self.ranks {
            ranks.push(i64::try_from(rank).unwrap_or(i64::MAX));
        }
    }

    /// Appends a row whose columns stand in several byte strings.
    #[inline]
    pub(crate) fn push_parts<const N: usize>(&mut self, kind: RowKind, parts: [&[u8]; N]) {
        self.kinds.push(kind);
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        self.ends.push(self.bytes.len());
    }

    /// Hands on batches as long as the output takes them. Says whether all are sent.
    pub(crate) fn send(&mut self, out: &mut Output<ChangeBatch>) -> Result<bool> {
        while self.sent < self.kinds.len() {
            if !out.is_ready() {
                return Ok(false);
            }
            let mut end = self.kinds.len().min(self.sent + OUTPUT_ROWS);
            // An update is not cut.
            if end < self.kinds.len() && self.kinds[end - 1] == RowKind::UpdateBefore {
                end += 1;
            }
            let batch = self.batch(self.sent, end)?;
            self.sent = end;
            let _ = out.push(batch)?;
        }
        self.sent = 0;
        self.kinds.clear();
        self.bytes.clear();
        self.ends.clear();
        if let Some(ranks) = &mut self.ranks {
            ranks.clear();
        }
        Ok(true)
    }

    fn batch(&self, from: usize, to: usize) -> Result<ChangeBatch> {
        let row = |i: usize| {
            let start = if i == 0 { 0 } else { self.ends[i - 1] };
            &self.bytes[start..self.ends[i]]
        };
        let mut columns = self.codec.decode((from..to).map(row))?;
        if let Some(ranks) = &self.ranks {
            columns.push(Arc::new(Int64Array::from(ranks[from..to].to_vec())));
        }
        ChangeBatch::new(record_batch(&self.schema, columns, to - from)?, &self.kinds[from..to])
    }
}

/// Columns as a batch. An error where they are not of the planned types.
pub(crate) fn record_batch(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
        .map_err(|e| Error::bug("results are not of the types that were planned").caused_by(e))
}
