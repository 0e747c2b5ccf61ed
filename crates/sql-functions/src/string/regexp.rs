//! Functions of regular expressions.
//!
//! A pattern that is invalid gives NULL (false in `REGEXP`), as in Flink; a constant one that Java has and we have not is an error of
//! planning. See [`super::java_pattern`] for what patterns may be.

use super::java_pattern::{self, PatternCache};
use super::pattern::Pattern;
use crate::registry::Category;
use crate::support::{Call, Definition, Parameter, SliceBuilder, Types};
use arrow::array::{ArrayRef, ListBuilder, StringViewBuilder};
use arrow::datatypes::{DataType, Field, Int32Type};
use datafusion_common::{Result, ScalarValue};
use flugs_sql_types::LogicalType;
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
            .returns_by(|types| checked(types, LogicalType::Boolean)),
        function("REGEXP_COUNT", "REGEXP_COUNT(string, pattern)", "How many parts of the string match.", |call, cache| {
            count(call, cache, occurrences)
        })
        .takes(&[String, String])
        .returns_by(|types| checked(types, LogicalType::Int)),
        function(
            "REGEXP_INSTR",
            "REGEXP_INSTR(string, pattern)",
            "Where the first part that matches begins, from 1; 0 where none does.",
            |call, cache| count(call, cache, position),
        )
        .takes(&[String, String])
        .returns_by(|types| checked(types, LogicalType::Int)),
        function(
            "REGEXP_EXTRACT",
            "REGEXP_EXTRACT(string, pattern[, group])",
            "The first part that matches, or what its group of this number matched; NULL where there is none.",
            extract,
        )
        .takes(&[String, String])
        .optionally(&[BigInt])
        .returns_by(|types| checked(types, LogicalType::STRING)),
        function(
            "REGEXP_SUBSTR",
            "REGEXP_SUBSTR(string, pattern)",
            "The first part that matches; NULL where none does.",
            extract,
        )
        .takes(&[String, String])
        .returns_by(|types| checked(types, LogicalType::STRING)),
        function(
            "REGEXP_EXTRACT_ALL",
            "REGEXP_EXTRACT_ALL(string, pattern[, group])",
            "What the group of this number (1, or 0 for all) matched in each part that matches.",
            extract_all,
        )
        .takes(&[String, String])
        .optionally(&[BigInt])
        .returns_by(|types| checked(types, LogicalType::Array(Box::new(LogicalType::STRING.nullable())))),
        function(
            "REGEXP_REPLACE",
            "REGEXP_REPLACE(string, pattern, new)",
            "The string with each part that matches replaced by `new`, in which `$` means nothing special.",
            replace,
        )
        .takes(&[String, String, String])
        .returns_by(|types| checked(types, LogicalType::STRING)),
    ]
}

fn checked(types: &Types<'_>, kind: LogicalType) -> Result<LogicalType> {
    if let Some(ScalarValue::Utf8View(Some(pattern)) | ScalarValue::Utf8(Some(pattern))) = types.constant(1) {
        java_pattern::check(types.name, pattern, pattern)?;
    }
    Ok(kind)
}

fn regexp(call: &Call<'_>, cache: &PatternCache) -> Result<ArrayRef> {
    let (texts, patterns, mut compiled) = (call.strings(0), call.strings(1), cache.batch());
    call.collect_booleans(|row| {
        let (Some(text), Some(pattern)) = (texts.get(row), patterns.get(row)) else { return Ok(None) };
        match compiled.get(pattern) {
            Some(compiled) if !pattern.is_empty() => compiled.is_match(text).map(Some),
            _ => Ok(Some(false)),
        }
    })
}

fn count(
    call: &Call<'_>,
    cache: &PatternCache,
    value: fn(&str, &Pattern) -> Result<i32>,
) -> Result<ArrayRef> {
    let (texts, patterns, mut compiled) = (call.strings(0), call.strings(1), cache.batch());
    call.collect::<Int32Type>(|row| {
        let (Some(text), Some(pattern)) = (texts.get(row), patterns.get(row)) else { return Ok(None) };
        compiled.get(pattern).map(|p| value(text, p)).transpose()
    })
}

fn occurrences(text: &str, pattern: &Pattern) -> Result<i32> {
    pattern.find_iter(text).try_fold(0, |n, found| found.map(|_| n + 1))
}

fn position(text: &str, pattern: &Pattern) -> Result<i32> {
    Ok(pattern.find(text)?.map_or(0, |found| text[..found.start].chars().count() as i32 + 1))
}

fn extract(call: &Call<'_>, cache: &PatternCache) -> Result<ArrayRef> {
    let patterns = call.strings(1);
    let groups = (call.len() > 2).then(|| call.big_ints(2));
    let group_of = |row| groups.map_or(Some(0), |g| g.get(row));
    if let (Some(pattern), None | Some(Some(_))) = (patterns.constant(), groups.map(|g| g.constant())) {
        let compiled = pattern.and_then(|p| cache.get(p).ok());
        let group = group_of(0).and_then(|g| usize::try_from(g).ok());
        match compiled.as_deref().zip(group) {
            Some((Pattern::Linear(linear), group)) => return Ok(extract_linear(call, linear, group)),
            None => return Ok(arrow::array::new_null_array(&DataType::Utf8View, call.rows)),
            Some(_) => {}
        }
    }
    let mut compiled = cache.batch();
    let mut failure = None;
    let extracted = SliceBuilder::build(call.strings(0), call.rows, |row, text| {
        let pattern = compiled.get(patterns.get(row)?)?;
        let group = usize::try_from(group_of(row)?).ok()?;
        pattern.group(text, group).unwrap_or_else(|e| {
            failure.get_or_insert(e);
            None
        })
    });
    failure.map_or(Ok(extracted), Err)
}

/// The places of groups are written into the same memory for all rows.
fn extract_linear(call: &Call<'_>, pattern: &regex::Regex, group: usize) -> ArrayRef {
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
        pattern.group_of_each(text, group, |found| lists.values().append_option(found))?;
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
            let found = found?;
            out.push_str(&text[written..found.start]);
            out.push_str(new);
            written = found.end;
        }
        out.push_str(&text[written..]);
        Ok(true)
    })
}
