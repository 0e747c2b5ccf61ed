//! Splits a record into fields.

use memchr::{memchr, memchr2};
use std::borrow::Cow;

/// How fields are told apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dialect {
    pub(super) delimiter: u8,
    pub(super) quote: Option<u8>,
    pub(super) escape: Option<u8>,
}

/// A field, unescaped, and whether it stood in quotes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) is_quoted: bool,
}

/// The fields of a record, one by one.
pub(super) struct Fields<'a> {
    dialect: Dialect,
    record: &'a str,
    /// Where the next field begins; none behind the last.
    at: Option<usize>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(dialect: Dialect, record: &'a str) -> Self {
        Fields { dialect, record, at: Some(0) }
    }

    /// The next field; none behind the last. An error says what was wrong, and before which byte.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Result<Field<'a>, (String, usize)>> {
        let at = self.at?;
        let bytes = self.record.as_bytes();
        if self.dialect.quote.is_some() && bytes.get(at).copied() == self.dialect.quote {
            return Some(self.quoted(at + 1));
        }
        let end = match self.dialect.escape {
            None => memchr(self.dialect.delimiter, &bytes[at..]),
            Some(escape) => match memchr2(self.dialect.delimiter, escape, &bytes[at..]) {
                Some(end) if bytes[at + end] == escape => return Some(Ok(self.escaped(at))),
                end => end,
            },
        };
        let end = end.map(|end| at + end);
        self.at = end.map(|end| end + 1);
        let text = &self.record[at..end.unwrap_or(bytes.len())];
        Some(Ok(Field { text: Cow::Borrowed(text), is_quoted: false }))
    }

    /// Whether there is no further field.
    pub(super) fn is_done(&self) -> bool {
        self.at.is_none()
    }

    /// A field without quotes in which something is escaped.
    fn escaped(&mut self, start: usize) -> Field<'a> {
        let (mut text, mut escaped) = (String::new(), false);
        let mut end = None;
        for (at, letter) in self.record[start..].char_indices() {
            let is = |byte: u8| letter == char::from(byte);
            if !escaped && self.dialect.escape.is_some_and(is) {
                escaped = true;
            } else if !escaped && is(self.dialect.delimiter) {
                end = Some(start + at);
                break;
            } else {
                text.push(letter);
                escaped = false;
            }
        }
        self.at = end.map(|end| end + 1);
        Field { text: Cow::Owned(text), is_quoted: false }
    }

    /// A field in quotes; `start` is behind the opening one.
    fn quoted(&mut self, start: usize) -> Result<Field<'a>, (String, usize)> {
        let bytes = self.record.as_bytes();
        let quote = self.dialect.quote.unwrap_or(b'"');
        let special = self.dialect.escape.unwrap_or(quote);
        let (mut owned, mut kept, mut at) = (String::new(), start, start);
        let end = loop {
            let Some(found) = memchr2(quote, special, &bytes[at..]).map(|found| at + found) else {
                self.at = None;
                return Err(("this quoted field has no closing quote".to_owned(), start - 1));
            };
            let is_escape = bytes[found] != quote;
            if !is_escape && bytes.get(found + 1) != Some(&quote) {
                break found;
            }
            owned.push_str(&self.record[kept..found]);
            // The letter behind an escape or a first quote stands for itself.
            kept = found + 1;
            at = self.record[kept..].chars().next().map_or(kept, |letter| kept + letter.len_utf8());
        };
        let text = if owned.is_empty() && kept == start {
            Cow::Borrowed(&self.record[start..end])
        } else {
            owned.push_str(&self.record[kept..end]);
            Cow::Owned(owned)
        };
        self.at = match bytes.get(end + 1) {
            None => None,
            Some(byte) if *byte == self.dialect.delimiter => Some(end + 2),
            Some(_) => {
                self.at = None;
                let message = "a delimiter or the line's end expected behind the closing quote".to_owned();
                return Err((message, end + 1));
            }
        };
        Ok(Field { text, is_quoted: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(record: &str, escape: Option<u8>) -> Result<Vec<String>, (String, usize)> {
        let dialect = Dialect { delimiter: b',', quote: Some(b'"'), escape };
        let (mut fields, mut out) = (Fields::new(dialect, record), Vec::new());
        while let Some(field) = fields.next() {
            let field = field?;
            out.push(if field.is_quoted { format!("<{}>", field.text) } else { field.text.into_owned() });
        }
        Ok(out)
    }

    #[test]
    fn quotes_and_escapes() {
        assert_eq!(split("a,,b ", None).unwrap(), ["a", "", "b "]);
        assert_eq!(split("", None).unwrap(), [""]);
        assert_eq!(split("\"a,\"\"b\"\"\n\",x\"y", None).unwrap(), ["<a,\"b\"\n>", "x\"y"]);
        assert_eq!(split("\"\",\"\"", None).unwrap(), ["<>", "<>"]);
        assert_eq!(
            split("a\\,b,\"c\\\"d\\\\\",\\\u{fc}", Some(b'\\')).unwrap(),
            ["a,b", "<c\"d\\>", "\u{fc}"]
        );
        assert_eq!(split("a,\"b", None).unwrap_err().1, 2);
        assert_eq!(split("\"b\"c,d", None).unwrap_err().1, 3);
    }
}
