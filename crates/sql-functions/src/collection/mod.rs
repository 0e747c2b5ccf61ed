//! Arrays, maps and rows: makers, access, and functions over their elements.
//!
//! The parser turns the special syntax of SQL into calls:
//!
//! | syntax | call |
//! | --- | --- |
//! | `ARRAY[a, b]`, `MAP[k, v, ...]`, `ROW(a, b)` | `array(a, b)`, `map(k, v, ...)`, `row(a, b)` |
//! | `a[i]`, `m[k]` | `item(a, i)`, `item(m, k)` |
//! | `r.f` of an expression | `get_field(r, 'f')` |
//!
//! Elements are equal as in `DISTINCT`: NULL equals NULL, NaN equals NaN, nested values are equal element by element; maps with
//! the same entries in another order are not. A key is never NULL, which Arrow cannot store: where one would be, the query fails.
//! Of equal keys the last value counts. There are no structured types: `OBJECT_OF` gives a `ROW` and forgets the class.

mod access;
mod arrays;
mod construct;
mod gather;
mod maps;
mod ordered;
mod sets;
mod split;

#[cfg(test)]
mod tests;

use crate::registry::FunctionRegistry;
use crate::support::{Parameter, common_type, planning_error, type_name};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::Result;
use std::sync::Arc;

/// Adds the functions of this module.
pub(crate) fn register(registry: &mut FunctionRegistry) {
    construct::register(registry);
    access::register(registry);
    arrays::register(registry);
    sets::register(registry);
    ordered::register(registry);
    maps::register(registry);
    split::register(registry);
}

/// An array of strings.
const STRINGS: Parameter = Parameter::Other("ARRAY<STRING>", |given| match given {
    DataType::Null => Some(list_of(DataType::Utf8View)),
    DataType::List(item) => Parameter::String.accept(item.data_type()).map(list_of),
    _ => None,
});

fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", item, true)))
}

/// The field of an array's elements; none where it is no array.
fn item_of(data_type: &DataType) -> Option<&FieldRef> {
    match data_type {
        DataType::List(item) => Some(item),
        _ => None,
    }
}

/// The keys and values of a map.
fn entry_of(data_type: &DataType) -> Option<(&FieldRef, &FieldRef)> {
    let DataType::Map(entries, _) = data_type else { return None };
    match entries.data_type() {
        DataType::Struct(fields) if fields.len() == 2 => Some((&fields[0], &fields[1])),
        _ => None,
    }
}

/// An untyped NULL is an array of untyped NULLs.
fn array_or_null(given: &DataType) -> DataType {
    if *given == DataType::Null { list_of(DataType::Null) } else { given.clone() }
}

/// An array, and behind it an element that is to be of its type.
fn with_element(given: &[DataType]) -> Result<Vec<DataType>> {
    let array = array_or_null(&given[0]);
    let item = item_of(&array).ok_or_else(|| planning_error("the first argument is to be an array"))?;
    let common = common_type(item.data_type(), &given[1]).ok_or_else(|| {
        let (item, element) = (type_name(item.data_type()), type_name(&given[1]));
        planning_error(format!("an array of {item} has no element of type {element}; CAST it"))
    })?;
    let item = item.as_ref().clone().with_data_type(common.clone());
    let mut types = vec![DataType::List(Arc::new(item)), common];
    types.extend_from_slice(&given[2..]);
    Ok(types)
}

/// Arrays or maps that are to be of one type.
fn of_one_type(given: &[DataType]) -> Result<Vec<DataType>> {
    let mut common = given[0].clone();
    for other in &given[1..] {
        common = common_type(&common, other).ok_or_else(|| {
            planning_error(format!(
                "{} and {} have no common type; CAST one",
                type_name(&common),
                type_name(other)
            ))
        })?;
    }
    Ok(vec![common; given.len()])
}

/// Arrays that are to be of one type.
fn arrays_of_one_type(given: &[DataType]) -> Result<Vec<DataType>> {
    of_one_type(&given.iter().map(array_or_null).collect::<Vec<_>>())
}
