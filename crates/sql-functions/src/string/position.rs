//! Where one string stands in another.

use crate::registry::Category;
use crate::support::{Call, Definition, Parameter, data_error};
use arrow::array::ArrayRef;
use arrow::datatypes::Int32Type;
use datafusion_common::Result;
use flugs_sql_types::LogicalType;
use memchr::memmem;

pub(super) fn definitions() -> Vec<Definition> {
    use Parameter::{BigInt, String, StringOrBytes};
    let function = |name: &str, usage, text, body: fn(&Call<'_>) -> Result<ArrayRef>| {
        Definition::new(Category::String, name, usage, text, body)
    };
    vec![
        function("CHAR_LENGTH", "CHAR_LENGTH(string)", "How many characters the string has.", char_length)
            .aliases(&["CHARACTER_LENGTH"])
            .takes(&[String])
            .returns(LogicalType::Int),
        function(
            "POSITION",
            "POSITION(part IN string)",
            "Where `part` first stands in `string`, from 1; 0 where it does not.",
            locate,
        )
        .takes(&[String, String])
        .returns(LogicalType::Int),
        function(
            "LOCATE",
            "LOCATE(part, string[, from])",
            "Where `part` first stands in `string` at or behind position `from`, from 1; 0 where it does not.",
            locate,
        )
        .takes(&[String, String])
        .optionally(&[BigInt])
        .returns(LogicalType::Int),
        function(
            "INSTR",
            "INSTR(string, part[, from[, n]])",
            "Where `part` stands in `string` for the n-th time, searched from position `from`, backwards where that is negative; 0 where it does not.",
            instr,
        )
        .takes(&[String, String])
        .optionally(&[BigInt, BigInt])
        .returns(LogicalType::Int),
        function("STARTSWITH", "STARTSWITH(string, start)", "Whether a string or bytes begin with `start`.", |call| {
            edge(call, |whole, part| whole.starts_with(part))
        })
        .takes(&[StringOrBytes, StringOrBytes])
        .coerced_by(both_alike)
        .returns(LogicalType::Boolean),
        function("ENDSWITH", "ENDSWITH(string, end)", "Whether a string or bytes end with `end`.", |call| {
            edge(call, |whole, part| whole.ends_with(part))
        })
        .takes(&[StringOrBytes, StringOrBytes])
        .coerced_by(both_alike)
        .returns(LogicalType::Boolean),
    ]
}

fn both_alike(types: &[arrow::datatypes::DataType]) -> Result<Vec<arrow::datatypes::DataType>> {
    // An untyped NULL was taken for a string; NULL comes out either way.
    if types.contains(&arrow::datatypes::DataType::Binary) {
        return Ok(vec![arrow::datatypes::DataType::Binary; types.len()]);
    }
    Ok(types.to_vec())
}

fn char_length(call: &Call<'_>) -> Result<ArrayRef> {
    let text = call.strings(0);
    Ok(call.map_all::<Int32Type>(|row| text.any(row).chars().count() as i32))
}

fn locate(call: &Call<'_>) -> Result<ArrayRef> {
    let (part, text) = (call.strings(0), call.strings(1));
    let from = (call.len() > 2).then(|| call.big_ints(2));
    let finder = part.constant().flatten().map(|p| memmem::Finder::new(p.as_bytes()));
    call.collect::<Int32Type>(|row| {
        let (Some(part), Some(text)) = (part.get(row), text.get(row)) else { return Ok(None) };
        let Some(from) = from.map_or(Some(1), |f| f.get(row)) else { return Ok(None) };
        Ok(Some(find(text, part, from, finder.as_ref())))
    })
}

/// The position, from 1, of `part` at or behind position `from`; 0 where there is none. Nothing stands at position 1.
fn find(text: &str, part: &str, from: i64, finder: Option<&memmem::Finder<'_>>) -> i32 {
    if part.is_empty() {
        return 1;
    }
    let skipped = usize::try_from(from - 1).unwrap_or(0);
    let Some(start) = byte_of(text, skipped) else { return 0 };
    let rest = &text.as_bytes()[start..];
    let found = match finder {
        Some(finder) => finder.find(rest),
        None => memmem::find(rest, part.as_bytes()),
    };
    found.map_or(0, |at| text[..start + at].chars().count() as i32 + 1)
}

/// Where the character of this index begins; none behind the end.
fn byte_of(text: &str, index: usize) -> Option<usize> {
    if index == 0 {
        return Some(0);
    }
    text.char_indices().nth(index).map(|(at, _)| at)
}

fn instr(call: &Call<'_>) -> Result<ArrayRef> {
    let (text, part) = (call.strings(0), call.strings(1));
    let from = (call.len() > 2).then(|| call.big_ints(2));
    let nth = (call.len() > 3).then(|| call.big_ints(3));
    call.collect::<Int32Type>(|row| {
        let (Some(text), Some(part)) = (text.get(row), part.get(row)) else { return Ok(None) };
        let Some(from) = from.map_or(Some(1), |f| f.get(row)) else { return Ok(None) };
        let Some(nth) = nth.map_or(Some(1), |n| n.get(row)) else { return Ok(None) };
        if nth <= 0 {
            return Err(data_error(format!(
                "INSTR: the occurrence to look for is {nth}, but must be positive"
            )));
        }
        Ok(Some(match from {
            0 => 0,
            1.. => forwards(text, part, from, nth),
            _ => backwards(text, part, from.unsigned_abs(), nth),
        }))
    })
}

fn forwards(text: &str, part: &str, from: i64, nth: i64) -> i32 {
    let mut at = find(text, part, from, None);
    let mut left = nth - 1;
    // Nothing is found in the same place again and again.
    while left > 0 && at > 0 && !part.is_empty() {
        at = find(text, part, i64::from(at) + 1, None);
        left -= 1;
    }
    at
}

/// Matches that end at or before the `from`-th character from the end, the last one first.
fn backwards(text: &str, part: &str, from: u64, nth: i64) -> i32 {
    let characters = text.chars().count();
    if part.is_empty() {
        return characters as i32 + 1;
    }
    let width = part.chars().count();
    let skipped = usize::try_from(from - 1).unwrap_or(usize::MAX);
    let mut left = nth;
    for (index, (at, _)) in text.char_indices().enumerate().collect::<Vec<_>>().into_iter().rev() {
        if index + width <= characters.saturating_sub(skipped) && text[at..].starts_with(part) {
            left -= 1;
            if left == 0 {
                return index as i32 + 1;
            }
        }
    }
    0
}

fn edge(call: &Call<'_>, holds: fn(&[u8], &[u8]) -> bool) -> Result<ArrayRef> {
    if *call.type_of(0) == arrow::datatypes::DataType::Binary {
        let (whole, part) = (call.bytes(0), call.bytes(1));
        return call.collect_booleans(|row| Ok(whole.get(row).zip(part.get(row)).map(|(w, p)| holds(w, p))));
    }
    let (whole, part) = (call.strings(0), call.strings(1));
    call.collect_booleans(|row| {
        let both = whole.get(row).zip(part.get(row));
        Ok(both.map(|(w, p)| holds(w.as_bytes(), p.as_bytes())))
    })
}
