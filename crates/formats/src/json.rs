//! JSON Lines.

use crate::{Decode, DecodeError, Encode, Framing, InputFormat, OutputFormat};
use flugs_batch::Record;
use flugs_types::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::fmt::Write as _;
use std::marker::PhantomData;

/// One JSON value per line, read and written by the type's serde implementation: fields in the order of the
/// struct, without blanks. Lines of white space alone are passed over.
pub struct Json<T>(PhantomData<fn() -> T>);

impl<T> Json<T> {
    /// JSON Lines of `T`.
    pub fn new() -> Self {
        Json(PhantomData)
    }
}

impl<T> Default for Json<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for Json<T> {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Json<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Json")
    }
}

impl<T: Record + DeserializeOwned> InputFormat for Json<T> {
    type Item = T;
    type Decoder = JsonDecoder;

    /// JSON keeps line breaks inside strings escaped, so each line is a record.
    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn is_blank(&self, record: &[u8]) -> bool {
        record.trim_ascii_start().is_empty()
    }

    fn decoder(&self, _header: Option<&[u8]>) -> Result<JsonDecoder, DecodeError> {
        Ok(JsonDecoder)
    }
}

impl<T: Record + Serialize> OutputFormat for Json<T> {
    type Item = T;
    type Encoder = JsonEncoder;

    fn extension(&self) -> &'static str {
        "jsonl"
    }

    fn encoder(&self) -> JsonEncoder {
        JsonEncoder
    }
}

/// Reads JSON values.
#[derive(Debug)]
pub struct JsonDecoder;

impl<T: DeserializeOwned> Decode<T> for JsonDecoder {
    #[inline]
    fn decode(&mut self, record: &[u8]) -> Result<T, DecodeError> {
        serde_json::from_slice(record).map_err(|e| explain(&e, record))
    }
}

/// Writes JSON values.
#[derive(Debug)]
pub struct JsonEncoder;

impl<T: Serialize> Encode<T> for JsonEncoder {
    fn encode(&mut self, value: &T, out: &mut Vec<u8>) -> Result<()> {
        let before = out.len();
        if let Err(e) = serde_json::to_writer(&mut *out, value) {
            out.truncate(before);
            return Err(Error::job(format!("a row cannot be written as JSON: {e}"))
                .mend("JSON object keys must be strings or numbers; check the type's `Serialize`"));
        }
        out.push(b'\n');
        Ok(())
    }
}

#[cold]
fn explain(error: &serde_json::Error, record: &[u8]) -> DecodeError {
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    let column = error.column();
    // A missing field is noticed at the end of its object, whose last key has no part in it.
    let field = path_at(record, column.saturating_sub(1), message.starts_with("missing field"));
    let place = match (column, field.is_empty()) {
        (0, true) => return DecodeError::new(message),
        (0, false) => format!("field `{field}`"),
        (_, true) => format!("column {column}"),
        (_, false) => format!("column {column}, field `{field}`"),
    };
    DecodeError::new(message).at(place)
}

/// How many levels of nesting and bytes of a key a message shows.
const PATH_DEPTH_MAX: usize = 16;
const KEY_BYTES_MAX: usize = 64;

enum Level {
    Object { key: (usize, usize), expects_key: bool },
    Array(usize),
}

/// The path (`a.b[3]`) of the value in which the byte `end` of a JSON text lies; of its parent where wanted.
/// Works on broken JSON too, as far as it goes.
fn path_at(json: &[u8], end: usize, of_parent: bool) -> String {
    let end = end.min(json.len());
    let mut levels: Vec<Level> = Vec::new();
    let mut i = 0;
    while i < end {
        match json[i] {
            b'"' => {
                let start = i + 1;
                i = start;
                while i < end && json[i] != b'"' {
                    i += if json[i] == b'\\' { 2 } else { 1 };
                }
                if let Some(Level::Object { key, expects_key: true }) = levels.last_mut() {
                    *key = (start, i.min(end));
                }
            }
            b'{' => levels.push(Level::Object { key: (0, 0), expects_key: true }),
            b'[' => levels.push(Level::Array(0)),
            b'}' | b']' => drop(levels.pop()),
            b':' => {
                if let Some(Level::Object { expects_key, .. }) = levels.last_mut() {
                    *expects_key = false;
                }
            }
            b',' => match levels.last_mut() {
                Some(Level::Object { expects_key, .. }) => *expects_key = true,
                Some(Level::Array(index)) => *index += 1,
                None => {}
            },
            _ => {}
        }
        i += 1;
    }
    if of_parent {
        levels.pop();
    }
    let mut path = String::new();
    for level in levels.iter().take(PATH_DEPTH_MAX) {
        match *level {
            Level::Object { key: (start, stop), .. } => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&String::from_utf8_lossy(&json[start..stop.min(start + KEY_BYTES_MAX)]));
            }
            Level::Array(index) => {
                let _ = write!(path, "[{index}]");
            }
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Flight {
        carrier: String,
        delay: Option<i32>,
        legs: Vec<Leg>,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Leg {
        to: String,
    }

    fn error(json: &str) -> String {
        Decode::<Flight>::decode(&mut JsonDecoder, json.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn reads_and_writes_in_the_order_of_the_struct() {
        let json = br#" {"legs":[{"to":"SFO"}], "delay":null,"more":[1,{"a":2}],"carrier":"B\n6"}"#;
        let flight: Flight = JsonDecoder.decode(json).unwrap();
        assert_eq!(
            flight,
            Flight { carrier: "B\n6".into(), delay: None, legs: vec![Leg { to: "SFO".into() }] }
        );
        let mut out = Vec::new();
        JsonEncoder.encode(&flight, &mut out).unwrap();
        assert_eq!(out, b"{\"carrier\":\"B\\n6\",\"delay\":null,\"legs\":[{\"to\":\"SFO\"}]}\n");
    }

    #[test]
    fn errors_name_the_column_and_the_field() {
        assert_eq!(
            error(r#"{"carrier":"UA","delay":"late","legs":[]}"#),
            "invalid type: string \"late\", expected i32 (column 30, field `delay`)"
        );
        assert_eq!(
            error(r#"{"carrier":"UA","delay":1,"legs":[{"to":"A"},{"to":7}]}"#),
            "invalid type: integer `7`, expected a string (column 52, field `legs[1].to`)"
        );
        assert_eq!(
            error(r#"{"carrier":"UA","delay":1,"legs":[{}]}"#),
            "missing field `to` (column 36, field `legs[0]`)"
        );
        assert_eq!(error(r#"{"delay":1}"#), "missing field `carrier` (column 11)");
        assert_eq!(error(r#"{"carrier":"U"#), "EOF while parsing a string (column 13, field `carrier`)");
    }

    #[test]
    fn any_bytes_give_an_error_and_no_panic() {
        for bytes in [&b"\xff\xfe"[..], b"\"\\", b"{\"\\", b"{,,,}]]", b"[[[[", b"{\"a\":\"\xff\"}", b"\0"] {
            assert!(Decode::<Flight>::decode(&mut JsonDecoder, bytes).is_err());
        }
    }

    #[test]
    fn what_json_cannot_hold_leaves_no_trace() {
        let mut out = b"x\n".to_vec();
        let map = std::collections::BTreeMap::from([((1, 2), 3)]);
        assert!(JsonEncoder.encode(&map, &mut out).is_err());
        assert_eq!(out, b"x\n");
    }
}
