//! Reads JSON (RFC 8259) value by value, without building a tree. Unescaped control characters in strings are taken, as in Flink.

use memchr::memchr2;
use std::borrow::Cow;

/// Arrays and objects that are passed over may be nested so deep.
const DEPTH_MAX: usize = 1000;

/// What was wrong, and before which byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) message: String,
    pub(super) at: usize,
    /// The fields around, the innermost first.
    pub(super) path: Vec<String>,
}

impl Wrong {
    #[cold]
    pub(super) fn within(mut self, field: &str) -> Self {
        self.path.push(field.to_owned());
        self
    }
}

/// `message (field `a.b`, column 12)`.
impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (", self.message)?;
        if !self.path.is_empty() {
            let path: Vec<&str> = self.path.iter().rev().map(String::as_str).collect();
            write!(f, "field `{}`, ", path.join("."))?;
        }
        write!(f, "column {})", self.at + 1)
    }
}

/// A value, or how one begins.
#[derive(Debug, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    /// Its text as it stands.
    Number(&'a str),
    Text(Cow<'a, str>),
    /// The elements follow: see [`Scanner::next_element`].
    Array,
    /// The members follow: see [`Scanner::next_key`].
    Object,
}

pub(super) struct Scanner<'a> {
    text: &'a str,
    pub(super) at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(record: &'a [u8]) -> Result<Self, Wrong> {
        match std::str::from_utf8(record) {
            Ok(text) => Ok(Scanner { text, at: 0 }),
            Err(e) => {
                let at = e.valid_up_to();
                Err(wrong(format!("UTF-8 expected, byte 0x{:02x} found", record[at]), at))
            }
        }
    }

    pub(super) fn of_text(text: &'a str) -> Self {
        Scanner { text, at: 0 }
    }

    #[inline]
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                other => return Some(*other),
            }
        }
        None
    }

    #[cold]
    fn expected(&self, what: &str) -> Wrong {
        let found = match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(found) => format!("'{found}'"),
            None => "the end".to_owned(),
        };
        wrong(format!("{what} expected, {found} found"), self.at)
    }

    /// The next value.
    #[inline]
    pub(super) fn value(&mut self) -> Result<Value<'a>, Wrong> {
        match self.peek() {
            Some(b'"') => Ok(Value::Text(self.string()?)),
            Some(b'{') => {
                self.at += 1;
                Ok(Value::Object)
            }
            Some(b'[') => {
                self.at += 1;
                Ok(Value::Array)
            }
            Some(b'-' | b'0'..=b'9') => Ok(Value::Number(self.number()?)),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.expected("a JSON value")),
        }
    }

    fn word(&mut self, word: &str, value: Value<'a>) -> Result<Value<'a>, Wrong> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.expected("a JSON value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<&'a str, Wrong> {
        let (bytes, start) = (self.text.as_bytes(), self.at);
        let digits = |mut at: usize| {
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        let first = start + usize::from(bytes[start] == b'-');
        let mut end = digits(first);
        let mut complete = end > first && (bytes[first] != b'0' || end == first + 1);
        if bytes.get(end) == Some(&b'.') {
            let behind = digits(end + 1);
            complete &= behind > end + 1;
            end = behind;
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let behind = digits(end + 1 + sign);
            complete &= behind > end + 1 + sign;
            end = behind;
        }
        self.at = end;
        if complete { Ok(&self.text[start..end]) } else { Err(wrong("a number expected", start)) }
    }

    /// A string; the scanner is at its opening quote.
    #[inline]
    fn string(&mut self) -> Result<Cow<'a, str>, Wrong> {
        let (bytes, start) = (self.text.as_bytes(), self.at + 1);
        match memchr2(b'"', b'\\', &bytes[start..]) {
            Some(length) if bytes[start + length] == b'"' => {
                self.at = start + length + 1;
                Ok(Cow::Borrowed(&self.text[start..start + length]))
            }
            Some(length) => self.escaped(start, start + length).map(Cow::Owned),
            None => Err(self.open_string()),
        }
    }

    #[cold]
    fn open_string(&mut self) -> Wrong {
        let at = self.at;
        self.at = self.text.len();
        wrong("a closing quote expected, the end found", at)
    }

    /// The rest of a string that has its first backslash at `at`.
    fn escaped(&mut self, start: usize, mut at: usize) -> Result<String, Wrong> {
        let bytes = self.text.as_bytes();
        let mut out = self.text[start..at].to_owned();
        loop {
            // At a backslash.
            at += 2;
            match bytes.get(at - 1) {
                Some(b'n') => out.push('\n'),
                Some(b't') => out.push('\t'),
                Some(b'r') => out.push('\r'),
                Some(b'b') => out.push('\u{8}'),
                Some(b'f') => out.push('\u{c}'),
                Some(letter @ (b'"' | b'\\' | b'/')) => out.push(char::from(*letter)),
                Some(b'u') => out.push(self.unicode(&mut at)?),
                _ => return Err(wrong("an escape such as \\n or \\u0041 expected", at - 2)),
            }
            let Some(length) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) else {
                return Err(self.open_string());
            };
            out.push_str(&self.text[at..at + length]);
            at += length;
            if bytes[at] == b'"' {
                self.at = at + 1;
                return Ok(out);
            }
        }
    }

    /// The letter of an escape whose digits begin at `at`; a half of a surrogate pair alone is the replacement character.
    fn unicode(&self, at: &mut usize) -> Result<char, Wrong> {
        let unit = |from: usize| -> Option<u32> {
            let digits = self.text.get(from..from + 4)?;
            let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
            if is_hex { u32::from_str_radix(digits, 16).ok() } else { None }
        };
        let high = unit(*at).ok_or_else(|| wrong("four hexadecimal digits expected", *at))?;
        *at += 4;
        let low = match self.text.get(*at..*at + 2) {
            Some("\\u") if (0xd800..0xdc00).contains(&high) => unit(*at + 2),
            _ => None,
        };
        if let Some(low) = low.filter(|low| (0xdc00..0xe000).contains(low)) {
            *at += 6;
            let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// The key of the next member of an object, whose value follows; `None` at its end. `is_first` is to be true at the start.
    #[inline]
    pub(super) fn next_key(&mut self, is_first: &mut bool) -> Result<Option<Cow<'a, str>>, Wrong> {
        match (self.peek(), std::mem::take(is_first)) {
            (Some(b'}'), _) => {
                self.at += 1;
                return Ok(None);
            }
            (Some(b','), false) => {
                self.at += 1;
                self.peek();
            }
            (Some(_), true) => {}
            (None, true) => return Err(self.expected("a key in double quotes")),
            _ => return Err(self.expected("',' or '}'")),
        }
        if self.peek() != Some(b'"') {
            return Err(self.expected("a key in double quotes"));
        }
        let key = self.string()?;
        if self.peek() != Some(b':') {
            return Err(self.expected("':'"));
        }
        self.at += 1;
        Ok(Some(key))
    }

    /// Whether another element of an array follows. `is_first` is to be true at the start.
    #[inline]
    pub(super) fn next_element(&mut self, is_first: &mut bool) -> Result<bool, Wrong> {
        match (self.peek(), std::mem::take(is_first)) {
            (Some(b']'), _) => {
                self.at += 1;
                Ok(false)
            }
            (Some(b','), false) => {
                self.at += 1;
                Ok(true)
            }
            (Some(_), true) => Ok(true),
            _ => Err(self.expected("',' or ']'")),
        }
    }

    /// Passes over the next value; gives its text.
    pub(super) fn skip(&mut self) -> Result<&'a str, Wrong> {
        self.peek();
        let start = self.at;
        self.skip_nested(0)?;
        Ok(&self.text[start..self.at])
    }

    fn skip_nested(&mut self, depth: usize) -> Result<(), Wrong> {
        if depth > DEPTH_MAX {
            return Err(wrong(format!("at most {DEPTH_MAX} levels of nesting expected"), self.at));
        }
        let mut is_first = true;
        match self.value()? {
            Value::Array => {
                while self.next_element(&mut is_first)? {
                    self.skip_nested(depth + 1)?;
                }
            }
            Value::Object => {
                while self.next_key(&mut is_first)?.is_some() {
                    self.skip_nested(depth + 1)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Nothing but blanks may follow.
    pub(super) fn end(&mut self) -> Result<(), Wrong> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.expected("the end of the record")),
        }
    }
}

pub(super) fn wrong(message: impl Into<String>, at: usize) -> Wrong {
    Wrong { message: message.into(), at, path: Vec::new() }
}

/// A JSON text without the blanks between its tokens.
pub(super) fn compact(json: &str) -> Cow<'_, str> {
    let (mut out, mut kept, mut in_string, mut escaped) = (String::new(), 0, false, false);
    for (at, byte) in json.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b' ' | b'\t' | b'\n' | b'\r' if !in_string => {
                out.push_str(&json[kept..at]);
                kept = at + 1;
            }
            _ => {}
        }
    }
    if kept == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(&json[kept..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn skipped(json: &str) -> Result<&str, String> {
        let mut scanner = Scanner::new(json.as_bytes()).map_err(|e| e.to_string())?;
        let text = scanner.skip().map_err(|e| e.to_string())?;
        scanner.end().map_err(|e| e.to_string())?;
        Ok(text)
    }

    #[test]
    fn strings_are_unescaped() {
        let text = |json: &str| match Scanner::new(json.as_bytes()).unwrap().value() {
            Ok(Value::Text(text)) => Ok(text.into_owned()),
            other => Err(format!("{other:?}")),
        };
        assert_eq!(text(r#""a\n\"\u00fc\uD83D\uDE00\/ b""#).unwrap(), "a\n\"\u{fc}\u{1f600}/ b");
        assert_eq!(text(r#""\ud83dx""#).unwrap(), "\u{fffd}x");
        assert!(text(r#""\x""#).unwrap_err().contains("an escape"));
        assert!(text(r#""\u12"#).unwrap_err().contains("four hexadecimal digits"));
        assert!(text(r#""abc"#).unwrap_err().contains("a closing quote"));
        assert!(text("\"abc\\").is_err());
    }

    #[test]
    fn errors_name_the_column() {
        assert_eq!(skipped("[1, x]").unwrap_err(), "a JSON value expected, 'x' found (column 5)");
        assert_eq!(skipped("[1 2]").unwrap_err(), "',' or ']' expected, '2' found (column 4)");
        assert_eq!(skipped("{\"a\" 1}").unwrap_err(), "':' expected, '1' found (column 6)");
        assert_eq!(skipped("1 2").unwrap_err(), "the end of the record expected, '2' found (column 3)");
        assert_eq!(skipped("").unwrap_err(), "a JSON value expected, the end found (column 1)");
        assert!(skipped(&"[".repeat(5000)).unwrap_err().contains("levels of nesting"));
        for wrong in ["01", "-", "1.", ".5", "1e", "+1", "nul", "{,}", "[,]", "[1,]", "{\"a\":1,}", "\u{fc}"]
        {
            assert!(skipped(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn blanks_outside_of_strings_go() {
        assert_eq!(compact(" { \"a b\" : [ 1 , \"\\\" \" ] } "), "{\"a b\":[1,\"\\\" \"]}");
        assert!(matches!(compact("[1]"), Cow::Borrowed("[1]")));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn takes_what_serde_takes(json in r#"[\[\]{},:"a1\.\-\\ ]{0,14}"#) {
            prop_assert_eq!(skipped(&json).is_ok(), serde_json::from_str::<serde_json::Value>(&json).is_ok());
        }
    }
}
