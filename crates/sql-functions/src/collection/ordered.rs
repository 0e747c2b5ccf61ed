//! Arrays in order: `ARRAY_SORT`, `ARRAY_MAX`, `ARRAY_MIN`.

use super::gather::{Comparable, Gather, Lists};
use super::{array_or_null, arrays_of_one_type};
use crate::registry::{Category, FunctionRegistry};
use crate::support::{Call, Definition, Parameter, Types};
use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::take;
use datafusion_common::Result;
use flugs_sql_types::LogicalType;
use std::cmp::Ordering;

pub(super) fn register(registry: &mut FunctionRegistry) {
    let define = |name, usage, text, body: fn(&Call<'_>) -> Result<ArrayRef>| {
        Definition::new(Category::Collection, name, usage, text, body)
    };
    let text =
        "The array in order: ascending with NULLs first unless said otherwise, descending with NULLs last.";
    let sort = define("ARRAY_SORT", "ARRAY_SORT(array[, ascending[, nulls_first]])", text, sort);
    let sort = sort.takes(&[Parameter::Array]).optionally(&[Parameter::Boolean, Parameter::Boolean]);
    registry.define(sort.returns_argument(0).coerced_by(|given| {
        let mut types = given.to_vec();
        types[0] = array_or_null(&given[0]);
        Ok(types)
    }));
    let text = "The greatest element; NULLs do not count.";
    let max = define("ARRAY_MAX", "ARRAY_MAX(array)", text, |call| extreme(call, Ordering::Greater));
    let text = "The least element; NULLs do not count.";
    let min = define("ARRAY_MIN", "ARRAY_MIN(array)", text, |call| extreme(call, Ordering::Less));
    for extreme in [max, min] {
        let extreme = extreme.takes(&[Parameter::Array]).coerced_by(arrays_of_one_type).nullable();
        registry.define(extreme.returns_by(|types: &Types<'_>| match types.kind(0) {
            LogicalType::Array(item) => Ok(item.kind.clone()),
            other => Ok(other.clone()),
        }));
    }
}

fn sort(call: &Call<'_>) -> Result<ArrayRef> {
    let (lists, nulls) = (Lists::new(call, 0)?, call.nulls());
    let comparable = Comparable::new(lists.values())?;
    let option = |i: usize| (call.len() > i).then(|| call.booleans(i));
    let (ascending, nulls_first) = (option(1), option(2));
    let mut gather = Gather::with_capacity(call.rows);
    let mut order: Vec<usize> = Vec::new();
    for row in 0..call.rows {
        let valid = nulls.as_ref().is_none_or(|n| n.is_valid(row));
        if let (true, Some(range)) = (valid, lists.range(row)) {
            let ascending = ascending.as_ref().is_none_or(|a| a.any(row));
            let nulls_first = nulls_first.as_ref().map_or(ascending, |n| n.any(row));
            order.clear();
            order.extend(range);
            order.sort_by(|a, b| match (lists.values().is_null(*a), lists.values().is_null(*b)) {
                (true, true) => Ordering::Equal,
                (true, false) if nulls_first => Ordering::Less,
                (true, false) => Ordering::Greater,
                (false, true) if nulls_first => Ordering::Greater,
                (false, true) => Ordering::Less,
                _ if ascending => comparable.compare(*a, *b),
                _ => comparable.compare(*b, *a),
            });
            order.iter().for_each(|i| gather.push(*i));
        }
        gather.end_row(valid)?;
    }
    gather.finish(call, lists.values())
}

fn extreme(call: &Call<'_>, wanted: Ordering) -> Result<ArrayRef> {
    let lists = Lists::new(call, 0)?;
    let comparable = Comparable::new(lists.values())?;
    let best = |row| {
        let elements = lists.range(row)?.filter(|i| lists.values().is_valid(*i));
        elements
            .reduce(|best, i| if comparable.compare(i, best) == wanted { i } else { best })
            .map(|i| i as u32)
    };
    let indices: UInt32Array = (0..call.rows).map(best).collect();
    Ok(take(lists.values(), &indices, None)?)
}
