//! Reads files, row group by row group, on background threads.
//!
//! A split is a range of bytes: the row groups whose middle is in it are read, in order. The position is the number of rows read
//! since its start (kept in the split's `line`, which counts from 1).

use super::super::plan::Layout;
use super::prune::may_pass;
use crate::failure;
use crate::source::chunks::FileFacts;
use crate::source::split::FileSplit;
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use flugs_batch::{ChangeBatch, Records};
use flugs_connector::{PollContext, ReaderContext, ReaderStatus, SourceOutput, SourceReader, Split};
use flugs_formats::{Feed, Pull};
use flugs_table::{FieldPath, Predicate, select_column};
use flugs_types::{Error, Result};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::RowGroupMetaData;
use parquet::schema::types::SchemaDescriptor;
use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

const BATCH_ROWS: usize = 4096;

/// What is read of files.
pub(in super::super) struct ParquetScan {
    layout: Arc<Layout>,
    predicates: Vec<Predicate>,
}

impl ParquetScan {
    pub(in super::super) fn new(layout: Arc<Layout>, predicates: &[Predicate]) -> Self {
        ParquetScan { layout, predicates: predicates.to_vec() }
    }
}

/// The rows of a split that are not read yet.
struct Rows {
    layout: Arc<Layout>,
    constants: Vec<Option<ArrayRef>>,
    reader: ParquetRecordBatchReader,
    path: String,
    place: Place,
}

/// Where a reader is among the rows of all row groups of a split, also those that it passes over: a position means the same whatever
/// is left out.
struct Place {
    /// How many rows come before the next one.
    before: u64,
    /// The rows that are still to be given, by row group.
    left: VecDeque<Range<u64>>,
}

impl Place {
    /// Behind so many rows, of row groups of these lengths, of which some may have rows that are needed.
    fn behind(before: u64, groups: impl Iterator<Item = (u64, bool)>) -> Self {
        let (mut end, mut left) = (0, VecDeque::new());
        for (rows, may) in groups {
            let start = end;
            end += rows;
            if may && end > before {
                left.push_back(start.max(before)..end);
            }
        }
        Place { before, left }
    }

    /// So many more rows were given.
    fn advance(&mut self, mut rows: u64) {
        while rows > 0
            && let Some(group) = self.left.front_mut()
        {
            let taken = rows.min(group.end - group.start);
            group.start += taken;
            (self.before, rows) = (group.start, rows - taken);
            if group.is_empty() {
                self.left.pop_front();
            }
        }
    }
}

fn damaged(path: &str, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::data(format!("{path} cannot be read as parquet"))
        .mend("check that it is a whole file of this format, and that the types of the table's columns fit")
        .caused_by(error)
}

impl Rows {
    fn open(scan: &ParquetScan, split: &FileSplit) -> Result<Self> {
        let path = &split.path;
        let file = File::open(path).map_err(|e| failure::reading(Path::new(path), e))?;
        let metadata = file.metadata().map_err(|e| failure::reading(Path::new(path), e))?;
        let constants = scan.layout.constants(&FileFacts::new(path, &metadata))?;
        let metadata =
            ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(|e| damaged(path, e))?;
        let may = may_pass(&metadata, &scan.predicates);
        let all = metadata.metadata().row_groups().iter().zip(may).enumerate();
        let of_split = all.filter(|(_, (group, _))| is_in(group, split));
        let of_split: Vec<(usize, u64, bool)> =
            of_split.map(|(i, (group, may))| (i, group.num_rows().max(0) as u64, may)).collect();
        let before = split.line.saturating_sub(1);
        let place = Place::behind(before, of_split.iter().map(|(_, rows, may)| (*rows, *may)));
        let (mut end, mut groups, mut skipped) = (0, Vec::new(), 0);
        for (group, rows, may) in of_split {
            let start = end;
            end += rows;
            if may && end > before {
                groups.push(group);
                skipped += before.saturating_sub(start);
            }
        }
        let mask = mask(&scan.layout.decoded, metadata.parquet_schema()).map_err(|e| e.at(path.clone()))?;
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
            .with_batch_size(BATCH_ROWS)
            .with_row_groups(groups)
            .with_projection(mask)
            .with_offset(skipped as usize)
            .build()
            .map_err(|e| damaged(path, e))?;
        Ok(Rows { layout: scan.layout.clone(), constants, reader, path: path.clone(), place })
    }

    /// The next rows, and how many come before those behind them; none at the end.
    fn next(&mut self) -> Result<Option<(RecordBatch, u64)>> {
        let Some(batch) = self.reader.next() else { return Ok(None) };
        let batch = batch.map_err(|e| damaged(&self.path, e))?;
        let schema = &self.layout.decoded_schema;
        let column = |(path, field): (&FieldPath, &arrow::datatypes::FieldRef)| {
            let column = select_column(&batch, path)?;
            cast(&column, field.data_type()).map_err(|e| damaged(&self.path, e))
        };
        let columns = self.layout.decoded.iter().zip(schema.fields()).map(column);
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let decoded = RecordBatch::try_new_with_options(schema.clone(), columns, &options)
            .map_err(|e| damaged(&self.path, e))?;
        self.place.advance(batch.num_rows() as u64);
        Ok(Some((self.layout.complete(&decoded, &self.constants)?, self.place.before)))
    }
}

/// Whether the middle of a row group is in a range of bytes.
fn is_in(group: &RowGroupMetaData, split: &FileSplit) -> bool {
    let start = group.columns().iter().map(|column| column.byte_range().0).min().unwrap_or(0);
    let middle = start + group.compressed_size().max(0) as u64 / 2;
    middle >= split.start && split.end.is_none_or(|end| middle < end)
}

/// The leaves at these paths.
fn mask(paths: &[FieldPath], schema: &SchemaDescriptor) -> Result<ProjectionMask> {
    let mut leaves = Vec::new();
    for path in paths {
        let before = leaves.len();
        let is_below = |leaf: &[String]| leaf.len() >= path.0.len() && leaf[..path.0.len()] == path.0[..];
        leaves.extend((0..schema.num_columns()).filter(|&i| is_below(schema.column(i).path().parts())));
        if leaves.len() == before {
            return Err(Error::data(format!("the file has no column {}", path.0.join(".")))
                .mend("check the names of the table's columns: they are those of the file"));
        }
    }
    Ok(ProjectionMask::leaves(schema, leaves))
}

/// Reads a split in the background.
struct Rest {
    scan: Arc<ParquetScan>,
    split: FileSplit,
    rows: Option<Rows>,
}

impl Pull for Rest {
    type Item = (RecordBatch, u64);

    fn pull(&mut self) -> Result<Option<(RecordBatch, u64)>> {
        let rows = match &mut self.rows {
            Some(rows) => rows,
            None => self.rows.insert(Rows::open(&self.scan, &self.split)?),
        };
        rows.next()
    }
}

/// Reads its splits one after the other.
pub(in super::super) struct ParquetReader {
    scan: Arc<ParquetScan>,
    context: ReaderContext,
    pending: VecDeque<FileSplit>,
    /// The split that is being read, with the position behind the last row handed on.
    current: Option<(FileSplit, Feed<Rest>)>,
    no_more: bool,
}

impl ParquetReader {
    pub(in super::super) fn new(scan: Arc<ParquetScan>, context: ReaderContext) -> Self {
        ParquetReader { scan, context, pending: VecDeque::new(), current: None, no_more: false }
    }
}

impl SourceReader<ChangeBatch> for ParquetReader {
    fn add_splits(&mut self, splits: Vec<Split>) -> Result<()> {
        for split in splits {
            self.pending.push_back(FileSplit::of_payload(&split.payload)?);
        }
        Ok(())
    }

    fn no_more_splits(&mut self) {
        self.no_more = true;
    }

    fn poll(
        &mut self,
        context: &mut PollContext,
        out: &mut dyn SourceOutput<ChangeBatch>,
    ) -> Result<ReaderStatus> {
        let Some((split, feed)) = &mut self.current else {
            let Some(split) = self.pending.pop_front() else {
                context.request_split = !self.no_more;
                return Ok(if self.no_more { ReaderStatus::Finished } else { ReaderStatus::Waiting });
            };
            let rest = Rest { scan: self.scan.clone(), split: split.clone(), rows: None };
            self.current = Some((split, Feed::new(rest)));
            return Ok(ReaderStatus::More);
        };
        let Some(rows) = feed.poll(&*self.context.background, &self.context.waker) else {
            return Ok(ReaderStatus::Waiting);
        };
        match rows.map_err(|e| e.at(split.path.clone()))? {
            Some((rows, before)) => {
                split.line = before + 1;
                if rows.num_rows() > 0 {
                    out.emit(&split.id(), Records::untimed(vec![ChangeBatch::inserts(rows)]))?;
                }
            }
            None => {
                out.finished(&split.id());
                self.current = None;
            }
        }
        Ok(ReaderStatus::More)
    }

    fn snapshot(&mut self) -> Result<Vec<Split>> {
        let current = self.current.iter().map(|(split, _)| split);
        Ok(current.chain(&self.pending).map(FileSplit::to_split).collect())
    }
}

/// All rows of a file.
pub(in super::super) fn read_file(layout: &Arc<Layout>, path: &str, to: &mut Vec<RecordBatch>) -> Result<()> {
    let scan = ParquetScan::new(layout.clone(), &[]);
    let mut rows = Rows::open(&scan, &FileSplit::new(path.to_owned(), 0, None))?;
    while let Some((batch, _)) = rows.next()? {
        to.push(batch);
    }
    Ok(())
}
