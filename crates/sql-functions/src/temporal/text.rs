//! Texts of datetimes and datetimes of texts: `DATE_FORMAT`, `TO_TIMESTAMP`, `FROM_UNIXTIME` and their like.
//!
//! A text that is no datetime gives NULL, but for `UNIX_TIMESTAMP`, which gives the smallest `BIGINT` as in Flink. A pattern
//! that means nothing is an error.

use super::civil::DAY_S;
use super::extract::local_ticks;
use super::pattern::{Dialect, Moment, Parsed, Pattern};
use super::repeated::RepeatedStrings;
use super::zone::Offsets;
use super::{DateTime, Scale, Zone, parse_timestamp, session_zone, ticks};
use crate::registry::{Category, FunctionRegistry};
use crate::support::{Call, Definition, Parameter, Types, data_error, planning_error, to_datafusion};
use arrow::array::{
    Array, ArrayRef, AsArray, Date32Array, Int64Array, StringViewBuilder, TimestampMillisecondArray,
};
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type};
use datafusion_common::{Result, ScalarValue};
use flugs_sql_types::{LTZ, LogicalType};
use flugs_types::Clock;
use std::sync::Arc;

const DEFAULT: &str = "yyyy-MM-dd HH:mm:ss";
/// 0000-01-01 00:00:00.000 to 9999-12-31 23:59:59.999 in milliseconds.
const YEARS_MS: std::ops::RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

const FORMATTED: Parameter =
    Parameter::Other("DATE, TIMESTAMP, TIMESTAMP_LTZ or STRING", |given| match given {
        DataType::Time32(_) => None,
        given => super::accept_datetime(given).or_else(|| Parameter::String.accept(given)),
    });
const EPOCH: Parameter = Parameter::Other("a number or STRING", |given| match given {
    DataType::Null => Some(DataType::Int64),
    given if Parameter::BigInt.accept(given).is_some() => Some(DataType::Int64),
    DataType::Decimal128(..) => Some(given.clone()),
    given => Parameter::Double.accept(given).or_else(|| Parameter::String.accept(given)),
});
const PRECISION: Parameter = Parameter::Other("a precision of 0 or 3, or a pattern", |given| {
    Parameter::Int.accept(given).or_else(|| Parameter::String.accept(given))
});

pub(super) fn register(registry: &mut FunctionRegistry, clock: &Arc<dyn Clock>) {
    let define = |name, usage, text, body: fn(&Call<'_>) -> Result<ArrayRef>| {
        Definition::new(Category::Temporal, name, usage, text, body)
    };
    let string = Parameter::String;
    registry.define(
        define(
            "DATE_FORMAT",
            "DATE_FORMAT(datetime, pattern)",
            "A datetime as text, in a pattern of Java.",
            date_format,
        )
        .takes(&[FORMATTED, string])
        .returns_by(|types: &Types<'_>| {
            check_format(types)?;
            Ok(LogicalType::STRING)
        })
        .nullable_by(|types| types.kind(0).is_character()),
    );
    registry.define(
        define(
            "FROM_UNIXTIME",
            "FROM_UNIXTIME(seconds[, pattern])",
            "Seconds since 1970 as text, in the session's time zone.",
            from_unixtime,
        )
        .takes(&[Parameter::BigInt])
        .optionally(&[string]),
    );
    let clock = clock.clone();
    registry.define(
        Definition::new(
            Category::Temporal,
            "UNIX_TIMESTAMP",
            "UNIX_TIMESTAMP([string[, pattern]])",
            "Seconds since 1970, now or at the time a text says.",
            move |call: &Call<'_>| match call.len() {
                0 => {
                    let now = clock.now().as_millis().div_euclid(1000);
                    Ok(Arc::new(Int64Array::from_value(now, call.rows)) as ArrayRef)
                }
                _ => unix_timestamp(call),
            },
        )
        .optionally(&[string, string])
        .returns(LogicalType::BigInt)
        .volatile(),
    );
    registry.define(
        define("TO_DATE", "TO_DATE(string[, pattern])", "The date that a text says.", to_date)
            .takes(&[string])
            .optionally(&[string])
            .returns(LogicalType::Date)
            .nullable(),
    );
    registry.define(
        define(
            "TO_TIMESTAMP",
            "TO_TIMESTAMP(string[, pattern])",
            "The timestamp that a text says.",
            to_timestamp,
        )
        .takes(&[string])
        .optionally(&[string])
        .returns(LogicalType::Timestamp(3))
        .nullable(),
    );
    registry.define(
        define(
            "TO_TIMESTAMP_LTZ",
            "TO_TIMESTAMP_LTZ(number[, precision]) or TO_TIMESTAMP_LTZ(string[, pattern[, zone]])",
            "The point in time of seconds (precision 0) or milliseconds (3) since 1970, or of a text in a zone.",
            to_timestamp_ltz,
        )
        .takes(&[EPOCH])
        .optionally(&[PRECISION, string])
        .returns(LogicalType::TimestampLtz(3))
        .nullable(),
    );
    registry.define(
        define(
            "CONVERT_TZ",
            "CONVERT_TZ(string, from_zone, to_zone)",
            "A local time in one zone as the local time in another.",
            convert_tz,
        )
        .takes(&[string, string, string])
        .nullable(),
    );
}

/// A constant pattern is looked at when the query is planned.
fn check_format(types: &Types<'_>) -> Result<()> {
    if let Some(ScalarValue::Utf8View(Some(text)) | ScalarValue::Utf8(Some(text))) = types.constant(1) {
        let dialect = if types.kind(0).is_character() { Dialect::Simple } else { Dialect::Formatter };
        let pattern = Pattern::compile(text, dialect).map_err(to_datafusion)?;
        if pattern.needs_zone() && matches!(types.kind(0), LogicalType::Timestamp(_) | LogicalType::Date) {
            return Err(no_zone(text));
        }
    }
    Ok(())
}

fn no_zone(pattern: &str) -> datafusion_common::DataFusionError {
    planning_error(format!(
        "the pattern '{pattern}' shows a zone, which a TIMESTAMP does not have; CAST to TIMESTAMP_LTZ"
    ))
}

/// The patterns of a call: compiled once where it is a constant, else when it changes.
struct Patterns {
    dialect: Dialect,
    last: Option<(String, Pattern)>,
}

impl Patterns {
    fn new(dialect: Dialect) -> Self {
        Patterns { dialect, last: None }
    }

    fn get(&mut self, text: &str) -> Result<&Pattern> {
        if self.last.as_ref().is_none_or(|(known, _)| known != text) {
            let compiled = Pattern::compile(text, self.dialect).map_err(to_datafusion)?;
            self.last = Some((text.to_owned(), compiled));
        }
        match &self.last {
            Some((_, pattern)) => Ok(pattern),
            None => Err(data_error("there is no pattern")),
        }
    }
}

fn date_format(call: &Call<'_>) -> Result<ArrayRef> {
    if call.type_of(0) == &DataType::Utf8View {
        return reformat(call);
    }
    let array = call.array(0)?;
    match Scale::of(array.data_type()) {
        Some(Scale::Instant(per_second)) => {
            format_ticks(call, &ticks(&array), per_second, Some(session_zone(call)?))
        }
        Some(Scale::Date) => {
            format_ticks(call, &ticks(&array).unary(|days: i64| days.wrapping_mul(DAY_S)), 1, None)
        }
        Some(scale) => format_ticks(call, &ticks(&array), scale.per_day() / DAY_S, None),
        None => Err(planning_error("DATE_FORMAT takes a datetime")),
    }
}

/// Datetimes as texts in the pattern of argument 1.
fn format_ticks(
    call: &Call<'_>,
    instants: &Int64Array,
    per_second: i64,
    zone: Option<Zone>,
) -> Result<ArrayRef> {
    let nulls = call.nulls();
    if let Some(constant) = call.strings(1).constant() {
        let Some(text) = constant else {
            return Ok(arrow::array::new_null_array(&DataType::Utf8View, call.rows));
        };
        let pattern = Pattern::compile(text, Dialect::Formatter).map_err(to_datafusion)?;
        if zone.is_none() && pattern.needs_zone() {
            return Err(no_zone(text));
        }
        return format_constant(&pattern, instants, per_second, zone, nulls);
    }
    let (patterns, mut compiled) = (call.strings(1), Patterns::new(Dialect::Formatter));
    let mut offsets = Offsets::new(zone.unwrap_or(Zone::UTC));
    let mut builder = StringViewBuilder::with_capacity(call.rows);
    let mut text = String::new();
    for row in 0..call.rows {
        match patterns.get(row) {
            Some(pattern) if instants.is_valid(row) => {
                let compiled = compiled.get(pattern)?;
                if zone.is_none() && compiled.needs_zone() {
                    return Err(no_zone(pattern));
                }
                text.clear();
                compiled.format(&moment(instants.value(row), per_second, &mut offsets), &mut text);
                builder.append_value(&text);
            }
            _ => builder.append_null(),
        }
    }
    Ok(Arc::new(builder.finish()))
}

fn moment(instant: i64, per_second: i64, offsets: &mut Offsets) -> Moment {
    let seconds = instant.div_euclid(per_second);
    let offset_s = offsets.at(seconds);
    let nanos = instant.rem_euclid(per_second) * (1_000_000_000 / per_second);
    Moment { offset_s, zone: *offsets.zone(), ..Moment::local(seconds.wrapping_add(offset_s), nanos) }
}

/// Datetimes as texts in one pattern: each minute, day or what the pattern shows is formatted once.
fn format_constant(
    pattern: &Pattern,
    instants: &Int64Array,
    per_second: i64,
    zone: Option<Zone>,
    nulls: Option<arrow::buffer::NullBuffer>,
) -> Result<ArrayRef> {
    let mut offsets = Offsets::new(zone.unwrap_or(Zone::UTC));
    let local = match zone {
        Some(_) => local_ticks(instants, per_second, &mut offsets),
        None => instants.clone(),
    };
    let nanos_per_tick = 1_000_000_000 / per_second;
    let size = (pattern.finest_ns() / nanos_per_tick).max(1);
    let mut column = RepeatedStrings::with_capacity(local.len());
    // The texts of local times from `start` on are the same for `size` ticks.
    let (mut start, mut offset, mut any) = (0, 0, false);
    for (row, &tick) in local.values().iter().enumerate() {
        let of_row = tick.wrapping_sub(instants.values()[row]);
        let near = (tick.wrapping_sub(start) as u64) < size as u64;
        if any && near && (of_row == offset || !pattern.needs_zone()) {
            column.repeat();
            continue;
        }
        let bucket = tick.div_euclid(size);
        (start, offset, any) = (bucket.wrapping_mul(size), of_row, true);
        // With a zone in the text, equal local times may have different texts.
        let shown_offset = if pattern.needs_zone() { of_row } else { 0 };
        column.push((bucket, shown_offset), |out| {
            let (seconds, rest) = (tick.div_euclid(per_second), tick.rem_euclid(per_second));
            let moment = Moment::local(seconds, rest * nanos_per_tick);
            pattern.format(&Moment { offset_s: of_row / per_second, zone: *offsets.zone(), ..moment }, out);
        })?;
    }
    Ok(column.finish(nulls))
}

/// A local time of a zone as an instant, in seconds.
fn instant_of(parsed: &Parsed, zone: &mut Offsets) -> i64 {
    let offset = match parsed.zone {
        Some(named) => i64::from(named.offset_at_local(parsed.local_s)),
        None => zone.at_local(parsed.local_s),
    };
    parsed.local_s.saturating_sub(offset)
}

/// `DATE_FORMAT` of strings in the default pattern.
fn reformat(call: &Call<'_>) -> Result<ArrayRef> {
    let from = Pattern::compile(DEFAULT, Dialect::Simple).map_err(to_datafusion)?;
    let (texts, patterns, mut compiled) = (call.strings(0), call.strings(1), Patterns::new(Dialect::Simple));
    strings(call.rows, |row, out| {
        let (Some(text), Some(pattern)) = (texts.get(row), patterns.get(row)) else { return Ok(false) };
        let to = compiled.get(pattern)?;
        let Some(parsed) = from.parse(text) else { return Ok(false) };
        to.format(&Moment::local(parsed.local_s, i64::from(parsed.nanos)), out);
        Ok(true)
    })
}

/// A column of strings that `write` appends; NULL where it says false.
fn strings(rows: usize, mut write: impl FnMut(usize, &mut String) -> Result<bool>) -> Result<ArrayRef> {
    let mut builder = StringViewBuilder::with_capacity(rows);
    let mut text = String::new();
    for row in 0..rows {
        text.clear();
        if write(row, &mut text)? {
            builder.append_value(&text);
        } else {
            builder.append_null();
        }
    }
    Ok(Arc::new(builder.finish()))
}

fn from_unixtime(call: &Call<'_>) -> Result<ArrayRef> {
    let zone = session_zone(call)?;
    if call.len() == 1 || call.is_constant(1) {
        let text = if call.len() == 1 { Some(DEFAULT) } else { call.strings(1).get(0) };
        let Some(text) = text else {
            return Ok(arrow::array::new_null_array(&DataType::Utf8View, call.rows));
        };
        let pattern = Pattern::compile(text, Dialect::Simple).map_err(to_datafusion)?;
        let array = call.array(0)?;
        return format_constant(&pattern, array.as_primitive::<Int64Type>(), 1, Some(zone), call.nulls());
    }
    let (seconds, patterns) = (call.big_ints(0), call.strings(1));
    let (mut compiled, mut offsets) = (Patterns::new(Dialect::Simple), Offsets::new(zone));
    strings(call.rows, |row, out| {
        let (Some(seconds), Some(pattern)) = (seconds.get(row), patterns.get(row)) else { return Ok(false) };
        compiled.get(pattern)?.format(&moment(seconds, 1, &mut offsets), out);
        Ok(true)
    })
}

/// The text and the pattern of a row; none where one is NULL.
fn text_and_pattern<'a>(call: &'a Call<'_>, row: usize) -> Option<(&'a str, &'a str)> {
    let pattern = if call.len() > 1 { call.strings(1).get(row)? } else { DEFAULT };
    Some((call.strings(0).get(row)?, pattern))
}

fn unix_timestamp(call: &Call<'_>) -> Result<ArrayRef> {
    let (mut patterns, mut offsets) = (Patterns::new(Dialect::Simple), Offsets::new(session_zone(call)?));
    let seconds = |row| -> Result<Option<i64>> {
        let Some((text, pattern)) = text_and_pattern(call, row) else { return Ok(None) };
        let parsed = patterns.get(pattern)?.parse(text);
        Ok(Some(parsed.map_or(i64::MIN, |parsed| instant_of(&parsed, &mut offsets))))
    };
    Ok(Arc::new((0..call.rows).map(seconds).collect::<Result<Int64Array>>()?))
}

fn to_date(call: &Call<'_>) -> Result<ArrayRef> {
    let mut patterns = Patterns::new(Dialect::Simple);
    let days = |row| -> Result<Option<i32>> {
        let Some((text, pattern)) = text_and_pattern(call, row) else { return Ok(None) };
        if call.len() == 1 {
            return Ok(date_of_text(text));
        }
        let parsed = patterns.get(pattern)?.parse(text);
        let seconds = parsed.map(|p| instant_of(&p, &mut Offsets::new(Zone::UTC)));
        Ok(seconds.and_then(|s| i32::try_from(s.div_euclid(DAY_S)).ok()))
    };
    Ok(Arc::new((0..call.rows).map(days).collect::<Result<Date32Array>>()?))
}

/// The date a text begins with; the month and the day may be missing, as in Flink's casts.
fn date_of_text(text: &str) -> Option<i32> {
    let date = text.split(' ').next().unwrap_or(text);
    let mut parts = date.splitn(3, '-').map(|part| {
        let part = part.trim();
        (!part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
            .then(|| part.parse::<i64>().ok())
            .flatten()
    });
    let year = parts.next()??;
    let month = parts.next().unwrap_or(Some(1))?;
    let day = parts.next().unwrap_or(Some(1))?;
    let in_range = (0..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=i64::from(super::civil::month_days(year, month as u32))).contains(&day);
    in_range.then(|| super::civil::days_of(year, month, day) as i32)
}

/// A local time in milliseconds of a text, as `TO_TIMESTAMP` reads it.
fn local_millis(text: &str, pattern: Option<&Pattern>) -> Option<i64> {
    let (seconds, nanos) = match pattern {
        Some(pattern) => match pattern.parse(text) {
            Some(parsed) => (parsed.local_s, parsed.nanos),
            // Flink falls back to the form of SQL where a pattern does not fit.
            None => parse_timestamp(text).map(|DateTime { seconds, nanos, .. }| (seconds, nanos))?,
        },
        None => parse_timestamp(text).map(|DateTime { seconds, nanos, .. }| (seconds, nanos))?,
    };
    seconds.checked_mul(1000)?.checked_add(i64::from(nanos / 1_000_000))
}

fn to_timestamp(call: &Call<'_>) -> Result<ArrayRef> {
    let mut patterns = Patterns::new(Dialect::Formatter);
    let millis = |row| -> Result<Option<i64>> {
        let Some((text, pattern)) = text_and_pattern(call, row) else { return Ok(None) };
        let pattern = if call.len() > 1 { Some(patterns.get(pattern)?) } else { None };
        Ok(local_millis(text, pattern))
    };
    Ok(Arc::new((0..call.rows).map(millis).collect::<Result<TimestampMillisecondArray>>()?))
}

fn to_timestamp_ltz(call: &Call<'_>) -> Result<ArrayRef> {
    let millis = match call.type_of(0) {
        DataType::Utf8View => instants_of_texts(call)?,
        _ => instants_of_numbers(call)?,
    };
    Ok(Arc::new(millis.with_timezone(LTZ)))
}

fn instants_of_texts(call: &Call<'_>) -> Result<TimestampMillisecondArray> {
    if call.len() > 1 && call.type_of(1) != &DataType::Utf8View {
        return Err(planning_error("TO_TIMESTAMP_LTZ takes a pattern behind a string, not a precision"));
    }
    let mut patterns = Patterns::new(Dialect::Formatter);
    let mut offsets = Offsets::new(Zone::UTC);
    let mut zone_name = "UTC".to_owned();
    let millis = |row| -> Result<Option<i64>> {
        let Some((text, pattern)) = text_and_pattern(call, row) else { return Ok(None) };
        if call.len() > 2 {
            let Some(name) = call.strings(2).get(row) else { return Ok(None) };
            if name != zone_name {
                offsets = Offsets::new(Zone::parse(name).map_err(to_datafusion)?);
                zone_name = name.to_owned();
            }
        }
        let pattern = if call.len() > 1 { Some(patterns.get(pattern)?) } else { None };
        let local = local_millis(text, pattern);
        Ok(local.map(|local| local.saturating_sub(offsets.at_local(local.div_euclid(1000)) * 1000)))
    };
    (0..call.rows).map(millis).collect()
}

fn instants_of_numbers(call: &Call<'_>) -> Result<TimestampMillisecondArray> {
    if call.len() > 2 || call.len() == 2 && call.type_of(1) != &DataType::Int32 {
        return Err(planning_error("TO_TIMESTAMP_LTZ takes a precision of 0 or 3 behind a number"));
    }
    let numbers = call.array(0)?;
    let factor = |row| -> Result<Option<i64>> {
        match (call.len() > 1).then(|| call.ints(1).get(row)) {
            None | Some(Some(3)) => Ok(Some(1)),
            Some(Some(0)) => Ok(Some(1000)),
            Some(None) => Ok(None),
            Some(Some(other)) => Err(data_error(format!(
                "TO_TIMESTAMP_LTZ counts seconds (precision 0) or milliseconds (3), not with precision {other}"
            ))),
        }
    };
    let millis = |row| -> Result<Option<i64>> {
        let Some(factor) = factor(row)? else { return Ok(None) };
        if numbers.is_null(row) {
            return Ok(None);
        }
        let millis = match numbers.data_type() {
            DataType::Float64 => {
                Some((numbers.as_primitive::<Float64Type>().value(row) * factor as f64) as i64)
            }
            DataType::Decimal128(_, scale) => {
                let whole =
                    numbers.as_primitive::<Decimal128Type>().value(row) / 10i128.pow((*scale).max(0) as u32);
                i64::try_from(whole).ok().and_then(|whole| whole.checked_mul(factor))
            }
            _ => numbers.as_primitive::<Int64Type>().value(row).checked_mul(factor),
        };
        Ok(millis.filter(|millis| YEARS_MS.contains(millis)))
    };
    (0..call.rows).map(millis).collect()
}

fn convert_tz(call: &Call<'_>) -> Result<ArrayRef> {
    let pattern = Pattern::compile(DEFAULT, Dialect::Simple).map_err(to_datafusion)?;
    let texts = call.strings(0);
    let mut known: [Option<(String, Zone)>; 2] = [None, None];
    let mut zone = |argument: usize, name: &str| -> Result<Zone> {
        let slot = &mut known[argument - 1];
        match slot {
            Some((of, zone)) if of == name => Ok(*zone),
            _ => {
                let zone = Zone::parse(name).map_err(to_datafusion)?;
                *slot = Some((name.to_owned(), zone));
                Ok(zone)
            }
        }
    };
    strings(call.rows, |row, out| {
        let (Some(text), Some(from), Some(to)) =
            (texts.get(row), call.strings(1).get(row), call.strings(2).get(row))
        else {
            return Ok(false);
        };
        let Some(parsed) = pattern.parse(text) else { return Ok(false) };
        let instant = instant_of(&parsed, &mut Offsets::new(zone(1, from)?));
        let local = instant.saturating_add(i64::from(zone(2, to)?.offset_at(instant)));
        pattern.format(&Moment::local(local, 0), out);
        Ok(true)
    })
}
