//! Parts of strings. They share the memory of the string they are parts of.

use super::part_of_first;
use crate::registry::Category;
use crate::support::{Call, Definition, Parameter, SliceBuilder};
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use memchr::{memchr_iter, memmem};

pub(super) fn definitions() -> Vec<Definition> {
    use Parameter::{BigInt, Int, String};
    let function = |name: &str, usage, text, body: fn(&Call<'_>) -> Result<ArrayRef>| {
        Definition::new(Category::String, name, usage, text, body).returns_by(part_of_first)
    };
    vec![
        function(
            "SUBSTRING",
            "SUBSTRING(string FROM start [FOR length])",
            "The characters from position `start` on, counted from the end where that is negative; NULL for a negative length.",
            substring,
        )
        .aliases(&["SUBSTR"])
        .takes(&[String, BigInt])
        .optionally(&[BigInt])
        .nullable(),
        function("LEFT", "LEFT(string, n)", "The first `n` characters.", |call| {
            edge(call, |text, n| &text[..byte_of(text, n)])
        })
        .takes(&[String, BigInt]),
        function("RIGHT", "RIGHT(string, n)", "The last `n` characters.", |call| {
            edge(call, |text, n| &text[byte_from_end(text, n)..])
        })
        .takes(&[String, BigInt]),
        function("TRIM", "TRIM([BOTH | LEADING | TRAILING] [characters FROM] string)", TRIM, |call| trim(call, true, true))
            .takes(&[String])
            .optionally(&[String]),
        function("BTRIM", "BTRIM(string[, characters])", TRIM, |call| trim(call, true, true))
            .takes(&[String])
            .optionally(&[String]),
        function(
            "LTRIM",
            "LTRIM(string[, characters])",
            "The string without the leading characters that are in `characters`, spaces if there are none.",
            |call| trim(call, true, false),
        )
        .takes(&[String])
        .optionally(&[String]),
        function(
            "RTRIM",
            "RTRIM(string[, characters])",
            "The string without the trailing characters that are in `characters`, spaces if there are none.",
            |call| trim(call, false, true),
        )
        .takes(&[String])
        .optionally(&[String]),
        Definition::new(
            Category::String,
            "SPLIT_INDEX",
            "SPLIT_INDEX(string, separator, index)",
            "The part between separators of this index, from 0; NULL where there is none. A number is the separator's character code.",
            split_index,
        )
        .takes(&[String, SEPARATOR, Int])
        .nullable(),
    ]
}

const TRIM: &str = "The string without the leading and trailing characters that are in `characters`, spaces if there are none.";

const SEPARATOR: Parameter = Parameter::Other("STRING or INT", |given| {
    Parameter::String.accept(given).or_else(|| Parameter::Int.accept(given))
});

/// Where the character of this index begins: the end where there are not so many.
fn byte_of(text: &str, index: usize) -> usize {
    if index == 0 {
        return 0;
    }
    text.char_indices().nth(index).map_or(text.len(), |(at, _)| at)
}

/// Where the last `count` characters begin.
fn byte_from_end(text: &str, count: usize) -> usize {
    if count == 0 {
        return text.len();
    }
    text.char_indices().rev().nth(count - 1).map_or(0, |(at, _)| at)
}

fn clamped(n: i64) -> usize {
    usize::try_from(n.max(0)).unwrap_or(usize::MAX)
}

fn edge(call: &Call<'_>, part: fn(&str, usize) -> &str) -> Result<ArrayRef> {
    let counts = call.big_ints(1);
    Ok(SliceBuilder::build(call.strings(0), call.rows, |row, text| {
        Some(part(text, clamped(counts.get(row)?)))
    }))
}

fn substring(call: &Call<'_>) -> Result<ArrayRef> {
    let starts = call.big_ints(1);
    let lengths = (call.len() > 2).then(|| call.big_ints(2));
    Ok(SliceBuilder::build(call.strings(0), call.rows, |row, text| {
        let start = starts.get(row)?;
        let length = lengths.map_or(Some(i64::MAX), |l| l.get(row))?;
        (length >= 0).then(|| cut(text, start, clamped(length)))
    }))
}

fn cut(text: &str, start: i64, length: usize) -> &str {
    let from = if start >= 0 {
        byte_of(text, clamped(start - 1))
    } else {
        let back = usize::try_from(start.unsigned_abs()).unwrap_or(usize::MAX);
        // A start before the first character gives nothing, not the characters that are left of the length.
        match text.char_indices().rev().nth(back - 1) {
            Some((at, _)) => at,
            None => return "",
        }
    };
    let rest = &text[from..];
    &rest[..byte_of(rest, length)]
}

fn trim(call: &Call<'_>, leading: bool, trailing: bool) -> Result<ArrayRef> {
    let characters = (call.len() > 1).then(|| call.strings(1));
    Ok(SliceBuilder::build(call.strings(0), call.rows, |row, text| {
        let set = characters.map_or(Some(" "), |c| c.get(row))?;
        let text = if leading { text.trim_start_matches(|c| set.contains(c)) } else { text };
        Some(if trailing { text.trim_end_matches(|c| set.contains(c)) } else { text })
    }))
}

fn split_index(call: &Call<'_>) -> Result<ArrayRef> {
    let indexes = call.ints(2);
    if *call.type_of(1) == DataType::Int32 {
        let codes = call.ints(1);
        return Ok(SliceBuilder::build(call.strings(0), call.rows, |row, text| {
            let code = u8::try_from(codes.get(row)?).ok().filter(|c| *c > 0)?;
            let mut buffer = [0; 4];
            part(text, char::from(code).encode_utf8(&mut buffer), usize::try_from(indexes.get(row)?).ok()?)
        }));
    }
    let separators = call.strings(1);
    Ok(SliceBuilder::build(call.strings(0), call.rows, |row, text| {
        part(text, separators.get(row)?, usize::try_from(indexes.get(row)?).ok()?)
    }))
}

fn part<'t>(text: &'t str, separator: &str, index: usize) -> Option<&'t str> {
    if text.is_empty() {
        return None;
    }
    match separator.as_bytes() {
        // As in Apache Commons, which Flink uses: no separator means white space.
        [] => text.split(white_space).nth(index),
        [byte] => between(text, memchr_iter(*byte, text.as_bytes()), 1, index),
        bytes => between(text, memmem::find_iter(text.as_bytes(), bytes), bytes.len(), index),
    }
}

/// The part of this index between separators that begin at `found` and are `width` long.
fn between(text: &str, mut found: impl Iterator<Item = usize>, width: usize, index: usize) -> Option<&str> {
    let start = match index {
        0 => 0,
        _ => found.nth(index - 1)? + width,
    };
    Some(&text[start..found.next().unwrap_or(text.len())])
}

/// White space as Java's `Character.isWhitespace` has it.
fn white_space(c: char) -> bool {
    matches!(c, '\u{1c}'..='\u{1f}')
        || (c.is_whitespace() && !matches!(c, '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{85}'))
}
