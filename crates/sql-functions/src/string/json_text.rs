//! Strings as JSON writes them.

use crate::registry::Category;
use crate::support::{Call, Definition, Parameter, Text};
use arrow::array::ArrayRef;
use datafusion_common::Result;
use std::fmt::Write;

pub(super) fn definitions() -> Vec<Definition> {
    let function = |name: &str, usage, text, body: fn(&Call<'_>) -> Result<ArrayRef>| {
        Definition::new(Category::String, name, usage, text, body).takes(&[Parameter::String])
    };
    vec![
        function("JSON_QUOTE", "JSON_QUOTE(string)", "The string as a JSON string, in ASCII.", |call| {
            let texts = call.strings(0);
            call.texts(|row, out| {
                let Some(text) = texts.get(row) else { return Ok(false) };
                quote(text, out);
                Ok(true)
            })
        }),
        function(
            "JSON_UNQUOTE",
            "JSON_UNQUOTE(string)",
            "What a JSON string says; anything else stays as it is.",
            |call| {
                let texts = call.strings(0);
                call.texts(|row, out| {
                    let Some(text) = texts.get(row) else { return Ok(false) };
                    match unquote(text) {
                        Some(said) => out.push_str(&said),
                        None => out.push_str(text),
                    }
                    Ok(true)
                })
            },
        ),
    ]
}

fn quote(text: &str, out: &mut Text<'_>) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' | '/' => {
                out.push('\\');
                out.push(c);
            }
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string does not fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

/// None where the text is no JSON string.
fn unquote(text: &str) -> Option<String> {
    let inside = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut said = String::with_capacity(inside.len());
    let mut rest = inside.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' | '\0'..='\u{1f}' => return None,
            '\\' => match rest.next()? {
                c @ ('"' | '\\' | '/') => said.push(c),
                'b' => said.push('\u{8}'),
                'f' => said.push('\u{c}'),
                'n' => said.push('\n'),
                'r' => said.push('\r'),
                't' => said.push('\t'),
                'u' => said.push(escaped(&mut rest)?),
                _ => return None,
            },
            c => said.push(c),
        }
    }
    Some(said)
}

/// The character behind `\u`; half of a pair alone is U+FFFD.
fn escaped(rest: &mut std::str::Chars<'_>) -> Option<char> {
    let unit = unit(rest)?;
    if !(0xd800..0xdc00).contains(&unit) {
        return Some(char::from_u32(unit).unwrap_or('\u{fffd}'));
    }
    let mut ahead = rest.clone();
    if ahead.next() == Some('\\')
        && ahead.next() == Some('u')
        && let Some(low @ 0xdc00..0xe000) = self::unit(&mut ahead)
    {
        *rest = ahead;
        return char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
    }
    Some('\u{fffd}')
}

fn unit(rest: &mut std::str::Chars<'_>) -> Option<u32> {
    let mut value = 0;
    for _ in 0..4 {
        value = value * 16 + rest.next()?.to_digit(16)?;
    }
    Some(value)
}
