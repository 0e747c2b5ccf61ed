//! SQL values as JSON values.

use super::value::{Json, set_member};
use crate::cast::{write_decimal, write_double};
use crate::support::{data_error, planning_error, type_name};
use crate::temporal::timestamp_text;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use datafusion_common::Result;

/// Whether values of this type have a form in JSON; an error names the part that has none.
pub(super) fn check(data_type: &DataType) -> Result<()> {
    match data_type {
        DataType::List(item) => check(item.data_type()),
        DataType::Struct(fields) => fields.iter().try_for_each(|f| check(f.data_type())),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if is_text(fields[0].data_type()) => check(fields[1].data_type()),
            _ => Err(planning_error("a map is JSON only where its keys are strings")),
        },
        DataType::Interval(_) | DataType::Duration(_) => {
            Err(planning_error(format!("{} has no form in JSON; CAST it to STRING", type_name(data_type))))
        }
        _ => Ok(()),
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8View | DataType::Utf8 | DataType::LargeUtf8)
}

/// The JSON value of a row of a column.
pub(super) fn encode(array: &ArrayRef, row: usize) -> Result<Json> {
    if array.is_null(row) {
        return Ok(Json::Null);
    }
    macro_rules! number {
        ($t:ty) => {
            Json::Number(array.as_primitive::<$t>().value(row).to_string())
        };
    }
    Ok(match array.data_type() {
        DataType::Null => Json::Null,
        DataType::Boolean => Json::Bool(array.as_boolean().value(row)),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::Float32 => {
            // The digits of the shorter type: 0.1 is not 0.10000000149011612.
            let value = array.as_primitive::<Float32Type>().value(row);
            double(value.to_string().parse().unwrap_or(f64::from(value)))
        }
        DataType::Float64 => double(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(_, scale) => {
            let mut text = String::new();
            let _ = write_decimal(
                array.as_primitive::<Decimal128Type>().value(row),
                (*scale).max(0) as u8,
                &mut text,
            );
            Json::Number(text)
        }
        DataType::Utf8View => Json::String(array.as_string_view().value(row).to_owned()),
        DataType::Utf8 => Json::String(array.as_string::<i32>().value(row).to_owned()),
        DataType::Binary => Json::String(STANDARD.encode(array.as_binary::<i32>().value(row))),
        DataType::Date32 => {
            let text =
                timestamp_text(i64::from(array.as_primitive::<Date32Type>().value(row)) * 86_400, 0, 0);
            Json::String(text.split(' ').next().unwrap_or_default().to_owned())
        }
        DataType::Time32(_) => {
            let millis = i64::from(array.as_primitive::<Time32MillisecondType>().value(row));
            let digits = if millis % 1000 == 0 { 0 } else { 3 };
            let text = timestamp_text(millis / 1000, (millis % 1000) as u32 * 1_000_000, digits);
            Json::String(text.split(' ').nth(1).unwrap_or_default().to_owned())
        }
        DataType::Timestamp(..) => Json::String(timestamp(array, row)),
        DataType::List(_) => {
            let elements = array.as_list::<i32>().value(row);
            Json::Array((0..elements.len()).map(|i| encode(&elements, i)).collect::<Result<_>>()?)
        }
        DataType::Struct(fields) => {
            let mut members = Vec::with_capacity(fields.len());
            for (field, column) in fields.iter().zip(array.as_struct().columns()) {
                set_member(&mut members, field.name().clone(), encode(column, row)?);
            }
            Json::Object(members)
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let mut members = Vec::with_capacity(keys.len());
            for i in 0..keys.len() {
                let Json::String(name) = encode(keys, i)? else {
                    return Err(data_error("a map is JSON only where its keys are strings"));
                };
                members.push((name, encode(values, i)?));
            }
            Json::Object(members)
        }
        other => return Err(planning_error(format!("{} has no form in JSON", type_name(other)))),
    })
}

fn double(value: f64) -> Json {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_double(value, &mut text);
    if value.is_finite() { Json::Number(text) } else { Json::String(text) }
}

/// `2020-01-31T13:14:15.123`, with a `Z` behind it in a `TIMESTAMP_LTZ`.
fn timestamp(array: &ArrayRef, row: usize) -> String {
    let (per_second, zoned, ticks) = crate::temporal::ticks_of(array, row);
    let nanos = ticks.rem_euclid(per_second) * (1_000_000_000 / per_second);
    // Three, six or nine digits, as in `java.time`; none where all are zero.
    let digits = match nanos {
        0 => 0,
        n if n % 1_000_000 == 0 => 3,
        n if n % 1_000 == 0 => 6,
        _ => 9,
    };
    let text = timestamp_text(ticks.div_euclid(per_second), nanos as u32, digits).replacen(' ', "T", 1);
    if zoned { text + "Z" } else { text }
}
