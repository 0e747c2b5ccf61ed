//! Values as texts.

use super::decimal_text::write_decimal;
use super::double_text::{write_double, write_float};
use crate::temporal::{Offsets, Zone, date_of};
use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array,
    Float64Array, Int64Array, IntervalMonthDayNanoArray, IntervalYearMonthArray, StringViewArray,
    Time32MillisecondArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, TimeUnit};
use flugs_sql_types::LogicalType;
use flugs_types::{Error, Result};
use std::fmt::Write;

/// How bytes are shown.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Bytes {
    /// As the characters they encode.
    Utf8,
    /// `x'0aff'`.
    Hexadecimal,
}

/// A column whose values can be written.
pub(super) enum Cells {
    Boolean(BooleanArray),
    Integer(Int64Array),
    Float(Float32Array),
    Double(Float64Array),
    Decimal(Decimal128Array, u8),
    Text(StringViewArray),
    Bytes(BinaryArray, Bytes),
    Date(Date32Array),
    Time(Time32MillisecondArray, u8),
    Timestamp { ticks: Int64Array, per_second: i64, digits: u8, zone: Option<Box<Offsets>> },
    Months(IntervalYearMonthArray),
    Milliseconds(IntervalMonthDayNanoArray),
    Array(OffsetBuffer<i32>, Nested),
    Map(OffsetBuffer<i32>, Nested, Nested),
    Row(Vec<Nested>),
    Nulls,
}

/// Elements, which may be NULL.
pub(super) struct Nested {
    cells: Box<Cells>,
    nulls: Option<NullBuffer>,
}

impl Nested {
    fn new(array: &ArrayRef, kind: &LogicalType, zone: Zone, bytes: Bytes) -> Result<Nested> {
        let cells = Box::new(Cells::new(array, kind, zone, bytes)?);
        Ok(Nested { cells, nulls: array.logical_nulls() })
    }

    fn write(&mut self, row: usize, out: &mut String) {
        if self.nulls.as_ref().is_some_and(|n| n.is_null(row)) {
            out.push_str("NULL");
        } else {
            self.cells.write(row, out);
        }
    }
}

impl Cells {
    pub(super) fn new(array: &ArrayRef, kind: &LogicalType, zone: Zone, bytes: Bytes) -> Result<Cells> {
        use LogicalType::*;
        let widened = |to: &DataType| {
            arrow::compute::cast(array, to)
                .map_err(|e| Error::bug(format!("a column of {kind} as {to}: {e}")))
        };
        Ok(match kind {
            Boolean => Cells::Boolean(array.as_boolean().clone()),
            TinyInt | SmallInt | Int | BigInt => {
                Cells::Integer(widened(&DataType::Int64)?.as_primitive().clone())
            }
            Float => Cells::Float(array.as_primitive().clone()),
            Double => Cells::Double(array.as_primitive().clone()),
            Decimal(_, scale) => Cells::Decimal(array.as_primitive().clone(), *scale),
            Char(_) | VarChar(_) => Cells::Text(widened(&DataType::Utf8View)?.as_string_view().clone()),
            Binary(_) | VarBinary(_) => Cells::Bytes(widened(&DataType::Binary)?.as_binary().clone(), bytes),
            Date => Cells::Date(array.as_primitive().clone()),
            Time(digits) => Cells::Time(
                widened(&DataType::Time32(TimeUnit::Millisecond))?.as_primitive().clone(),
                *digits,
            ),
            Timestamp(digits) | TimestampLtz(digits) => {
                let DataType::Timestamp(unit, _) = array.data_type() else {
                    return Err(Error::bug(format!("a {kind} as {}", array.data_type())));
                };
                let zone = matches!(kind, TimestampLtz(_)).then(|| Box::new(Offsets::new(zone)));
                let ticks = widened(&DataType::Int64)?.as_primitive().clone();
                Cells::Timestamp {
                    ticks,
                    per_second: super::datetime::per_second(*unit),
                    digits: *digits,
                    zone,
                }
            }
            IntervalYearMonth => Cells::Months(widened(&kind.to_arrow())?.as_primitive().clone()),
            IntervalDaySecond => Cells::Milliseconds(widened(&kind.to_arrow())?.as_primitive().clone()),
            Array(element) => {
                let list = array.as_list::<i32>();
                Cells::Array(list.offsets().clone(), Nested::new(list.values(), &element.kind, zone, bytes)?)
            }
            Map(key, value) => Cells::map(array, &key.kind, &value.kind, zone, bytes)?,
            Multiset(element) => Cells::map(array, &element.kind, &Int, zone, bytes)?,
            Row(fields) => {
                let columns = array.as_struct().columns().iter().zip(fields);
                Cells::Row(
                    columns
                        .map(|(c, f)| Nested::new(c, &f.sql_type.kind, zone, bytes))
                        .collect::<Result<_>>()?,
                )
            }
            Null => Cells::Nulls,
        })
    }

    fn map(
        array: &ArrayRef,
        key: &LogicalType,
        value: &LogicalType,
        zone: Zone,
        bytes: Bytes,
    ) -> Result<Cells> {
        let map = array.as_map();
        let keys = Nested::new(map.keys(), key, zone, bytes)?;
        Ok(Cells::Map(map.offsets().clone(), keys, Nested::new(map.values(), value, zone, bytes)?))
    }

    /// Appends the value of a row that is not NULL.
    pub(super) fn write(&mut self, row: usize, out: &mut String) {
        // Writing to a `String` does not fail.
        let _ = match self {
            Cells::Boolean(array) => out.write_str(if array.value(row) { "TRUE" } else { "FALSE" }),
            Cells::Integer(array) => write!(out, "{}", array.value(row)),
            Cells::Float(array) => write_float(array.value(row), f64::from(array.value(row)), out),
            Cells::Double(array) => write_double(array.value(row), out),
            Cells::Decimal(array, scale) => write_decimal(array.value(row), *scale, out),
            Cells::Text(array) => out.write_str(array.value(row)),
            Cells::Bytes(array, Bytes::Utf8) => out.write_str(&String::from_utf8_lossy(array.value(row))),
            Cells::Bytes(array, Bytes::Hexadecimal) => write_hexadecimal(array.value(row), out),
            Cells::Date(array) => write_date(i64::from(array.value(row)), out),
            Cells::Time(array, digits) => {
                write_time(i64::from(array.value(row)) * 1_000_000, (*digits).min(3), out)
            }
            Cells::Timestamp { ticks, per_second, digits, zone } => {
                write_timestamp(ticks.value(row), *per_second, *digits, zone.as_deref_mut(), out)
            }
            Cells::Months(array) => write_months(array.value(row), out),
            Cells::Milliseconds(array) => {
                write_milliseconds(super::datetime::milliseconds(array.value(row)), out)
            }
            Cells::Array(offsets, elements) => {
                write_elements(offsets, row, ["[", "]"], out, |i, out| elements.write(i, out))
            }
            Cells::Map(offsets, keys, values) => write_elements(offsets, row, ["{", "}"], out, |i, out| {
                keys.write(i, out);
                out.push('=');
                values.write(i, out);
            }),
            Cells::Row(fields) => {
                out.push('(');
                for (i, field) in fields.iter_mut().enumerate() {
                    out.push_str(if i == 0 { "" } else { ", " });
                    field.write(row, out);
                }
                out.write_char(')')
            }
            Cells::Nulls => out.write_str("NULL"),
        };
    }
}

fn write_elements(
    offsets: &OffsetBuffer<i32>,
    row: usize,
    [open, close]: [&str; 2],
    out: &mut String,
    mut write: impl FnMut(usize, &mut String),
) -> std::fmt::Result {
    out.push_str(open);
    let (start, end) = (offsets[row] as usize, offsets[row + 1] as usize);
    for i in start..end {
        out.push_str(if i == start { "" } else { ", " });
        write(i, out);
    }
    out.write_str(close)
}

fn write_hexadecimal(bytes: &[u8], out: &mut String) -> std::fmt::Result {
    out.push_str("x'");
    for byte in bytes {
        write!(out, "{byte:02x}")?;
    }
    out.write_char('\'')
}

fn write_date(days: i64, out: &mut String) -> std::fmt::Result {
    let date = date_of(days);
    write!(out, "{:04}-{:02}-{:02}", date.year, date.month, date.day)
}

/// `digits` digits behind the second.
fn write_time(nanos_of_day: i64, digits: u8, out: &mut String) -> std::fmt::Result {
    let seconds = nanos_of_day / 1_000_000_000;
    write!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
    if digits == 0 {
        return Ok(());
    }
    let fraction = nanos_of_day % 1_000_000_000 / 10i64.pow(9 - u32::from(digits));
    write!(out, ".{fraction:0width$}", width = usize::from(digits))
}

fn write_timestamp(
    ticks: i64,
    per_second: i64,
    digits: u8,
    zone: Option<&mut Offsets>,
    out: &mut String,
) -> std::fmt::Result {
    let instant = ticks.div_euclid(per_second);
    let local = instant.saturating_add(zone.map_or(0, |z| z.at(instant)));
    write_date(local.div_euclid(86_400), out)?;
    out.push(' ');
    let nanos = ticks.rem_euclid(per_second) * (1_000_000_000 / per_second);
    write_time(local.rem_euclid(86_400) * 1_000_000_000 + nanos, digits.min(9), out)
}

fn write_months(months: i32, out: &mut String) -> std::fmt::Result {
    let sign = if months < 0 { '-' } else { '+' };
    let months = months.unsigned_abs();
    write!(out, "{sign}{}-{:02}", months / 12, months % 12)
}

fn write_milliseconds(millis: i64, out: &mut String) -> std::fmt::Result {
    let sign = if millis < 0 { '-' } else { '+' };
    let millis = millis.unsigned_abs();
    let (days, seconds) = (millis / 86_400_000, millis / 1000 % 86_400);
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    write!(out, "{sign}{days} {hours:02}:{minutes:02}:{:02}.{:03}", seconds % 60, millis % 1000)
}
