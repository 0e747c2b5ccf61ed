//! The conversion of a column: which loop does it, and what a value that cannot be converted means.

use super::{datetime, nested, numbers, parse, text};
use crate::support::{TextWriter, data_error, to_datafusion};
use crate::temporal::Zone;
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryArray, BinaryBuilder, BooleanArray, PrimitiveArray,
    StringViewArray, new_null_array,
};
use arrow::datatypes::{
    DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};
use datafusion_common::Result;
use flugs_sql_types::LogicalType;
use std::fmt::Display;
use std::sync::Arc;

/// Why a value cannot be converted.
pub(super) type Reason = &'static str;

/// How a column is converted.
#[derive(Clone, Copy)]
pub(super) struct Conversion {
    pub(super) zone: Zone,
    pub(super) try_cast: bool,
}

impl Conversion {
    /// The column in type `to`.
    pub(super) fn run(&self, array: &ArrayRef, from: &LogicalType, to: &LogicalType) -> Result<ArrayRef> {
        use LogicalType::*;
        if *from == Null || array.null_count() == array.len() {
            return Ok(new_null_array(&to.to_arrow(), array.len()));
        }
        if from == to {
            return as_type(array, &to.to_arrow());
        }
        match (from, to) {
            (_, Char(_) | VarChar(_)) => self.write_text(array, from, to),
            (Array(_) | Map(..) | Multiset(_) | Row(_), _) => nested::convert(self, array, from, to),
            (Char(_) | VarChar(_), _) => {
                self.parse(as_type(array, &DataType::Utf8View)?.as_string_view(), to)
            }
            (Binary(_) | VarBinary(_), _) => {
                let bytes = as_type(array, &DataType::Binary)?;
                Ok(fit_bytes(bytes.as_binary::<i32>().iter(), to))
            }
            (Date | Time(_) | Timestamp(_) | TimestampLtz(_), _) => datetime::convert(self, array, from, to),
            (IntervalYearMonth | IntervalDaySecond, _) | (_, IntervalYearMonth | IntervalDaySecond) => {
                datetime::convert_interval(array, to)
            }
            _ => numbers::convert(self, array, to),
        }
    }

    /// A value or NULL; an error where there is no value and this is no `TRY_CAST`.
    pub(super) fn settle<T>(
        &self,
        value: std::result::Result<T, Reason>,
        shown: impl Display,
        to: &LogicalType,
    ) -> Result<Option<T>> {
        match value {
            Ok(value) => Ok(Some(value)),
            Err(_) if self.try_cast => Ok(None),
            Err(reason) => Err(to_datafusion(
                flugs_types::Error::data(format!("cannot cast '{shown}' to {to}: {reason}"))
                    .mend("TRY_CAST gives NULL instead"),
            )),
        }
    }

    fn parse(&self, texts: &StringViewArray, to: &LogicalType) -> Result<ArrayRef> {
        use LogicalType::*;
        Ok(match to {
            Boolean => {
                let value = |text: Option<&str>| match text {
                    Some(text) => self.settle(parse::boolean(text), text, to),
                    None => Ok(None),
                };
                Arc::new(texts.iter().map(value).collect::<Result<BooleanArray>>()?)
            }
            TinyInt => self.parse_each::<Int8Type>(texts, to, |t| parse::integer(t).and_then(narrow))?,
            SmallInt => self.parse_each::<Int16Type>(texts, to, |t| parse::integer(t).and_then(narrow))?,
            Int => self.parse_each::<Int32Type>(texts, to, |t| parse::integer(t).and_then(narrow))?,
            BigInt => self.parse_each::<Int64Type>(texts, to, parse::integer)?,
            Float => self.parse_each::<Float32Type>(texts, to, parse::float)?,
            Double => self.parse_each::<Float64Type>(texts, to, parse::double)?,
            Decimal(precision, scale) => {
                self.parse_each::<Decimal128Type>(texts, to, |t| parse::decimal(t, *precision, *scale))?
            }
            Binary(_) | VarBinary(_) => fit_bytes(texts.iter().map(|t| t.map(str::as_bytes)), to),
            _ => datetime::parse(self, texts, to)?,
        })
    }

    /// A column of what texts mean.
    pub(super) fn parse_each<T: ArrowPrimitiveType>(
        &self,
        texts: &StringViewArray,
        to: &LogicalType,
        mut parse: impl FnMut(&str) -> std::result::Result<T::Native, Reason>,
    ) -> Result<ArrayRef> {
        let value = |text: Option<&str>| match text {
            Some(text) => self.settle(parse(text), text, to),
            None => Ok(None),
        };
        let array = texts.iter().map(value).collect::<Result<PrimitiveArray<T>>>()?;
        Ok(Arc::new(array.with_data_type(to.to_arrow())))
    }

    fn write_text(&self, array: &ArrayRef, from: &LogicalType, to: &LogicalType) -> Result<ArrayRef> {
        let (length, padded) = match to {
            LogicalType::Char(n) => (*n as usize, true),
            LogicalType::VarChar(n) => (*n as usize, false),
            _ => return Err(data_error(format!("{to} is no text"))),
        };
        let fits = match from {
            LogicalType::Char(n) | LogicalType::VarChar(n) => !padded && *n as usize <= length,
            _ => false,
        };
        if fits {
            return as_type(array, &DataType::Utf8View);
        }
        let mut cells = text::Cells::new(array, from, self.zone, text::Bytes::Utf8).map_err(to_datafusion)?;
        let nulls = array.logical_nulls();
        let mut writer = TextWriter::new(array.len());
        let mut cell = String::new();
        for row in 0..array.len() {
            if nulls.as_ref().is_some_and(|n| n.is_null(row)) {
                writer.push_null();
                continue;
            }
            cell.clear();
            cells.write(row, &mut cell);
            fit_text(&mut cell, length, padded)?;
            writer.push(&cell)?;
        }
        Ok(writer.finish())
    }
}

fn narrow<T: TryFrom<i64>>(value: i64) -> std::result::Result<T, Reason> {
    T::try_from(value).map_err(|_| "too large a number")
}

/// The column in the form in which this crate sees a type.
fn as_type(array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    if array.data_type() == data_type {
        Ok(array.clone())
    } else {
        Ok(arrow::compute::cast(array, data_type)?)
    }
}

fn fit_text(text: &mut String, length: usize, padded: bool) -> Result<()> {
    // No text has more characters than bytes.
    if text.len() > length
        && let Some((end, _)) = text.char_indices().nth(length)
    {
        text.truncate(end);
    }
    if padded {
        let missing = length - text.chars().count();
        if missing > crate::support::STRING_BYTES_MAX {
            return Err(crate::support::too_long(length));
        }
        text.extend(std::iter::repeat_n(' ', missing));
    }
    Ok(())
}

fn fit_bytes<'a>(values: impl Iterator<Item = Option<&'a [u8]>>, to: &LogicalType) -> ArrayRef {
    let (length, padded) = match to {
        LogicalType::Binary(n) => (*n as usize, true),
        LogicalType::VarBinary(n) => (*n as usize, false),
        _ => (usize::MAX, false),
    };
    let mut builder = BinaryBuilder::new();
    for value in values {
        let Some(value) = value else {
            builder.append_null();
            continue;
        };
        let kept = &value[..value.len().min(length)];
        if padded && kept.len() < length && length <= crate::support::STRING_BYTES_MAX {
            let mut filled = kept.to_vec();
            filled.resize(length, 0);
            builder.append_value(filled);
        } else {
            builder.append_value(kept);
        }
    }
    let array: BinaryArray = builder.finish();
    Arc::new(array)
}
