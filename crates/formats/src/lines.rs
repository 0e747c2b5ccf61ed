//! Plain lines.

use crate::{Decode, DecodeError, Encode, Framing, InputFormat, OutputFormat};
use flugs_batch::{CompactString, Record};
use flugs_types::{Error, Result};
use std::fmt;
use std::marker::PhantomData;

/// What a line can be read as.
pub trait Line: Record {
    /// From the bytes of a line.
    fn from_line(bytes: &[u8]) -> Result<Self, DecodeError>;
    /// The bytes of the line.
    fn as_line(&self) -> &[u8];
}

impl Line for String {
    fn from_line(bytes: &[u8]) -> Result<Self, DecodeError> {
        Ok(utf8(bytes)?.to_owned())
    }

    fn as_line(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl Line for CompactString {
    fn from_line(bytes: &[u8]) -> Result<Self, DecodeError> {
        Ok(CompactString::from(utf8(bytes)?))
    }

    fn as_line(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl Line for Vec<u8> {
    fn from_line(bytes: &[u8]) -> Result<Self, DecodeError> {
        Ok(bytes.to_vec())
    }

    fn as_line(&self) -> &[u8] {
        self
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, DecodeError> {
    std::str::from_utf8(bytes).map_err(|e| {
        let at = e.valid_up_to();
        DecodeError::new(format!(
            "UTF-8 expected, byte 0x{:02x} found; `Lines::bytes()` takes any bytes",
            bytes[at]
        ))
        .at(format!("column {}", at + 1))
    })
}

/// Each line is a row, without its line end; an empty line is an empty row.
pub struct Lines<T = String>(PhantomData<fn() -> T>);

impl Lines<String> {
    /// Lines as `String`s. Other bytes than UTF-8 are malformed.
    pub fn new() -> Self {
        Lines(PhantomData)
    }
}

impl Lines<CompactString> {
    /// Lines as `CompactString`s, which keep up to 24 bytes without an allocation.
    pub fn compact() -> Self {
        Lines(PhantomData)
    }
}

impl Lines<Vec<u8>> {
    /// Lines as bytes, whatever they are.
    pub fn bytes() -> Self {
        Lines(PhantomData)
    }
}

impl Default for Lines<String> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for Lines<T> {
    fn clone(&self) -> Self {
        Lines(PhantomData)
    }
}

impl<T> fmt::Debug for Lines<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lines")
    }
}

impl<T: Line> InputFormat for Lines<T> {
    type Item = T;
    type Decoder = LinesDecoder;

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn is_blank(&self, _record: &[u8]) -> bool {
        false
    }

    fn decoder(&self, _header: Option<&[u8]>) -> Result<LinesDecoder, DecodeError> {
        Ok(LinesDecoder)
    }
}

impl<T: Line> OutputFormat for Lines<T> {
    type Item = T;
    type Encoder = LinesEncoder;

    fn extension(&self) -> &'static str {
        "txt"
    }

    fn encoder(&self) -> LinesEncoder {
        LinesEncoder
    }
}

/// Reads lines.
#[derive(Debug)]
pub struct LinesDecoder;

impl<T: Line> Decode<T> for LinesDecoder {
    #[inline]
    fn decode(&mut self, record: &[u8]) -> Result<T, DecodeError> {
        T::from_line(record)
    }
}

/// Writes lines.
#[derive(Debug)]
pub struct LinesEncoder;

impl<T: Line> Encode<T> for LinesEncoder {
    fn encode(&mut self, value: &T, out: &mut Vec<u8>) -> Result<()> {
        let line = value.as_line();
        if memchr::memchr(b'\n', line).is_some() {
            return Err(Error::job("a row with a line break inside cannot be written as one line")
                .mend("write it as JSON or CSV, or replace the line break first"));
        }
        out.extend_from_slice(line);
        out.push(b'\n');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_its_bytes() {
        let read: String = LinesDecoder.decode("gr\u{fc}n".as_bytes()).unwrap();
        assert_eq!(read, "gr\u{fc}n");
        let read: Vec<u8> = LinesDecoder.decode(&[0xff, 0]).unwrap();
        assert_eq!(read, [0xff, 0]);
        let error = Decode::<String>::decode(&mut LinesDecoder, b"ab\xff").unwrap_err();
        assert_eq!(
            error.to_string(),
            "UTF-8 expected, byte 0xff found; `Lines::bytes()` takes any bytes (column 3)"
        );
    }

    #[test]
    fn a_line_break_inside_is_refused() {
        let mut out = b"before\n".to_vec();
        assert!(LinesEncoder.encode(&"a\nb".to_owned(), &mut out).is_err());
        LinesEncoder.encode(&"ab".to_owned(), &mut out).unwrap();
        assert_eq!(out, b"before\nab\n");
    }
}
