//! Columns of arrays, made of elements that are there already.

use super::item_of;
use crate::support::{Call, data_error, planning_error};
use arrow::array::{Array, ArrayRef, AsArray, Float32Array, Float64Array, ListArray, UInt32Array};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::take;
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use arrow::row::{RowConverter, Rows, SortField};
use datafusion_common::Result;
use std::ops::Range;
use std::sync::Arc;

/// The arrays of an argument.
pub(super) struct Lists {
    list: ListArray,
}

impl Lists {
    pub(super) fn new(call: &Call<'_>, argument: usize) -> Result<Lists> {
        let array = call.array(argument)?;
        match array.as_list_opt::<i32>() {
            Some(list) => Ok(Lists { list: list.clone() }),
            None => Err(planning_error("an argument is to be an array")),
        }
    }

    /// All elements.
    pub(super) fn values(&self) -> &ArrayRef {
        self.list.values()
    }

    /// Where the elements of a row are; none where the array is NULL.
    pub(super) fn range(&self, row: usize) -> Option<Range<usize>> {
        let offsets = self.list.value_offsets();
        self.list.is_valid(row).then(|| offsets[row] as usize..offsets[row + 1] as usize)
    }
}

/// Elements that can be compared with each other.
pub(super) struct Comparable(Rows);

impl Comparable {
    pub(super) fn new(values: &ArrayRef) -> Result<Comparable> {
        // -0.0 is 0.0.
        let values: ArrayRef = match values.data_type() {
            DataType::Float32 => {
                let floats: Float32Array = values.as_primitive::<Float32Type>().unary(|v| v + 0.0);
                Arc::new(floats)
            }
            DataType::Float64 => {
                let floats: Float64Array = values.as_primitive::<Float64Type>().unary(|v| v + 0.0);
                Arc::new(floats)
            }
            _ => values.clone(),
        };
        let converter = RowConverter::new(vec![SortField::new(values.data_type().clone())])?;
        Ok(Comparable(converter.convert_columns(&[values])?))
    }

    /// Whether two elements are equal; NULL equals NULL.
    pub(super) fn equal(&self, a: usize, b: usize) -> bool {
        self.0.row(a) == self.0.row(b)
    }

    /// The order of two elements that are not NULL.
    pub(super) fn compare(&self, a: usize, b: usize) -> std::cmp::Ordering {
        self.0.row(a).cmp(&self.0.row(b))
    }

    /// What equal elements have in common and others have not.
    pub(super) fn key(&self, a: usize) -> &[u8] {
        self.0.row(a).data()
    }
}

/// Puts rows together from elements of one column.
#[derive(Default)]
pub(super) struct Gather {
    indices: Vec<u32>,
    ends: Vec<i32>,
    valid: Vec<bool>,
}

impl Gather {
    pub(super) fn with_capacity(rows: usize) -> Self {
        Gather { indices: Vec::new(), ends: Vec::with_capacity(rows), valid: Vec::with_capacity(rows) }
    }

    /// Another element of the row being made.
    pub(super) fn push(&mut self, index: usize) {
        self.indices.push(index as u32);
    }

    /// More elements of the row being made.
    pub(super) fn extend(&mut self, indices: Range<usize>) {
        self.indices.extend(indices.map(|i| i as u32));
    }

    /// The elements of the row being made that were pushed until now.
    pub(super) fn row(&self) -> &[u32] {
        &self.indices[self.ends.last().map_or(0, |end| *end as usize)..]
    }

    /// Ends the row: NULL where it is not `valid`.
    pub(super) fn end_row(&mut self, valid: bool) -> Result<()> {
        let end = i32::try_from(self.indices.len());
        self.ends.push(end.map_err(|_| data_error("the arrays of one batch have more than 2^31 elements"))?);
        self.valid.push(valid);
        Ok(())
    }

    /// The arrays, with elements of `source`.
    pub(super) fn finish(self, call: &Call<'_>, source: &ArrayRef) -> Result<ArrayRef> {
        let item = item_of(call.data_type()).ok_or_else(|| planning_error("the result is an array"))?;
        let (offsets, nulls, indices) = self.parts();
        let values = take(source, &indices, None)?;
        let values = if values.data_type() == item.data_type() {
            values
        } else {
            arrow::compute::cast(&values, item.data_type())?
        };
        Ok(Arc::new(ListArray::try_new(item.clone(), offsets, values, nulls)?))
    }

    /// Where rows end, which are NULL, and what they are made of.
    pub(super) fn parts(self) -> (OffsetBuffer<i32>, Option<NullBuffer>, UInt32Array) {
        let offsets: Vec<i32> = std::iter::once(0).chain(self.ends).collect();
        let nulls = NullBuffer::from(self.valid);
        let nulls = (nulls.null_count() > 0).then_some(nulls);
        (OffsetBuffer::new(offsets.into()), nulls, UInt32Array::from(self.indices))
    }
}

/// The elements of several columns in one, and where each column begins.
pub(super) fn together(columns: &[&ArrayRef]) -> Result<(ArrayRef, Vec<usize>)> {
    let mut start = 0;
    let mut starts = Vec::with_capacity(columns.len());
    for column in columns {
        starts.push(start);
        start += column.len();
    }
    if u32::try_from(start).is_err() {
        return Err(data_error("the arrays of one batch have more than 2^32 elements"));
    }
    let columns: Vec<&dyn Array> = columns.iter().map(|c| c.as_ref()).collect();
    Ok((arrow::compute::concat(&columns)?, starts))
}
