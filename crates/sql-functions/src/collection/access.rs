//! Elements of arrays, values of maps and fields of rows.

use super::gather::{Comparable, Lists, together};
use super::{entry_of, item_of};
use crate::registry::{Category, FunctionRegistry};
use crate::support::{
    Call, Definition, Parameter, Types, common_type, data_error, planning_error, type_name,
};
use arrow::array::{Array, ArrayRef, AsArray, Int32Array, UInt32Array, new_null_array};
use arrow::compute::take;
use arrow::datatypes::DataType;
use datafusion_common::{Result, ScalarValue};
use flugs_sql_types::LogicalType;
use std::sync::Arc;

const COLLECTION: Parameter = Parameter::Other("ARRAY or MAP", |given| {
    matches!(given, DataType::Null | DataType::List(_) | DataType::Map(..)).then(|| given.clone())
});
const ROW: Parameter = Parameter::Other("ROW", |given| {
    matches!(given, DataType::Null | DataType::Struct(_)).then(|| given.clone())
});

pub(super) fn register(registry: &mut FunctionRegistry) {
    let text = "How many elements or entries there are.";
    let cardinality =
        Definition::new(Category::Collection, "CARDINALITY", "CARDINALITY(array or map)", text, cardinality);
    registry.define(cardinality.takes(&[COLLECTION]).returns(LogicalType::Int));

    let text = "The only element; NULL of an empty array, an error of more.";
    let element = Definition::new(Category::Collection, "ELEMENT", "ELEMENT(array)", text, element);
    let element = element.takes(&[Parameter::Array]).coerced_by(super::arrays_of_one_type).nullable();
    registry.define(element.returns_by(element_type));

    let text = "The element at a position from 1, or the value of a key; NULL where there is none.";
    let item = Definition::new(Category::Collection, "ITEM", "array[position] or map[key]", text, item);
    let item = item.aliases(&["ELEMENT_AT"]).takes(&[COLLECTION, Parameter::Any]).coerced_by(position_or_key);
    registry.define(item.nullable().returns_by(|types| match types.kind(0) {
        LogicalType::Map(_, value) => Ok(value.kind.clone()),
        _ => {
            if let Some(position) = types.constant(1).and_then(|p| p.cast_to(&DataType::Int64).ok())
                && matches!(position, ScalarValue::Int64(Some(..1)))
            {
                return Err(planning_error(format!(
                    "the elements of an array are counted from 1, not {position}"
                )));
            }
            element_type(types)
        }
    }));

    let field =
        Definition::new(Category::Collection, "GET_FIELD", "row.field", "A field of a row.", get_field);
    registry.define(field.takes(&[ROW, Parameter::String]).nullable().returns_by(|types| {
        let LogicalType::Row(fields) = types.kind(0) else { return Ok(LogicalType::Null) };
        let name = match types.constant(1) {
            Some(ScalarValue::Utf8View(Some(name)) | ScalarValue::Utf8(Some(name))) => name,
            _ => return Err(planning_error("the name of a field is to be a string literal")),
        };
        let field = fields.iter().find(|f| f.name == *name);
        field.map(|f| f.sql_type.kind.clone()).ok_or_else(|| {
            let names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
            planning_error(format!("the row has no field `{name}`, only {}", names.join(", ")))
        })
    }));
}

fn element_type(types: &Types<'_>) -> Result<LogicalType> {
    match types.kind(0) {
        LogicalType::Array(item) => Ok(item.kind.clone()),
        other => Ok(other.clone()),
    }
}

fn position_or_key(given: &[DataType]) -> Result<Vec<DataType>> {
    let index = match (item_of(&given[0]), entry_of(&given[0])) {
        (Some(_), _) => Parameter::BigInt.accept(&given[1]),
        (_, Some((key, _))) => {
            common_type(key.data_type(), &given[1]).filter(|common| common == key.data_type())
        }
        _ => Some(given[1].clone()),
    };
    let index = index.ok_or_else(|| {
        planning_error(format!("{} has no element at a {}", type_name(&given[0]), type_name(&given[1])))
    })?;
    Ok(vec![given[0].clone(), index])
}

fn cardinality(call: &Call<'_>) -> Result<ArrayRef> {
    let array = call.array(0)?;
    let offsets = match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().offsets().clone(),
        DataType::Map(..) => array.as_map().offsets().clone(),
        _ => return Ok(new_null_array(&DataType::Int32, call.rows)),
    };
    let lengths: Vec<i32> = offsets.windows(2).map(|ends| ends[1] - ends[0]).collect();
    Ok(Arc::new(Int32Array::new(lengths.into(), array.nulls().cloned())))
}

fn element(call: &Call<'_>) -> Result<ArrayRef> {
    let lists = Lists::new(call, 0)?;
    let only = |row| match lists.range(row) {
        Some(range) if range.len() > 1 => {
            Err(data_error(format!("ELEMENT takes an array of one element, not of {}", range.len())))
        }
        range => Ok(range.filter(|r| !r.is_empty()).map(|r| r.start as u32)),
    };
    let indices = (0..call.rows).map(only).collect::<Result<UInt32Array>>()?;
    Ok(take(lists.values(), &indices, None)?)
}

fn item(call: &Call<'_>) -> Result<ArrayRef> {
    match call.type_of(0) {
        DataType::List(_) => item_of_array(call),
        DataType::Map(..) => item_of_map(call),
        _ => Ok(new_null_array(call.data_type(), call.rows)),
    }
}

fn item_of_array(call: &Call<'_>) -> Result<ArrayRef> {
    let (lists, positions) = (Lists::new(call, 0)?, call.big_ints(1));
    let at = |row| {
        let (range, position) = (lists.range(row)?, positions.get(row)?);
        let within = usize::try_from(position).ok()?.checked_sub(1)?;
        (within < range.len()).then(|| (range.start + within) as u32)
    };
    let indices: UInt32Array = (0..call.rows).map(at).collect();
    Ok(take(lists.values(), &indices, None)?)
}

fn item_of_map(call: &Call<'_>) -> Result<ArrayRef> {
    let maps = call.array(0)?;
    let maps = maps.as_map();
    let (keys, starts) = together(&[maps.keys(), call.raw(1)])?;
    let comparable = Comparable::new(&keys)?;
    let stride = usize::from(!call.is_constant(1));
    let offsets = maps.value_offsets();
    let at = |row: usize| {
        let wanted = starts[1] + row * stride;
        if maps.is_null(row) || keys.is_null(wanted) {
            return None;
        }
        let entries = offsets[row] as usize..offsets[row + 1] as usize;
        // The last of equal keys counts.
        entries.rev().find(|entry| comparable.equal(*entry, wanted)).map(|entry| entry as u32)
    };
    let indices: UInt32Array = (0..call.rows).map(at).collect();
    Ok(take(maps.values(), &indices, None)?)
}

fn get_field(call: &Call<'_>) -> Result<ArrayRef> {
    let rows = call.array(0)?;
    let Some(rows) = rows.as_struct_opt() else {
        return Ok(new_null_array(call.data_type(), call.rows));
    };
    let name = call.strings(1).get(0).unwrap_or_default();
    let column =
        rows.column_by_name(name).ok_or_else(|| planning_error(format!("the row has no field `{name}`")))?;
    match rows.nulls() {
        None => Ok(column.clone()),
        // A field of NULL is NULL.
        Some(nulls) => {
            let null_rows = arrow::array::BooleanArray::new(!nulls.inner(), None);
            Ok(arrow::compute::nullif(column, &null_rows)?)
        }
    }
}
