//! Upper and lower case.

use crate::registry::Category;
use crate::support::{Call, Definition, Parameter, TextWriter};
use arrow::array::ArrayRef;
use datafusion_common::Result;
use flugs_sql_types::LogicalType;

pub(super) fn definitions() -> Vec<Definition> {
    let function = |name: &str, usage, text, body: fn(&Call<'_>) -> Result<ArrayRef>| {
        Definition::new(Category::String, name, usage, text, body).takes(&[Parameter::String]).returns_by(
            |types| {
                Ok(match types.kind(0) {
                    kind if kind.is_character() => kind.clone(),
                    _ => LogicalType::STRING,
                })
            },
        )
    };
    vec![
        function("UPPER", "UPPER(string)", "The string in upper case.", |call| {
            convert(call, str::make_ascii_uppercase, str::to_uppercase)
        }),
        function("LOWER", "LOWER(string)", "The string in lower case.", |call| {
            convert(call, str::make_ascii_lowercase, str::to_lowercase)
        }),
        function(
            "INITCAP",
            "INITCAP(string)",
            "The string with the first letter of each word in upper case and the others in lower case; words are made of ASCII letters and digits.",
            |call| {
                convert(call, capitalize, |s| {
                    let mut s = s.to_owned();
                    capitalize(&mut s);
                    s
                })
            },
        ),
    ]
}

/// Short ASCII strings, the common case, never leave the stack.
fn convert(call: &Call<'_>, ascii: fn(&mut str), unicode: fn(&str) -> String) -> Result<ArrayRef> {
    let source = call.strings(0);
    let mut writer = TextWriter::new(call.rows);
    for row in 0..call.rows {
        let Some(text) = source.get(row) else {
            writer.push_null();
            continue;
        };
        if text.is_ascii() {
            writer.push_edited(text, ascii)?;
        } else {
            writer.push(&unicode(text))?;
        }
    }
    Ok(writer.finish())
}

/// As Calcite's `initcap`: a letter that follows anything but an ASCII letter or digit begins a word.
fn capitalize(text: &mut str) {
    let mut inside = false;
    let mut rest = text;
    while !rest.is_empty() {
        let width = rest.chars().next().map_or(1, char::len_utf8);
        let (c, behind) = rest.split_at_mut(width);
        if inside {
            c.make_ascii_lowercase()
        } else {
            c.make_ascii_uppercase()
        }
        inside = c.as_bytes()[0].is_ascii_alphanumeric();
        rest = behind;
    }
}
