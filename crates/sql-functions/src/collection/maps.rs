//! Functions over maps.

use super::construct::MapGather;
use super::gather::{Lists, together};
use super::{array_or_null, of_one_type};
use crate::registry::{Category, FunctionRegistry};
use crate::support::{Call, Definition, Parameter, Types, data_error, planning_error};
use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray, new_null_array};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use flugs_sql_types::{LogicalType, RowField, SqlType};
use std::sync::Arc;

pub(super) fn register(registry: &mut FunctionRegistry) {
    let define = |name, usage, text, body: fn(&Call<'_>) -> Result<ArrayRef>| {
        Definition::new(Category::Collection, name, usage, text, body)
    };
    let keys = define("MAP_KEYS", "MAP_KEYS(map)", "The keys as an array.", |call| {
        parts(call, |map| map.keys().clone())
    });
    registry.define(keys.takes(&[Parameter::Map]).returns_by(|types| of_entry(types, |key, _| key.clone())));

    let text = "The values as an array.";
    let values =
        define("MAP_VALUES", "MAP_VALUES(map)", text, |call| parts(call, |map| map.values().clone()));
    registry.define(
        values.takes(&[Parameter::Map]).returns_by(|types| of_entry(types, |_, value| value.clone())),
    );

    let text = "The entries as an array of rows of key and value.";
    let entries = define("MAP_ENTRIES", "MAP_ENTRIES(map)", text, |call| {
        parts(call, |map| Arc::new(map.entries().clone()) as ArrayRef)
    });
    registry.define(entries.takes(&[Parameter::Map]).returns_by(|types| {
        of_entry(types, |key, value| {
            let fields = vec![RowField::new("key", key.clone()), RowField::new("value", value.clone())];
            LogicalType::Row(fields).not_null()
        })
    }));

    let text = "The entries of all maps; of equal keys the value of the last map counts.";
    let union = define("MAP_UNION", "MAP_UNION(map, ...)", text, union);
    let union = union.takes(&[Parameter::Map]).repeats(Parameter::Map).coerced_by(of_one_type);
    registry.define(union.returns_argument(0));

    let text = "The map of an array of keys and an array of as many values.";
    let from_arrays = define("MAP_FROM_ARRAYS", "MAP_FROM_ARRAYS(keys, values)", text, from_arrays);
    let from_arrays = from_arrays.takes(&[Parameter::Array, Parameter::Array]);
    let from_arrays = from_arrays.coerced_by(|given| Ok(given.iter().map(array_or_null).collect()));
    registry.define(from_arrays.returns_by(|types| match (types.kind(0), types.kind(1)) {
        (LogicalType::Array(key), LogicalType::Array(value)) => {
            Ok(LogicalType::Map(Box::new(key.kind.clone().not_null()), value.clone()))
        }
        _ => Err(planning_error("MAP_FROM_ARRAYS takes two arrays")),
    }));
}

/// An array of what `of` makes of a map's key and value.
fn of_entry(types: &Types<'_>, of: fn(&SqlType, &SqlType) -> SqlType) -> Result<LogicalType> {
    match types.kind(0) {
        LogicalType::Map(key, value) => Ok(LogicalType::Array(Box::new(of(key, value)))),
        other => Ok(LogicalType::Array(Box::new(other.clone().nullable()))),
    }
}

/// The arrays of what is in the entries of maps.
fn parts(call: &Call<'_>, part: fn(&MapArray) -> ArrayRef) -> Result<ArrayRef> {
    let maps = call.array(0)?;
    let (Some(maps), DataType::List(item)) = (maps.as_map_opt(), call.data_type()) else {
        return Ok(new_null_array(call.data_type(), call.rows));
    };
    let values = part(maps);
    let values = match (item.data_type(), values.as_struct_opt()) {
        // The entries of maps from elsewhere may have other names for keys and values.
        (DataType::Struct(fields), Some(entries))
            if values.data_type() != item.data_type() && entries.num_columns() == 2 =>
        {
            Arc::new(StructArray::try_new(fields.clone(), entries.columns().to_vec(), None)?)
        }
        _ => values,
    };
    Ok(Arc::new(ListArray::try_new(item.clone(), maps.offsets().clone(), values, maps.nulls().cloned())?))
}

fn union(call: &Call<'_>) -> Result<ArrayRef> {
    if *call.data_type() == DataType::Null {
        return Ok(new_null_array(&DataType::Null, call.rows));
    }
    let arrays = (0..call.len()).map(|i| call.array(i)).collect::<Result<Vec<_>>>()?;
    let maps: Vec<&MapArray> = arrays.iter().map(|a| a.as_map()).collect();
    let (keys, starts) = together(&maps.iter().map(|m| m.keys()).collect::<Vec<_>>())?;
    let (values, _) = together(&maps.iter().map(|m| m.values()).collect::<Vec<_>>())?;
    let mut gather = MapGather::new(keys, call.rows)?;
    for row in 0..call.rows {
        let valid = maps.iter().all(|m| m.is_valid(row));
        for (map, start) in maps.iter().zip(&starts).filter(|_| valid) {
            let offsets = map.value_offsets();
            for i in offsets[row] as usize + start..offsets[row + 1] as usize + start {
                gather.push(i, i)?;
            }
        }
        gather.end_row(valid)?;
    }
    gather.finish(call, &values)
}

fn from_arrays(call: &Call<'_>) -> Result<ArrayRef> {
    let (keys, values) = (Lists::new(call, 0)?, Lists::new(call, 1)?);
    let mut gather = MapGather::new(keys.values().clone(), call.rows)?;
    for row in 0..call.rows {
        let both = keys.range(row).zip(values.range(row));
        let valid = both.is_some();
        if let Some((keys, values)) = both {
            if keys.len() != values.len() {
                let message = format!(
                    "MAP_FROM_ARRAYS takes as many values as keys, not {} for {}",
                    values.len(),
                    keys.len()
                );
                return Err(data_error(message));
            }
            for (key, value) in keys.zip(values) {
                gather.push(key, value)?;
            }
        }
        gather.end_row(valid)?;
    }
    gather.finish(call, values.values())
}
