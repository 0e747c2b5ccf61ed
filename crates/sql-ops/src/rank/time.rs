//! Times in columns.

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray};
use arrow::datatypes::{
    DataType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use flugs_batch::ChangeBatch;
use flugs_types::{Error, Result};

/// Puts the microseconds of a column of timestamps into `times`, rounded down. An error where one is NULL, or beyond what microseconds
/// can say (290 000 years).
pub(crate) fn read_micros(batch: &ChangeBatch, column: usize, times: &mut Vec<i64>) -> Result<()> {
    let schema = batch.schema();
    let name = schema.field(column).name();
    let array = batch.column(column);
    if array.null_count() > 0 {
        return Err(Error::data(format!("the time column '{name}' is NULL in a row"))
            .mend("filter such rows out, or give the column a value with COALESCE"));
    }
    times.clear();
    let mut wrong = None;
    let mut scaled = |time: i64, by: i64| {
        time.checked_mul(by).unwrap_or_else(|| {
            wrong = Some(time);
            0
        })
    };
    match array.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => {
            times.extend(values::<TimestampSecondType>(array).iter().map(|t| scaled(*t, 1_000_000)));
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            times.extend(values::<TimestampMillisecondType>(array).iter().map(|t| scaled(*t, 1000)));
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            times.extend_from_slice(values::<TimestampMicrosecondType>(array));
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            times.extend(values::<TimestampNanosecondType>(array).iter().map(|t| t.div_euclid(1000)));
        }
        other => return Err(Error::bug(format!("column '{name}' of {other} is no time"))),
    }
    match wrong {
        None => Ok(()),
        Some(wrong) => Err(Error::data(format!("the time column '{name}' has {wrong} in a row, which is no date"))
            .mend("look at the unit of the source's times, or filter such rows out")),
    }
}

fn values<T: ArrowPrimitiveType<Native = i64>>(column: &ArrayRef) -> &[i64] {
    column.as_primitive::<T>().values()
}
