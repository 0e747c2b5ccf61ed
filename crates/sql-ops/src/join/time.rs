//! Event times in columns.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{
    DataType, Schema, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use flugs_types::{Error, Result};

/// The times of a column, in microseconds; those of nanoseconds are rounded down.
pub(super) fn event_times(column: &dyn Array, name: &str) -> Result<Vec<i64>> {
    if column.null_count() > 0 {
        return Err(Error::data(format!("the event time '{name}' of a row is NULL"))
            .mend("filter such rows, or give the column a value (COALESCE)"));
    }
    let scaled = |values: &[i64], factor: i64| values.iter().map(|v| v.saturating_mul(factor)).collect();
    Ok(match column.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => {
            scaled(column.as_primitive::<TimestampSecondType>().values(), 1_000_000)
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            scaled(column.as_primitive::<TimestampMillisecondType>().values(), 1000)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            column.as_primitive::<TimestampMicrosecondType>().values().to_vec()
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let values = column.as_primitive::<TimestampNanosecondType>().values();
            values.iter().map(|v| v.div_euclid(1000)).collect()
        }
        other => return Err(not_a_time(name, other)),
    })
}

/// An error where the column cannot be an event time.
pub(super) fn check_event_time(schema: &Schema, column: usize) -> Result<()> {
    let field = schema.fields().get(column).ok_or_else(|| Error::bug("an event time without a column"))?;
    match field.data_type() {
        DataType::Timestamp(..) => Ok(()),
        other => Err(not_a_time(field.name(), other)),
    }
}

fn not_a_time(name: &str, data_type: &DataType) -> Error {
    Error::bug(format!("the event time '{name}' is of type {data_type}"))
}
