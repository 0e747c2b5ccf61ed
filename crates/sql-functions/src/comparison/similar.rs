//! `SIMILAR TO`: SQL's regular expressions, as Calcite turns them into Java's: `_` and `%` as in `LIKE`, everything else as in
//! Java, so that `.` is any character.

use super::{escape_of, wrong_escape};
use crate::string::java_pattern::{self, PatternCache};
use crate::support::{Call, Types, data_error};
use arrow::array::ArrayRef;
use datafusion_common::{Result, ScalarValue};

/// The classes of SQL by Java's names.
const CLASSES: [(&str, &str); 6] = [
    ("ALPHA", r"\p{Alpha}"),
    ("UPPER", r"\p{Upper}"),
    ("LOWER", r"\p{Lower}"),
    ("DIGIT", r"\d"),
    ("SPACE", " "),
    ("WHITESPACE", r"\s"),
];

pub(super) fn evaluate(call: &Call<'_>, cache: &PatternCache) -> Result<ArrayRef> {
    let (texts, patterns) = (call.strings(0), call.strings(1));
    let escapes = (call.len() > 2).then(|| call.strings(2));
    let mut compiled = cache.batch();
    let mut last: Option<((&str, Option<&str>), String)> = None;
    call.collect_booleans(|row| {
        let (Some(text), Some(pattern)) = (texts.get(row), patterns.get(row)) else { return Ok(None) };
        let escape = match escapes.map(|e| e.get(row)) {
            Some(None) => return Ok(None),
            escape => escape.flatten(),
        };
        if last.as_ref().is_none_or(|(of, _)| *of != (pattern, escape)) {
            let java = to_java(pattern, escape_of(escape)?).ok_or_else(|| wrong_escape(pattern))?;
            last = Some(((pattern, escape), java));
        }
        let Some((_, java)) = &last else { return Ok(None) };
        match compiled.get(java) {
            Some(regex) => regex.is_match(text).map(Some),
            None => Err(data_error(format!("'{pattern}' is no pattern for SIMILAR TO"))),
        }
    })
}

/// An error where a constant pattern is one that Java has and we have not.
pub(super) fn check(types: &Types<'_>) -> Result<()> {
    let text = |argument| match types.constant(argument) {
        Some(ScalarValue::Utf8View(Some(text)) | ScalarValue::Utf8(Some(text))) => Some(text.as_str()),
        _ => None,
    };
    let Some(pattern) = text(1) else { return Ok(()) };
    let Ok(escape) = escape_of(text(2)) else { return Ok(()) };
    to_java(pattern, escape).map_or(Ok(()), |java| java_pattern::check("SIMILAR TO", pattern, &java))
}

/// None where an escape stands before something that has no special meaning.
fn to_java(pattern: &str, escape: Option<char>) -> Option<String> {
    let mut java = String::from(r"(?s)\A(?:");
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            c if Some(c) == escape => {
                let escaped = rest.chars().next()?;
                if !"_%|*+?{}()[]^-".contains(escaped) && Some(escaped) != escape {
                    return None;
                }
                java.push('\\');
                java.push(escaped);
                rest = &rest[escaped.len_utf8()..];
            }
            '[' if in_class => match CLASSES.iter().find_map(|(name, class)| {
                Some((class, rest.strip_prefix(':')?.strip_prefix(name)?.strip_prefix(":]")?))
            }) {
                Some((class, behind)) => {
                    java.push_str(class);
                    rest = behind;
                }
                None => java.push_str(r"\["),
            },
            '[' | ']' => {
                in_class = c == '[';
                java.push(c);
            }
            '_' if !in_class => java.push('.'),
            '%' if !in_class => java.push_str(".*"),
            '^' | '$' if !in_class => {
                java.push('\\');
                java.push(c);
            }
            c => java.push(c),
        }
    }
    java.push_str(r")\z");
    Some(java)
}
