//! Dates, times, timestamps and intervals from and to each other, and from texts.

use super::convert::{Conversion, Reason};
use crate::support::data_error;
use crate::temporal::{Offsets, days_of, month_days};
use arrow::array::{Array, ArrayRef, AsArray, Date32Array, Int64Array, PrimitiveArray, StringViewArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    IntervalUnit, IntervalYearMonthType, Time32MillisecondType, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType,
};
use datafusion_common::Result;
use flugs_sql_types::LogicalType;
use std::sync::Arc;

const DAY_S: i64 = 86_400;
const DAY_MS: i64 = 86_400_000;
const SECOND_NS: i64 = 1_000_000_000;

/// Ticks in a second.
pub(super) fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => SECOND_NS,
    }
}

/// The length of an interval of days to seconds.
pub(crate) fn milliseconds(interval: IntervalMonthDayNano) -> i64 {
    i64::from(interval.days) * DAY_MS + interval.nanoseconds / 1_000_000
}

/// A date, time or timestamp as seconds and nanoseconds since 1970-01-01 00:00:00, in no zone.
#[derive(Clone, Copy)]
struct Local {
    seconds: i64,
    nanos: i64,
}

/// A column of dates, times or timestamps as another one.
pub(super) fn convert(
    conversion: &Conversion,
    array: &ArrayRef,
    from: &LogicalType,
    to: &LogicalType,
) -> Result<ArrayRef> {
    let mut zone = Offsets::new(conversion.zone);
    let (from_zone, to_zone) =
        (matches!(from, LogicalType::TimestampLtz(_)), matches!(to, LogicalType::TimestampLtz(_)));
    let ticks = ticks(array)?;
    let scale = match array.data_type() {
        DataType::Timestamp(unit, _) => per_second(*unit),
        DataType::Date32 => 0,
        _ => 1000,
    };
    let mut local = |tick: i64| {
        let mut local = match scale {
            0 => Local { seconds: tick * DAY_S, nanos: 0 },
            _ => {
                Local { seconds: tick.div_euclid(scale), nanos: tick.rem_euclid(scale) * (SECOND_NS / scale) }
            }
        };
        if from_zone && !to_zone {
            local.seconds = local.seconds.saturating_add(zone.at(local.seconds));
        } else if to_zone && !from_zone {
            local.seconds = local.seconds.saturating_sub(zone.at_local(local.seconds));
        }
        local
    };
    let locals: Vec<Local> = ticks.values().iter().map(|t| local(*t)).collect();
    build(&locals, ticks.nulls(), to)
}

fn ticks(array: &ArrayRef) -> Result<Int64Array> {
    let array = match array.data_type() {
        // Arrow widens days by way of INT only.
        DataType::Date32 | DataType::Time32(_) => arrow::compute::cast(array, &DataType::Int32)?,
        _ => array.clone(),
    };
    Ok(arrow::compute::cast(&array, &DataType::Int64)?.as_primitive().clone())
}

/// A column of type `to` of local times.
fn build(locals: &[Local], nulls: Option<&NullBuffer>, to: &LogicalType) -> Result<ArrayRef> {
    match to {
        LogicalType::Date => {
            let days = locals.iter().map(|l| l.seconds.div_euclid(DAY_S) as i32).collect();
            Ok(Arc::new(Date32Array::new(days, nulls.cloned())))
        }
        LogicalType::Time(digits) => {
            let keep = kept_nanos((*digits).min(3));
            let millis = |l: &Local| {
                (l.seconds.rem_euclid(DAY_S) * 1000 + (l.nanos - l.nanos % keep) / 1_000_000) as i32
            };
            let millis = locals.iter().map(millis).collect();
            Ok(Arc::new(PrimitiveArray::<Time32MillisecondType>::new(millis, nulls.cloned())))
        }
        LogicalType::Timestamp(digits) | LogicalType::TimestampLtz(digits) => match to.to_arrow() {
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                timestamps::<TimestampMillisecondType>(locals, nulls, *digits, 1000, to)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                timestamps::<TimestampMicrosecondType>(locals, nulls, *digits, 1_000_000, to)
            }
            _ => timestamps::<TimestampNanosecondType>(locals, nulls, *digits, SECOND_NS, to),
        },
        other => Err(data_error(format!("a date or time cannot become {other}"))),
    }
}

/// The nanoseconds of which multiples are kept.
fn kept_nanos(digits: u8) -> i64 {
    SECOND_NS / 10i64.pow(u32::from(digits.min(9)))
}

fn timestamps<T: ArrowPrimitiveType<Native = i64>>(
    locals: &[Local],
    nulls: Option<&NullBuffer>,
    digits: u8,
    scale: i64,
    to: &LogicalType,
) -> Result<ArrayRef> {
    let keep = kept_nanos(digits);
    let ticks = |(row, local): (usize, &Local)| {
        let fraction = (local.nanos - local.nanos % keep) / (SECOND_NS / scale);
        match local.seconds.checked_mul(scale).and_then(|s| s.checked_add(fraction)) {
            Some(ticks) => Ok(ticks),
            None if nulls.is_some_and(|n| n.is_null(row)) => Ok(0),
            None => {
                Err(data_error(format!("a time {} s from 1970 is out of the range of {to}", local.seconds)))
            }
        }
    };
    let ticks = locals.iter().enumerate().map(ticks).collect::<Result<Vec<i64>>>()?;
    let array = PrimitiveArray::<T>::new(ticks.into(), nulls.cloned());
    Ok(Arc::new(array.with_data_type(to.to_arrow())))
}

/// A column of intervals, or of integers that become intervals: months, or milliseconds.
pub(super) fn convert_interval(array: &ArrayRef, to: &LogicalType) -> Result<ArrayRef> {
    let amounts: Int64Array = match array.data_type() {
        DataType::Interval(IntervalUnit::YearMonth) => {
            array.as_primitive::<IntervalYearMonthType>().unary(i64::from)
        }
        DataType::Interval(_) => array.as_primitive::<IntervalMonthDayNanoType>().unary(milliseconds),
        _ => arrow::compute::cast(array, &DataType::Int64)?.as_primitive::<Int64Type>().clone(),
    };
    Ok(match to {
        LogicalType::IntervalYearMonth => {
            let array: PrimitiveArray<IntervalYearMonthType> = amounts.unary(|m| m as i32);
            Arc::new(array)
        }
        LogicalType::IntervalDaySecond => {
            let array: PrimitiveArray<IntervalMonthDayNanoType> = amounts.unary(interval_of_milliseconds);
            Arc::new(array)
        }
        LogicalType::TinyInt => Arc::new(amounts.unary::<_, arrow::datatypes::Int8Type>(|v| v as i8)),
        LogicalType::SmallInt => Arc::new(amounts.unary::<_, arrow::datatypes::Int16Type>(|v| v as i16)),
        LogicalType::Int => Arc::new(amounts.unary::<_, arrow::datatypes::Int32Type>(|v| v as i32)),
        LogicalType::BigInt => Arc::new(amounts),
        other => return Err(data_error(format!("an interval cannot become {other}"))),
    })
}

/// As whole days and the rest.
pub(crate) fn interval_of_milliseconds(millis: i64) -> IntervalMonthDayNano {
    let days = (millis / DAY_MS).clamp(i64::from(i32::MIN), i64::from(i32::MAX));
    IntervalMonthDayNano::new(0, days as i32, millis % DAY_MS * 1_000_000)
}

/// A column of texts as dates, times, timestamps or intervals.
pub(super) fn parse(conversion: &Conversion, texts: &StringViewArray, to: &LogicalType) -> Result<ArrayRef> {
    match to {
        LogicalType::Date => conversion.parse_each::<Date32Type>(texts, to, parse_date),
        LogicalType::Time(digits) => {
            let keep = 1000 / 10i32.pow(u32::from((*digits).min(3)));
            conversion.parse_each::<Time32MillisecondType>(texts, to, |text| {
                let millis = parse_time(text)?;
                Ok(millis - millis % keep)
            })
        }
        LogicalType::Timestamp(_) | LogicalType::TimestampLtz(_) => parse_timestamps(conversion, texts, to),
        LogicalType::IntervalYearMonth => {
            conversion.parse_each::<IntervalYearMonthType>(texts, to, parse_months)
        }
        LogicalType::IntervalDaySecond => conversion.parse_each::<IntervalMonthDayNanoType>(texts, to, |t| {
            parse_milliseconds(t).map(interval_of_milliseconds)
        }),
        other => Err(data_error(format!("a text cannot become {other}"))),
    }
}

fn parse_timestamps(conversion: &Conversion, texts: &StringViewArray, to: &LogicalType) -> Result<ArrayRef> {
    let mut zone = Offsets::new(conversion.zone);
    let (digits, local) = match to {
        LogicalType::Timestamp(digits) => (*digits, true),
        LogicalType::TimestampLtz(digits) => (*digits, false),
        _ => (3, true),
    };
    let keep = kept_nanos(digits);
    let mut instant = |text: &str, scale: i64| -> std::result::Result<i64, Reason> {
        let Local { mut seconds, nanos } =
            parse_timestamp(text).ok_or("it is not a timestamp like '2020-12-31 23:59:59.123'")?;
        if !local {
            seconds -= zone.at_local(seconds);
        }
        let ticks = (nanos - nanos % keep) / (SECOND_NS / scale);
        seconds.checked_mul(scale).and_then(|s| s.checked_add(ticks)).ok_or("it is out of range")
    };
    match to.to_arrow() {
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            conversion.parse_each::<TimestampMillisecondType>(texts, to, |t| instant(t, 1000))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            conversion.parse_each::<TimestampMicrosecondType>(texts, to, |t| instant(t, 1_000_000))
        }
        _ => conversion.parse_each::<TimestampNanosecondType>(texts, to, |t| instant(t, SECOND_NS)),
    }
}

/// `2020-12-31` or `2020-12-31 23:59:59.123`, nothing around it. As in Java's lenient reading, a day that its month does not
/// have is the month's last one, and 24:00:00 begins the next day.
fn parse_timestamp(text: &str) -> Option<Local> {
    let (date, time) = text.split_once(' ').map_or((text, None), |(d, t)| (d, Some(t)));
    let mut parts = date.split('-');
    let year = number(parts.next()?, 4, 4)?;
    let month = number(parts.next()?, 1, 2).filter(|m| (1..=12).contains(m))?;
    let day = number(parts.next()?, 1, 2).filter(|d| (1..=31).contains(d))?;
    if parts.next().is_some() || year == 0 {
        return None;
    }
    let midnight = days_of(year, month, day.min(i64::from(month_days(year, month as u32)))) * DAY_S;
    let Some(time) = time else { return Some(Local { seconds: midnight, nanos: 0 }) };
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut parts = clock.split(':');
    let mut next = || number(parts.next()?, 1, 2);
    let (hour, minute, second) = (next()?, next()?, next()?);
    let nanos =
        if fraction.is_empty() { 0 } else { number(fraction, 1, 9)? * 10i64.pow(9 - fraction.len() as u32) };
    let in_range = hour < 24 && minute < 60 && second < 60 || (hour, minute, second, nanos) == (24, 0, 0, 0);
    let seconds = midnight + hour * 3600 + minute * 60 + second;
    (in_range && parts.next().is_none()).then_some(Local { seconds, nanos })
}

fn number(text: &str, least: usize, most: usize) -> Option<i64> {
    (least..=most).contains(&text.len()).then(|| unsigned(text)).flatten()
}

/// `2020-12-31`; month and day may be left out, and what follows a space does not count.
fn parse_date(text: &str) -> std::result::Result<i32, Reason> {
    const WRONG: Reason = "it is not a date like '2020-12-31'";
    let date = match text.find(' ') {
        Some(space) if space > 0 => &text[..space],
        _ => text,
    };
    let mut parts = date.splitn(3, '-');
    let mut next = |least, most| match parts.next() {
        Some(part) => unsigned(part.trim()).filter(|n| (least..=most).contains(n)).ok_or(WRONG),
        None => Ok(1),
    };
    let (year, month) = (next(1, 9999)?, next(1, 12)?);
    let day = next(1, i64::from(month_days(year, month as u32)))?;
    i32::try_from(days_of(year, month, day)).map_err(|_| WRONG)
}

/// `23:59:59.123`; minutes and seconds may be left out.
fn parse_time(text: &str) -> std::result::Result<i32, Reason> {
    const WRONG: Reason = "it is not a time like '23:59:59.123'";
    let text = text.trim();
    let (clock, fraction) = text.split_once('.').map_or((text, None), |(c, f)| (c, Some(f)));
    let mut parts = clock.splitn(3, ':');
    let mut next = |most| match parts.next() {
        Some(part) if part.len() <= 2 => unsigned(part).filter(|n| *n < most).ok_or(WRONG),
        Some(_) => Err(WRONG),
        None => Ok(0),
    };
    let seconds = next(24)? * 3600 + next(60)? * 60 + next(60)?;
    let millis = match fraction {
        Some(digits) if !digits.bytes().all(|b| b.is_ascii_digit()) || clock.split(':').count() < 3 => {
            return Err(WRONG);
        }
        Some(digits) => digits.bytes().chain(*b"000").take(3).fold(0, |n, d| n * 10 + i64::from(d - b'0')),
        None => 0,
    };
    Ok((seconds * 1000 + millis) as i32)
}

fn unsigned(text: &str) -> Option<i64> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

fn signed(text: &str) -> (i64, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// `+1-02`: years and months.
fn parse_months(text: &str) -> std::result::Result<i32, Reason> {
    const WRONG: Reason = "it is not an interval like '+1-02'";
    let (sign, rest) = signed(text.trim());
    let (years, months) = rest.split_once('-').ok_or(WRONG)?;
    let (years, months) = (unsigned(years).ok_or(WRONG)?, unsigned(months).filter(|m| *m < 12).ok_or(WRONG)?);
    years.checked_mul(12).and_then(|y| i32::try_from(sign * (y + months)).ok()).ok_or("it is out of range")
}

/// `+1 02:03:04.567`: days, hours, minutes, seconds.
fn parse_milliseconds(text: &str) -> std::result::Result<i64, Reason> {
    const WRONG: Reason = "it is not an interval like '+1 02:03:04.567'";
    let (sign, rest) = signed(text.trim());
    let (days, time) = rest.split_once(' ').ok_or(WRONG)?;
    let days = unsigned(days).ok_or(WRONG)?;
    let time = parse_time(time).map_err(|_| WRONG)?;
    days.checked_mul(DAY_MS)
        .and_then(|d| d.checked_add(i64::from(time)))
        .map(|v| sign * v)
        .ok_or("it is out of range")
}
