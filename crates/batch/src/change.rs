//! Batches of SQL: columns, and what each row does to the table that they describe.

use crate::records::{Batch, Exchanged, Records};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, UInt8Array, UInt64Array};
use arrow::compute::{concat, concat_batches, filter, filter_record_batch, take, take_record_batch};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use flugs_types::{Error, Result, RowKind};
use std::sync::Arc;

/// Rows of a changelog, in columns.
///
/// A batch in which every row is `+I` stores no kinds. Rows keep their order: a `-U` stands before its `+U`, both of one
/// batch or the second at the head of the next.
#[derive(Debug, Clone)]
pub struct ChangeBatch {
    rows: RecordBatch,
    /// One [`RowKind`] a row, as its number; never null.
    kinds: Option<UInt8Array>,
}

impl Default for ChangeBatch {
    fn default() -> Self {
        ChangeBatch { rows: RecordBatch::new_empty(Arc::new(Schema::empty())), kinds: None }
    }
}

impl ChangeBatch {
    /// Rows that are all `+I`.
    pub fn inserts(rows: RecordBatch) -> Self {
        ChangeBatch { rows, kinds: None }
    }

    /// Rows with their kinds, of which there must be as many.
    pub fn new(rows: RecordBatch, kinds: &[RowKind]) -> Result<Self> {
        if rows.num_rows() != kinds.len() {
            return Err(Error::bug(format!("{} kinds for {} rows", kinds.len(), rows.num_rows())));
        }
        Ok(ChangeBatch::with_kinds(rows, UInt8Array::from_iter_values(kinds.iter().map(|k| *k as u8))))
    }

    /// The same with kinds as numbers; all of them zero is the same as none.
    fn with_kinds(rows: RecordBatch, kinds: UInt8Array) -> Self {
        let kinds = kinds.values().iter().any(|k| *k != RowKind::Insert as u8).then_some(kinds);
        ChangeBatch { rows, kinds }
    }

    /// The columns.
    pub fn rows(&self) -> &RecordBatch {
        &self.rows
    }

    /// The columns, without the kinds.
    pub fn into_rows(self) -> RecordBatch {
        self.rows
    }

    /// The schema of the columns.
    pub fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }

    /// A column.
    pub fn column(&self, index: usize) -> &ArrayRef {
        self.rows.column(index)
    }

    /// Whether every row is `+I`.
    pub fn is_insert_only(&self) -> bool {
        self.kinds.is_none()
    }

    /// What a row does.
    #[inline]
    pub fn kind(&self, row: usize) -> RowKind {
        self.kinds.as_ref().map_or(RowKind::Insert, |kinds| kind_of(kinds.value(row)))
    }

    /// The numbers of the kinds, where not every row is `+I`.
    pub fn kind_numbers(&self) -> Option<&[u8]> {
        self.kinds.as_ref().map(|kinds| &kinds.values()[..])
    }

    /// Other columns for the same rows, with their kinds.
    pub fn with_rows(&self, rows: RecordBatch) -> Result<Self> {
        if rows.num_rows() != self.rows.num_rows() {
            return Err(Error::bug(format!("{} rows in place of {}", rows.num_rows(), self.rows.num_rows())));
        }
        Ok(ChangeBatch { rows, kinds: self.kinds.clone() })
    }

    /// The rows from `offset` on, `length` of them, sharing memory with these.
    #[must_use]
    pub fn slice(&self, offset: usize, length: usize) -> Self {
        let rows = self.rows.slice(offset, length);
        match &self.kinds {
            Some(kinds) => ChangeBatch::with_kinds(rows, kinds.slice(offset, length)),
            None => ChangeBatch::inserts(rows),
        }
    }

    /// The rows for which `keep` is true.
    pub fn filter(&self, keep: &BooleanArray) -> Result<Self> {
        let rows = filter_record_batch(&self.rows, keep).map_err(arrow_bug)?;
        let Some(kinds) = &self.kinds else { return Ok(ChangeBatch::inserts(rows)) };
        Ok(ChangeBatch::with_kinds(rows, numbers(&filter(kinds, keep).map_err(arrow_bug)?)?))
    }

    /// These rows in this order, some perhaps more than once.
    pub fn take(&self, indices: &UInt64Array) -> Result<Self> {
        let rows = take_record_batch(&self.rows, indices).map_err(arrow_bug)?;
        let Some(kinds) = &self.kinds else { return Ok(ChangeBatch::inserts(rows)) };
        Ok(ChangeBatch::with_kinds(rows, numbers(&take(kinds, indices, None).map_err(arrow_bug)?)?))
    }

    /// All rows of these batches, which have one schema.
    pub fn concat(batches: &[ChangeBatch]) -> Result<Self> {
        let Some(first) = batches.first() else { return Ok(ChangeBatch::default()) };
        let rows =
            concat_batches(&first.rows.schema(), batches.iter().map(|b| &b.rows)).map_err(arrow_bug)?;
        if batches.iter().all(ChangeBatch::is_insert_only) {
            return Ok(ChangeBatch::inserts(rows));
        }
        let kinds: Vec<ArrayRef> = batches
            .iter()
            .map(|b| match &b.kinds {
                Some(kinds) => Arc::new(kinds.clone()) as ArrayRef,
                None => Arc::new(UInt8Array::from(vec![RowKind::Insert as u8; b.len()])),
            })
            .collect();
        let kinds = concat(&kinds.iter().map(AsRef::as_ref).collect::<Vec<_>>()).map_err(arrow_bug)?;
        Ok(ChangeBatch { rows, kinds: Some(numbers(&kinds)?) })
    }
}

fn kind_of(number: u8) -> RowKind {
    match number {
        0 => RowKind::Insert,
        1 => RowKind::UpdateBefore,
        2 => RowKind::UpdateAfter,
        _ => RowKind::Delete,
    }
}

fn numbers(kinds: &ArrayRef) -> Result<UInt8Array> {
    kinds.as_any().downcast_ref().cloned().ok_or_else(|| Error::bug("row kinds are bytes"))
}

fn arrow_bug(e: arrow::error::ArrowError) -> Error {
    Error::bug("columns do not fit each other").caused_by(e)
}

impl Batch for ChangeBatch {
    fn len(&self) -> usize {
        self.rows.num_rows()
    }
}

/// A schema's columns compared by name and type: metadata may differ between branches of a union.
impl Exchanged for ChangeBatch {
    /// What the columns hold; columns that share buffers count as if they did not.
    fn bytes(&self) -> usize {
        self.rows.columns().iter().map(column_bytes).sum()
    }

    fn append(&mut self, other: Self) {
        if self.is_empty() {
            *self = other;
        } else if !other.is_empty() {
            let both = [std::mem::take(self), other];
            // Both come from one sender of one stream.
            *self = ChangeBatch::concat(&both).expect("batches of a stream have one schema");
        }
    }
}

fn column_bytes(column: &ArrayRef) -> usize {
    let own = column.to_data().get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size());
    // Of views that counts the views alone.
    own + match column.data_type() {
        DataType::Utf8View => column.as_string_view().total_buffer_bytes_used(),
        DataType::BinaryView => column.as_binary_view().total_buffer_bytes_used(),
        _ => 0,
    }
}

/// What sources of SQL give and sinks of SQL take: records that are batches.
impl Exchanged for Records<ChangeBatch> {
    fn bytes(&self) -> usize {
        self.values.iter().map(Exchanged::bytes).sum()
    }

    fn append(&mut self, mut other: Self) {
        self.values.append(&mut other.values);
        self.times.append(&mut other.times);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int64Array, RecordBatch};

    fn batch(values: &[i64], kinds: &[RowKind]) -> ChangeBatch {
        let column: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
        ChangeBatch::new(RecordBatch::try_from_iter([("v", column)]).unwrap(), kinds).unwrap()
    }

    fn kinds(batch: &ChangeBatch) -> Vec<RowKind> {
        (0..batch.len()).map(|row| batch.kind(row)).collect()
    }

    #[test]
    fn kinds_follow_their_rows() {
        use RowKind::{Delete, Insert, UpdateAfter, UpdateBefore};
        let rows = batch(&[1, 1, 2, 3], &[Insert, UpdateBefore, UpdateAfter, Delete]);
        assert_eq!(kinds(&rows.slice(1, 2)), [UpdateBefore, UpdateAfter]);
        assert!(rows.slice(0, 1).is_insert_only());
        let kept = rows.filter(&BooleanArray::from(vec![false, true, false, true])).unwrap();
        assert_eq!((kinds(&kept), kept.len()), (vec![UpdateBefore, Delete], 2));
        assert_eq!(kinds(&rows.take(&UInt64Array::from(vec![3, 0, 3])).unwrap()), [Delete, Insert, Delete]);
        let mut all = ChangeBatch::default();
        all.append(batch(&[7], &[Insert]));
        assert!(all.is_insert_only());
        all.append(rows);
        assert_eq!(kinds(&all), [Insert, Insert, UpdateBefore, UpdateAfter, Delete]);
        assert!(ChangeBatch::new(all.into_rows(), &[]).is_err());
    }
}
