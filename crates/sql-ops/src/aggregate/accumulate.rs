//! Loops over a batch's rows, one for each accumulator.

use super::layout::{Op, Slot};
use super::state::States;
use super::{varying, wide};
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes as types;
use arrow::datatypes::{DataType, IntervalUnit, TimeUnit};
use flugs_types::{Error, Result};
use std::borrow::Cow;

/// Which rows an accumulator takes, and what it does with them.
pub(super) struct Selection<'a> {
    /// All, where it is none.
    pub(super) mask: Option<BooleanBuffer>,
    /// The group of each row.
    pub(super) groups: &'a [u32],
    /// 1 for rows that are added, -1 for rows that are taken back; none where all are added.
    pub(super) signs: Option<&'a [i8]>,
}

impl Selection<'_> {
    /// Narrows it down.
    pub(super) fn and(&mut self, other: &BooleanBuffer) {
        self.mask = Some(match &self.mask {
            Some(mask) => mask & other,
            None => other.clone(),
        });
    }

    /// Calls `f` with number, group and sign of each row.
    #[inline(always)]
    pub(super) fn each(&self, mut f: impl FnMut(usize, usize, i64)) {
        match (&self.mask, self.signs) {
            (None, None) => {
                self.groups.iter().enumerate().for_each(|(row, group)| f(row, *group as usize, 1))
            }
            (None, Some(signs)) => {
                for (row, (group, sign)) in self.groups.iter().zip(signs).enumerate() {
                    f(row, *group as usize, i64::from(*sign));
                }
            }
            (Some(mask), signs) => mask.set_indices().for_each(|row| {
                f(row, self.groups[row] as usize, signs.map_or(1, |signs| i64::from(signs[row])));
            }),
        }
    }
}

/// Where a condition is true.
pub(super) fn true_mask(column: &ArrayRef) -> Result<BooleanBuffer> {
    let condition: &BooleanArray = column
        .as_boolean_opt()
        .ok_or_else(|| Error::bug("the filter of an aggregate is a boolean column"))?;
    Ok(match condition.nulls() {
        Some(nulls) => condition.values() & nulls.inner(),
        None => condition.values().clone(),
    })
}

/// Lets one accumulator of each group take the selected rows.
pub(super) fn accumulate(
    slot: &Slot,
    columns: &[ArrayRef],
    selection: &Selection<'_>,
    states: &mut States,
) -> Result<()> {
    if slot.op.is_varying() {
        return varying::accumulate(slot, columns, selection, states);
    }
    let (stride, at) = (states.stride, slot.at);
    let words = &mut states.words[..];
    if slot.op == Op::Count {
        selection.each(|_, group, sign| {
            let word = &mut words[group * stride + at];
            *word = word.wrapping_add(sign as u64);
        });
        return Ok(());
    }
    let argument = columns.get(slot.args[0]).ok_or_else(|| Error::bug("an argument's column is missing"))?;
    match slot.op {
        Op::SumInt => {
            let values = ints(argument)?;
            selection.each(|row, group, sign| {
                let words = &mut words[group * stride + at..][..2];
                words[0] = words[0].wrapping_add(values[row].wrapping_mul(sign) as u64);
                words[1] = words[1].wrapping_add(sign as u64);
            });
        }
        Op::SumFloat { single } => {
            let values = floats(argument)?;
            selection.each(|row, group, sign| {
                let words = &mut words[group * stride + at..][..2];
                let (sum, value) = (f64::from_bits(words[0]), values[row] * sign as f64);
                words[0] = add_floats(sum, value, single).to_bits();
                words[1] = words[1].wrapping_add(sign as u64);
            });
        }
        Op::SumWide => {
            let values = wides(argument)?;
            selection.each(|row, group, sign| {
                let words = &mut words[group * stride + at..][..4];
                wide::add(&mut words[..3], values[row] * i128::from(sign));
                words[3] = words[3].wrapping_add(sign as u64);
            });
        }
        Op::Best { max } => {
            let values = ordered(argument)?;
            selection.each(|row, group, _| {
                let words = &mut words[group * stride + at..][..2];
                let better = words[1] == 0 || (values[row] > words[0]) == max;
                words[0] = if better { values[row] } else { words[0] };
                words[1] = 1;
            });
        }
        Op::BestWide { max } => {
            let values = wides(argument)?;
            selection.each(|row, group, _| {
                best_wide(&mut words[group * stride + at..][..3], values[row], max);
            });
        }
        Op::Moments => {
            let values = floats(argument)?;
            selection.each(|row, group, sign| {
                moment(&mut words[group * stride + at..][..3], values[row], sign);
            });
        }
        _ => return Err(Error::bug("an accumulator of variable size has no words")),
    }
    Ok(())
}

/// The sum, in the precision of the type that is summed.
pub(super) fn add_floats(sum: f64, value: f64, single: bool) -> f64 {
    if single { f64::from(sum as f32 + value as f32) } else { sum + value }
}

pub(super) fn best_wide(words: &mut [u64], value: i128, max: bool) {
    if words[2] == 0 || (value > wide_of(words)) == max {
        (words[0], words[1], words[2]) = (value as u64, (value >> 64) as u64, 1);
    }
}

/// The value of [`Op::BestWide`].
pub(super) fn wide_of(words: &[u64]) -> i128 {
    i128::from(words[1] as i64) << 64 | i128::from(words[0])
}

/// Welford's algorithm, forwards and backwards.
fn moment(words: &mut [u64], value: f64, sign: i64) {
    let count = (words[0] as i64).wrapping_add(sign);
    let (mean, squares) = (f64::from_bits(words[1]), f64::from_bits(words[2]));
    let distance = value - mean;
    let (mean, squares) = match count {
        0 => (0.0, 0.0),
        count => {
            let moved = mean + sign as f64 * distance / count as f64;
            (moved, squares + sign as f64 * distance * (value - moved))
        }
    };
    (words[0], words[1], words[2]) = (count as u64, mean.to_bits(), squares.to_bits());
}

fn wrong(array: &ArrayRef) -> Error {
    Error::bug(format!("an accumulator cannot take {}", array.data_type()))
}

fn widened<T: ArrowPrimitiveType, U>(array: &ArrayRef, f: impl Fn(T::Native) -> U) -> Vec<U> {
    array.as_primitive::<T>().values().iter().map(|value| f(*value)).collect()
}

/// Values of an integer type.
fn ints(array: &ArrayRef) -> Result<Cow<'_, [i64]>> {
    Ok(match array.data_type() {
        DataType::Int64 => Cow::Borrowed(array.as_primitive::<types::Int64Type>().values()),
        DataType::Int8 => Cow::Owned(widened::<types::Int8Type, _>(array, i64::from)),
        DataType::Int16 => Cow::Owned(widened::<types::Int16Type, _>(array, i64::from)),
        DataType::Int32 => Cow::Owned(widened::<types::Int32Type, _>(array, i64::from)),
        DataType::Interval(IntervalUnit::YearMonth) => {
            Cow::Owned(widened::<types::IntervalYearMonthType, _>(array, i64::from))
        }
        DataType::Null => Cow::Owned(vec![0; array.len()]),
        _ => return Err(wrong(array)),
    })
}

/// Values of a number type, as `DOUBLE`.
pub(super) fn floats(array: &ArrayRef) -> Result<Cow<'_, [f64]>> {
    Ok(match array.data_type() {
        DataType::Float64 => Cow::Borrowed(array.as_primitive::<types::Float64Type>().values()),
        DataType::Float32 => Cow::Owned(widened::<types::Float32Type, _>(array, f64::from)),
        DataType::Decimal128(_, scale) => {
            let unit = 10f64.powi(i32::from(*scale));
            Cow::Owned(widened::<types::Decimal128Type, _>(array, |value| value as f64 / unit))
        }
        _ => Cow::Owned(ints(array)?.iter().map(|value| *value as f64).collect()),
    })
}

/// Values of decimals, and the nanoseconds of intervals.
fn wides(array: &ArrayRef) -> Result<Cow<'_, [i128]>> {
    Ok(match array.data_type() {
        DataType::Decimal128(..) => Cow::Borrowed(array.as_primitive::<types::Decimal128Type>().values()),
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            Cow::Owned(widened::<types::IntervalMonthDayNanoType, _>(array, |value| {
                i128::from(value.days) * DAY_NANOS + i128::from(value.nanoseconds)
            }))
        }
        _ => return Err(wrong(array)),
    })
}

/// The nanoseconds of a day of an interval.
pub(super) const DAY_NANOS: i128 = 86_400_000_000_000;

/// Words that compare as the values do.
fn ordered(array: &ArrayRef) -> Result<Vec<u64>> {
    let word = |value: i64| value as u64 ^ SIGN;
    Ok(match array.data_type() {
        DataType::Boolean => {
            let values = array.as_boolean();
            (0..values.len()).map(|i| u64::from(values.value(i))).collect()
        }
        DataType::Float32 => widened::<types::Float32Type, _>(array, |v| ordered_float(f64::from(v))),
        DataType::Float64 => widened::<types::Float64Type, _>(array, ordered_float),
        DataType::Date32 => widened::<types::Date32Type, _>(array, |v| word(i64::from(v))),
        DataType::Time32(TimeUnit::Second) => {
            widened::<types::Time32SecondType, _>(array, |v| word(i64::from(v)))
        }
        DataType::Time32(_) => widened::<types::Time32MillisecondType, _>(array, |v| word(i64::from(v))),
        DataType::Timestamp(TimeUnit::Second, _) => widened::<types::TimestampSecondType, _>(array, word),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            widened::<types::TimestampMillisecondType, _>(array, word)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            widened::<types::TimestampMicrosecondType, _>(array, word)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            widened::<types::TimestampNanosecondType, _>(array, word)
        }
        _ => ints(array)?.iter().map(|value| word(*value)).collect(),
    })
}

/// Flipped, signed words compare as unsigned ones.
pub(super) const SIGN: u64 = 1 << 63;

/// NaN is the greatest, zeros are equal.
fn ordered_float(value: f64) -> u64 {
    let bits = if value.is_nan() { f64::NAN.to_bits() & !SIGN } else { (value + 0.0).to_bits() };
    if bits & SIGN != 0 { !bits } else { bits | SIGN }
}

/// The float of which [`ordered_float`] made this word.
pub(super) fn float_of(word: u64) -> f64 {
    f64::from_bits(if word & SIGN != 0 { word & !SIGN } else { !word })
}
