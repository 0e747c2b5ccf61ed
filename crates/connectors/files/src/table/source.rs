//! A table of files that is read.

use super::factory::Described;
use super::plan::{Layout, metadata_columns};
use super::rows::RowFormat;
use crate::Compression;
use crate::source::chunks::{Budget, ReadOptions};
use crate::source::discovery::{Discovery, PathFilter};
use crate::source::enumerator::FileEnumerator;
use crate::source::reader::FileReader;
use flugs_batch::ChangeBatch;
use flugs_connector::{Boundedness, EnumeratorContext, ReaderContext, Source, SourceReader, SplitEnumerator};
use flugs_formats::Framing;
use flugs_sql_types::SqlType;
use flugs_table::{ChangelogMode, FieldPath, Predicate, RecordFraming, ScanRequest, TableScan, TableSource};
use flugs_types::Result;
use std::sync::Arc;
use std::time::Duration;

/// Large files are read in ranges of about so many bytes where that is possible.
const RANGE_BYTES: u64 = 32 << 20;
/// How much is decoded in one poll.
const BUDGET: Budget = Budget { chunk_bytes: 256 << 10, rows: 4096, bytes: 256 << 10 };

/// A table of files.
pub(super) struct FileTable {
    table: Described,
    skips_malformed: bool,
}

impl FileTable {
    pub(super) fn new(table: Described) -> Result<Self> {
        // Tells wrong options and types of columns before a scan.
        let skips_malformed = row_format(&table, Arc::new(all_columns(&table)?))
            .map(|rows| rows.record_decoder())
            .transpose()?
            .is_some_and(|decoder| decoder.ignores_failures());
        Ok(FileTable { table, skips_malformed })
    }
}

/// The layout of a scan of all columns.
pub(super) fn all_columns(table: &Described) -> Result<Layout> {
    let columns: Vec<FieldPath> =
        table.schema.fields().iter().map(|field| FieldPath(vec![field.name().clone()])).collect();
    Layout::new(&columns, &[], &table.schema, table.partitions.clone())
}

/// How records are decoded; none where files have no records.
pub(super) fn row_format(table: &Described, layout: Arc<Layout>) -> Option<RowFormat> {
    Some(RowFormat {
        table: table.name.clone(),
        format: table.contents.format()?.clone(),
        options: table.options.clone(),
        physical: table.in_files.clone(),
        layout,
    })
}

/// Where the files of a table are; but for those that no wanted row can be in.
pub(super) fn discovery(table: &Described, predicates: &[Predicate]) -> Discovery {
    let (pattern, partitions, predicates) =
        (table.files.pattern.clone(), table.partitions.clone(), predicates.to_vec());
    let wants = move |path: &str| {
        pattern.as_ref().is_none_or(|pattern| pattern.is_match(path))
            && partitions.may_pass(path, &predicates)
    };
    Discovery {
        path: table.files.path.clone(),
        compression: Compression::Auto,
        split_bytes: None,
        may_be_empty: true,
        looks_again: table.files.watch.is_some(),
        filter: Some(PathFilter(Arc::new(wants))),
    }
}

/// Where records end.
pub(super) fn framing(rows: &RowFormat) -> Result<Framing> {
    Ok(match rows.format.framing(&rows.options)? {
        RecordFraming::Lines => Framing::Lines,
        RecordFraming::QuotedLines { delimiter, quote } => Framing::Quoted { delimiter, quote },
    })
}

impl TableSource for FileTable {
    fn changelog_mode(&self) -> ChangelogMode {
        self.table.contents.changelog_mode()
    }

    fn boundedness(&self) -> Boundedness {
        if self.table.files.watch.is_some() { Boundedness::Unbounded } else { Boundedness::Bounded }
    }

    fn reports_malformed(&self) -> bool {
        self.table.contents.format().is_some()
    }

    fn skips_malformed(&self) -> bool {
        self.skips_malformed
    }

    fn metadata(&self) -> Vec<(&'static str, SqlType)> {
        metadata_columns()
    }

    fn scan(&self, request: &ScanRequest) -> Result<TableScan> {
        let layout = Arc::new(Layout::new(
            &request.columns,
            &request.metadata,
            &request.schema,
            self.table.partitions.clone(),
        )?);
        let ordered = request.ordered || self.changelog_mode() != ChangelogMode::Append;
        let mut discovery = discovery(&self.table, &request.predicates);
        let reads = match row_format(&self.table, layout.clone()) {
            Some(rows) => {
                let framing = framing(&rows)?;
                // In order, a range would be read after the one before it anyway.
                discovery.split_bytes = (!ordered && framing.splits_anywhere()).then_some(RANGE_BYTES);
                Reads::Rows(Box::new(rows), framing)
            }
            #[cfg(feature = "parquet")]
            None => {
                discovery.compression = Compression::None;
                discovery.split_bytes = (!ordered).then_some(RANGE_BYTES);
                Reads::Parquet(Arc::new(super::parquet::ParquetScan::new(layout, &request.predicates)))
            }
            #[cfg(not(feature = "parquet"))]
            None => return Err(flugs_types::Error::bug("files without records and without parquet")),
        };
        let (watch, record_bytes_max) = (self.table.files.watch, self.table.files.record_bytes_max);
        Ok(Box::new(FileScan { discovery, watch, ordered, reads, record_bytes_max }))
    }
}

enum Reads {
    Rows(Box<RowFormat>, Framing),
    #[cfg(feature = "parquet")]
    Parquet(Arc<super::parquet::ParquetScan>),
}

struct FileScan {
    discovery: Discovery,
    watch: Option<Duration>,
    ordered: bool,
    reads: Reads,
    record_bytes_max: usize,
}

impl Source for FileScan {
    type Item = ChangeBatch;

    fn boundedness(&self) -> Boundedness {
        if self.watch.is_some() { Boundedness::Unbounded } else { Boundedness::Bounded }
    }

    fn enumerator(&self, context: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>> {
        Ok(Box::new(FileEnumerator::new(self.discovery.clone(), self.watch, self.ordered, context)?))
    }

    fn reader(&self, context: ReaderContext) -> Result<Box<dyn SourceReader<ChangeBatch>>> {
        Ok(match &self.reads {
            Reads::Rows(rows, framing) => {
                let options = ReadOptions {
                    compression: Compression::Auto,
                    framing: *framing,
                    has_header: false,
                    record_bytes_max: self.record_bytes_max,
                    record_bytes_setting: "'source.max-record-size'",
                    budget: BUDGET,
                };
                Box::new(FileReader::new((**rows).clone(), Arc::new(options), context))
            }
            #[cfg(feature = "parquet")]
            Reads::Parquet(scan) => Box::new(super::parquet::ParquetReader::new(scan.clone(), context)),
        })
    }
}
