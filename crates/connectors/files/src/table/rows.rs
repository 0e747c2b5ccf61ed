//! Chunks of records to batches of columns.

use super::plan::Layout;
use crate::source::chunks::{Opened, ReadOptions};
use crate::source::reader::{DecodeChunk, FileFormat};
use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use flugs_batch::{Batch, ChangeBatch};
use flugs_formats::Chunk;
use flugs_table::{DecodeFailure, FormatContext, FormatFactory, Options, RecordDecoder};
use flugs_types::Result;
use std::ops::Range;
use std::sync::Arc;

/// How records of a table are decoded.
#[derive(Clone)]
pub(super) struct RowFormat {
    pub(super) table: String,
    pub(super) format: Arc<dyn FormatFactory>,
    pub(super) options: Options,
    /// The columns that stand in files: all but the partition keys.
    pub(super) physical: SchemaRef,
    pub(super) layout: Arc<Layout>,
}

impl RowFormat {
    pub(super) fn record_decoder(&self) -> Result<Box<dyn RecordDecoder>> {
        self.format.decoder(FormatContext {
            table: &self.table,
            physical: &self.physical,
            columns: &self.layout.decoded,
            schema: &self.layout.decoded_schema,
            options: &self.options,
        })
    }
}

impl FileFormat for RowFormat {
    type Item = ChangeBatch;

    fn decoder(&self, opened: &Opened) -> Result<Box<dyn DecodeChunk<ChangeBatch>>> {
        Ok(Box::new(RowChunks {
            decoder: self.record_decoder()?,
            layout: self.layout.clone(),
            constants: self.layout.constants(&opened.facts)?,
            mended: 0,
        }))
    }
}

struct RowChunks {
    decoder: Box<dyn RecordDecoder>,
    layout: Arc<Layout>,
    constants: Vec<Option<ArrayRef>>,
    mended: usize,
}

impl DecodeChunk<ChangeBatch> for RowChunks {
    fn decode(
        &mut self,
        chunk: &Chunk,
        records: Range<usize>,
        options: &ReadOptions,
        fail: &mut dyn FnMut(usize, String) -> Result<()>,
    ) -> Result<Vec<ChangeBatch>> {
        let (mut bytes, mut numbers, mut failures) =
            (Vec::with_capacity(records.len()), Vec::new(), Vec::new());
        let first = records.start;
        for i in records {
            match options.record(chunk, i) {
                Ok(Some(record)) => {
                    // As long as none was left out, numbers follow from the first.
                    if !numbers.is_empty() || bytes.len() != i - first {
                        if numbers.is_empty() {
                            numbers.extend(first..first + bytes.len());
                        }
                        numbers.push(i);
                    }
                    bytes.push(record);
                }
                Ok(None) => {}
                Err(error) => failures.push((i, error)),
            }
        }
        let (rows, failed) = self.decoder.decode(&bytes)?;
        let number = |record: usize| numbers.get(record).copied().unwrap_or(first + record);
        let all = failed.len();
        let failed: Vec<DecodeFailure> = failed.into_iter().filter(|failure| !failure.has_row).collect();
        self.mended += all - failed.len();
        failures.extend(failed.into_iter().map(|failure| (number(failure.record), failure.message)));
        failures.sort_by_key(|(record, _)| *record);
        for (record, error) in failures {
            fail(record, error)?;
        }
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let complete = self.layout.complete(rows.rows(), &self.constants)?;
        Ok(vec![rows.with_rows(complete)?])
    }

    fn take_mended(&mut self) -> usize {
        std::mem::take(&mut self.mended)
    }
}
