//! Characters as numbers and bytes.

use crate::registry::Category;
use crate::support::{Call, Definition, Parameter, data_error};
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Int32Type};
use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use datafusion_common::Result;
use flugs_sql_types::LogicalType;

/// As Java's decoder: padding may be missing.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

pub(super) fn definitions() -> Vec<Definition> {
    use Parameter::{BigInt, Bytes, StringOrBytes};
    let function = |name: &str, usage, text, body: fn(&Call<'_>) -> Result<ArrayRef>| {
        Definition::new(Category::String, name, usage, text, body)
    };
    vec![
        function(
            "ASCII",
            "ASCII(string)",
            "The first byte of the string as a signed number; 0 where it is empty.",
            |call| {
                let texts = call.strings(0);
                let first = |row| i32::from(texts.any(row).bytes().next().unwrap_or(0) as i8);
                Ok(call.map_all::<Int32Type>(first))
            },
        )
        .takes(&[Parameter::String])
        .returns(LogicalType::Int),
        function(
            "CHR",
            "CHR(code)",
            "The character of a code modulo 256; nothing for a negative one.",
            |call| {
                let codes = call.big_ints(0);
                call.texts(|row, out| {
                    let Some(code) = codes.get(row) else { return Ok(false) };
                    if code >= 0 {
                        out.push(char::from((code & 0xff) as u8));
                    }
                    Ok(true)
                })
            },
        )
        .takes(&[BigInt]),
        function("ENCODE", "ENCODE(string, charset)", "The bytes of a string in a character set.", |call| {
            let (texts, charsets) = (call.strings(0), call.strings(1));
            call.collect_bytes(|row| match (texts.get(row), charsets.get(row)) {
                (Some(text), Some(charset)) => Ok(Some(Charset::named(charset)?.encode(text))),
                _ => Ok(None),
            })
        })
        .takes(&[Parameter::String, Parameter::String])
        .returns(LogicalType::BYTES),
        function(
            "DECODE",
            "DECODE(bytes, charset)",
            "The string that bytes mean in a character set.",
            |call| {
                let (bytes, charsets) = (call.bytes(0), call.strings(1));
                call.collect_texts(|row| match (bytes.get(row), charsets.get(row)) {
                    (Some(bytes), Some(charset)) => Ok(Some(Charset::named(charset)?.decode(bytes))),
                    _ => Ok(None),
                })
            },
        )
        .takes(&[Bytes, Parameter::String]),
        function("TO_BASE64", "TO_BASE64(string)", "A string or bytes in base64.", |call| {
            let value = |bytes: &[u8]| BASE64.encode(bytes);
            if *call.type_of(0) == DataType::Binary {
                return call.collect_texts(|row| Ok(call.bytes(0).get(row).map(value)));
            }
            call.collect_texts(|row| Ok(call.strings(0).get(row).map(|t| value(t.as_bytes()))))
        })
        .takes(&[StringOrBytes]),
        function("FROM_BASE64", "FROM_BASE64(string)", "The string that was put into base64.", |call| {
            let texts = call.strings(0);
            call.collect_texts(|row| {
                let Some(text) = texts.get(row) else { return Ok(None) };
                let bytes =
                    BASE64.decode(text).map_err(|e| data_error(format!("FROM_BASE64('{text}'): {e}")))?;
                Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
            })
        })
        .takes(&[Parameter::String]),
    ]
}

/// The character sets that every Java runtime has.
#[derive(Clone, Copy)]
enum Charset {
    Ascii,
    Latin1,
    Utf8,
    Utf16,
    Utf16Be,
    Utf16Le,
}

impl Charset {
    fn named(name: &str) -> Result<Charset> {
        match name.to_ascii_uppercase().as_str() {
            "US-ASCII" | "ASCII" => Ok(Charset::Ascii),
            "ISO-8859-1" | "ISO8859-1" | "LATIN1" => Ok(Charset::Latin1),
            "UTF-8" | "UTF8" => Ok(Charset::Utf8),
            "UTF-16" => Ok(Charset::Utf16),
            "UTF-16BE" => Ok(Charset::Utf16Be),
            "UTF-16LE" => Ok(Charset::Utf16Le),
            _ => Err(data_error(format!(
                "there is no character set '{name}'; there are US-ASCII, ISO-8859-1, UTF-8, UTF-16, UTF-16BE, UTF-16LE"
            ))),
        }
    }

    /// What a set does not have becomes a question mark.
    fn encode(self, text: &str) -> Vec<u8> {
        let narrow =
            |end: u32| text.chars().map(|c| if u32::from(c) < end { c as u8 } else { b'?' }).collect();
        match self {
            Charset::Ascii => narrow(0x80),
            Charset::Latin1 => narrow(0x100),
            Charset::Utf8 => text.as_bytes().to_vec(),
            // With a mark of the byte order before it, as in Java.
            Charset::Utf16 => {
                [0xfe, 0xff].into_iter().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect()
            }
            Charset::Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            Charset::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        }
    }

    /// What means nothing becomes U+FFFD.
    fn decode(self, bytes: &[u8]) -> String {
        match self {
            Charset::Ascii => {
                bytes.iter().map(|b| if b.is_ascii() { char::from(*b) } else { '\u{fffd}' }).collect()
            }
            Charset::Latin1 => bytes.iter().map(|b| char::from(*b)).collect(),
            Charset::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
            Charset::Utf16 => match bytes {
                [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
                [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
                all => utf16(all, u16::from_be_bytes),
            },
            Charset::Utf16Be => utf16(bytes, u16::from_be_bytes),
            Charset::Utf16Le => utf16(bytes, u16::from_le_bytes),
        }
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text: String =
        char::decode_utf16(pairs.iter().map(|p| unit(*p))).map(|c| c.unwrap_or('\u{fffd}')).collect();
    if !rest.is_empty() {
        text.push('\u{fffd}');
    }
    text
}
