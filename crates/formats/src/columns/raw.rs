//! The format `raw`: a record is the value of the table's one column.
//!
//! | option | default | |
//! | --- | --- | --- |
//! | `raw.charset` | `UTF-8` | of strings: `UTF-8`, `US-ASCII`, `ISO-8859-1` |
//! | `raw.endianness` | `big-endian` | of numbers: `big-endian`, `little-endian` |
//!
//! Where records are lines, a value with a line break cannot be written.

use super::build::{Builder, Values, builders, finish};
use super::view::{Data, View};
use arrow::datatypes::SchemaRef;
use flugs_batch::{Batch, ChangeBatch};
use flugs_table::{
    BytesAt, DecodeFailure, FormatContext, FormatFactory, OptionKind, OptionSpec, Options, RecordDecoder,
    RecordEncoder,
};
use flugs_types::{Error, Result, RowKind};

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "charset",
        kind: OptionKind::Enum(&["UTF-8", "US-ASCII", "ISO-8859-1"]),
        default: Some("UTF-8"),
        doc: "the charset of strings",
    },
    OptionSpec {
        key: "endianness",
        kind: OptionKind::Enum(&["big-endian", "little-endian"]),
        default: Some("big-endian"),
        doc: "the order of the bytes of numbers",
    },
];

/// The format of `'format' = 'raw'`.
#[derive(Debug, Clone, Copy)]
pub struct RawFormat;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Charset {
    Utf8,
    Ascii,
    Latin1,
}

#[derive(Debug, Clone, Copy)]
struct Layout {
    charset: Charset,
    is_little: bool,
}

impl Layout {
    fn of(options: &Options) -> Self {
        let is = |key: &str, word: &str| options.get(key).is_some_and(|v| v.eq_ignore_ascii_case(word));
        let charset = match () {
            () if is("raw.charset", "US-ASCII") => Charset::Ascii,
            () if is("raw.charset", "ISO-8859-1") => Charset::Latin1,
            () => Charset::Utf8,
        };
        Layout { charset, is_little: is("raw.endianness", "little-endian") }
    }

    /// The bytes of a number of so many bytes, in the machine's order or turned.
    fn number<const N: usize>(self, bytes: &[u8], what: &str) -> Result<[u8; N], String> {
        let mut number: [u8; N] = bytes
            .try_into()
            .map_err(|_| format!("{what} of {N} bytes expected, a record of {} bytes found", bytes.len()))?;
        if !self.is_little {
            number.reverse();
        }
        Ok(number)
    }
}

fn check(context: FormatContext<'_>) -> Result<()> {
    if context.physical.fields().len() == 1 {
        return Ok(());
    }
    Err(Error::job(format!(
        "the format raw needs a table of one column, but {} has {}",
        context.table,
        context.physical.fields().len()
    )))
}

impl FormatFactory for RawFormat {
    fn identifier(&self) -> &'static str {
        "raw"
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn extension(&self) -> &'static str {
        "txt"
    }

    fn decoder(&self, context: FormatContext<'_>) -> Result<Box<dyn RecordDecoder>> {
        check(context)?;
        let builders = builders(context.schema)?;
        Ok(Box::new(Decoder {
            layout: Layout::of(context.options),
            builders,
            schema: context.schema.clone(),
        }))
    }

    fn encoder(&self, context: FormatContext<'_>) -> Result<Box<dyn RecordEncoder>> {
        check(context)?;
        Ok(Box::new(Encoder(Layout::of(context.options))))
    }
}

struct Decoder {
    layout: Layout,
    /// One; none where only the number of rows is asked for.
    builders: Vec<Builder>,
    schema: SchemaRef,
}

impl Decoder {
    fn add(&mut self, bytes: &[u8]) -> Result<(), String> {
        let layout = self.layout;
        for builder in &mut self.builders {
            match &mut builder.values {
                Values::Text(_) => {
                    push_text(builder, layout.charset, bytes)?;
                    continue;
                }
                Values::Bytes(_) => {
                    builder.push_bytes(bytes)?;
                    continue;
                }
                Values::Boolean(values) => values.push(layout.number::<1>(bytes, "BOOLEAN")? != [0]),
                Values::Int8(values) => values.push(i8::from_le_bytes(layout.number(bytes, "TINYINT")?)),
                Values::Int16(values) => values.push(i16::from_le_bytes(layout.number(bytes, "SMALLINT")?)),
                Values::Int32(values) => values.push(i32::from_le_bytes(layout.number(bytes, "INT")?)),
                Values::Int64(values) => values.push(i64::from_le_bytes(layout.number(bytes, "BIGINT")?)),
                Values::Float32(values) => values.push(f32::from_le_bytes(layout.number(bytes, "FLOAT")?)),
                Values::Float64(values) => values.push(f64::from_le_bytes(layout.number(bytes, "DOUBLE")?)),
                _ => return Err(format!("the format raw cannot read {}", builder.expected())),
            }
            builder.pushed();
        }
        Ok(())
    }
}

fn push_text(builder: &mut Builder, charset: Charset, bytes: &[u8]) -> Result<(), String> {
    let wrong = |at: usize, what: &str| {
        format!("{what} expected, byte 0x{:02x} found (column {})", bytes[at], at + 1)
    };
    match charset {
        Charset::Latin1 if !bytes.is_ascii() => {
            let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
            builder.push_text(&text)
        }
        Charset::Ascii if !bytes.is_ascii() => {
            let at = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(0);
            Err(wrong(at, "US-ASCII"))
        }
        _ => {
            let text = std::str::from_utf8(bytes).map_err(|e| wrong(e.valid_up_to(), "UTF-8"))?;
            builder.push_text(text)
        }
    }
}

impl RecordDecoder for Decoder {
    fn decode(&mut self, records: &[BytesAt<'_>]) -> Result<(ChangeBatch, Vec<DecodeFailure>)> {
        let (mut rows, mut failures) = (0, Vec::new());
        for (record, bytes) in records.iter().enumerate() {
            match self.add(bytes) {
                Ok(()) => rows += 1,
                Err(message) => {
                    self.builders.iter_mut().for_each(|builder| builder.truncate(rows));
                    failures.push(DecodeFailure { record, message, has_row: false });
                }
            }
        }
        Ok((ChangeBatch::inserts(finish(&mut self.builders, &self.schema, rows)?), failures))
    }
}

struct Encoder(Layout);

impl Encoder {
    fn value(&self, out: &mut Vec<u8>, column: &View<'_>, row: usize) -> Result<()> {
        if column.is_null(row) {
            return Err(Error::data("NULL cannot be written in the format raw").mend("filter it out before"));
        }
        let from = out.len();
        match &column.data {
            Data::Text(values) => return self.text(out, values.value(row)),
            Data::Bytes(values) => {
                out.extend_from_slice(values.value(row));
                return Ok(());
            }
            Data::Boolean(values) => out.push(u8::from(values.value(row))),
            Data::Int8(values) => out.extend(values[row].to_le_bytes()),
            Data::Int16(values) => out.extend(values[row].to_le_bytes()),
            Data::Int32(values) => out.extend(values[row].to_le_bytes()),
            Data::Int64(values) => out.extend(values[row].to_le_bytes()),
            Data::Float32(values) => out.extend(values[row].to_le_bytes()),
            Data::Float64(values) => out.extend(values[row].to_le_bytes()),
            _ => return Err(Error::job("the format raw writes strings, bytes, truth values and numbers")),
        }
        if !self.0.is_little {
            out[from..].reverse();
        }
        Ok(())
    }

    fn text(&self, out: &mut Vec<u8>, text: &str) -> Result<()> {
        let limit = match self.0.charset {
            Charset::Utf8 => {
                out.extend_from_slice(text.as_bytes());
                return Ok(());
            }
            Charset::Ascii => 0x80,
            Charset::Latin1 => 0x100,
        };
        for letter in text.chars() {
            if u32::from(letter) >= limit {
                return Err(Error::data(format!("'{letter}' is no letter of the charset of 'raw.charset'")));
            }
            out.push(u32::from(letter) as u8);
        }
        Ok(())
    }
}

impl RecordEncoder for Encoder {
    fn encode(&mut self, batch: &ChangeBatch, out: &mut Vec<u8>) -> Result<()> {
        let before = out.len();
        let columns = View::all(batch.rows());
        let [column] = &columns[..] else {
            return Err(Error::bug("the format raw is given several columns"));
        };
        for row in 0..batch.len() {
            let start = out.len();
            let written = match batch.kind(row) {
                RowKind::Insert => self.value(out, column, row),
                _ => Err(Error::bug("an append-only format is given changes")),
            };
            let written = written.and_then(|()| match memchr::memchr(b'\n', &out[start..]) {
                None => Ok(()),
                Some(_) => Err(Error::data("a value with a line break cannot be written as a line")
                    .mend("write it in another format, such as JSON")),
            });
            if let Err(e) = written {
                out.truncate(before);
                return Err(e);
            }
            out.push(b'\n');
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
