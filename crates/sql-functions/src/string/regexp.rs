//! Functions of regular expressions.
//!
//! A pattern that is invalid gives NULL (false in `REGEXP`), as in Flink. See [`super::java_pattern`] for what patterns may be.

use super::java_pattern::PatternCache;
use crate::registry::Category;
use crate::support::{Call, Definition, Parameter, SliceBuilder};
use arrow::array::{ArrayRef, ListBuilder, StringViewBuilder};
use arrow::datatypes::{DataType, Field, Int32Type};
use datafusion_common::Result;
use flugs_sql_types::LogicalType;
use regex::Regex;
use std::sync::Arc;

pub(super) fn definitions() -> Vec<Definition> {
    use Parameter::{BigInt, String};
    let cache = PatternCache::default();
    let function = |name: &str, usage, text, body: fn(&Call<'_>, &PatternCache) -> Result<ArrayRef>| {
        let cache = cache.clone();
        Definition::new(Category::String, name, usage, text, move |call: &Call<'_>| body(call, &cache))
            .nullable()
    };
    vec![
        function("REGEXP", "REGEXP(string, pattern)", "Whether some part of the string matches.", regexp)
            .takes(&[String, String])
            .returns(LogicalType::Boolean),
        function("REGEXP_COUNT", "REGEXP_COUNT(string, pattern)", "How many parts of the string match.", |call, cache| {
            count(call, cache, |text, pattern| pattern.find_iter(text).count() as i32)
        })
        .takes(&[String, String])
        .returns(LogicalType::Int),
        function(
            "REGEXP_INSTR",
            "REGEXP_INSTR(string, pattern)",
            "Where the first part that matches begins, from 1; 0 where none does.",
            |call, cache| count(call, cache, position),
        )
        .takes(&[String, String])
        .returns(LogicalType::Int),
        function(
            "REGEXP_EXTRACT",
            "REGEXP_EXTRACT(string, pattern[, group])",
            "The first part that matches, or what its group of this number matched; NULL where there is none.",
            extract,
        )
        .takes(&[String, String])
        .optionally(&[BigInt]),
        function(
            "REGEXP_SUBSTR",
            "REGEXP_SUBSTR(string, pattern)",
            "The first part that matches; NULL where none does.",
            extract,
        )
        .takes(&[String, String]),
        function(
            "REGEXP_EXTRACT_ALL",
            "REGEXP_EXTRACT_ALL(string, pattern[, group])",
            "What the group of this number (1, or 0 for all) matched in each part that matches.",
            extract_all,
        )
        .takes(&[String, String])
        .optionally(&[BigInt])
        .returns(LogicalType::Array(Box::new(LogicalType::STRING.nullable()))),
        function(
            "REGEXP_REPLACE",
            "REGEXP_REPLACE(string, pattern, new)",
            "The string with each part that matches replaced by `new`, in which `$` means nothing special.",
            replace,
        )
        .takes(&[String, String, String]),
    ]
}

fn regexp(call: &Call<'_>, cache: &PatternCache) -> Result<ArrayRef> {
    let (texts, patterns, mut compiled) = (call.strings(0), call.strings(1), cache.batch());
    call.collect_booleans(|row| {
        let (Some(text), Some(pattern)) = (texts.get(row), patterns.get(row)) else { return Ok(None) };
        Ok(Some(!pattern.is_empty() && compiled.get(pattern).is_some_and(|p| p.is_match(text))))
    })
}

fn count(call: &Call<'_>, cache: &PatternCache, value: fn(&str, &Regex) -> i32) -> Result<ArrayRef> {
    let (texts, patterns, mut compiled) = (call.strings(0), call.strings(1), cache.batch());
    call.collect::<Int32Type>(|row| {
        let (Some(text), Some(pattern)) = (texts.get(row), patterns.get(row)) else { return Ok(None) };
        Ok(compiled.get(pattern).map(|p| value(text, p)))
    })
}

fn position(text: &str, pattern: &Regex) -> i32 {
    pattern.find(text).map_or(0, |m| text[..m.start()].chars().count() as i32 + 1)
}

fn extract(call: &Call<'_>, cache: &PatternCache) -> Result<ArrayRef> {
    let patterns = call.strings(1);
    let groups = (call.len() > 2).then(|| call.big_ints(2));
    let group_of = |row| groups.map_or(Some(0), |g| g.get(row));
    if let (Some(pattern), None | Some(Some(_))) = (patterns.constant(), groups.map(|g| g.constant())) {
        let compiled = pattern.and_then(|p| cache.get(p));
        let group = group_of(0).and_then(|g| usize::try_from(g).ok());
        return Ok(extract_constant(call, compiled.as_deref().zip(group)));
    }
    let mut compiled = cache.batch();
    Ok(SliceBuilder::build(call.strings(0), call.rows, |row, text| {
        let pattern = compiled.get(patterns.get(row)?)?;
        let group = usize::try_from(group_of(row)?).ok()?;
        Some(pattern.captures(text)?.get(group)?.as_str())
    }))
}

/// The places of groups are written into the same memory for all rows.
fn extract_constant(call: &Call<'_>, wanted: Option<(&Regex, usize)>) -> ArrayRef {
    let Some((pattern, group)) = wanted else {
        return arrow::array::new_null_array(&DataType::Utf8View, call.rows);
    };
    let mut places = pattern.capture_locations();
    SliceBuilder::build(call.strings(0), call.rows, |_, text| {
        if group == 0 {
            return pattern.find(text).map(|m| m.as_str());
        }
        pattern.captures_read(&mut places, text)?;
        places.get(group).map(|(start, end)| &text[start..end])
    })
}

fn extract_all(call: &Call<'_>, cache: &PatternCache) -> Result<ArrayRef> {
    let (texts, patterns, mut compiled) = (call.strings(0), call.strings(1), cache.batch());
    let groups = (call.len() > 2).then(|| call.big_ints(2));
    let item = Arc::new(Field::new("item", DataType::Utf8View, true));
    let mut lists = ListBuilder::new(StringViewBuilder::new()).with_field(item);
    for row in 0..call.rows {
        let pattern = patterns.get(row).and_then(|p| compiled.get(p));
        let group = groups.map_or(Some(1), |g| g.get(row)).and_then(|g| usize::try_from(g).ok());
        let (Some(text), Some(pattern), Some(group)) = (texts.get(row), pattern, group) else {
            lists.append_null();
            continue;
        };
        if group >= pattern.captures_len() {
            lists.append_null();
            continue;
        }
        for captures in pattern.captures_iter(text) {
            lists.values().append_option(captures.get(group).map(|m| m.as_str()));
        }
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}

fn replace(call: &Call<'_>, cache: &PatternCache) -> Result<ArrayRef> {
    let (texts, patterns, news) = (call.strings(0), call.strings(1), call.strings(2));
    let mut compiled = cache.batch();
    call.texts(|row, out| {
        let (Some(text), Some(pattern), Some(new)) = (texts.get(row), patterns.get(row), news.get(row))
        else {
            return Ok(false);
        };
        let Some(pattern) = compiled.get(pattern) else { return Ok(false) };
        let mut written = 0;
        for found in pattern.find_iter(text) {
            out.push_str(&text[written..found.start()]);
            out.push_str(new);
            written = found.end();
        }
        out.push_str(&text[written..]);
        Ok(true)
    })
}
