//! Arrays, maps, multisets and rows, converted element by element.
//!
//! Where an element cannot be converted, `TRY_CAST` gives NULL for the whole value, as Flink does.

use super::convert::Conversion;
use crate::support::data_error;
use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray, new_null_array};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use flugs_sql_types::LogicalType;
use std::sync::Arc;

/// A column of nested values as another one of the same shape.
pub(super) fn convert(
    conversion: &Conversion,
    array: &ArrayRef,
    from: &LogicalType,
    to: &LogicalType,
) -> Result<ArrayRef> {
    let strict = Conversion { try_cast: false, ..*conversion };
    match elements(&strict, array, from, to) {
        Err(_) if conversion.try_cast => one_by_one(&strict, array, from, to),
        converted => converted,
    }
}

/// Which rows fail is found out row by row: failures are rare.
fn one_by_one(
    strict: &Conversion,
    array: &ArrayRef,
    from: &LogicalType,
    to: &LogicalType,
) -> Result<ArrayRef> {
    let null = new_null_array(&to.to_arrow(), 1);
    let row = |i| elements(strict, &array.slice(i, 1), from, to).unwrap_or_else(|_| null.clone());
    let rows: Vec<ArrayRef> = (0..array.len()).map(row).collect();
    Ok(arrow::compute::concat(&rows.iter().map(|r| r.as_ref()).collect::<Vec<_>>())?)
}

fn elements(strict: &Conversion, array: &ArrayRef, from: &LogicalType, to: &LogicalType) -> Result<ArrayRef> {
    use LogicalType::*;
    let nulls = array.nulls().cloned();
    match (from, to, to.to_arrow()) {
        (Array(a), Array(b), DataType::List(item)) => {
            let list = array.as_list::<i32>();
            let (first, end) = (list.offsets()[0] as usize, list.offsets()[list.len()] as usize);
            // Elements before and behind a slice may be anything.
            let values = strict.run(&list.values().slice(first, end - first), &a.kind, &b.kind)?;
            let offsets = arrow::buffer::OffsetBuffer::from_lengths(list.offsets().lengths());
            Ok(Arc::new(ListArray::try_new(item, offsets, values, nulls)?))
        }
        (Map(k, v), Map(l, w), DataType::Map(entries, _)) => {
            map(strict, array, entries, [(&k.kind, &l.kind), (&v.kind, &w.kind)])
        }
        (Multiset(a), Multiset(b), DataType::Map(entries, _)) => {
            map(strict, array, entries, [(&a.kind, &b.kind), (&Int, &Int)])
        }
        (Row(a), Row(b), DataType::Struct(fields)) => {
            let rows = array.as_struct();
            let kinds = a.iter().zip(b);
            let columns = rows.columns().iter().zip(kinds);
            let columns = columns
                .map(|(column, (a, b))| strict.run(column, &a.sql_type.kind, &b.sql_type.kind))
                .collect::<Result<Vec<_>>>()?;
            Ok(Arc::new(StructArray::try_new_with_length(fields, columns, nulls, rows.len())?))
        }
        _ => Err(data_error(format!("cannot cast {from} to {to}"))),
    }
}

fn map(
    strict: &Conversion,
    array: &ArrayRef,
    entries: Arc<arrow::datatypes::Field>,
    kinds: [(&LogicalType, &LogicalType); 2],
) -> Result<ArrayRef> {
    let map = array.as_map();
    let (first, end) = (map.offsets()[0] as usize, map.offsets()[map.len()] as usize);
    let keys = strict.run(&map.keys().slice(first, end - first), kinds[0].0, kinds[0].1)?;
    let values = strict.run(&map.values().slice(first, end - first), kinds[1].0, kinds[1].1)?;
    let DataType::Struct(fields) = entries.data_type() else {
        return Err(data_error("the entries of a map are rows"));
    };
    let offsets = arrow::buffer::OffsetBuffer::from_lengths(map.offsets().lengths());
    let pairs = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
    Ok(Arc::new(MapArray::try_new(entries, offsets, pairs, array.nulls().cloned(), false)?))
}
