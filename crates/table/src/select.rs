//! Columns and fields of batches that are whole already.

use crate::connector::FieldPath;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, make_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, SchemaRef};
use flugs_types::{Error, Result};

/// The columns at these paths, as a batch of this schema.
pub fn select(batch: &RecordBatch, paths: &[FieldPath], schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = paths.iter().map(|path| select_column(batch, path)).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
        .map_err(|e| Error::bug("selected columns are not of the asked types").caused_by(e))
}

/// The column at a path. A field of a `ROW` that is NULL is NULL.
pub fn select_column(batch: &RecordBatch, path: &FieldPath) -> Result<ArrayRef> {
    let absent = || Error::bug(format!("there is no column {}", path.0.join(".")));
    let (first, fields) = path.0.split_first().ok_or_else(absent)?;
    let mut column = batch.column_by_name(first).ok_or_else(absent)?.clone();
    for name in fields {
        if !matches!(column.data_type(), DataType::Struct(_)) {
            return Err(absent());
        }
        let row = column.as_struct();
        let field = row.column_by_name(name).ok_or_else(absent)?;
        let nulls = NullBuffer::union(row.nulls(), field.nulls());
        let data = field.to_data().into_builder().nulls(nulls);
        column = make_array(data.build().map_err(|e| Error::bug("a field is no column").caused_by(e))?);
    }
    Ok(column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int32Array, StructArray};
    use arrow::datatypes::{Field, Fields, Int32Type, Schema};
    use std::sync::Arc;

    #[test]
    fn a_field_of_a_null_row_is_null() {
        let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(2), None]));
        let fields = Fields::from(vec![Field::new("x", DataType::Int32, true)]);
        let nulls = NullBuffer::from(vec![true, false, true]);
        let rows: ArrayRef = Arc::new(StructArray::new(fields, vec![values], Some(nulls)));
        let batch = RecordBatch::try_from_iter([("r", rows)]).unwrap();
        let path = FieldPath(vec!["r".into(), "x".into()]);
        let schema = Arc::new(Schema::new(vec![Field::new("r_x", DataType::Int32, true)]));
        let got = select(&batch, std::slice::from_ref(&path), &schema).unwrap();
        let got: Vec<Option<i32>> = got.column(0).as_primitive::<Int32Type>().iter().collect();
        assert_eq!(got, [Some(1), None, None]);
        assert_eq!(select(&batch, &[], &Arc::new(Schema::empty())).unwrap().num_rows(), 3);
        assert!(select_column(&batch, &FieldPath(vec!["r".into(), "y".into()])).is_err());
    }
}
