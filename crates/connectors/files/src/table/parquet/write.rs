//! Writes batches to a file.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use flugs_table::Options;
use flugs_types::{Error, Result};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

/// A row group ends when it takes so much memory.
const ROW_GROUP_BYTES: usize = 64 << 20;

/// A file that is written.
pub(in super::super) struct ParquetFile {
    schema: SchemaRef,
    /// None once the file has ended.
    writer: Option<ArrowWriter<Vec<u8>>>,
}

fn failed(error: ParquetError) -> Error {
    Error::job("rows cannot be written as parquet").caused_by(error)
}

impl ParquetFile {
    pub(in super::super) fn new(schema: &SchemaRef, options: &Options) -> Result<Self> {
        let word = options.get("parquet.compression").map(str::to_ascii_uppercase);
        let compression = match word.as_deref() {
            None | Some("SNAPPY") => Compression::SNAPPY,
            Some("ZSTD") => Compression::ZSTD(ZstdLevel::default()),
            _ => Compression::UNCOMPRESSED,
        };
        let properties = WriterProperties::builder().set_compression(compression).build();
        let writer = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties)).map_err(failed)?;
        Ok(ParquetFile { schema: schema.clone(), writer: Some(writer) })
    }

    /// Adds rows. What is ready of the file is appended to `out`.
    pub(in super::super) fn write(&mut self, rows: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let writer = self.writer.as_mut().ok_or_else(|| Error::bug("a parquet file has ended"))?;
        // The names and notes of the table, whatever the query calls its columns.
        let rows = RecordBatch::try_new(self.schema.clone(), rows.columns().to_vec())
            .map_err(|e| Error::bug("a batch has other columns than its table").caused_by(e))?;
        writer.write(&rows).map_err(failed)?;
        if writer.in_progress_size() >= ROW_GROUP_BYTES {
            writer.flush().map_err(failed)?;
        }
        out.append(writer.inner_mut());
        Ok(())
    }

    /// Appends the end of the file.
    pub(in super::super) fn end(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        out.append(&mut writer.into_inner().map_err(failed)?);
        Ok(())
    }
}
