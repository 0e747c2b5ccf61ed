//! Splits a record into fields.

use super::Dialect;
use crate::DecodeError;
use csv::ByteRecord;
use memchr::memchr;

/// Splits `record`, given without its line end, into `fields`. A field equal to the null literal and not in
/// quotes becomes empty.
pub(super) fn split(
    dialect: &Dialect,
    record: &[u8],
    fields: &mut ByteRecord,
    unescaped: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    fields.clear();
    let mut rest = record;
    loop {
        let next = match (dialect.quote, rest.first()) {
            (Some(quote), Some(&first)) if first == quote => {
                let at = record.len() - rest.len();
                let after =
                    quoted(quote, &rest[1..], unescaped).map_err(|e| e.at(format!("column {}", at + 1)))?;
                fields.push_field(unescaped);
                match after.split_first() {
                    None => None,
                    Some((&byte, after)) if byte == dialect.delimiter => Some(after),
                    Some(_) => {
                        let found = String::from_utf8_lossy(&after[..after.len().min(8)]).into_owned();
                        return Err(DecodeError::new(format!(
                            "a delimiter or the line's end expected behind the closing quote, '{found}' found"
                        ))
                        .at(format!("column {}", record.len() - after.len() + 1)));
                    }
                }
            }
            _ => {
                let (field, after) = match memchr(dialect.delimiter, rest) {
                    Some(end) => (&rest[..end], Some(&rest[end + 1..])),
                    None => (rest, None),
                };
                fields.push_field(if field == &*dialect.null { b"" } else { field });
                after
            }
        };
        match next {
            Some(after) => rest = after,
            None => return Ok(()),
        }
    }
}

/// Puts a quoted field into `unescaped`; `text` starts behind the opening quote. Gives what follows the closing one.
fn quoted<'a>(quote: u8, text: &'a [u8], unescaped: &mut Vec<u8>) -> Result<&'a [u8], DecodeError> {
    unescaped.clear();
    let mut rest = text;
    loop {
        let Some(end) = memchr(quote, rest) else {
            return Err(DecodeError::new("this quoted field has no closing quote"));
        };
        unescaped.extend_from_slice(&rest[..end]);
        rest = &rest[end + 1..];
        if rest.first() != Some(&quote) {
            return Ok(rest);
        }
        unescaped.push(quote);
        rest = &rest[1..];
    }
}
