//! Rows as Flink's `print` connector shows them: `+I[1, a, null]`.

use super::text::{self, DateTime};
use arrow::array::{Array, AsArray, RecordBatch, StructArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, IntervalMonthDayNanoType, IntervalUnit, IntervalYearMonthType, Time32MillisecondType,
    TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow::util::display::array_value_to_string;
use flugs_types::RowKind;
use std::fmt::Write as _;

/// Shows rows of batches as `java.lang.String` shows them in Flink.
#[derive(Debug, Clone, Copy, Default)]
pub struct RowText;

impl RowText {
    /// Appends a row with its kind.
    pub fn row(out: &mut String, kind: RowKind, rows: &RecordBatch, row: usize) {
        let _ = write!(out, "{kind}[");
        for (i, column) in rows.columns().iter().enumerate() {
            comma(out, i);
            Self::value(out, column, row);
        }
        out.push(']');
    }

    /// Appends a value.
    pub fn value(out: &mut String, column: &dyn Array, row: usize) {
        if column.is_null(row) {
            return out.push_str("null");
        }
        match column.data_type() {
            DataType::Null => out.push_str("null"),
            DataType::Boolean => {
                out.push_str(if column.as_boolean().value(row) { "true" } else { "false" });
            }
            DataType::Int8 => text::integer(out, column.as_primitive::<Int8Type>().value(row).into()),
            DataType::Int16 => text::integer(out, column.as_primitive::<Int16Type>().value(row).into()),
            DataType::Int32 => text::integer(out, column.as_primitive::<Int32Type>().value(row).into()),
            DataType::Int64 => text::integer(out, column.as_primitive::<Int64Type>().value(row)),
            DataType::Float32 => text::float(out, column.as_primitive::<Float32Type>().value(row)),
            DataType::Float64 => text::double(out, column.as_primitive::<Float64Type>().value(row)),
            DataType::Decimal128(_, scale) => {
                text::decimal(out, column.as_primitive::<Decimal128Type>().value(row), *scale, false);
            }
            DataType::Utf8 => out.push_str(column.as_string::<i32>().value(row)),
            DataType::LargeUtf8 => out.push_str(column.as_string::<i64>().value(row)),
            DataType::Utf8View => out.push_str(column.as_string_view().value(row)),
            DataType::Binary => bytes(out, column.as_binary::<i32>().value(row)),
            DataType::Date32 => text::date(out, column.as_primitive::<Date32Type>().value(row).into()),
            DataType::Time32(TimeUnit::Millisecond) => {
                text::java_time(
                    out,
                    DateTime::of_time(column.as_primitive::<Time32MillisecondType>().value(row)),
                );
            }
            DataType::Timestamp(unit, zone) => {
                let at = DateTime::of_timestamp(*unit, timestamp(column, *unit, row));
                if zone.is_some() {
                    return text::java_instant(out, at);
                }
                text::date(out, at.days);
                out.push('T');
                text::java_time(out, at);
            }
            DataType::Interval(IntervalUnit::YearMonth) => {
                period(out, column.as_primitive::<IntervalYearMonthType>().value(row));
            }
            DataType::Interval(IntervalUnit::MonthDayNano) => {
                let value = column.as_primitive::<IntervalMonthDayNanoType>().value(row);
                duration(out, i64::from(value.days) * 86_400_000 + value.nanoseconds / 1_000_000);
            }
            DataType::List(_) => {
                let items = column.as_list::<i32>().value(row);
                out.push('[');
                for i in 0..items.len() {
                    comma(out, i);
                    Self::value(out, &items, i);
                }
                out.push(']');
            }
            DataType::Map(..) => Self::map(out, &column.as_map().value(row)),
            DataType::Struct(_) => Self::fields(out, column.as_struct(), row),
            _ => out.push_str(&array_value_to_string(column, row).unwrap_or_default()),
        }
    }

    fn map(out: &mut String, entries: &StructArray) {
        out.push('{');
        for i in 0..entries.len() {
            comma(out, i);
            Self::value(out, entries.column(0), i);
            out.push('=');
            Self::value(out, entries.column(1), i);
        }
        out.push('}');
    }

    fn fields(out: &mut String, row_of: &StructArray, row: usize) {
        out.push_str("+I[");
        for (i, column) in row_of.columns().iter().enumerate() {
            comma(out, i);
            Self::value(out, column, row);
        }
        out.push(']');
    }
}

/// The value of a timestamp column of this unit.
pub(super) fn timestamp(column: &dyn Array, unit: TimeUnit, row: usize) -> i64 {
    match unit {
        TimeUnit::Second => column.as_primitive::<TimestampSecondType>().value(row),
        TimeUnit::Millisecond => column.as_primitive::<TimestampMillisecondType>().value(row),
        TimeUnit::Microsecond => column.as_primitive::<TimestampMicrosecondType>().value(row),
        TimeUnit::Nanosecond => column.as_primitive::<TimestampNanosecondType>().value(row),
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
