//! Columns to JSON objects, as Flink (that is, Jackson) writes them.

use super::super::text::{self, DateTime};
use super::super::view::{Data, View, elements, interval_millis};
use super::{JsonOptions, NullKeys};
use arrow::datatypes::SchemaRef;
use flugs_batch::{Batch, ChangeBatch};
use flugs_table::RecordEncoder;
use flugs_types::{Error, Result, RowKind};
use std::fmt::Write as _;

/// Writes values.
pub(in super::super) struct RowWriter {
    options: JsonOptions,
}

impl RowWriter {
    pub(in super::super) fn new(options: JsonOptions) -> Self {
        RowWriter { options }
    }

    /// Appends a row as an object.
    pub(in super::super) fn object<'v, 'd: 'v>(
        &self,
        out: &mut String,
        fields: impl Iterator<Item = (&'v str, &'v View<'d>)>,
        row: usize,
    ) -> Result<()> {
        out.push('{');
        let mut is_first = true;
        for (name, field) in fields {
            if self.options.skip_nulls && field.is_null(row) {
                continue;
            }
            comma(out, &mut is_first);
            quoted(out, name);
            out.push(':');
            self.value(out, field, row).map_err(|e| e.at(format!("column {name}")))?;
        }
        out.push('}');
        Ok(())
    }

    fn value(&self, out: &mut String, column: &View<'_>, row: usize) -> Result<()> {
        if column.is_null(row) {
            out.push_str("null");
            return Ok(());
        }
        match &column.data {
            Data::Null => out.push_str("null"),
            Data::Boolean(values) => out.push_str(if values.value(row) { "true" } else { "false" }),
            Data::Int8(values) => text::integer(out, values[row].into()),
            Data::Int16(values) => text::integer(out, values[row].into()),
            Data::Int32(values) | Data::Months(values) => text::integer(out, values[row].into()),
            Data::Int64(values) => text::integer(out, values[row]),
            Data::Interval(values) => text::integer(out, interval_millis(values[row])),
            Data::Float32(values) => {
                number(out, values[row].is_finite(), |out| text::float(out, values[row]));
            }
            Data::Float64(values) => {
                number(out, values[row].is_finite(), |out| text::double(out, values[row]));
            }
            Data::Decimal(values, scale) => {
                text::decimal(out, values[row], *scale, self.options.plain_decimals);
            }
            Data::Text(values) => quoted(out, values.value(row)),
            Data::Bytes(values) => number(out, false, |out| text::base64(out, values.value(row))),
            Data::Date(values) => number(out, false, |out| text::date(out, values[row].into())),
            Data::Time(values) => number(out, false, |out| text::time(out, DateTime::of_time(values[row]))),
            Data::Timestamp { unit, is_zoned, values } => {
                let at = DateTime::of_timestamp(*unit, values[row]);
                out.push('"');
                text::date(out, at.days);
                out.push(self.options.time_style.separator);
                text::time(out, at);
                out.push_str(if *is_zoned { "Z\"" } else { "\"" });
            }
            Data::List(offsets, items) => {
                out.push('[');
                let mut is_first = true;
                for item in elements(offsets, row) {
                    comma(out, &mut is_first);
                    self.value(out, items, item)?;
                }
                out.push(']');
            }
            Data::Map(offsets, keys, values) => self.map(out, elements(offsets, row), keys, values)?,
            Data::Row(fields) => self.object(out, fields.iter().map(|(n, f)| (*n, f)), row)?,
            Data::Other(column) => {
                let data_type = column.data_type();
                return Err(Error::job(format!("values of {data_type} cannot be written as JSON")));
            }
        }
        Ok(())
    }

    fn map(
        &self,
        out: &mut String,
        entries: std::ops::Range<usize>,
        keys: &View<'_>,
        values: &View<'_>,
    ) -> Result<()> {
        let Data::Text(texts) = &keys.data else {
            return Err(Error::job("only maps with STRING keys can be written as JSON")
                .mend("CAST the keys to STRING"));
        };
        out.push('{');
        let mut is_first = true;
        for entry in entries {
            let key = match (keys.is_null(entry), &self.options.null_keys) {
                (false, _) => texts.value(entry),
                (true, NullKeys::Drop) => continue,
                (true, NullKeys::Literal(literal)) => literal,
                (true, NullKeys::Fail) => {
                    return Err(Error::data("a map with the key NULL cannot be written as JSON")
                        .mend("set 'json.map-null-key.mode' to 'DROP' or 'LITERAL'"));
                }
            };
            comma(out, &mut is_first);
            quoted(out, key);
            out.push(':');
            self.value(out, values, entry)?;
        }
        out.push('}');
        Ok(())
    }
}

fn comma(out: &mut String, is_first: &mut bool) {
    if !std::mem::take(is_first) {
        out.push(',');
    }
}

/// What JSON has no number for is written as text, as Jackson does.
fn number(out: &mut String, is_number: bool, write: impl FnOnce(&mut String)) {
    let quote = if is_number { "" } else { "\"" };
    out.push_str(quote);
    write(out);
    out.push_str(quote);
}

/// A string with Jackson's escapes.
pub(in super::super) fn quoted(out: &mut String, text: &str) {
    out.push('"');
    let mut kept = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[kept..at]);
        kept = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x8 => out.push_str("\\b"),
            0xc => out.push_str("\\f"),
            // A string takes everything.
            other => drop(write!(out, "\\u{other:04X}")),
        }
    }
    out.push_str(&text[kept..]);
    out.push('"');
}

/// The encoder of the format.
pub(super) struct JsonEncoder {
    writer: RowWriter,
    names: Vec<String>,
    /// Kept for its capacity.
    lines: String,
}

impl JsonEncoder {
    pub(super) fn new(writer: RowWriter, schema: &SchemaRef) -> Self {
        let names = schema.fields().iter().map(|field| field.name().clone()).collect();
        JsonEncoder { writer, names, lines: String::new() }
    }
}

impl RecordEncoder for JsonEncoder {
    fn encode(&mut self, batch: &ChangeBatch, out: &mut Vec<u8>) -> Result<()> {
        self.lines.clear();
        let views = View::all(batch.rows());
        for row in 0..batch.len() {
            if batch.kind(row) != RowKind::Insert {
                return Err(Error::bug("an append-only format is given changes"));
            }
            let fields = self.names.iter().map(String::as_str).zip(&views);
            self.writer.object(&mut self.lines, fields, row)?;
            self.lines.push('\n');
        }
        out.extend_from_slice(self.lines.as_bytes());
        Ok(())
    }
}
