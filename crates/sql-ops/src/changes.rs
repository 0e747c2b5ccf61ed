//! The changes from old rows to new ones.

use crate::row::RowCodec;
use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::cmp::not_distinct;
use arrow::compute::{interleave, take};
use arrow::datatypes::{DataType, SchemaRef};
use flugs_batch::ChangeBatch;
use flugs_types::{Error, Result, RowKind};
use std::slice::from_ref;

fn misfit(e: arrow::error::ArrowError) -> Error {
    Error::bug("results do not fit their schema").caused_by(e)
}

/// For which rows all columns are equal, as SQL's `DISTINCT` sees it.
pub(crate) fn equal_rows(a: &[ArrayRef], b: &[ArrayRef], rows: usize) -> Result<BooleanBuffer> {
    let mut equal = BooleanBuffer::new_set(rows);
    for (a, b) in a.iter().zip(b) {
        let same = if matches!(a.data_type(), DataType::Null) {
            continue;
        } else if a.data_type().is_nested() || matches!(a.data_type(), DataType::Interval(_)) {
            let codec = RowCodec::new(&[a.data_type().clone()])?;
            let (a, b) = (codec.encode(from_ref(a), rows)?, codec.encode(from_ref(b), rows)?);
            a.iter().zip(b.iter()).map(|(a, b)| a == b).collect()
        } else {
            let same = not_distinct(a, b).map_err(misfit)?;
            same.values().clone()
        };
        equal = &equal & &same;
    }
    Ok(equal)
}

/// Collects changes, each a row of the old or of the new values of a group.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    kinds: Vec<RowKind>,
    /// 0 for the old values and 1 for the new ones, and the group.
    from: Vec<(usize, usize)>,
}

impl Changes {
    /// The group's old row, with this kind.
    pub(crate) fn old(&mut self, kind: RowKind, group: usize) {
        self.kinds.push(kind);
        self.from.push((0, group));
    }

    /// The group's new row, with this kind.
    pub(crate) fn new_row(&mut self, kind: RowKind, group: usize) {
        self.kinds.push(kind);
        self.from.push((1, group));
    }

    /// The columns of the changes: for each group the key columns from row `rows[group]` of `keys`, then values.
    pub(crate) fn columns(
        &self,
        keys: &[ArrayRef],
        rows: &[u32],
        old: &[ArrayRef],
        new: &[ArrayRef],
    ) -> Result<Vec<ArrayRef>> {
        let places =
            UInt64Array::from_iter_values(self.from.iter().map(|(_, group)| u64::from(rows[*group])));
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(keys.len() + new.len());
        for key in keys {
            columns.push(take(key, &places, None).map_err(misfit)?);
        }
        let all_new = self.from.len() == rows.len()
            && self.from.iter().enumerate().all(|(group, from)| *from == (1, group));
        for (at, new) in new.iter().enumerate() {
            columns.push(match old.get(at) {
                _ if all_new => new.clone(),
                Some(old) => interleave(&[old.as_ref(), new.as_ref()], &self.from).map_err(misfit)?,
                None => interleave(&[new.as_ref(), new.as_ref()], &self.from).map_err(misfit)?,
            });
        }
        Ok(columns)
    }

    /// A batch of the changes whose columns are those that [`columns`](Self::columns) gives.
    pub(crate) fn batch(
        &self,
        schema: &SchemaRef,
        keys: &[ArrayRef],
        rows: &[u32],
        old: &[ArrayRef],
        new: &[ArrayRef],
    ) -> Result<ChangeBatch> {
        self.of_columns(schema, self.columns(keys, rows, old, new)?)
    }

    /// The changes as rows of these columns.
    pub(crate) fn of_columns(&self, schema: &SchemaRef, columns: Vec<ArrayRef>) -> Result<ChangeBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(self.kinds.len()));
        let rows = RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(misfit)?;
        ChangeBatch::new(rows, &self.kinds)
    }

    /// Whether there is no change.
    pub(crate) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }
}
