//! Values as JSON text.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use flugs_types::{Error, Result};
use std::fmt::Write;

/// Writes the values of a column: numbers and booleans as they are, anything else as a string.
pub(crate) struct JsonWriter<'a> {
    column: &'a ArrayRef,
    formatter: ArrayFormatter<'a>,
    quoted: bool,
}

impl<'a> JsonWriter<'a> {
    pub(crate) fn new(column: &'a ArrayRef) -> Result<Self> {
        let formatter = ArrayFormatter::try_new(column.as_ref(), &OPTIONS)
            .map_err(|e| Error::job("a value of this type has no JSON").caused_by(e))?;
        let quoted = !(column.data_type().is_numeric() || *column.data_type() == DataType::Boolean);
        Ok(JsonWriter { column, formatter, quoted })
    }

    /// Appends the value of a row.
    pub(crate) fn write(&self, row: usize, out: &mut String) -> Result<()> {
        if self.column.is_null(row) || *self.column.data_type() == DataType::Null {
            out.push_str("null");
        } else if let Some(texts) = self.column.as_string_view_opt() {
            write_string(texts.value(row), out);
        } else if self.quoted || self.is_no_number(row) {
            write_string(&self.formatter.value(row).to_string(), out);
        } else {
            write!(out, "{}", self.formatter.value(row)).map_err(|_| Error::bug("a value has no text"))?;
        }
        Ok(())
    }

    /// JSON has neither NaN nor infinities.
    fn is_no_number(&self, row: usize) -> bool {
        use arrow::datatypes::{Float32Type, Float64Type};
        match self.column.data_type() {
            DataType::Float64 => !self.column.as_primitive::<Float64Type>().value(row).is_finite(),
            DataType::Float32 => !self.column.as_primitive::<Float32Type>().value(row).is_finite(),
            _ => false,
        }
    }
}

static OPTIONS: FormatOptions<'static> = FormatOptions::new();

/// Appends a string in quotes.
pub(crate) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 => {
                // Writing into a string does not fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
