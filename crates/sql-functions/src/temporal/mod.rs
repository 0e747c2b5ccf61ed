//! Dates, times, timestamps and intervals.
//!
//! The parser turns the special syntax of SQL into calls; units are texts in any case:
//!
//! | syntax | call |
//! | --- | --- |
//! | `EXTRACT(unit FROM x)`, `YEAR(x)` ... | `extract('unit', x)`, `year(x)` ... |
//! | `FLOOR(x TO unit)`, `CEIL(x TO unit)` | `floor(x, 'unit')`, `ceil(x, 'unit')`, which are [`floor_to` and `ceil_to`](crate::FunctionRegistry::scalar_for) |
//! | `(a, b) OVERLAPS (c, d)` | `overlaps(a, b, c, d)` |
//! | `TIMESTAMPADD(unit, n, x)`, `TIMESTAMPDIFF(unit, a, b)` | `timestampadd('unit', n, x)`, `timestampdiff('unit', a, b)` |
//! | `x + i`, `x - i` of a datetime and an interval | `datetime_add(x, i)`, `datetime_sub(x, i)` |
//! | `i + j`, `i - j`, `i * n` of intervals and a number | `interval_add(i, j)`, `interval_sub(i, j)`, `interval_times(i, n)` |
//! | `(a - b) DAY TO SECOND`, `(a - b) MONTH` ... | `interval_between('SECOND', b, a)`, `interval_between('MONTH', b, a)` |
//! | `CURRENT_DATE`, `LOCALTIME` ... without parentheses | `current_date()`, `localtime()` ... |
//!
//! What depends on a zone uses the session's, which is `execution.time_zone` of the options. The clock is passed in. Unlike
//! in Flink, times before 1970 are rounded and taken apart as those after it are.

mod arithmetic;
mod civil;
mod current;
mod extract;
mod interval;
mod literal;
mod pattern;
mod repeated;
mod round;
mod session;
mod text;
mod units;
mod zone;

#[cfg(test)]
mod tests;

pub use arithmetic::datetime_binary;
pub(crate) use civil::{date_of, days_of, month_days};
pub use current::{WatermarkCell, current_value, current_watermark};
pub use interval::interval_binary;
pub use literal::{DateTime, parse_date, parse_time, parse_timestamp};
pub use session::depends_on_zone;
pub(crate) use zone::Offsets;
pub use zone::Zone;

use crate::registry::FunctionRegistry;
use crate::support::{Call, Parameter, data_error, to_datafusion};
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, PrimitiveArray};
use arrow::datatypes::{
    DataType, Date32Type, Int32Type, Int64Type, IntervalUnit, Time32MillisecondType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use datafusion_common::Result;
use flugs_types::Clock;
use std::sync::Arc;

/// Adds the functions of this module.
pub(crate) fn register(registry: &mut FunctionRegistry, clock: &Arc<dyn Clock>) {
    current::register(registry, clock);
    extract::register(registry);
    round::register(registry);
    arithmetic::register(registry);
    interval::register(registry);
    text::register(registry, clock);
}

/// `DATE`, `TIME`, `TIMESTAMP` or `TIMESTAMP_LTZ`.
const DATETIME: Parameter = Parameter::Other("DATE, TIME, TIMESTAMP or TIMESTAMP_LTZ", accept_datetime);
/// An interval of either kind.
const INTERVAL: Parameter = Parameter::Other("an INTERVAL", accept_interval);

fn accept_datetime(given: &DataType) -> Option<DataType> {
    match given {
        DataType::Null => Some(DataType::Timestamp(TimeUnit::Millisecond, None)),
        DataType::Time32(_) => Some(DataType::Time32(TimeUnit::Millisecond)),
        DataType::Date32 | DataType::Timestamp(..) => Some(given.clone()),
        _ => None,
    }
}

fn accept_interval(given: &DataType) -> Option<DataType> {
    match given {
        DataType::Null | DataType::Duration(_) => Some(DataType::Interval(IntervalUnit::MonthDayNano)),
        DataType::Interval(IntervalUnit::DayTime) => Some(DataType::Interval(IntervalUnit::MonthDayNano)),
        DataType::Interval(_) => Some(given.clone()),
        _ => None,
    }
}

/// How a column counts time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// Days since the epoch.
    Date,
    /// Milliseconds of a day.
    Time,
    /// So many ticks a second since the epoch, in no zone.
    Local(i64),
    /// So many ticks a second since the epoch, in the session's zone.
    Instant(i64),
}

impl Scale {
    fn of(data_type: &DataType) -> Option<Scale> {
        match data_type {
            DataType::Date32 => Some(Scale::Date),
            DataType::Time32(_) => Some(Scale::Time),
            DataType::Timestamp(unit, None) => Some(Scale::Local(per_second(*unit))),
            DataType::Timestamp(unit, Some(_)) => Some(Scale::Instant(per_second(*unit))),
            _ => None,
        }
    }

    /// Ticks in a day.
    fn per_day(self) -> i64 {
        match self {
            Scale::Date => 1,
            Scale::Time => civil::DAY_MS,
            Scale::Local(per_second) | Scale::Instant(per_second) => per_second * civil::DAY_S,
        }
    }
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// A column of datetimes as plain numbers, without copying where they are as wide.
fn ticks(array: &ArrayRef) -> Int64Array {
    match array.data_type() {
        DataType::Date32 => array.as_primitive::<Date32Type>().unary(i64::from),
        DataType::Time32(_) => array.as_primitive::<Time32MillisecondType>().unary(i64::from),
        DataType::Timestamp(TimeUnit::Second, _) => {
            array.as_primitive::<TimestampSecondType>().reinterpret_cast()
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            array.as_primitive::<TimestampMillisecondType>().reinterpret_cast()
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            array.as_primitive::<TimestampMicrosecondType>().reinterpret_cast()
        }
        _ => array.as_primitive::<TimestampNanosecondType>().reinterpret_cast(),
    }
}

/// Plain numbers as a column of datetimes of this type.
fn from_ticks(ticks: Int64Array, data_type: &DataType) -> Result<ArrayRef> {
    let narrow = |ticks: Int64Array| -> Result<PrimitiveArray<Int32Type>> {
        Ok(ticks.try_unary(|t| i32::try_from(t).map_err(|_| overflow(data_type)))?)
    };
    Ok(match data_type {
        DataType::Date32 => Arc::new(narrow(ticks)?.reinterpret_cast::<Date32Type>()),
        DataType::Time32(_) => Arc::new(narrow(ticks)?.reinterpret_cast::<Time32MillisecondType>()),
        DataType::Timestamp(TimeUnit::Second, zone) => {
            Arc::new(ticks.reinterpret_cast::<TimestampSecondType>().with_timezone_opt(zone.clone()))
        }
        DataType::Timestamp(TimeUnit::Millisecond, zone) => {
            Arc::new(ticks.reinterpret_cast::<TimestampMillisecondType>().with_timezone_opt(zone.clone()))
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            Arc::new(ticks.reinterpret_cast::<TimestampMicrosecondType>().with_timezone_opt(zone.clone()))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            Arc::new(ticks.reinterpret_cast::<TimestampNanosecondType>().with_timezone_opt(zone.clone()))
        }
        _ => Arc::new(ticks.reinterpret_cast::<Int64Type>()),
    })
}

fn overflow(data_type: &DataType) -> arrow::error::ArrowError {
    let name = crate::support::type_name(data_type);
    arrow::error::ArrowError::ComputeError(format!("the result is out of the range of {name}"))
}

/// The session's zone.
fn session_zone(call: &Call<'_>) -> Result<Zone> {
    Zone::parse(call.zone()).map_err(to_datafusion)
}

/// The text of an argument that is to be the same in all rows, such as a unit; none where it is NULL.
fn one_text<'a>(call: &'a Call<'_>, i: usize, what: &str) -> Result<Option<&'a str>> {
    let texts = call.strings(i);
    let first = (call.rows > 0).then(|| texts.get(0)).flatten();
    if !call.is_constant(i) && (1..call.rows).any(|row| texts.get(row) != first) {
        return Err(data_error(format!("{what} is to be a literal")));
    }
    Ok(first)
}

/// How a row of a column of timestamps counts: ticks in a second, whether it is a point in time, and its ticks.
pub(crate) fn ticks_of(array: &ArrayRef, row: usize) -> (i64, bool, i64) {
    let value = ticks(&array.slice(row, 1)).value(0);
    match array.data_type() {
        DataType::Timestamp(unit, zone) => (per_second(*unit), zone.is_some(), value),
        _ => (1, false, value),
    }
}

/// `2020-01-31 13:14:15.123` of seconds since the epoch, with so many digits of the fraction.
pub(crate) fn timestamp_text(seconds: i64, nanos: u32, digits: usize) -> String {
    let date = civil::date_of(seconds.div_euclid(civil::DAY_S));
    let of_day = seconds.rem_euclid(civil::DAY_S);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let text =
        format!("{:04}-{:02}-{:02} {hour:02}:{minute:02}:{second:02}", date.year, date.month, date.day);
    if digits == 0 {
        return text;
    }
    format!("{text}.{:0digits$}", nanos / 10u32.pow(9 - digits.min(9) as u32))
}
