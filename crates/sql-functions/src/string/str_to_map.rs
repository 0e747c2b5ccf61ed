//! `STR_TO_MAP`.

use super::java_pattern::{self, PatternCache};
use super::pattern::Pattern;
use crate::registry::Category;
use crate::support::{Call, Definition, Parameter, planning_error};
use arrow::array::{ArrayRef, MapArray, StringViewBuilder, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use flugs_sql_types::LogicalType;
use std::sync::Arc;

pub(super) fn definitions() -> Vec<Definition> {
    let cache = PatternCache::default();
    vec![
        Definition::new(
            Category::String,
            "STR_TO_MAP",
            "STR_TO_MAP(string[, pair_separator, value_separator])",
            "A map of texts like 'k1=v1,k2=v2'. The separators are regular expressions; the last value of a key counts.",
            move |call: &Call<'_>| str_to_map(call, &cache),
        )
        .takes(&[Parameter::String])
        .optionally(&[Parameter::String, Parameter::String])
        .returns_by(|types| match types.types.len() {
            2 => Err(planning_error("STR_TO_MAP takes 1 or 3 arguments: both separators or none")),
            _ => Ok(LogicalType::Map(Box::new(LogicalType::STRING.nullable()), Box::new(LogicalType::STRING.nullable()))),
        })
        .nullable(),
    ]
}

fn str_to_map(call: &Call<'_>, cache: &PatternCache) -> Result<ArrayRef> {
    let texts = call.strings(0);
    let separators = (call.len() > 2).then(|| (call.strings(1), call.strings(2)));
    let (mut between_pairs, mut between_values) = (cache.batch(), cache.batch());
    let (mut keys, mut values) = (StringViewBuilder::new(), StringViewBuilder::new());
    let (mut lengths, mut valid) = (Vec::with_capacity(call.rows), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let [pair, value] = match separators {
            Some((pairs, values)) => [pairs.get(row), values.get(row)],
            None => [Some(","), Some("=")],
        };
        let pair = pair.and_then(|p| between_pairs.get(p));
        let value = value.and_then(|v| between_values.get(v));
        let (Some(text), Some(pair), Some(value)) = (texts.get(row), pair, value) else {
            lengths.push(0);
            valid.push(false);
            continue;
        };
        let entries = entries(text, pair, value)?;
        lengths.push(entries.len());
        valid.push(true);
        for (key, value) in entries {
            keys.append_value(key);
            values.append_option(value);
        }
    }
    let DataType::Map(field, _) = call.data_type() else {
        return Err(planning_error("STR_TO_MAP gives a map"));
    };
    let DataType::Struct(fields) = field.data_type() else {
        return Err(planning_error("the entries of a map are rows"));
    };
    let entries =
        StructArray::try_new(fields.clone(), vec![Arc::new(keys.finish()), Arc::new(values.finish())], None)?;
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(MapArray::try_new(field.clone(), offsets, entries, Some(NullBuffer::from(valid)), false)?))
}

/// The pairs in the order in which their keys come first.
fn entries<'t>(text: &'t str, pair: &Pattern, value: &Pattern) -> Result<Vec<(&'t str, Option<&'t str>)>> {
    let mut entries: Vec<(&str, Option<&str>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    if text.is_empty() {
        return Ok(entries);
    }
    for entry in java_pattern::split(text, pair, None)? {
        let (key, value) = match java_pattern::split(entry, value, Some(2))?[..] {
            [key, value] => (key, Some(value)),
            _ => (entry, None),
        };
        let place = *places.entry(key).or_insert(entries.len());
        match entries.get_mut(place) {
            Some(known) => known.1 = value,
            None => entries.push((key, value)),
        }
    }
    Ok(entries)
}
