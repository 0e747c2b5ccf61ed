//! Times in columns.

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray};
use arrow::datatypes::{
    DataType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use flugs_batch::ChangeBatch;
use flugs_types::{Error, Result};

/// The numbers of a column of timestamps, in its own unit. An error where one is NULL.
pub(crate) fn read_raw(batch: &ChangeBatch, column: usize) -> Result<&[i64]> {
    let array = batch.column(column);
    let name = || batch.schema().field(column).name().clone();
    if array.null_count() > 0 {
        return Err(Error::data(format!("the time column '{}' is NULL in a row", name()))
            .mend("filter such rows out, or give the column a value with COALESCE"));
    }
    Ok(match array.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => values::<TimestampSecondType>(array),
        DataType::Timestamp(TimeUnit::Millisecond, _) => values::<TimestampMillisecondType>(array),
        DataType::Timestamp(TimeUnit::Microsecond, _) => values::<TimestampMicrosecondType>(array),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => values::<TimestampNanosecondType>(array),
        other => return Err(Error::bug(format!("column '{}' of {other} is no time", name()))),
    })
}

/// Puts the microseconds of a column of timestamps into `times`, rounded down. An error where one is NULL, or beyond what microseconds
/// can say (290 000 years).
pub(crate) fn read_micros(batch: &ChangeBatch, column: usize, times: &mut Vec<i64>) -> Result<()> {
    let raw = read_raw(batch, column)?;
    times.clear();
    let factor = match batch.column(column).data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => 1_000_000,
        DataType::Timestamp(TimeUnit::Millisecond, _) => 1000,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            times.extend(raw.iter().map(|time| time.div_euclid(1000)));
            return Ok(());
        }
        _ => {
            times.extend_from_slice(raw);
            return Ok(());
        }
    };
    // The ends of time are watermarks.
    let limit = (i64::MAX - 1) / factor;
    if let Some(wrong) = raw.iter().find(|time| time.unsigned_abs() > limit.unsigned_abs()) {
        let name = batch.schema().field(column).name().clone();
        return Err(Error::data(format!("the time column '{name}' has {wrong} in a row, which is no date"))
            .mend("look at the unit of the source's times, or filter such rows out"));
    }
    times.extend(raw.iter().map(|time| time * factor));
    Ok(())
}

fn values<T: ArrowPrimitiveType<Native = i64>>(column: &ArrayRef) -> &[i64] {
    column.as_primitive::<T>().values()
}
