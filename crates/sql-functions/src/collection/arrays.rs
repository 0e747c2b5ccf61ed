//! Functions that put elements into arrays, take them out, or look for them.

use super::gather::{Comparable, Gather, Lists, together};
use super::{STRINGS, arrays_of_one_type, with_element};
use crate::registry::{Category, FunctionRegistry};
use crate::support::{Call, Definition, Parameter, Types};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int32Array};
use datafusion_common::Result;
use flugs_sql_types::LogicalType;
use std::sync::Arc;

pub(super) fn register(registry: &mut FunctionRegistry) {
    let define = |name, usage, text, body: fn(&Call<'_>) -> Result<ArrayRef>| {
        Definition::new(Category::Collection, name, usage, text, body)
    };
    let element = [Parameter::Array, Parameter::Any];
    let text = "The array with an element behind the last.";
    let append = define("ARRAY_APPEND", "ARRAY_APPEND(array, element)", text, |call| add(call, true));
    let text = "The array with an element before the first.";
    let prepend = define("ARRAY_PREPEND", "ARRAY_PREPEND(array, element)", text, |call| add(call, false));
    for added in [append, prepend] {
        registry
            .define(added.takes(&element).coerced_by(with_element).null_if_first().returns_by(with_added));
    }
    let text = "Whether an element is in the array; NULL is found, too.";
    let contains = define("ARRAY_CONTAINS", "ARRAY_CONTAINS(array, element)", text, contains);
    let contains = contains.takes(&element).coerced_by(with_element).null_if_first();
    registry.define(contains.returns(LogicalType::Boolean));

    let text = "The position of the first equal element, from 1; 0 where there is none.";
    let position = define("ARRAY_POSITION", "ARRAY_POSITION(array, element)", text, position);
    registry.define(position.takes(&element).coerced_by(with_element).returns(LogicalType::Int));

    let text = "The array without the elements that are equal to one; NULL takes NULLs away.";
    let remove = define("ARRAY_REMOVE", "ARRAY_REMOVE(array, element)", text, remove);
    registry.define(remove.takes(&element).coerced_by(with_element).null_if_first().returns_argument(0));

    let text = "The array backwards.";
    let reverse = define("ARRAY_REVERSE", "ARRAY_REVERSE(array)", text, reverse);
    registry.define(reverse.takes(&[Parameter::Array]).coerced_by(arrays_of_one_type).returns_argument(0));

    let text = "The elements from one position to another, which counts; negative ones count from the end.";
    let slice = define("ARRAY_SLICE", "ARRAY_SLICE(array, start[, end])", text, slice);
    let slice = slice.takes(&[Parameter::Array, Parameter::Int]).optionally(&[Parameter::Int]);
    registry.define(slice.coerced_by(first_is_array).returns_argument(0));

    let text = "All arrays one behind the other.";
    let concat = define("ARRAY_CONCAT", "ARRAY_CONCAT(array, ...)", text, concat);
    let concat = concat.takes(&[Parameter::Array]).repeats(Parameter::Array).coerced_by(arrays_of_one_type);
    registry.define(concat.returns_argument(0));

    let text =
        "The strings of an array in one, with a delimiter between them; NULLs are left out or replaced.";
    let join = define("ARRAY_JOIN", "ARRAY_JOIN(array, delimiter[, null_replacement])", text, join);
    registry.define(join.takes(&[STRINGS, Parameter::String]).optionally(&[Parameter::String]));
}

/// The array's type, with NULL among its elements where the added one may be NULL.
fn with_added(types: &Types<'_>) -> Result<LogicalType> {
    let mut array = types.kind(0).clone();
    if let LogicalType::Array(item) = &mut array {
        item.nullable |= types.types[1].nullable;
    }
    Ok(array)
}

fn first_is_array(given: &[arrow::datatypes::DataType]) -> Result<Vec<arrow::datatypes::DataType>> {
    let mut types = given.to_vec();
    types[0] = super::array_or_null(&given[0]);
    Ok(types)
}

/// An argument of arrays and one of elements, the elements of both in one column.
struct WithElement {
    lists: Lists,
    source: ArrayRef,
    start: usize,
    stride: usize,
}

impl WithElement {
    fn new(call: &Call<'_>) -> Result<WithElement> {
        let lists = Lists::new(call, 0)?;
        let (source, starts) = together(&[lists.values(), call.raw(1)])?;
        Ok(WithElement { lists, source, start: starts[1], stride: usize::from(!call.is_constant(1)) })
    }

    /// Where the element of a row is.
    fn element(&self, row: usize) -> usize {
        self.start + row * self.stride
    }
}

fn add(call: &Call<'_>, behind: bool) -> Result<ArrayRef> {
    let given = WithElement::new(call)?;
    let mut gather = Gather::with_capacity(call.rows);
    for row in 0..call.rows {
        let range = given.lists.range(row);
        let valid = range.is_some();
        if let Some(range) = range {
            if !behind {
                gather.push(given.element(row));
            }
            gather.extend(range);
            if behind {
                gather.push(given.element(row));
            }
        }
        gather.end_row(valid)?;
    }
    gather.finish(call, &given.source)
}

fn contains(call: &Call<'_>) -> Result<ArrayRef> {
    let given = WithElement::new(call)?;
    let comparable = Comparable::new(&given.source)?;
    let found = |row| {
        let element = given.element(row);
        given.lists.range(row).map(|mut range| range.any(|i| comparable.equal(i, element)))
    };
    Ok(Arc::new((0..call.rows).map(found).collect::<BooleanArray>()))
}

fn position(call: &Call<'_>) -> Result<ArrayRef> {
    let given = WithElement::new(call)?;
    let comparable = Comparable::new(&given.source)?;
    let found = |row| {
        let element = given.element(row);
        if given.source.is_null(element) {
            return None;
        }
        let found = given.lists.range(row)?.position(|i| comparable.equal(i, element));
        Some(found.map_or(0, |at| at as i32 + 1))
    };
    Ok(Arc::new((0..call.rows).map(found).collect::<Int32Array>()))
}

fn remove(call: &Call<'_>) -> Result<ArrayRef> {
    let given = WithElement::new(call)?;
    let comparable = Comparable::new(&given.source)?;
    let mut gather = Gather::with_capacity(call.rows);
    for row in 0..call.rows {
        let (range, element) = (given.lists.range(row), given.element(row));
        let valid = range.is_some();
        for i in range.into_iter().flatten().filter(|i| !comparable.equal(*i, element)) {
            gather.push(i);
        }
        gather.end_row(valid)?;
    }
    gather.finish(call, &given.source)
}

fn reverse(call: &Call<'_>) -> Result<ArrayRef> {
    let lists = Lists::new(call, 0)?;
    let mut gather = Gather::with_capacity(call.rows);
    for row in 0..call.rows {
        let range = lists.range(row);
        let valid = range.is_some();
        for i in range.into_iter().flatten().rev() {
            gather.push(i);
        }
        gather.end_row(valid)?;
    }
    gather.finish(call, lists.values())
}

fn slice(call: &Call<'_>) -> Result<ArrayRef> {
    let (lists, nulls) = (Lists::new(call, 0)?, call.nulls());
    let (starts, ends) = (call.ints(1), (call.len() > 2).then(|| call.ints(2)));
    let mut gather = Gather::with_capacity(call.rows);
    for row in 0..call.rows {
        let valid = nulls.as_ref().is_none_or(|n| n.is_valid(row));
        if let (true, Some(range)) = (valid, lists.range(row)) {
            let length = range.len() as i64;
            let from_end = |position: i32| {
                let position = i64::from(position);
                if position < 0 { position + length + 1 } else { position }
            };
            let start = from_end(starts.any(row)).max(1);
            let end = match ends.as_ref().map_or(length, |ends| from_end(ends.any(row))) {
                // 0 is the beginning of the array, too.
                0 => 1,
                end => end,
            };
            if start <= end.min(length) {
                gather.extend(range.start + start as usize - 1..range.start + end.min(length) as usize);
            }
        }
        gather.end_row(valid)?;
    }
    gather.finish(call, lists.values())
}

fn concat(call: &Call<'_>) -> Result<ArrayRef> {
    let lists = (0..call.len()).map(|i| Lists::new(call, i)).collect::<Result<Vec<_>>>()?;
    let (source, starts) = together(&lists.iter().map(Lists::values).collect::<Vec<_>>())?;
    let mut gather = Gather::with_capacity(call.rows);
    for row in 0..call.rows {
        let ranges: Option<Vec<_>> = lists.iter().map(|l| l.range(row)).collect();
        let valid = ranges.is_some();
        for (range, start) in ranges.into_iter().flatten().zip(&starts) {
            gather.extend(range.start + start..range.end + start);
        }
        gather.end_row(valid)?;
    }
    gather.finish(call, &source)
}

fn join(call: &Call<'_>) -> Result<ArrayRef> {
    let (lists, delimiters) = (Lists::new(call, 0)?, call.strings(1));
    let replacements = (call.len() > 2).then(|| call.strings(2));
    let elements = lists.values().as_string_view();
    call.texts(|row, out| {
        let replacement = match replacements.as_ref().map(|r| r.get(row)) {
            Some(None) => return Ok(false),
            replacement => replacement.flatten(),
        };
        let (Some(range), Some(delimiter)) = (lists.range(row), delimiters.get(row)) else {
            return Ok(false);
        };
        let mut first = true;
        for i in range {
            let element = if elements.is_null(i) { replacement } else { Some(elements.value(i)) };
            if let Some(element) = element {
                if !first {
                    out.push_str(delimiter);
                }
                out.push_str(element);
                first = false;
            }
        }
        Ok(true)
    })
}
