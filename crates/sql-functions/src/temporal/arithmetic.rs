//! Datetimes moved by intervals, and how far they are apart.
//!
//! Months end where the month ends: a month behind 31 January is the last of February. A day of an interval has 24 hours,
//! also in a `TIMESTAMP_LTZ`, as in Flink. A `TIME` goes round at midnight.

use super::civil::{DAY_S, add_months, date_of, month_days};
use super::units::Unit;
use super::{DATETIME, INTERVAL, Scale, from_ticks, one_text, overflow, ticks};
use crate::registry::{Category, FunctionRegistry};
use crate::support::{
    Call, Definition, Parameter, Types, common_type, planning_error, to_datafusion, type_name,
};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int32Array, Int64Array, new_null_array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DataType, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit, IntervalYearMonthType,
};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{Operator, ScalarUDF};
use flugs_sql_types::LogicalType;
use std::sync::{Arc, LazyLock};

const DAY_NS: i128 = DAY_S as i128 * 1_000_000_000;

pub(super) fn register(registry: &mut FunctionRegistry) {
    let text = "A datetime some units of time later.";
    let usage = "TIMESTAMPADD(unit, count, datetime)";
    let add = Definition::new(Category::Temporal, "TIMESTAMPADD", usage, text, timestamp_add);
    registry.define(add.takes(&[Parameter::String, Parameter::BigInt, DATETIME]).returns_by(type_of_add));

    let text = "How many whole units of time there are from the first datetime to the second.";
    let usage = "TIMESTAMPDIFF(unit, datetime1, datetime2)";
    let diff = Definition::new(Category::Temporal, "TIMESTAMPDIFF", usage, text, timestamp_diff);
    let diff = diff.takes(&[Parameter::String, DATETIME, DATETIME]).coerced_by(|given| {
        let common = common_datetime("TIMESTAMPDIFF", &given[1], &given[2])?;
        Ok(vec![given[0].clone(), common.clone(), common])
    });
    registry.define(diff.returns(LogicalType::Int));

    registry.define(move_on());
    registry.define(move_back());

    let text = "Whether two periods meet; each has a start and an end or a length.";
    let usage = "(start1, end1) OVERLAPS (start2, end2)";
    let period = Parameter::Other("a datetime or an INTERVAL", |given| {
        super::accept_datetime(given).or_else(|| super::accept_interval(given))
    });
    let overlaps = Definition::new(Category::Temporal, "OVERLAPS", usage, text, overlaps);
    registry.define(overlaps.takes(&[DATETIME, period, DATETIME, period]).returns(LogicalType::Boolean));
}

/// A datetime and an interval: `datetime_add`, `datetime_sub`.
pub fn datetime_binary(op: Operator) -> Option<Arc<ScalarUDF>> {
    static ADD: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(move_on().into_udf()));
    static SUB: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(move_back().into_udf()));
    match op {
        Operator::Plus => Some(ADD.clone()),
        Operator::Minus => Some(SUB.clone()),
        _ => None,
    }
}

fn move_on() -> Definition {
    moving("DATETIME_ADD", "datetime + interval", "A datetime moved on by an interval.", 1)
}

fn move_back() -> Definition {
    moving("DATETIME_SUB", "datetime - interval", "A datetime moved back by an interval.", -1)
}

fn moving(name: &'static str, usage: &'static str, text: &'static str, sign: i64) -> Definition {
    let body = move |call: &Call<'_>| move_by_interval(call, sign);
    let definition = Definition::new(Category::Temporal, name, usage, text, body);
    definition.takes(&[DATETIME, INTERVAL]).returns_by(|types: &Types<'_>| {
        let below_day = matches!(
            types.constant(1),
            Some(ScalarValue::IntervalMonthDayNano(Some(i))) if i128::from(i.nanoseconds) % DAY_NS != 0
        );
        Ok(match types.kind(0) {
            LogicalType::Date if below_day => LogicalType::Timestamp(3),
            kind => kind.clone(),
        })
    })
}

pub(super) fn common_datetime(name: &str, left: &DataType, right: &DataType) -> Result<DataType> {
    common_type(left, right).ok_or_else(|| {
        let (left, right) = (type_name(left), type_name(right));
        planning_error(format!(
            "{name} takes two datetimes of one kind, not {left} and {right}; CAST one of them"
        ))
    })
}

/// How far an interval moves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Shift {
    months: i64,
    nanos: i128,
}

impl Shift {
    fn of_units(unit: Unit, count: i64) -> Result<Shift> {
        match (unit.months(), unit.nanos()) {
            (Some(months), _) => Ok(Shift { months: months.saturating_mul(count), nanos: 0 }),
            (_, Some(nanos)) => Ok(Shift { months: 0, nanos: i128::from(nanos) * i128::from(count) }),
            _ => Err(planning_error(format!("{unit:?} is a field of datetimes, but no unit to count in"))),
        }
    }

    fn of_interval(interval: IntervalMonthDayNano, sign: i64) -> Shift {
        let nanos = i128::from(interval.days) * DAY_NS + i128::from(interval.nanoseconds);
        Shift { months: i64::from(interval.months) * sign, nanos: nanos * i128::from(sign) }
    }

    /// The ticks by which every datetime of this scale is moved; none where they differ or are too many.
    fn ticks(self, scale: Scale) -> Option<i64> {
        let nanos_per_tick = DAY_NS / i128::from(scale.per_day());
        let same = self.months == 0 && scale != Scale::Time;
        same.then(|| i64::try_from(self.nanos.div_euclid(nanos_per_tick)).ok())?
    }

    /// A datetime of this scale moved; none where the result is out of range.
    fn apply(self, scale: Scale, t: i64) -> Option<i64> {
        let per_day = scale.per_day();
        let moved = match (self.months, scale) {
            (0, _) => t,
            (_, Scale::Time) => t,
            (months, _) => add_months(t.div_euclid(per_day), months)
                .checked_mul(per_day)?
                .checked_add(t.rem_euclid(per_day))?,
        };
        let nanos_per_tick = DAY_NS / i128::from(per_day);
        // Parts of a tick are cut off behind the sum, so that going back and forth rounds the same way.
        let by = i64::try_from(self.nanos.div_euclid(nanos_per_tick)).ok()?;
        let moved = moved.checked_add(by)?;
        Some(if scale == Scale::Time { moved.rem_euclid(per_day) } else { moved })
    }
}

fn type_of_add(types: &Types<'_>) -> Result<LogicalType> {
    let kind = types.kind(2).clone();
    let Some(ScalarValue::Utf8View(Some(unit)) | ScalarValue::Utf8(Some(unit))) = types.constant(0) else {
        return Ok(kind);
    };
    let unit = Unit::parse(unit).map_err(to_datafusion)?;
    Shift::of_units(unit, 1)?;
    let digits = match unit {
        Unit::Microsecond => 6,
        Unit::Nanosecond => 9,
        _ => 3,
    };
    let below_day = unit.nanos().is_some_and(|nanos| i128::from(nanos) < DAY_NS);
    Ok(match kind {
        LogicalType::Date if below_day => LogicalType::Timestamp(digits),
        LogicalType::Timestamp(p) if digits > 3 => LogicalType::Timestamp(digits.max(p)),
        LogicalType::TimestampLtz(p) if digits > 3 => LogicalType::TimestampLtz(digits.max(p)),
        kind => kind,
    })
}

fn timestamp_add(call: &Call<'_>) -> Result<ArrayRef> {
    let Some(unit) = one_text(call, 0, "the unit of TIMESTAMPADD")? else {
        return Ok(new_null_array(call.data_type(), call.rows));
    };
    let unit = Unit::parse(unit).map_err(to_datafusion)?;
    let counts = call.big_ints(1);
    moved(call, 2, 1, |row| Shift::of_units(unit, counts.any(row)))
}

fn move_by_interval(call: &Call<'_>, sign: i64) -> Result<ArrayRef> {
    let intervals = call.raw(1);
    let stride = usize::from(!call.is_constant(1));
    match intervals.data_type() {
        DataType::Interval(IntervalUnit::YearMonth) => {
            let months = intervals.as_primitive::<IntervalYearMonthType>().values();
            moved(call, 0, 1, |row| Ok(Shift { months: i64::from(months[row * stride]) * sign, nanos: 0 }))
        }
        _ => {
            let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>().values();
            moved(call, 0, 1, |row| Ok(Shift::of_interval(intervals[row * stride], sign)))
        }
    }
}

/// The datetimes of argument `of`, each moved by its row's shift, which argument `by` says, in the type of the result.
fn moved(call: &Call<'_>, of: usize, by: usize, shift: impl Fn(usize) -> Result<Shift>) -> Result<ArrayRef> {
    let array = call.array(of)?;
    // A date that is moved by hours becomes a timestamp, and one of few digits one of more.
    let array = if array.data_type() == call.data_type() {
        array
    } else {
        // A time that the finer type does not hold is an error, not NULL.
        let options = CastOptions { safe: false, ..CastOptions::default() };
        cast_with_options(&array, call.data_type(), &options)?
    };
    let scale = Scale::of(call.data_type()).ok_or_else(|| planning_error("only datetimes are moved"))?;
    let values = ticks(&array);
    if call.is_constant(by) && call.raw(by).is_valid(0) {
        let shift = shift(0)?;
        let moved = match shift.ticks(scale) {
            Some(by) => {
                values.try_unary(|t: i64| t.checked_add(by).ok_or_else(|| overflow(call.data_type())))?
            }
            None => values.try_unary(|t| shift.apply(scale, t).ok_or_else(|| overflow(call.data_type())))?,
        };
        return from_ticks(moved, call.data_type());
    }
    let nulls = call.nulls();
    let mut results = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let is_null = nulls.as_ref().is_some_and(|n| n.is_null(row));
        results.push(match is_null {
            true => 0,
            false => shift(row)?.apply(scale, values.value(row)).ok_or_else(|| overflow(call.data_type()))?,
        });
    }
    from_ticks(Int64Array::new(results.into(), nulls), call.data_type())
}

fn timestamp_diff(call: &Call<'_>) -> Result<ArrayRef> {
    let Some(unit) = one_text(call, 0, "the unit of TIMESTAMPDIFF")? else {
        return Ok(Arc::new(Int32Array::new_null(call.rows)));
    };
    let unit = Unit::parse(unit).map_err(to_datafusion)?;
    let (from, to) = (call.array(1)?, call.array(2)?);
    let scale = Scale::of(from.data_type()).ok_or_else(|| planning_error("TIMESTAMPDIFF takes datetimes"))?;
    let per_day = scale.per_day();
    let (from, to) = (ticks(&from), ticks(&to));
    let pairs = from.values().iter().zip(to.values());
    // Integers wrap where there are too many units, as in Flink.
    let values: Vec<i32> = match (unit.months(), unit.nanos()) {
        (Some(months), _) => pairs.map(|(a, b)| (months_between(*a, *b, per_day) / months) as i32).collect(),
        (_, Some(nanos)) => {
            let nanos_per_tick = DAY_NS / i128::from(per_day);
            match i64::try_from(i128::from(nanos) / nanos_per_tick) {
                Ok(size) if size > 0 => pairs.map(|(a, b)| (b.wrapping_sub(*a) / size) as i32).collect(),
                _ => {
                    let factor = (nanos_per_tick / i128::from(nanos)) as i64;
                    pairs.map(|(a, b)| b.wrapping_sub(*a).wrapping_mul(factor) as i32).collect()
                }
            }
        }
        _ => {
            return Err(planning_error(format!("{unit:?} is a field of datetimes, but no unit to count in")));
        }
    };
    Ok(Arc::new(Int32Array::new(values.into(), call.nulls())))
}

/// Whole months from `a` to `b`: a month is over when the same day and time of day are there, or the last of the month where it
/// is too short.
pub(super) fn months_between(a: i64, b: i64, per_day: i64) -> i64 {
    if a > b {
        return -months_between(b, a, per_day);
    }
    let (date_a, date_b) = (date_of(a.div_euclid(per_day)), date_of(b.div_euclid(per_day)));
    let months = (date_b.year - date_a.year) * 12 + i64::from(date_b.month) - i64::from(date_a.month);
    let there = date_a.day.min(month_days(date_b.year, date_b.month));
    let over = (there, a.rem_euclid(per_day)) <= (date_b.day, b.rem_euclid(per_day));
    if over { months } else { months - 1 }
}

fn overlaps(call: &Call<'_>) -> Result<ArrayRef> {
    let (first, second) = (Periods::new(call, 0)?, Periods::new(call, 2)?);
    let nulls = call.nulls();
    let meets = |row: usize| {
        let ((a, b), (c, d)) = (first.get(row)?, second.get(row)?);
        // Periods that only touch overlap.
        Some(b >= c && d >= a)
    };
    let valid = |row: &usize| nulls.as_ref().is_none_or(|n| n.is_valid(*row));
    Ok(Arc::new(
        (0..call.rows).map(|row| valid(&row).then(|| meets(row)).flatten()).collect::<BooleanArray>(),
    ))
}

/// The starts and ends of periods, in nanoseconds.
struct Periods {
    scale: Scale,
    starts: Int64Array,
    ends: Ends,
}

enum Ends {
    At(Scale, Int64Array),
    Months(ArrayRef),
    Lengths(ArrayRef),
}

impl Periods {
    fn new(call: &Call<'_>, argument: usize) -> Result<Periods> {
        let (starts, ends) = (call.array(argument)?, call.array(argument + 1)?);
        let scale = |array: &ArrayRef| Scale::of(array.data_type());
        let of_starts = scale(&starts).ok_or_else(|| planning_error("a period starts at a datetime"))?;
        let ends = match (scale(&ends), ends.data_type()) {
            (Some(scale), _) => Ends::At(scale, ticks(&ends)),
            (_, DataType::Interval(IntervalUnit::YearMonth)) => Ends::Months(ends),
            _ => Ends::Lengths(ends),
        };
        Ok(Periods { scale: of_starts, starts: ticks(&starts), ends })
    }

    /// The earlier and the later end; none where that is out of range.
    fn get(&self, row: usize) -> Option<(i128, i128)> {
        let nanos = |scale: Scale, t: i64| i128::from(t) * (DAY_NS / i128::from(scale.per_day()));
        let start = self.starts.value(row);
        let from = nanos(self.scale, start);
        let to = match &self.ends {
            Ends::At(scale, ends) => nanos(*scale, ends.value(row)),
            Ends::Months(months) => {
                let months = i64::from(months.as_primitive::<IntervalYearMonthType>().value(row));
                nanos(self.scale, Shift { months, nanos: 0 }.apply(self.scale, start)?)
            }
            Ends::Lengths(lengths) => {
                let shift =
                    Shift::of_interval(lengths.as_primitive::<IntervalMonthDayNanoType>().value(row), 1);
                let months = Shift { nanos: 0, ..shift };
                nanos(self.scale, months.apply(self.scale, start)?) + shift.nanos
            }
        };
        Some((from.min(to), from.max(to)))
    }
}
