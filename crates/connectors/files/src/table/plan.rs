//! What a scan makes of files: which columns are decoded, and which stand in paths and metadata.

use super::partitions::Partitions;
use crate::source::chunks::FileFacts;
use arrow::array::Int64Array;
use arrow::array::{
    Array, ArrayRef, RecordBatch, RecordBatchOptions, StringViewArray, TimestampMillisecondArray, UInt32Array,
};
use arrow::compute::take;
use arrow::datatypes::{Field, Schema, SchemaRef};
use flugs_sql_types::{LTZ, LogicalType, SqlType};
use flugs_table::FieldPath;
use flugs_types::{Error, Result};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// The metadata columns of files.
pub(super) fn metadata_columns() -> Vec<(&'static str, SqlType)> {
    vec![
        ("file.path", LogicalType::STRING.not_null()),
        ("file.name", LogicalType::STRING.not_null()),
        ("file.size", LogicalType::BigInt.not_null()),
        ("file.modification-time", LogicalType::TimestampLtz(3).not_null()),
    ]
}

#[derive(Debug, Clone, Copy)]
enum Metadata {
    Path,
    Name,
    Size,
    Modified,
}

impl Metadata {
    fn of(key: &str) -> Result<Self> {
        Ok(match key {
            "file.path" => Metadata::Path,
            "file.name" => Metadata::Name,
            "file.size" => Metadata::Size,
            "file.modification-time" => Metadata::Modified,
            _ => return Err(Error::job(format!("files have no metadata column '{key}'"))),
        })
    }

    fn value(self, facts: &FileFacts) -> ArrayRef {
        let modified = || facts.modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        match self {
            Metadata::Path => Arc::new(StringViewArray::from(vec![facts.path.as_str()])),
            Metadata::Name => {
                let name = facts.path.rsplit('/').next().unwrap_or_default();
                Arc::new(StringViewArray::from(vec![name]))
            }
            Metadata::Size => Arc::new(Int64Array::from(vec![facts.bytes as i64])),
            Metadata::Modified => {
                let millis = modified().map_or(0, |since| since.as_millis() as i64);
                Arc::new(TimestampMillisecondArray::from(vec![millis]).with_timezone(LTZ))
            }
        }
    }
}

/// Where a column comes from.
#[derive(Debug, Clone, Copy)]
enum Origin {
    Decoded(usize),
    Partition(usize),
    Metadata(Metadata),
}

/// The columns of a scan.
#[derive(Debug)]
pub(super) struct Layout {
    origins: Vec<Origin>,
    schema: SchemaRef,
    partitions: Partitions,
    /// What is decoded, in order.
    pub(super) decoded: Vec<FieldPath>,
    /// Names and types of these.
    pub(super) decoded_schema: SchemaRef,
}

impl Layout {
    pub(super) fn new(
        columns: &[FieldPath],
        metadata: &[String],
        schema: &SchemaRef,
        partitions: Partitions,
    ) -> Result<Self> {
        if columns.len() + metadata.len() != schema.fields().len() {
            return Err(Error::bug("a scan's columns and schema differ"));
        }
        let (mut origins, mut decoded, mut fields) = (Vec::new(), Vec::new(), Vec::<Arc<Field>>::new());
        for (path, field) in columns.iter().zip(schema.fields()) {
            origins.push(match path.0.first().and_then(|name| partitions.position(name)) {
                Some(partition) => Origin::Partition(partition),
                None => {
                    decoded.push(path.clone());
                    fields.push(field.clone());
                    Origin::Decoded(decoded.len() - 1)
                }
            });
        }
        for key in metadata {
            origins.push(Origin::Metadata(Metadata::of(key)?));
        }
        let decoded_schema = Arc::new(Schema::new(fields));
        Ok(Layout { origins, schema: schema.clone(), partitions, decoded, decoded_schema })
    }

    /// What the columns that are not decoded hold for a file: arrays of one row.
    pub(super) fn constants(&self, facts: &FileFacts) -> Result<Vec<Option<ArrayRef>>> {
        let needs_partitions = self.origins.iter().any(|origin| matches!(origin, Origin::Partition(_)));
        let partitions = if needs_partitions { self.partitions.columns(&facts.path)? } else { Vec::new() };
        let constant = |origin: &Origin| match origin {
            Origin::Decoded(_) => None,
            Origin::Partition(i) => partitions.get(*i).cloned(),
            Origin::Metadata(metadata) => Some(metadata.value(facts)),
        };
        Ok(self.origins.iter().map(constant).collect())
    }

    /// All columns, from those that were decoded.
    pub(super) fn complete(
        &self,
        decoded: &RecordBatch,
        constants: &[Option<ArrayRef>],
    ) -> Result<RecordBatch> {
        let rows = decoded.num_rows();
        let first_row = UInt32Array::from(vec![0; rows]);
        let column = |(origin, constant): (&Origin, &Option<ArrayRef>)| -> Result<ArrayRef> {
            match (origin, constant) {
                (Origin::Decoded(i), _) => Ok(decoded.column(*i).clone()),
                (_, Some(value)) => take(&**value as &dyn Array, &first_row, None)
                    .map_err(|e| Error::bug("a constant cannot be repeated").caused_by(e)),
                (_, None) => Err(Error::bug("a column of a file has no value")),
            }
        };
        let columns = self.origins.iter().zip(constants).map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map_err(|e| Error::bug("columns of files are not of the table's types").caused_by(e))
    }
}
