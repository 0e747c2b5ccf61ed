//! Rows as Flink's `print` connector shows them: `+I[1, a, null]`.

use super::text::{self, DateTime};
use super::view::{Data, View, elements, interval_millis};
use arrow::array::RecordBatch;
use arrow::util::display::array_value_to_string;
use flugs_types::RowKind;
use std::fmt::Write as _;

/// Shows the rows of a batch as Flink's `Row.toString`.
pub struct RowText<'a>(Vec<View<'a>>);

impl<'a> RowText<'a> {
    /// For the rows of this batch.
    pub fn new(rows: &'a RecordBatch) -> Self {
        RowText(View::all(rows))
    }

    /// Appends a row with its kind.
    pub fn row(&self, out: &mut String, kind: RowKind, row: usize) {
        // A string takes everything.
        let _ = write!(out, "{kind}[");
        for (i, column) in self.0.iter().enumerate() {
            comma(out, i);
            value(out, column, row);
        }
        out.push(']');
    }

    /// Appends a value of a row.
    pub fn value(&self, out: &mut String, column: usize, row: usize) {
        value(out, &self.0[column], row);
    }
}

fn value(out: &mut String, column: &View<'_>, row: usize) {
    if column.is_null(row) {
        return out.push_str("null");
    }
    match &column.data {
        Data::Null => out.push_str("null"),
        Data::Boolean(values) => out.push_str(if values.value(row) { "true" } else { "false" }),
        Data::Int8(values) => text::integer(out, values[row].into()),
        Data::Int16(values) => text::integer(out, values[row].into()),
        Data::Int32(values) => text::integer(out, values[row].into()),
        Data::Int64(values) => text::integer(out, values[row]),
        Data::Float32(values) => text::float(out, values[row]),
        Data::Float64(values) => text::double(out, values[row]),
        Data::Decimal(values, scale) => text::decimal(out, values[row], *scale, false),
        Data::Text(values) => out.push_str(values.value(row)),
        Data::Bytes(values) => bytes(out, values.value(row)),
        Data::Date(values) => text::date(out, values[row].into()),
        Data::Time(values) => text::java_time(out, DateTime::of_time(values[row])),
        Data::Timestamp { unit, is_zoned, values } => {
            let at = DateTime::of_timestamp(*unit, values[row]);
            if *is_zoned {
                return text::java_instant(out, at);
            }
            text::date(out, at.days);
            out.push('T');
            text::java_time(out, at);
        }
        Data::Months(values) => period(out, values[row]),
        Data::Interval(values) => duration(out, interval_millis(values[row])),
        Data::List(offsets, items) => {
            out.push('[');
            for (i, item) in elements(offsets, row).enumerate() {
                comma(out, i);
                value(out, items, item);
            }
            out.push(']');
        }
        Data::Map(offsets, keys, values) => {
            out.push('{');
            for (i, entry) in elements(offsets, row).enumerate() {
                comma(out, i);
                value(out, keys, entry);
                out.push('=');
                value(out, values, entry);
            }
            out.push('}');
        }
        Data::Row(fields) => {
            out.push_str("+I[");
            for (i, (_, field)) in fields.iter().enumerate() {
                comma(out, i);
                value(out, field, row);
            }
            out.push(']');
        }
        Data::Other(column) => out.push_str(&array_value_to_string(*column, row).unwrap_or_default()),
    }
}

fn comma(out: &mut String, i: usize) {
    if i > 0 {
        out.push_str(", ");
    }
}

/// As Java shows arrays of bytes: signed numbers.
fn bytes(out: &mut String, bytes: &[u8]) {
    out.push('[');
    for (i, byte) in bytes.iter().enumerate() {
        comma(out, i);
        text::integer(out, i64::from(*byte as i8));
    }
    out.push(']');
}

/// As `java.time.Period`.
fn period(out: &mut String, months: i32) {
    let (years, months) = (months / 12, months % 12);
    out.push('P');
    if years == 0 && months == 0 {
        return out.push_str("0D");
    }
    // A string takes everything; so below.
    let _ = if years != 0 { write!(out, "{years}Y") } else { Ok(()) };
    let _ = if months != 0 { write!(out, "{months}M") } else { Ok(()) };
}

/// As `java.time.Duration`.
fn duration(out: &mut String, millis: i64) {
    out.push_str("PT");
    if millis == 0 {
        return out.push_str("0S");
    }
    let seconds = millis / 1000;
    let (hours, minutes, seconds, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60, millis % 1000);
    let _ = if hours != 0 { write!(out, "{hours}H") } else { Ok(()) };
    let _ = if minutes != 0 { write!(out, "{minutes}M") } else { Ok(()) };
    if seconds != 0 || rest != 0 {
        let sign = if seconds == 0 && rest < 0 { "-" } else { "" };
        let _ = write!(out, "{sign}{seconds}");
        if rest != 0 {
            let digits = format!("{:03}", rest.abs());
            let _ = write!(out, ".{}", digits.trim_end_matches('0'));
        }
        out.push('S');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(write: impl FnOnce(&mut String)) -> String {
        let mut out = String::new();
        write(&mut out);
        out
    }

    #[test]
    fn intervals_and_bytes_are_shown_as_java_does() {
        assert_eq!(of(|out| period(out, 14)), "P1Y2M");
        assert_eq!(of(|out| period(out, 0)), "P0D");
        assert_eq!(of(|out| duration(out, 90_061_500)), "PT25H1M1.5S");
        assert_eq!(of(|out| duration(out, -500)), "PT-0.5S");
        assert_eq!(of(|out| duration(out, 0)), "PT0S");
        assert_eq!(of(|out| bytes(out, &[1, 255])), "[1, -1]");
    }
}
