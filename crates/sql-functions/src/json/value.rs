//! JSON documents: read, kept and written.
//!
//! Members keep their order while they are looked at and are written in order of their names, as Flink writes them; of equal
//! names the last counts. Numbers keep all their digits.

use std::fmt::Write;

/// How deep values may be nested.
const DEPTH_MAX: usize = 1000;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// The number as it is to be written.
    Number(String),
    String(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a document; none where the text is none, or is nested too deep.
    pub(crate) fn parse(text: &str) -> Option<Json> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.skip_space();
        (reader.at == text.len()).then_some(value)
    }

    /// Whether it is neither an array nor an object.
    pub(crate) fn is_scalar(&self) -> bool {
        !matches!(self, Json::Array(_) | Json::Object(_))
    }

    /// A member of an object.
    pub(crate) fn member(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().find(|(known, _)| known == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// A scalar as plain text, a string without its quotes.
    pub(crate) fn plain(&self, out: &mut String) {
        match self {
            Json::String(text) => out.push_str(text),
            other => other.write(out),
        }
    }

    /// Appends the document.
    pub(crate) fn write(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Number(text) => out.push_str(text),
            Json::String(text) => write_string(text, out),
            Json::Array(elements) => {
                out.push('[');
                for (i, element) in elements.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    element.write(out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                let mut sorted: Vec<&(String, Json)> = members.iter().collect();
                sorted.sort_by(|a, b| a.0.cmp(&b.0));
                out.push('{');
                for (i, (name, value)) in sorted.into_iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    write_string(name, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// Adds a member, or replaces the one of that name.
pub(crate) fn set_member(members: &mut Vec<(String, Json)>, name: String, value: Json) {
    match members.iter_mut().find(|(known, _)| *known == name) {
        Some(member) => member.1 = value,
        None => members.push((name, value)),
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut plain = 0;
    for (i, byte) in text.bytes().enumerate() {
        let escaped = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0..0x20 => "",
            _ => continue,
        };
        out.push_str(&text[plain..i]);
        plain = i + 1;
        if escaped.is_empty() {
            // Writing to a string does not fail.
            let _ = write!(out, "\\u{byte:04X}");
        } else {
            out.push_str(escaped);
        }
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn word(&mut self, word: &str, value: Json) -> Option<Json> {
        self.text[self.at..].starts_with(word).then(|| self.at += word.len())?;
        Some(value)
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        self.skip_space();
        match self.peek()? {
            b'{' if depth < DEPTH_MAX => self.object(depth),
            b'[' if depth < DEPTH_MAX => self.array(depth),
            b'"' => Some(Json::String(self.string()?)),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'n' => self.word("null", Json::Null),
            b'-' | b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    fn array(&mut self, depth: usize) -> Option<Json> {
        self.at += 1;
        let mut elements = Vec::new();
        self.skip_space();
        if self.take(b']').is_some() {
            return Some(Json::Array(elements));
        }
        loop {
            elements.push(self.value(depth + 1)?);
            self.skip_space();
            if self.take(b']').is_some() {
                return Some(Json::Array(elements));
            }
            self.take(b',')?;
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json> {
        self.at += 1;
        let mut members: Vec<(String, Json)> = Vec::new();
        self.skip_space();
        if self.take(b'}').is_some() {
            return Some(Json::Object(members));
        }
        loop {
            self.skip_space();
            let name = self.string()?;
            self.skip_space();
            self.take(b':')?;
            let value = self.value(depth + 1)?;
            members.push((name, value));
            self.skip_space();
            if self.take(b'}').is_some() {
                break;
            }
            self.take(b',')?;
        }
        Some(Json::Object(without_duplicates(members)))
    }

    fn string(&mut self) -> Option<String> {
        self.take(b'"')?;
        let start = self.at;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(self.text[start..self.at - 1].to_owned());
                }
                b'\\' => return self.escaped_string(start),
                0..0x20 => return None,
                _ => self.at += 1,
            }
        }
    }

    /// The rest of a string with escapes.
    fn escaped_string(&mut self, start: usize) -> Option<String> {
        let mut out = self.text[start..self.at].to_owned();
        loop {
            let plain = self.at;
            while !matches!(self.peek()?, b'"' | b'\\' | 0..0x20) {
                self.at += 1;
            }
            out.push_str(&self.text[plain..self.at]);
            self.at += 1;
            match self.text.as_bytes()[self.at - 1] {
                b'"' => return Some(out),
                b'\\' => out.push(self.escape()?),
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let escaped = self.peek()?;
        self.at += 1;
        Some(match escaped {
            b'"' | b'\\' | b'/' => char::from(escaped),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.hex()?;
                if !(0xd800..0xe000).contains(&high) {
                    return char::from_u32(high);
                }
                // Characters outside of the first plane are two escapes; half of one is shown as unknown.
                let low = self.text[self.at..].starts_with("\\u").then(|| {
                    self.at += 2;
                    self.hex()
                });
                match low {
                    Some(Some(low)) if high < 0xdc00 && (0xdc00..0xe000).contains(&low) => {
                        return char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
                    }
                    Some(None) => return None,
                    _ => char::REPLACEMENT_CHARACTER,
                }
            }
            _ => return None,
        })
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Option<Json> {
        let start = self.at;
        let _ = self.take(b'-');
        let leading_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        if whole == 0 || leading_zero && whole > 1 {
            return None;
        }
        let mut integer = true;
        if self.take(b'.').is_some() {
            integer = false;
            (self.digits() > 0).then_some(())?;
        }
        let mantissa = self.at;
        let mut exponent = 0i64;
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            integer = false;
            let sign_at = self.at;
            let _ = self.take(b'-').or_else(|| self.take(b'+'));
            (self.digits() > 0).then_some(())?;
            exponent = self.text[sign_at..self.at].parse().ok()?;
        }
        let text = &self.text[start..mantissa];
        if integer {
            return Some(Json::Number(if text == "-0" { "0".to_owned() } else { text.to_owned() }));
        }
        Some(Json::Number(decimal_text(text, exponent)?))
    }
}

/// Of members with one name the last stays, in the place of the first.
fn without_duplicates(members: Vec<(String, Json)>) -> Vec<(String, Json)> {
    let mut sorted: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
    sorted.sort_unstable();
    if sorted.windows(2).all(|pair| pair[0] != pair[1]) {
        return members;
    }
    let mut places = std::collections::HashMap::new();
    let mut kept: Vec<(String, Json)> = Vec::with_capacity(members.len());
    for (name, value) in members {
        match places.get(&name) {
            Some(place) => {
                let place: usize = *place;
                kept[place].1 = value;
            }
            None => {
                places.insert(name.clone(), kept.len());
                kept.push((name, value));
            }
        }
    }
    kept
}

/// A number with a fraction or an exponent as `java.math.BigDecimal` shows it.
fn decimal_text(mantissa: &str, exponent: i64) -> Option<String> {
    let (sign, unsigned) = match mantissa.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", mantissa),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let scale = (fraction.len() as i64).checked_sub(exponent)?;
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    let sign = if digits == "0" { "" } else { sign };
    let adjusted = (digits.len() as i64 - 1).checked_sub(scale)?;
    if scale >= 0 && adjusted >= -6 {
        let scale = scale as usize;
        if scale == 0 {
            return Some(format!("{sign}{digits}"));
        }
        let padded = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = padded.split_at(padded.len() - scale);
        return Some(format!("{sign}{whole}.{fraction}"));
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    Some(format!("{sign}{first}{point}{rest}E{adjusted:+}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(text: &str) -> Option<String> {
        let mut out = String::new();
        Json::parse(text)?.write(&mut out);
        Some(out)
    }

    #[test]
    fn documents_are_read_and_written() {
        for (text, expected) in [
            (" null ", Some("null")),
            ("[1, -2.50, true,\"x\"]", Some("[1,-2.50,true,\"x\"]")),
            ("{\"b\": 1, \"a\": {}, \"b\": [ ]}", Some("{\"a\":{},\"b\":[]}")),
            (r#""\u00e9\n\u001f\/ \ud83d\ude00 \ud83d!""#, Some("\"é\\n\\u001F/ 😀 \u{fffd}!\"")),
            ("1e3", Some("1E+3")),
            ("12.5e-1", Some("1.25")),
            ("-0.0", Some("0.0")),
            ("-0", Some("0")),
            ("1.5E10", Some("1.5E+10")),
            ("0.0000001", Some("1E-7")),
            ("123456789012345678901234567890", Some("123456789012345678901234567890")),
            ("01", None),
            ("1.", None),
            ("+1", None),
            ("[1,]", None),
            ("{a: 1}", None),
            ("'a'", None),
            ("nul", None),
            ("", None),
            ("1 2", None),
            ("\"\u{1}\"", None),
            ("\"open", None),
            ("\"\\x\"", None),
            ("\"\\u12\"", None),
            ("1e99999999999999999999", None),
        ] {
            assert_eq!(round(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_nested_too_deep_is_refused() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(round(&nested(1000)).is_some());
        assert!(round(&nested(1001)).is_none());
        assert!(round(&nested(1_000_000)).is_none());
    }
}
