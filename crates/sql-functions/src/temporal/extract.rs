//! Fields of datetimes and intervals: `EXTRACT`, `YEAR`, `HOUR` ...

use super::civil::{DAY_S, date_of, day_of_year, iso_week, weekday};
use super::units::Unit;
use super::zone::Offsets;
use super::{Scale, one_text, per_second, session_zone, ticks};
use crate::registry::{Category, FunctionRegistry};
use crate::support::{Call, Definition, Parameter, Types, planning_error, to_datafusion};
use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::compute::unary;
use arrow::datatypes::{
    DataType, Int64Type, IntervalMonthDayNanoType, IntervalUnit, IntervalYearMonthType, TimeUnit,
};
use datafusion_common::{Result, ScalarValue};
use flugs_sql_types::LogicalType;
use std::cell::Cell;
use std::sync::Arc;

const SOURCE: Parameter = Parameter::Other("a datetime or an INTERVAL", |given| {
    super::accept_datetime(given).or_else(|| super::accept_interval(given))
});

/// Name, unit, what it gives.
const SHORT: [(&str, Unit, &str, &str); 10] = [
    ("YEAR", Unit::Year, "YEAR(date)", "The year."),
    ("QUARTER", Unit::Quarter, "QUARTER(date)", "The quarter of the year, 1 to 4."),
    ("MONTH", Unit::Month, "MONTH(date)", "The month, 1 to 12."),
    ("WEEK", Unit::Week, "WEEK(date)", "The week of the year as in ISO 8601, 1 to 53."),
    ("DAYOFYEAR", Unit::DayOfYear, "DAYOFYEAR(date)", "The day of the year, 1 to 366."),
    ("DAYOFMONTH", Unit::Day, "DAYOFMONTH(date)", "The day of the month, 1 to 31."),
    ("DAYOFWEEK", Unit::DayOfWeek, "DAYOFWEEK(date)", "The day of the week: Sunday is 1, Saturday 7."),
    ("HOUR", Unit::Hour, "HOUR(timestamp)", "The hour of the day, 0 to 23."),
    ("MINUTE", Unit::Minute, "MINUTE(timestamp)", "The minute of the hour, 0 to 59."),
    ("SECOND", Unit::Second, "SECOND(timestamp)", "The second of the minute, 0 to 59."),
];

pub(super) fn register(registry: &mut FunctionRegistry) {
    let general = Definition::new(
        Category::Temporal,
        "EXTRACT",
        "EXTRACT(unit FROM datetime)",
        "A field of a datetime or interval: YEAR, MONTH, DOW, HOUR, EPOCH and others.",
        |call| {
            let Some(unit) = one_text(call, 0, "the unit of EXTRACT")? else {
                return Ok(Arc::new(Int64Array::new_null(call.rows)));
            };
            extract(Unit::parse(unit).map_err(to_datafusion)?, call, 1)
        },
    );
    let general = general.aliases(&["DATE_PART"]).takes(&[Parameter::String, SOURCE]);
    registry.define(general.returns_by(|types: &Types<'_>| {
        if let Some(ScalarValue::Utf8View(Some(unit)) | ScalarValue::Utf8(Some(unit))) = types.constant(0) {
            check(Unit::parse(unit).map_err(to_datafusion)?, types.kind(1))?;
        }
        Ok(LogicalType::BigInt)
    }));
    for (name, unit, usage, text) in SHORT {
        let short = Definition::new(Category::Temporal, name, usage, text, move |call: &Call<'_>| {
            extract(unit, call, 0)
        });
        registry.define(short.takes(&[SOURCE]).returns(LogicalType::BigInt));
    }
}

/// Refuses fields that values of this type have not.
fn check(unit: Unit, kind: &LogicalType) -> Result<()> {
    let of_day = matches!(
        unit,
        Unit::Hour | Unit::Minute | Unit::Second | Unit::Millisecond | Unit::Microsecond | Unit::Nanosecond
    );
    let fits = match kind {
        LogicalType::Time(_) => of_day || unit == Unit::Epoch,
        LogicalType::IntervalYearMonth => matches!(unit, Unit::Year | Unit::Quarter | Unit::Month),
        LogicalType::IntervalDaySecond => of_day || matches!(unit, Unit::Day | Unit::Epoch),
        _ => true,
    };
    if fits { Ok(()) } else { Err(planning_error(format!("{unit:?} is no field of {kind}"))) }
}

fn extract(unit: Unit, call: &Call<'_>, argument: usize) -> Result<ArrayRef> {
    let array = call.raw(argument);
    let result = match (array.data_type(), Scale::of(array.data_type())) {
        (_, Some(Scale::Date)) => of_days(unit, &ticks(array), 1),
        (_, Some(Scale::Time)) => of_time::<1_000>(unit, &ticks(array)),
        (_, Some(Scale::Instant(per_second))) if unit == Unit::Epoch => {
            unary(&ticks(array), |t: i64| t.div_euclid(per_second))
        }
        (DataType::Timestamp(tick, zone), _) => {
            let values = ticks(array);
            let values = match zone {
                Some(_) => local_ticks(&values, per_second(*tick), &mut Offsets::new(session_zone(call)?)),
                None => values,
            };
            match tick {
                TimeUnit::Second => of_timestamp::<1>(unit, &values),
                TimeUnit::Millisecond => of_timestamp::<1_000>(unit, &values),
                TimeUnit::Microsecond => of_timestamp::<1_000_000>(unit, &values),
                TimeUnit::Nanosecond => of_timestamp::<1_000_000_000>(unit, &values),
            }
        }
        (DataType::Interval(IntervalUnit::YearMonth), _) => {
            unary(array.as_primitive::<IntervalYearMonthType>(), |months: i32| {
                let months = i64::from(months);
                match unit {
                    Unit::Year => months / 12,
                    Unit::Quarter => months % 12 / 3 + 1,
                    _ => months % 12,
                }
            })
        }
        _ => unary(array.as_primitive::<IntervalMonthDayNanoType>(), |interval| {
            let nanos = i128::from(interval.days) * i128::from(DAY_S) * 1_000_000_000
                + i128::from(interval.nanoseconds);
            of_interval(unit, nanos)
        }),
    };
    Ok(Arc::new(result))
}

/// Instants as local times of a zone, in the same ticks.
pub(super) fn local_ticks(instants: &Int64Array, per_second: i64, offsets: &mut Offsets) -> Int64Array {
    // Instants from `start` on have this offset, as many as `length` says.
    let (mut start, mut length, mut offset) = (0, 0u64, 0);
    let local = |t: i64| {
        if t.wrapping_sub(start) as u64 >= length {
            let known = offsets.around(t.div_euclid(per_second));
            start = known.start.wrapping_mul(per_second);
            length = (known.end - known.start).saturating_mul(per_second) as u64;
            offset = offsets.at(known.start).wrapping_mul(per_second);
        }
        t.wrapping_add(offset)
    };
    let values: Vec<i64> = instants.values().iter().copied().map(local).collect();
    Int64Array::new(values.into(), instants.nulls().cloned())
}

/// Fields of timestamps with `PER` ticks a second. The ticks are a constant, so that no division is left in the loop.
fn of_timestamp<const PER: i64>(unit: Unit, ticks: &Int64Array) -> Int64Array {
    match unit {
        Unit::Hour
        | Unit::Minute
        | Unit::Second
        | Unit::Millisecond
        | Unit::Microsecond
        | Unit::Nanosecond => of_time::<PER>(unit, ticks),
        Unit::Epoch => unary(ticks, |t: i64| t.div_euclid(PER)),
        _ => of_days(unit, ticks, PER * DAY_S),
    }
}

fn of_time<const PER: i64>(unit: Unit, ticks: &Int64Array) -> Int64Array {
    // Of the ticks within a second, how many there would be with `per` of them.
    let fraction = |per: i64| -> Int64Array {
        if per >= PER {
            unary(ticks, |t: i64| t.rem_euclid(PER) * (per / PER))
        } else {
            unary(ticks, |t: i64| t.rem_euclid(PER) / (PER / per))
        }
    };
    match unit {
        Unit::Hour => unary(ticks, |t: i64| t.div_euclid(PER * 3600).rem_euclid(24)),
        Unit::Minute => unary(ticks, |t: i64| t.div_euclid(PER * 60).rem_euclid(60)),
        Unit::Second => unary(ticks, |t: i64| t.div_euclid(PER).rem_euclid(60)),
        Unit::Millisecond => fraction(1_000),
        Unit::Microsecond => fraction(1_000_000),
        Unit::Nanosecond => fraction(1_000_000_000),
        _ => unary(ticks, |t: i64| t.div_euclid(PER)),
    }
}

/// Fields of the day; neighbouring rows are often of the same one.
fn of_days(unit: Unit, ticks: &Int64Array, per_day: i64) -> Int64Array {
    let last = Cell::new((0, of_day(unit, 0)));
    unary::<Int64Type, _, Int64Type>(ticks, |t| {
        let day = t.div_euclid(per_day);
        let (known, value) = last.get();
        if known == day {
            return value;
        }
        let value = of_day(unit, day);
        last.set((day, value));
        value
    })
}

fn of_day(unit: Unit, days: i64) -> i64 {
    let date = date_of(days);
    // Centuries and millennia have no year 0: 2000 is the last year of the 20th.
    let counted =
        |size: i64| if date.year > 0 { (date.year + size - 1) / size } else { (date.year - size + 1) / size };
    match unit {
        Unit::Millennium => counted(1000),
        Unit::Century => counted(100),
        Unit::Decade => date.year.div_euclid(10),
        Unit::Year => date.year,
        Unit::IsoYear => iso_week(days).0,
        Unit::Quarter => i64::from(date.month - 1) / 3 + 1,
        Unit::Month => i64::from(date.month),
        Unit::Week => iso_week(days).1,
        Unit::Day => i64::from(date.day),
        Unit::DayOfWeek => weekday(days) + 1,
        Unit::IsoDayOfWeek => (weekday(days) + 6) % 7 + 1,
        Unit::DayOfYear => day_of_year(days),
        Unit::Epoch => days.saturating_mul(DAY_S),
        // A date is its midnight.
        _ => 0,
    }
}

/// The parts of an interval have its sign.
fn of_interval(unit: Unit, nanos: i128) -> i64 {
    const SECOND: i128 = 1_000_000_000;
    let value = match unit {
        Unit::Hour => nanos / (3600 * SECOND) % 24,
        Unit::Minute => nanos / (60 * SECOND) % 60,
        Unit::Second => nanos / SECOND % 60,
        Unit::Millisecond => nanos / 1_000_000 % 1000,
        Unit::Microsecond => nanos / 1_000 % 1_000_000,
        Unit::Nanosecond => nanos % SECOND,
        Unit::Epoch => nanos / SECOND,
        _ => nanos / (86_400 * SECOND),
    };
    value as i64
}
