//! Columns to records of fields, as Flink (that is, Jackson) writes them.

use super::super::text::{self, DateTime};
use super::super::view::{Data, View, elements, interval_millis};
use super::CsvOptions;
use flugs_batch::{Batch, ChangeBatch};
use flugs_table::RecordEncoder;
use flugs_types::{Error, Result, RowKind};

/// Longer fields are always in quotes: Jackson does not look whether they need them.
const CHECKED_LETTERS_MAX: usize = 24;

/// The encoder of the format.
pub(super) struct CsvLines {
    options: CsvOptions,
    /// A field with a letter below it is in quotes.
    safe_from: u8,
    /// Kept for their capacity.
    lines: String,
    field: String,
}

impl CsvLines {
    pub(super) fn new(options: CsvOptions) -> Self {
        let highest = options.delimiter.max(options.quote.unwrap_or(0)).max(b'\n');
        CsvLines { options, safe_from: highest + 1, lines: String::new(), field: String::new() }
    }

    fn record(&mut self, columns: &[View<'_>], row: usize) -> Result<()> {
        for (i, column) in columns.iter().enumerate() {
            if i > 0 {
                self.lines.push(char::from(self.options.delimiter));
            }
            if column.is_null(row) {
                self.lines.push_str(self.options.null.as_deref().unwrap_or_default());
            } else if let Data::Text(texts) = &column.data {
                self.text(texts.value(row));
            } else if is_number(&column.data) {
                value(&mut self.lines, column, row, &self.options)?;
            } else {
                let mut field = std::mem::take(&mut self.field);
                field.clear();
                value(&mut field, column, row, &self.options)?;
                self.text(&field);
                self.field = field;
            }
        }
        self.lines.push('\n');
        Ok(())
    }

    /// A field in quotes where it needs them.
    #[inline]
    fn text(&mut self, text: &str) {
        let quote = self.options.quote.filter(|_| {
            // As Java counts letters; there are at least a third as many as bytes.
            let is_long = text.len() > CHECKED_LETTERS_MAX
                && (text.len() > 3 * CHECKED_LETTERS_MAX
                    || text.encode_utf16().count() > CHECKED_LETTERS_MAX);
            is_long || text.bytes().any(|byte| byte < self.safe_from || Some(byte) == self.options.escape)
        });
        let escape = self.options.escape;
        let special = |byte: u8| Some(byte) == quote || Some(byte) == escape;
        let mark = quote.map(char::from);
        self.lines.extend(mark);
        if quote.is_none() && escape.is_none() || !text.bytes().any(special) {
            self.lines.push_str(text);
        } else {
            for letter in text.chars() {
                if let Ok(byte) = u8::try_from(letter)
                    && special(byte)
                {
                    self.lines.push(char::from(escape.unwrap_or(byte)));
                }
                self.lines.push(letter);
            }
        }
        self.lines.extend(mark);
    }
}

/// Whether values are written as they are, never in quotes.
fn is_number(data: &Data<'_>) -> bool {
    matches!(
        data,
        Data::Boolean(_)
            | Data::Int8(_)
            | Data::Int16(_)
            | Data::Int32(_)
            | Data::Int64(_)
            | Data::Float32(_)
            | Data::Float64(_)
            | Data::Decimal(..)
            | Data::Months(_)
            | Data::Interval(_)
    )
}

fn value(out: &mut String, column: &View<'_>, row: usize, options: &CsvOptions) -> Result<()> {
    match &column.data {
        Data::Null => {}
        Data::Boolean(values) => out.push_str(if values.value(row) { "true" } else { "false" }),
        Data::Int8(values) => text::integer(out, values[row].into()),
        Data::Int16(values) => text::integer(out, values[row].into()),
        Data::Int32(values) | Data::Months(values) => text::integer(out, values[row].into()),
        Data::Int64(values) => text::integer(out, values[row]),
        Data::Interval(values) => text::integer(out, interval_millis(values[row])),
        Data::Float32(values) => text::float(out, values[row]),
        Data::Float64(values) => text::double(out, values[row]),
        Data::Decimal(values, scale) => text::decimal(out, values[row], *scale, options.plain_decimals),
        Data::Text(values) => out.push_str(values.value(row)),
        Data::Bytes(values) => text::base64(out, values.value(row)),
        Data::Date(values) => text::date(out, values[row].into()),
        Data::Time(values) => text::time(out, DateTime::of_time(values[row])),
        Data::Timestamp { unit, is_zoned, values } => {
            let at = DateTime::of_timestamp(*unit, values[row]);
            text::date(out, at.days);
            out.push(' ');
            text::time(out, at);
            if *is_zoned {
                out.push('Z');
            }
        }
        Data::List(offsets, items) => {
            for (i, item) in elements(offsets, row).enumerate() {
                element(out, items, item, i, options)?;
            }
        }
        Data::Row(fields) => {
            for (i, (_, field)) in fields.iter().enumerate() {
                element(out, field, row, i, options)?;
            }
        }
        Data::Map(..) => return Err(Error::job("a MAP cannot be written as CSV").mend("use JSON")),
        Data::Other(column) => {
            return Err(Error::job(format!("values of {} cannot be written as CSV", column.data_type())));
        }
    }
    Ok(())
}

fn element(out: &mut String, of: &View<'_>, row: usize, i: usize, options: &CsvOptions) -> Result<()> {
    if i > 0 {
        out.push_str(&options.array_delimiter);
    }
    if of.is_null(row) {
        out.push_str(options.null.as_deref().unwrap_or_default());
        return Ok(());
    }
    if matches!(of.data, Data::List(..) | Data::Row(_)) {
        return Err(Error::job("an ARRAY or ROW inside of another cannot be written as CSV").mend("use JSON"));
    }
    value(out, of, row, options)
}

impl RecordEncoder for CsvLines {
    fn encode(&mut self, batch: &ChangeBatch, out: &mut Vec<u8>) -> Result<()> {
        self.lines.clear();
        let columns = View::all(batch.rows());
        for row in 0..batch.len() {
            if batch.kind(row) != RowKind::Insert {
                return Err(Error::bug("an append-only format is given changes"));
            }
            self.record(&columns, row)?;
        }
        out.extend_from_slice(self.lines.as_bytes());
        Ok(())
    }
}
