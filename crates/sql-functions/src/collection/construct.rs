//! Makers of arrays, maps and rows.

use super::gather::{Comparable, Gather, together};
use super::{entry_of, of_one_type};
use crate::registry::{Category, FunctionRegistry};
use crate::support::{Call, Definition, Parameter, Types, data_error, planning_error};
use arrow::array::{Array, ArrayRef, AsArray, MapArray, StructArray};
use arrow::compute::take;
use arrow::datatypes::DataType;
use datafusion_common::{Result, ScalarValue};
use flugs_sql_types::{LogicalType, RowField, SqlType};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) fn register(registry: &mut FunctionRegistry) {
    let array = Definition::new(
        Category::Construction,
        "ARRAY",
        "ARRAY[value, ...]",
        "An array of values.",
        make_array,
    );
    let array = array.takes(&[Parameter::Any]).repeats(Parameter::Any).coerced_by(of_one_type).not_null();
    registry.define(
        array.returns_by(|types| Ok(LogicalType::Array(Box::new(common(&types.types, types.kind(0)))))),
    );

    let text = "A map of keys and values.";
    let map = Definition::new(Category::Construction, "MAP", "MAP[key, value, ...]", text, make_map);
    let map =
        map.takes(&[Parameter::Any, Parameter::Any]).repeats(Parameter::Any).coerced_by(keys_and_values);
    registry.define(map.not_null().returns_by(|types| {
        let every = |first: usize| types.types.iter().skip(first).step_by(2).cloned().collect::<Vec<_>>();
        let key = types.kind(0).clone().not_null();
        let value = common(&every(1), types.kind(1));
        Ok(LogicalType::Map(Box::new(key), Box::new(value)))
    }));

    let text = "A row of values.";
    let row = Definition::new(Category::Construction, "ROW", "ROW(value, ...)", text, make_row);
    registry.define(row.takes(&[Parameter::Any]).repeats(Parameter::Any).not_null().returns_by(|types| {
        let field = |(i, t): (usize, &SqlType)| RowField::new(format!("EXPR${i}"), t.clone());
        Ok(LogicalType::Row(types.types.iter().enumerate().map(field).collect()))
    }));

    let text = "A row with named fields; the class is not kept.";
    let usage = "OBJECT_OF(class, name, value, ...)";
    let object = Definition::new(Category::Construction, "OBJECT_OF", usage, text, |call| {
        make_row_of(call, |i| i % 2 == 0 && i > 0)
    });
    registry.define(
        object
            .takes(&[Parameter::String])
            .repeats(Parameter::Any)
            .not_null()
            .returns_by(|types| named_fields(types).map(LogicalType::Row)),
    );

    let text = "A row with some fields changed.";
    let usage = "OBJECT_UPDATE(row, name, value, ...)";
    let update = Definition::new(Category::Construction, "OBJECT_UPDATE", usage, text, update_row);
    registry.define(update.takes(&[Parameter::Any]).repeats(Parameter::Any).returns_by(|types| {
        let LogicalType::Row(mut fields) = types.kind(0).clone() else {
            return Err(planning_error("OBJECT_UPDATE changes a row"));
        };
        for changed in named_fields(types)? {
            match fields.iter_mut().find(|f| f.name == changed.name) {
                Some(field) if field.sql_type.kind == changed.sql_type.kind => {
                    field.sql_type = changed.sql_type
                }
                Some(field) => {
                    let (name, was, is) = (&field.name, &field.sql_type.kind, &changed.sql_type.kind);
                    return Err(planning_error(format!(
                        "the field `{name}` is {was}, not {is}; CAST the value"
                    )));
                }
                None => return Err(planning_error(format!("the row has no field `{}`", changed.name))),
            }
        }
        Ok(LogicalType::Row(fields))
    }));
}

/// The type of elements of one kind: NULL is one of them where it may be in any place.
fn common(types: &[SqlType], kind: &LogicalType) -> SqlType {
    let nullable = types.iter().any(|t| t.nullable || t.kind == LogicalType::Null);
    SqlType { kind: kind.clone(), nullable }
}

/// The names and types of `name, value` pairs behind the first argument.
fn named_fields(types: &Types<'_>) -> Result<Vec<RowField>> {
    if types.types.len().is_multiple_of(2) {
        return Err(planning_error(format!("{} takes names and values in pairs", types.name)));
    }
    let field = |i: usize| match types.constant(i) {
        Some(ScalarValue::Utf8View(Some(name)) | ScalarValue::Utf8(Some(name))) => {
            Ok(RowField::new(name.clone(), types.types[i + 1].clone()))
        }
        _ => Err(planning_error(format!("the names of {} are to be string literals", types.name))),
    };
    (1..types.types.len()).step_by(2).map(field).collect()
}

fn keys_and_values(given: &[DataType]) -> Result<Vec<DataType>> {
    if given.len() % 2 == 1 {
        return Err(planning_error("MAP takes keys and values in pairs"));
    }
    let every = |first: usize| given.iter().skip(first).step_by(2).cloned().collect::<Vec<_>>();
    let (keys, values) = (of_one_type(&every(0))?, of_one_type(&every(1))?);
    Ok(keys.into_iter().zip(values).flat_map(|(key, value)| [key, value]).collect())
}

/// Columns of arguments in one, and where the value of an argument in a row is in it.
fn arguments(
    call: &Call<'_>,
    of: impl Iterator<Item = usize>,
) -> Result<(ArrayRef, impl Fn(usize, usize) -> usize)> {
    let of: Vec<usize> = of.collect();
    let columns: Vec<&ArrayRef> = of.iter().map(|i| call.raw(*i)).collect();
    let (source, starts) = together(&columns)?;
    let strides: Vec<usize> = of.iter().map(|i| usize::from(!call.is_constant(*i))).collect();
    Ok((source, move |nth: usize, row: usize| starts[nth] + row * strides[nth]))
}

fn make_array(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, at) = arguments(call, 0..call.len())?;
    let mut gather = Gather::with_capacity(call.rows);
    for row in 0..call.rows {
        for nth in 0..call.len() {
            gather.push(at(nth, row));
        }
        gather.end_row(true)?;
    }
    gather.finish(call, &source)
}

fn make_map(call: &Call<'_>) -> Result<ArrayRef> {
    let (keys, key_at) = arguments(call, (0..call.len()).step_by(2))?;
    let (values, value_at) = arguments(call, (1..call.len()).step_by(2))?;
    let mut builder = MapGather::new(keys, call.rows)?;
    for row in 0..call.rows {
        for nth in 0..call.len() / 2 {
            builder.push(key_at(nth, row), value_at(nth, row))?;
        }
        builder.end_row(true)?;
    }
    builder.finish(call, &values)
}

/// Puts maps together from keys and values of two columns.
pub(super) struct MapGather {
    keys: ArrayRef,
    comparable: Comparable,
    gather: Gather,
    values: Vec<u32>,
    /// Where a key of the row being made is, once there are many.
    known: HashMap<Vec<u8>, usize>,
}

impl MapGather {
    pub(super) fn new(keys: ArrayRef, rows: usize) -> Result<MapGather> {
        let comparable = Comparable::new(&keys)?;
        let gather = Gather::with_capacity(rows);
        Ok(MapGather { keys, comparable, gather, values: Vec::new(), known: HashMap::new() })
    }

    /// Another entry of the map being made; it replaces one with an equal key.
    pub(super) fn push(&mut self, key: usize, value: usize) -> Result<()> {
        if self.keys.is_null(key) {
            return Err(data_error("the key of a map is NULL"));
        }
        let row_start = self.values.len() - self.gather.row().len();
        if let Some(at) = self.find(key) {
            self.values[row_start + at] = value as u32;
            return Ok(());
        }
        self.gather.push(key);
        self.values.push(value as u32);
        Ok(())
    }

    /// The place of an equal key in the map being made.
    fn find(&mut self, key: usize) -> Option<usize> {
        const FEW: usize = 16;
        let row = self.gather.row();
        if row.len() < FEW {
            return row.iter().position(|known| self.comparable.equal(*known as usize, key));
        }
        if self.known.is_empty() {
            let keys = row.iter().enumerate();
            self.known = keys.map(|(at, key)| (self.comparable.key(*key as usize).to_vec(), at)).collect();
        }
        let at = row.len();
        let bytes = self.comparable.key(key);
        match self.known.get(bytes) {
            Some(at) => Some(*at),
            None => {
                self.known.insert(bytes.to_vec(), at);
                None
            }
        }
    }

    /// Ends the map: NULL where it is not `valid`.
    pub(super) fn end_row(&mut self, valid: bool) -> Result<()> {
        self.known.clear();
        self.gather.end_row(valid)
    }

    /// The maps, with values of `values`.
    pub(super) fn finish(self, call: &Call<'_>, values: &ArrayRef) -> Result<ArrayRef> {
        let data_type = call.data_type();
        let (DataType::Map(entries, sorted), Some((key, value))) = (data_type, entry_of(data_type)) else {
            return Err(planning_error("the result is a map"));
        };
        let (offsets, nulls, indices) = self.gather.parts();
        let as_typed = |array: ArrayRef, to: &DataType| -> Result<ArrayRef> {
            if array.data_type() == to { Ok(array) } else { Ok(arrow::compute::cast(&array, to)?) }
        };
        let keys = as_typed(take(&self.keys, &indices, None)?, key.data_type())?;
        let indices = arrow::array::UInt32Array::from(self.values);
        let values = as_typed(take(values, &indices, None)?, value.data_type())?;
        let fields = vec![key.clone(), value.clone()].into();
        let of_entries = StructArray::try_new(fields, vec![keys, values], None)?;
        Ok(Arc::new(MapArray::try_new(entries.clone(), offsets, of_entries, nulls, *sorted)?))
    }
}

fn make_row(call: &Call<'_>) -> Result<ArrayRef> {
    make_row_of(call, |_| true)
}

/// A row of the arguments that are `wanted`.
fn make_row_of(call: &Call<'_>, wanted: impl Fn(usize) -> bool) -> Result<ArrayRef> {
    let DataType::Struct(fields) = call.data_type() else {
        return Err(planning_error("the result is a row"));
    };
    if fields.is_empty() {
        return Ok(Arc::new(StructArray::new_empty_fields(call.rows, None)));
    }
    let columns =
        (0..call.len()).filter(|i| wanted(*i)).map(|i| call.array(i)).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(StructArray::try_new(fields.clone(), columns, None)?))
}

fn update_row(call: &Call<'_>) -> Result<ArrayRef> {
    let rows = call.array(0)?;
    let (DataType::Struct(fields), Some(rows)) = (call.data_type(), rows.as_struct_opt()) else {
        return Err(planning_error("OBJECT_UPDATE changes a row"));
    };
    let mut columns = rows.columns().to_vec();
    for i in (1..call.len()).step_by(2) {
        let name = call.strings(i).get(0);
        let at = name.and_then(|name| fields.iter().position(|f| f.name() == name));
        let at = at.ok_or_else(|| planning_error("OBJECT_UPDATE names a field of the row"))?;
        columns[at] = call.array(i + 1)?;
    }
    Ok(Arc::new(StructArray::try_new(fields.clone(), columns, rows.nulls().cloned())?))
}
