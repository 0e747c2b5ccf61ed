//! The format `parquet`: columns in files.
//!
//! | option | default | |
//! | --- | --- | --- |
//! | `parquet.compression` | `SNAPPY` | of written files: `SNAPPY`, `ZSTD`, `UNCOMPRESSED` |
//!
//! Only the columns and fields that are asked for are read, and only row groups that may have rows which pass the conditions, as far
//! as the file's statistics tell. Large files are read by several readers, row group by row group. Written files end with each
//! checkpoint: the end of a file is where its columns are found.

mod prune;
mod read;
mod write;

pub(super) use read::{ParquetReader, ParquetScan, read_file};
pub(super) use write::ParquetFile;

use flugs_table::{FormatContext, FormatFactory, OptionKind, OptionSpec, RecordDecoder, RecordEncoder};
use flugs_types::{Error, Result};

pub(super) const NAME: &str = "parquet";

const OPTIONS: &[OptionSpec] = &[OptionSpec {
    key: "compression",
    kind: OptionKind::Enum(&["SNAPPY", "ZSTD", "UNCOMPRESSED"]),
    default: Some("SNAPPY"),
    doc: "how columns of written files are compressed",
}];

/// The format of `'format' = 'parquet'`: for the connector `filesystem` alone.
#[derive(Debug, Clone, Copy)]
pub struct ParquetFormat;

impl FormatFactory for ParquetFormat {
    fn identifier(&self) -> &'static str {
        NAME
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn decoder(&self, context: FormatContext<'_>) -> Result<Box<dyn RecordDecoder>> {
        Err(no_records(context))
    }

    fn encoder(&self, context: FormatContext<'_>) -> Result<Box<dyn RecordEncoder>> {
        Err(no_records(context))
    }
}

fn no_records(context: FormatContext<'_>) -> Error {
    Error::job("the format 'parquet' is one of whole files, not of records")
        .at(format!("table {}", context.table))
        .mend("use it with the connector 'filesystem'")
}
