//! Rows as JSON objects.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, StringArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flugs_sql_functions::cast::to_display_string;
use flugs_sql_functions::temporal::Zone;
use flugs_types::Result;
use std::fmt::Write;

/// Each row as an object of one line.
pub(super) fn rows(fields: &[Field], rows: &RecordBatch, zone: &Zone) -> Result<Vec<String>> {
    let names: Vec<String> = fields.iter().map(|field| quoted(field.name())).collect();
    let columns = fields.iter().zip(rows.columns()).map(|(field, array)| Values::of(field, array, zone));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let row = |row| {
        let mut out = String::from("{");
        for (i, (name, column)) in names.iter().zip(&columns).enumerate() {
            out.push_str(if i == 0 { "" } else { "," });
            out.push_str(name);
            out.push(':');
            column.write(row, &mut out);
        }
        out.push('}');
        out
    };
    Ok((0..rows.num_rows()).map(row).collect())
}

/// A column whose values can be written one by one.
struct Values {
    array: ArrayRef,
    kind: Kind,
}

enum Kind {
    Null,
    Boolean(BooleanArray),
    /// As the text is.
    Number(StringArray),
    /// As a string.
    Text(StringArray),
    Bytes,
    List(OffsetBuffer<i32>, Box<Values>),
    /// Keys as texts.
    Map(OffsetBuffer<i32>, StringArray, Box<Values>),
    Row(Vec<(String, Values)>),
}

impl Values {
    fn of(field: &Field, array: &ArrayRef, zone: &Zone) -> Result<Values> {
        let kind = match array.data_type() {
            DataType::Null => Kind::Null,
            DataType::Boolean => Kind::Boolean(array.as_boolean().clone()),
            DataType::Binary => Kind::Bytes,
            DataType::List(item) => {
                let list = array.as_list::<i32>();
                Kind::List(list.offsets().clone(), Box::new(Values::of(item, list.values(), zone)?))
            }
            DataType::Map(entries, _) => {
                let map = array.as_map();
                let DataType::Struct(of_entry) = entries.data_type() else {
                    return Err(flugs_types::Error::bug("the entries of a map are a struct"));
                };
                let keys = to_display_string(map.keys(), &of_entry[0], zone)?;
                let values = Values::of(&of_entry[1], map.values(), zone)?;
                Kind::Map(map.offsets().clone(), keys, Box::new(values))
            }
            DataType::Struct(fields) => {
                let columns = array.as_struct().columns().iter();
                let of_field = |(field, column): (&std::sync::Arc<Field>, &ArrayRef)| {
                    Ok((quoted(field.name()), Values::of(field, column, zone)?))
                };
                Kind::Row(fields.iter().zip(columns).map(of_field).collect::<Result<_>>()?)
            }
            data_type if data_type.is_numeric() => Kind::Number(to_display_string(array, field, zone)?),
            _ => Kind::Text(to_display_string(array, field, zone)?),
        };
        Ok(Values { array: array.clone(), kind })
    }

    fn write(&self, row: usize, out: &mut String) {
        if self.array.is_null(row) {
            out.push_str("null");
            return;
        }
        match &self.kind {
            Kind::Null => out.push_str("null"),
            Kind::Boolean(values) => out.push_str(if values.value(row) { "true" } else { "false" }),
            Kind::Number(texts) if texts.value(row).ends_with(|c: char| c.is_ascii_digit()) => {
                out.push_str(texts.value(row));
            }
            Kind::Number(texts) | Kind::Text(texts) => write_text(texts.value(row), out),
            Kind::Bytes => {
                out.push('"');
                BASE64_STANDARD.encode_string(self.array.as_binary::<i32>().value(row), out);
                out.push('"');
            }
            Kind::List(offsets, values) => {
                out.push('[');
                for at in offsets[row]..offsets[row + 1] {
                    out.push_str(if at == offsets[row] { "" } else { "," });
                    values.write(at as usize, out);
                }
                out.push(']');
            }
            Kind::Map(offsets, keys, values) => {
                out.push('{');
                for at in offsets[row]..offsets[row + 1] {
                    out.push_str(if at == offsets[row] { "" } else { "," });
                    write_text(keys.value(at as usize), out);
                    out.push(':');
                    values.write(at as usize, out);
                }
                out.push('}');
            }
            Kind::Row(fields) => {
                out.push('{');
                for (i, (name, values)) in fields.iter().enumerate() {
                    out.push_str(if i == 0 { "" } else { "," });
                    out.push_str(name);
                    out.push(':');
                    values.write(row, out);
                }
                out.push('}');
            }
        }
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    write_text(text, &mut out);
    out
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if u32::from(c) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
