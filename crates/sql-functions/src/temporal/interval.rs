//! Sums and multiples of intervals, and the interval between two datetimes.
//!
//! An interval of days to seconds is a number of milliseconds, since a day has 24 hours; it stands as whole days and the rest, of one
//! sign, so that equal ones are equal as they stand.

use super::arithmetic::{common_datetime, months_between};
use super::units::Unit;
use super::{DATETIME, INTERVAL, Scale, civil, one_text, ticks};
use crate::cast::{interval_of_milliseconds, milliseconds};
use crate::registry::{Category, FunctionRegistry};
use crate::support::{Call, Definition, Parameter, Types, planning_error, to_datafusion, type_name};
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, new_null_array};
use arrow::datatypes::{DataType, IntervalMonthDayNanoType, IntervalUnit, IntervalYearMonthType};
use arrow::error::ArrowError;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{Operator, ScalarUDF};
use flugs_sql_types::LogicalType;
use std::sync::{Arc, LazyLock};

pub(super) fn register(registry: &mut FunctionRegistry) {
    let text = "The interval from the second of two datetimes to the first, in months or in milliseconds.";
    let usage = "(later - earlier) DAY TO SECOND";
    let between = Definition::new(Category::Temporal, "INTERVAL_BETWEEN", usage, text, between);
    let between = between.takes(&[Parameter::String, DATETIME, DATETIME]).coerced_by(|given| {
        let common = common_datetime("the difference", &given[1], &given[2])?;
        Ok(vec![given[0].clone(), common.clone(), common])
    });
    registry.define(between.returns_by(type_between));

    registry.define(sum());
    registry.define(difference());
    registry.define(multiple());
}

/// Two intervals, or an interval and a `BIGINT`: `interval_add`, `interval_sub`, `interval_times`.
pub fn interval_binary(op: Operator) -> Option<Arc<ScalarUDF>> {
    static ADD: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(sum().into_udf()));
    static SUB: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(difference().into_udf()));
    static TIMES: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(multiple().into_udf()));
    match op {
        Operator::Plus => Some(ADD.clone()),
        Operator::Minus => Some(SUB.clone()),
        Operator::Multiply => Some(TIMES.clone()),
        _ => None,
    }
}

fn sum() -> Definition {
    of_two("INTERVAL_ADD", "interval + interval", "The sum of two intervals.", 1)
}

fn difference() -> Definition {
    of_two("INTERVAL_SUB", "interval - interval", "The difference of two intervals.", -1)
}

fn of_two(name: &'static str, usage: &'static str, text: &'static str, sign: i64) -> Definition {
    let definition = Definition::new(Category::Temporal, name, usage, text, move |call| added(call, sign));
    let definition = definition.takes(&[INTERVAL, INTERVAL]).coerced_by(of_one_kind);
    definition.returns_by(|types: &Types<'_>| Ok(types.kind(0).clone()))
}

fn multiple() -> Definition {
    let text = "An interval several times.";
    let times = Definition::new(Category::Temporal, "INTERVAL_TIMES", "interval * count", text, times);
    let times = times.takes(&[INTERVAL, Parameter::BigInt]);
    times.returns_by(|types: &Types<'_>| Ok(types.kind(0).clone()))
}

fn of_one_kind(given: &[DataType]) -> Result<Vec<DataType>> {
    if given[0] != given[1] {
        let (left, right) = (type_name(&given[0]), type_name(&given[1]));
        return Err(planning_error(format!("there is no operator for {left} and {right}")));
    }
    Ok(given.to_vec())
}

fn is_of_months(unit: &str) -> Result<bool> {
    Ok(Unit::parse(unit).map_err(to_datafusion)?.months().is_some())
}

fn type_between(types: &Types<'_>) -> Result<LogicalType> {
    let Some(ScalarValue::Utf8View(Some(unit)) | ScalarValue::Utf8(Some(unit))) = types.constant(0) else {
        return Err(planning_error("the unit of an interval is a literal"));
    };
    Ok(match is_of_months(unit)? {
        true => LogicalType::IntervalYearMonth,
        false => LogicalType::IntervalDaySecond,
    })
}

fn between(call: &Call<'_>) -> Result<ArrayRef> {
    let Some(unit) = one_text(call, 0, "the unit of an interval")? else {
        return Ok(new_null_array(call.data_type(), call.rows));
    };
    let (from, to) = (call.array(1)?, call.array(2)?);
    let scale =
        Scale::of(from.data_type()).ok_or_else(|| planning_error("an interval is between datetimes"))?;
    let per_day = scale.per_day();
    let (from, to) = (ticks(&from), ticks(&to));
    let pairs = from.values().iter().zip(to.values());
    if is_of_months(unit)? {
        let apart = pairs.map(|(from, to)| months_between(*from, *to, per_day) as i32);
        return collected::<IntervalYearMonthType>(call, apart.collect());
    }
    // As in Flink, what is finer than a millisecond is cut off on both sides.
    let millis = |tick: i64| match per_day {
        finer if finer > civil::DAY_MS => i128::from(tick.div_euclid(finer / civil::DAY_MS)),
        coarser => i128::from(tick) * i128::from(civil::DAY_MS / coarser),
    };
    let apart = pairs.map(|(from, to)| interval_of_milliseconds((millis(*to) - millis(*from)) as i64));
    collected::<IntervalMonthDayNanoType>(call, apart.collect())
}

fn collected<T: ArrowPrimitiveType>(call: &Call<'_>, values: Vec<T::Native>) -> Result<ArrayRef> {
    Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), call.nulls())))
}

/// A row's interval of months or of milliseconds.
struct Lengths(Vec<i64>);

impl Lengths {
    fn of(array: &ArrayRef) -> Self {
        Lengths(match array.data_type() {
            DataType::Interval(IntervalUnit::YearMonth) => {
                array.as_primitive::<IntervalYearMonthType>().values().iter().map(|m| i64::from(*m)).collect()
            }
            _ => {
                let intervals = array.as_primitive::<IntervalMonthDayNanoType>().values();
                intervals.iter().map(|interval| milliseconds(*interval)).collect()
            }
        })
    }
}

/// Lengths as intervals of the type of the result; an error where one is too long and not NULL.
fn intervals(call: &Call<'_>, lengths: Vec<Option<i64>>) -> Result<ArrayRef> {
    let nulls = call.nulls();
    let is_null = |row: usize| nulls.as_ref().is_some_and(|n| n.is_null(row));
    let too_long = || super::overflow(call.data_type());
    let settled = |(row, length): (usize, Option<i64>)| match is_null(row) {
        true => Ok(0),
        false => length.ok_or_else(too_long),
    };
    let lengths = lengths.into_iter().enumerate().map(settled);
    Ok(match call.data_type() {
        DataType::Interval(IntervalUnit::YearMonth) => {
            let months = lengths.map(|m| i32::try_from(m?).map_err(|_| too_long()));
            collected::<IntervalYearMonthType>(call, months.collect::<Result<_, ArrowError>>()?)?
        }
        _ => {
            let values = lengths.map(|millis| Ok(interval_of_milliseconds(millis?)));
            collected::<IntervalMonthDayNanoType>(call, values.collect::<Result<_, ArrowError>>()?)?
        }
    })
}

fn added(call: &Call<'_>, sign: i64) -> Result<ArrayRef> {
    let (left, right) = (Lengths::of(&call.array(0)?), Lengths::of(&call.array(1)?));
    let pairs = left.0.iter().zip(&right.0);
    intervals(call, pairs.map(|(a, b)| a.checked_add(b.checked_mul(sign)?)).collect())
}

fn times(call: &Call<'_>) -> Result<ArrayRef> {
    let lengths = Lengths::of(&call.array(0)?);
    let counts = call.big_ints(1);
    let products = lengths.0.iter().enumerate().map(|(row, length)| length.checked_mul(counts.any(row)));
    intervals(call, products.collect())
}

#[cfg(test)]
mod tests {
    use crate::FunctionRegistry;
    use crate::support::testing::evaluate_udf;
    use datafusion_common::{Result, ScalarValue};

    fn call(name: &str, arguments: &[ScalarValue]) -> Result<ScalarValue> {
        let registry = FunctionRegistry::builtin();
        evaluate_udf(registry.scalar(name).expect("a function"), arguments, "UTC")
    }

    fn months(n: i32) -> ScalarValue {
        ScalarValue::IntervalYearMonth(Some(n))
    }

    fn span(days: i32, nanos: i64) -> ScalarValue {
        ScalarValue::new_interval_mdn(0, days, nanos)
    }

    #[test]
    fn results_are_whole_days_and_the_rest() {
        const HOUR: i64 = 3_600_000_000_000;
        let sum = call("interval_add", &[span(0, 23 * HOUR), span(0, 2 * HOUR)]).unwrap();
        assert_eq!(sum, span(1, HOUR));
        let less = call("interval_sub", &[span(1, 0), span(0, 25 * HOUR)]).unwrap();
        assert_eq!(less, span(0, -HOUR));
        let times = call("interval_times", &[span(0, 12 * HOUR), ScalarValue::Int64(Some(-3))]).unwrap();
        assert_eq!(times, span(-1, -12 * HOUR));
    }

    #[test]
    fn what_is_too_long_is_an_error_and_null_is_none() {
        assert!(call("interval_add", &[months(i32::MAX), months(1)]).is_err());
        assert!(call("interval_times", &[months(12), ScalarValue::Int64(Some(i64::MAX))]).is_err());
        let null = ScalarValue::IntervalYearMonth(None);
        assert_eq!(call("interval_add", &[months(i32::MAX), null.clone()]).unwrap(), null);
        assert!(call("interval_add", &[months(1), span(1, 0)]).is_err());
    }
}
