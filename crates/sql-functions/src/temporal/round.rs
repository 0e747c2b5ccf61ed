//! `FLOOR(x TO unit)` and `CEIL(x TO unit)`.
//!
//! Weeks begin on Sunday, as in Flink; centuries and millennia with year 1. Days and longer units of a `TIMESTAMP_LTZ` are
//! those of the session's zone, also where they have 23 or 25 hours.

use super::civil::{date_of, days_of, weekday};
use super::units::Unit;
use super::zone::{Offsets, start_of_day};
use super::{DATETIME, Scale, from_ticks, one_text, session_zone, ticks};
use crate::registry::{Category, FunctionRegistry};
use crate::support::{Call, Definition, Parameter, planning_error, to_datafusion};
use arrow::array::{ArrayRef, Int64Array, new_null_array};
use datafusion_common::Result;
use std::cell::RefCell;

pub(super) fn register(registry: &mut FunctionRegistry) {
    let functions = [
        (
            "FLOOR_TO",
            "FLOOR(datetime TO unit)",
            "The start of the unit of time that a datetime is in.",
            false,
        ),
        (
            "CEIL_TO",
            "CEIL(datetime TO unit)",
            "The start of the next unit of time, or the datetime where it is one.",
            true,
        ),
    ];
    for (name, usage, text, up) in functions {
        let body = move |call: &Call<'_>| round(call, up);
        let definition = Definition::new(Category::Temporal, name, usage, text, body);
        registry.define(definition.takes(&[DATETIME, Parameter::String]).returns_argument(0));
    }
}

fn round(call: &Call<'_>, up: bool) -> Result<ArrayRef> {
    let data_type = call.data_type();
    let Some(unit) = one_text(call, 1, "the unit of FLOOR and CEIL")? else {
        return Ok(new_null_array(data_type, call.rows));
    };
    let unit = Unit::parse(unit).map_err(to_datafusion)?;
    if unit.nanos().is_none() && unit.months().is_none() {
        return Err(planning_error(format!("datetimes are not rounded to {unit:?}")));
    }
    let array = call.array(0)?;
    let values = ticks(&array);
    let scale = Scale::of(data_type).ok_or_else(|| planning_error("FLOOR and CEIL round datetimes"))?;
    let per_day = scale.per_day();
    let of_day = |t: i64| round_days(unit, t.div_euclid(per_day), up, t.rem_euclid(per_day) > 0);
    let whole_days = unit.nanos().is_none_or(|nanos| nanos >= 86_400_000_000_000);
    let rounded: Int64Array = match scale {
        // Rounded to a day, a time is midnight; up from within the last unit as well.
        Scale::Time if whole_days => values.unary(|_| 0),
        Scale::Time => {
            round_ticks(&values, unit_ticks(unit, 1_000), up).unary(|t: i64| t.rem_euclid(per_day))
        }
        Scale::Date if !whole_days => values,
        Scale::Date => values.unary(of_day),
        Scale::Local(per_second) if !whole_days || unit == Unit::Day => {
            round_ticks(&values, unit_ticks(unit, per_second), up)
        }
        Scale::Local(_) => {
            values.try_unary(|t| of_day(t).checked_mul(per_day).ok_or_else(|| super::overflow(data_type)))?
        }
        Scale::Instant(per_second) => {
            let offsets = RefCell::new(Offsets::new(session_zone(call)?));
            let size = if whole_days { None } else { Some(unit_ticks(unit, per_second)) };
            values.try_unary(|t| {
                let offset = offsets.borrow_mut().at(t.div_euclid(per_second)) * per_second;
                let local = t.wrapping_add(offset);
                if let Some(size) = size {
                    return Ok(round_tick(local, size, up).wrapping_sub(offset));
                }
                let start = start_of_day(&mut offsets.borrow_mut(), of_day(local));
                start.checked_mul(per_second).ok_or_else(|| super::overflow(data_type))
            })?
        }
    };
    from_ticks(rounded, data_type)
}

/// How many ticks a unit shorter than a day has; one where a tick is longer.
fn unit_ticks(unit: Unit, per_second: i64) -> i64 {
    (unit.nanos().unwrap_or(1) / (1_000_000_000 / per_second)).max(1)
}

fn round_tick(t: i64, size: i64, up: bool) -> i64 {
    let rest = t.rem_euclid(size);
    let floor = t.wrapping_sub(rest);
    if up && rest > 0 { floor.wrapping_add(size) } else { floor }
}

fn round_ticks(values: &Int64Array, size: i64, up: bool) -> Int64Array {
    // The usual units as constants, so that no division is left in the loop.
    match (size, up) {
        (60_000, false) => values.unary(|t: i64| t.wrapping_sub(t.rem_euclid(60_000))),
        (3_600_000, false) => values.unary(|t: i64| t.wrapping_sub(t.rem_euclid(3_600_000))),
        (1_000, false) => values.unary(|t: i64| t.wrapping_sub(t.rem_euclid(1_000))),
        _ => values.unary(|t: i64| round_tick(t, size, up)),
    }
}

/// The first day of the unit that a day is in; of the next one where `up` and the day, or what comes `later` on it, is behind
/// the first.
fn round_days(unit: Unit, days: i64, up: bool, later: bool) -> i64 {
    let floor = floor_days(unit, days, 0);
    if up && (floor < days || later) { floor_days(unit, days, 1) } else { floor }
}

/// The first day of the unit that is `ahead` units behind the one a day is in.
fn floor_days(unit: Unit, days: i64, ahead: i64) -> i64 {
    let date = date_of(days);
    let month = i64::from(date.month);
    let years = |size: i64, first: i64| {
        days_of((date.year - first).div_euclid(size) * size + first + ahead * size, 1, 1)
    };
    match unit {
        Unit::Millennium => years(1000, 1),
        Unit::Century => years(100, 1),
        Unit::Decade => years(10, 0),
        Unit::Year => years(1, 0),
        Unit::Quarter => days_of(date.year, (month - 1) / 3 * 3 + 1 + 3 * ahead, 1),
        Unit::Month => days_of(date.year, month + ahead, 1),
        Unit::Week => days - weekday(days) + 7 * ahead,
        _ => days.saturating_add(ahead),
    }
}
