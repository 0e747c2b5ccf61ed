//! Arrays as sets: without duplicates, in the order in which elements are first seen.

use super::arrays_of_one_type;
use super::gather::{Comparable, Gather, Lists, together};
use crate::registry::{Category, FunctionRegistry};
use crate::support::{Call, Definition, Parameter, Types};
use arrow::array::ArrayRef;
use datafusion_common::Result;
use flugs_sql_types::LogicalType;
use std::collections::HashSet;

/// Which elements of the first array stay, told by whether they are in the second.
type Keep = fn(in_second: bool) -> bool;

pub(super) fn register(registry: &mut FunctionRegistry) {
    let define = |name, usage, text, body: fn(&Call<'_>) -> Result<ArrayRef>| {
        Definition::new(Category::Collection, name, usage, text, body)
    };
    let text = "The array without duplicates.";
    let distinct = define("ARRAY_DISTINCT", "ARRAY_DISTINCT(array)", text, merged);
    registry.define(distinct.takes(&[Parameter::Array]).coerced_by(arrays_of_one_type).returns_argument(0));

    let text = "The elements of both arrays, without duplicates.";
    let union = define("ARRAY_UNION", "ARRAY_UNION(array1, array2)", text, merged);
    let text = "The elements of the first array that are not in the second, without duplicates.";
    let except =
        define("ARRAY_EXCEPT", "ARRAY_EXCEPT(array1, array2)", text, |call| filtered(call, |second| !second));
    let text = "The elements that are in both arrays, without duplicates.";
    let intersect = define("ARRAY_INTERSECT", "ARRAY_INTERSECT(array1, array2)", text, |call| {
        filtered(call, |second| second)
    });
    for of_two in [union, except, intersect] {
        let of_two = of_two.takes(&[Parameter::Array, Parameter::Array]).coerced_by(arrays_of_one_type);
        registry.define(of_two.returns_by(|types: &Types<'_>| Ok::<LogicalType, _>(types.kind(0).clone())));
    }
}

/// The elements of all arrays of a row.
fn merged(call: &Call<'_>) -> Result<ArrayRef> {
    let lists = (0..call.len()).map(|i| Lists::new(call, i)).collect::<Result<Vec<_>>>()?;
    let (source, starts) = together(&lists.iter().map(Lists::values).collect::<Vec<_>>())?;
    let comparable = Comparable::new(&source)?;
    let mut gather = Gather::with_capacity(call.rows);
    let mut seen = HashSet::new();
    for row in 0..call.rows {
        let ranges: Option<Vec<_>> = lists.iter().map(|l| l.range(row)).collect();
        let valid = ranges.is_some();
        seen.clear();
        for (range, start) in ranges.into_iter().flatten().zip(&starts) {
            for i in range.start + start..range.end + start {
                if seen.insert(comparable.key(i)) {
                    gather.push(i);
                }
            }
        }
        gather.end_row(valid)?;
    }
    gather.finish(call, &source)
}

/// The elements of the first array of a row that `keep` wants.
fn filtered(call: &Call<'_>, keep: Keep) -> Result<ArrayRef> {
    let (first, second) = (Lists::new(call, 0)?, Lists::new(call, 1)?);
    let (source, starts) = together(&[first.values(), second.values()])?;
    let comparable = Comparable::new(&source)?;
    let mut gather = Gather::with_capacity(call.rows);
    let (mut seen, mut others) = (HashSet::new(), HashSet::new());
    for row in 0..call.rows {
        let ranges = first.range(row).zip(second.range(row));
        let valid = ranges.is_some();
        if let Some((range, other)) = ranges {
            seen.clear();
            others.clear();
            others.extend(other.map(|i| comparable.key(starts[1] + i)));
            for i in range {
                let key = comparable.key(i);
                if keep(others.contains(key)) && seen.insert(key) {
                    gather.push(i);
                }
            }
        }
        gather.end_row(valid)?;
    }
    gather.finish(call, &source)
}
