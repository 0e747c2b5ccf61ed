//! Results out of accumulators, a column for each call.

use super::accumulate::{DAY_NANOS, SIGN, float_of, floats, wide_of};
use super::layout::{Finish, Layout, Op, Slot};
use super::state::{States, Varying};
use super::{text, user, varying, wide};
use crate::json::JsonWriter;
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Float64Array, Int32Array, Int64Array,
    IntervalMonthDayNanoArray, ListArray, MapArray, PrimitiveArray, StringViewBuilder, StructArray,
    new_null_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes as types;
use arrow::datatypes::{DataType, IntervalMonthDayNano, IntervalUnit, TimeUnit};
use arrow::error::ArrowError;
use flugs_sql_types::{AggregateKind as Kind, Fraction};
use flugs_types::{Error, Result};
use std::collections::BTreeSet;
use std::sync::Arc;

fn misfit(e: ArrowError) -> Error {
    Error::bug("a result is not of the type that was planned").caused_by(e)
}

/// The results of a call for all groups.
pub(super) fn result(layout: &Layout, finish: &Finish, states: &States) -> Result<ArrayRef> {
    let slot = &layout.slots[finish.slot];
    let array = if slot.op.is_varying() {
        varying_result(slot, finish, states)?
    } else {
        fixed_result(slot, finish, &Words { states, at: slot.at })?
    };
    let wanted = finish.result.data_type();
    if array.data_type() == wanted { Ok(array) } else { cast(&array, wanted).map_err(misfit) }
}

/// One accumulator's words of each group.
struct Words<'a> {
    states: &'a States,
    at: usize,
}

impl Words<'_> {
    fn collect<T, C: FromIterator<T>>(&self, f: impl Fn(&[u64]) -> T) -> C {
        (0..self.states.len()).map(|group| f(&self.states.words(group)[self.at..])).collect()
    }
}

fn fixed_result(slot: &Slot, finish: &Finish, words: &Words<'_>) -> Result<ArrayRef> {
    // Sum and count that stand in words.
    let count = |words: &[u64]| words[1] as i64;
    Ok(match slot.op {
        Op::Count => Arc::new(Int64Array::from(words.collect::<_, Vec<i64>>(|w| w[0] as i64))),
        Op::SumInt => {
            let sums: Vec<Option<i64>> = words.collect(|w| match (&finish.kind, count(w)) {
                (Kind::Sum0, _) => Some(w[0] as i64),
                (_, 0) => None,
                (Kind::Avg, count) => Some((w[0] as i64).wrapping_div(count)),
                _ => Some(w[0] as i64),
            });
            narrowed(&sums, &finish.argument)
        }
        Op::SumFloat { .. } => {
            let sums: Float64Array = words.collect(|w| match (&finish.kind, count(w)) {
                (Kind::Sum0, 0) => Some(0.0),
                (_, 0) => None,
                (Kind::Avg, count) => Some(f64::from_bits(w[0]) / count as f64),
                _ => Some(f64::from_bits(w[0])),
            });
            Arc::new(sums)
        }
        Op::SumWide => wide_result(finish, words)?,
        Op::Best { .. } => best_result(&finish.argument, words)?,
        Op::BestWide { .. } => {
            let best: PrimitiveArray<types::Decimal128Type> =
                words.collect(|w| (w[2] != 0).then(|| wide_of(w)));
            Arc::new(best.with_data_type(finish.argument.clone()))
        }
        Op::Moments => spread_result(finish, words),
        _ => return Err(Error::bug("an accumulator of variable size has no words")),
    })
}

/// A variance or deviation. Of integers it is one, truncated as Flink's code does it: into `INT` (or `BIGINT`) without overflow,
/// and from there into narrower types by their lowest bits.
fn spread_result(finish: &Finish, words: &Words<'_>) -> ArrayRef {
    let spreads: Vec<Option<f64>> = words.collect(|w| {
        let (count, squares) = (w[0] as i64, f64::from_bits(w[2]).max(0.0));
        let over = match finish.kind {
            Kind::VarPop | Kind::StddevPop => count,
            _ => count - 1,
        };
        let variance = (over > 0).then(|| squares / over as f64);
        match finish.kind {
            Kind::StddevPop | Kind::StddevSamp => variance.map(f64::sqrt),
            _ => variance,
        }
    });
    let wide = |spread: f64| whole(spread) as i64;
    let int = |spread: f64| i64::from(whole(spread) as i32);
    let of = |f: &dyn Fn(f64) -> i64| -> Vec<Option<i64>> { spreads.iter().map(|s| s.map(f)).collect() };
    match &finish.argument {
        DataType::Int64 => narrowed(&of(&wide), &finish.argument),
        DataType::Int8 | DataType::Int16 | DataType::Int32 => narrowed(&of(&int), &finish.argument),
        _ => Arc::new(Float64Array::from(spreads)),
    }
}

/// The integer part of what rounding may have put just below an integer.
fn whole(value: f64) -> f64 {
    let near = value.round();
    if (value - near).abs() <= 1e-12 * near.abs().max(1.0) { near } else { value.trunc() }
}

/// Integers of a narrower type, wrapped.
fn narrowed(values: &[Option<i64>], to: &DataType) -> ArrayRef {
    fn of<T: ArrowPrimitiveType>(values: &[Option<i64>], f: impl Fn(i64) -> T::Native) -> ArrayRef {
        Arc::new(values.iter().map(|value| value.map(&f)).collect::<PrimitiveArray<T>>())
    }
    match to {
        DataType::Int8 => of::<types::Int8Type>(values, |v| v as i8),
        DataType::Int16 => of::<types::Int16Type>(values, |v| v as i16),
        DataType::Int32 => of::<types::Int32Type>(values, |v| v as i32),
        DataType::Interval(IntervalUnit::YearMonth) => {
            of::<types::IntervalYearMonthType>(values, |v| v as i32)
        }
        DataType::Null => new_null_array(&DataType::Null, values.len()),
        _ => of::<types::Int64Type>(values, |v| v),
    }
}

fn wide_result(finish: &Finish, words: &Words<'_>) -> Result<ArrayRef> {
    let scale = |data_type: &DataType| match data_type {
        DataType::Decimal128(_, scale) => *scale,
        _ => 0,
    };
    let digits = u32::try_from(scale(finish.result.data_type()) - scale(&finish.argument))
        .map_err(|_| Error::bug("an average has at least the digits of its argument"))?;
    let values: Vec<Option<i128>> = words.collect(|w| {
        let (sum, count) = (wide::wide(w), w[3] as i64);
        match (&finish.kind, count) {
            (Kind::Sum0, 0) => Some(0),
            (_, 0) => None,
            (Kind::Avg, count) => wide::average(sum, digits, count),
            _ => wide::decimal(sum),
        }
    });
    if matches!(finish.argument, DataType::Decimal128(..)) {
        let sums = PrimitiveArray::<types::Decimal128Type>::from(values);
        return Ok(Arc::new(sums.with_data_type(finish.result.data_type().clone())));
    }
    let interval = |nanos: i128| {
        let days = i32::try_from(nanos / DAY_NANOS).ok()?;
        Some(IntervalMonthDayNano::new(0, days, (nanos % DAY_NANOS) as i64))
    };
    let intervals = values.into_iter().map(|value| value.and_then(interval));
    Ok(Arc::new(intervals.collect::<IntervalMonthDayNanoArray>()))
}

fn best_result(argument: &DataType, words: &Words<'_>) -> Result<ArrayRef> {
    let best: Vec<Option<u64>> = words.collect(|w| (w[1] != 0).then_some(w[0]));
    let numbers = || best.iter().map(|word| word.map(|word| (word ^ SIGN) as i64));
    let wrong = || Error::bug(format!("{argument} does not fit a word"));
    Ok(match argument {
        DataType::Boolean => Arc::new(best.iter().map(|b| b.map(|b| b != 0)).collect::<BooleanArray>()),
        DataType::Float64 | DataType::Float32 => {
            Arc::new(best.iter().map(|b| b.map(float_of)).collect::<Float64Array>())
        }
        DataType::Date32 | DataType::Time32(_) => {
            let array: ArrayRef = Arc::new(numbers().map(|n| n.map(|n| n as i32)).collect::<Int32Array>());
            cast(&array, argument).map_err(misfit)?
        }
        DataType::Timestamp(unit, _) => {
            let array: ArrayRef = Arc::new(numbers().collect::<Int64Array>());
            let plain = DataType::Timestamp(*unit, None);
            let array = cast(&array, &plain).map_err(misfit)?;
            match unit {
                TimeUnit::Second => retyped::<types::TimestampSecondType>(&array, argument),
                TimeUnit::Millisecond => retyped::<types::TimestampMillisecondType>(&array, argument),
                TimeUnit::Microsecond => retyped::<types::TimestampMicrosecondType>(&array, argument),
                TimeUnit::Nanosecond => retyped::<types::TimestampNanosecondType>(&array, argument),
            }
        }
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::Interval(_) => {
            narrowed(&numbers().collect::<Vec<_>>(), argument)
        }
        _ => return Err(wrong()),
    })
}

fn retyped<T: ArrowPrimitiveType>(array: &ArrayRef, to: &DataType) -> ArrayRef {
    Arc::new(array.as_primitive::<T>().clone().with_data_type(to.clone()))
}

fn varying_result(slot: &Slot, finish: &Finish, states: &States) -> Result<ArrayRef> {
    let of = |group: usize| states.varying(group, slot.at);
    let groups = 0..states.len();
    match &finish.kind {
        Kind::Min | Kind::Max => {
            let max = finish.kind == Kind::Max;
            one_each(slot, groups.map(|group| best(of(group), max)))
        }
        Kind::FirstValue { .. } => one_each(slot, groups.map(|group| varying::kept(of(group)).next())),
        Kind::LastValue { .. } => one_each(slot, groups.map(|group| last(of(group)))),
        Kind::SingleValue => {
            let single = groups.map(|group| single(of(group))).collect::<Result<Vec<_>>>()?;
            one_each(slot, single.into_iter())
        }
        Kind::Collect => collect(slot, finish, states),
        Kind::User(_) => user::values(slot, states),
        Kind::Percentile { fractions, array } => percentile(slot, fractions, *array, finish, states),
        Kind::ArrayAgg { .. } => {
            let (offsets, columns) = all_rows(slot, states)?;
            let nulls: NullBuffer = offsets.lengths().map(|n| n > 0).collect();
            let DataType::List(item) = finish.result.data_type() else {
                return Err(Error::bug("ARRAY_AGG gives an array"));
            };
            let list = ListArray::try_new(item.clone(), offsets, columns[0].clone(), Some(nulls));
            Ok(Arc::new(list.map_err(misfit)?))
        }
        Kind::Listagg { .. } if slot.op == Op::Text => text::values(slot, states),
        Kind::Listagg { separator } => {
            let (offsets, columns) = all_rows(slot, states)?;
            let texts = columns[0].as_string_view();
            let mut joined = StringViewBuilder::with_capacity(states.len());
            for range in offsets.windows(2) {
                let parts: Vec<&str> = (range[0]..range[1]).map(|i| texts.value(i as usize)).collect();
                joined.append_option((!parts.is_empty()).then(|| parts.join(separator)));
            }
            Ok(Arc::new(joined.finish()))
        }
        Kind::JsonArrayAgg { .. } => {
            let (offsets, columns) = all_rows(slot, states)?;
            let writer = JsonWriter::new(&columns[0])?;
            json(&offsets, '[', ']', |i, out| writer.write(i, out))
        }
        Kind::JsonObjectAgg { absent_on_null } => json_object(slot, *absent_on_null, states),
        other => Err(Error::bug(format!("{} keeps no rows", other.name()))),
    }
}

/// The least or greatest row; those that count less than once are not there.
fn best(from: &Varying, max: bool) -> Option<&[u8]> {
    match from {
        Varying::Counts(counts) => {
            let mut there = counts.iter().filter(|(_, count)| **count > 0).map(|(row, _)| row.as_slice());
            if max { there.next_back() } else { there.next() }
        }
        other => varying::kept(other).next(),
    }
}

fn last(from: &Varying) -> Option<&[u8]> {
    match from {
        Varying::Ordered { rows, .. } => rows.last_key_value().map(|(_, row)| row.as_slice()),
        other => varying::kept(other).next(),
    }
}

fn single(from: &Varying) -> Result<Option<&[u8]>> {
    let Varying::Counts(counts) = from else { return Ok(None) };
    let mut there = counts.iter().filter(|(_, count)| **count > 0);
    match (there.next(), there.next()) {
        (None, _) => Ok(None),
        (Some((row, 1)), None) => Ok(Some(row.as_slice())),
        _ => Err(Error::data("a scalar subquery gave more than one row")
            .mend("add an aggregate or LIMIT 1 to the subquery")),
    }
}

/// A column of these rows; NULL where there is none.
fn one_each<'a>(slot: &Slot, rows: impl Iterator<Item = Option<&'a [u8]>>) -> Result<ArrayRef> {
    let codec = slot.codec.as_ref().ok_or_else(|| Error::bug("an accumulator of rows has a codec"))?;
    let nulls: Vec<ArrayRef> = codec.types().map(|data_type| new_null_array(data_type, 1)).collect();
    let null = codec.encode(&nulls, 1)?;
    let rows: Vec<&[u8]> = rows.map(|row| row.unwrap_or(null.row(0))).collect();
    let columns = codec.decode(rows)?;
    columns.into_iter().next().ok_or_else(|| Error::bug("an accumulator of rows has an argument"))
}

/// All rows of all groups, and where those of each group begin and end.
fn all_rows(slot: &Slot, states: &States) -> Result<(OffsetBuffer<i32>, Vec<ArrayRef>)> {
    let codec = slot.codec.as_ref().ok_or_else(|| Error::bug("an accumulator of rows has a codec"))?;
    let (mut rows, mut lengths) = (Vec::new(), Vec::with_capacity(states.len()));
    for group in 0..states.len() {
        let before = rows.len();
        rows.extend(varying::kept(states.varying(group, slot.at)));
        lengths.push(rows.len() - before);
    }
    if i32::try_from(rows.len()).is_err() {
        return Err(Error::data("aggregates of one batch hold more than 2^31 values"));
    }
    Ok((OffsetBuffer::from_lengths(lengths), codec.decode(rows)?))
}

fn collect(slot: &Slot, finish: &Finish, states: &States) -> Result<ArrayRef> {
    let codec = slot.codec.as_ref().ok_or_else(|| Error::bug("an accumulator of rows has a codec"))?;
    let (mut rows, mut counts, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    for group in 0..states.len() {
        let before = rows.len();
        if let Varying::Counts(there) = states.varying(group, slot.at) {
            for (row, count) in there.iter().filter(|(_, count)| **count > 0) {
                rows.push(row.as_slice());
                counts.push(i32::try_from(*count).unwrap_or(i32::MAX));
            }
        }
        lengths.push(rows.len() - before);
    }
    let DataType::Map(entries, sorted) = finish.result.data_type() else {
        return Err(Error::bug("COLLECT gives a multiset"));
    };
    let DataType::Struct(fields) = entries.data_type() else {
        return Err(Error::bug("the entries of a multiset are rows"));
    };
    let mut columns = codec.decode(rows)?;
    columns.push(Arc::new(Int32Array::from(counts)));
    let rows = StructArray::try_new(fields.clone(), columns, None).map_err(misfit)?;
    let map = MapArray::try_new(entries.clone(), OffsetBuffer::from_lengths(lengths), rows, None, *sorted);
    Ok(Arc::new(map.map_err(misfit)?))
}

/// Interpolated between the values around the place, as Flink does.
fn percentile(
    slot: &Slot,
    fractions: &[Fraction],
    array: bool,
    finish: &Finish,
    states: &States,
) -> Result<ArrayRef> {
    let (offsets, columns) = all_rows(slot, states)?;
    let values = floats(&columns[0])?;
    let (mut results, mut nulls) = (Vec::new(), Vec::new());
    for (group, range) in offsets.windows(2).enumerate() {
        let Varying::Counts(counts) = states.varying(group, slot.at) else {
            nulls.push(false);
            results.extend(fractions.iter().filter(|_| !array).map(|_| None));
            continue;
        };
        let values = &values[range[0] as usize..range[1] as usize];
        let weighed: Vec<(f64, i64)> =
            values.iter().zip(counts.values()).filter(|(_, n)| **n > 0).map(|(v, n)| (*v, *n)).collect();
        nulls.push(!weighed.is_empty());
        if !array || !weighed.is_empty() {
            results.extend(fractions.iter().map(|fraction| at_fraction(&weighed, fraction.get())));
        }
    }
    let lengths = nulls.iter().map(|there| if *there { fractions.len() } else { 0 });
    let results: ArrayRef = Arc::new(Float64Array::from(results));
    if !array {
        return Ok(results);
    }
    let DataType::List(item) = finish.result.data_type() else {
        return Err(Error::bug("PERCENTILE of several fractions gives an array"));
    };
    let offsets = OffsetBuffer::from_lengths(lengths);
    let nulls = Some(NullBuffer::from(nulls));
    Ok(Arc::new(ListArray::try_new(item.clone(), offsets, results, nulls).map_err(misfit)?))
}

fn at_fraction(weighed: &[(f64, i64)], fraction: f64) -> Option<f64> {
    let total: i64 = weighed.iter().map(|(_, n)| n).sum();
    let value_at = |place: i64| {
        let mut before = 0;
        let found = weighed.iter().find(|(_, n)| {
            before += n;
            place < before
        });
        found.map(|(value, _)| *value)
    };
    let place = (total - 1) as f64 * fraction;
    let (low, high) = (place.floor(), place.ceil());
    let lower = value_at(low as i64)?;
    match low == high {
        true => Some(lower),
        false => Some((high - place) * lower + (place - low) * value_at(high as i64)?),
    }
}

fn json(
    offsets: &OffsetBuffer<i32>,
    open: char,
    close: char,
    write: impl Fn(usize, &mut String) -> Result<()>,
) -> Result<ArrayRef> {
    let mut texts = StringViewBuilder::with_capacity(offsets.len());
    let mut text = String::new();
    for range in offsets.windows(2) {
        text.clear();
        text.push(open);
        for i in range[0]..range[1] {
            if i > range[0] {
                text.push(',');
            }
            write(i as usize, &mut text)?;
        }
        text.push(close);
        texts.append_value(&text);
    }
    Ok(Arc::new(texts.finish()))
}

fn json_object(slot: &Slot, absent_on_null: bool, states: &States) -> Result<ArrayRef> {
    let (offsets, columns) = all_rows(slot, states)?;
    let (keys, values) = (columns[0].as_string_view(), JsonWriter::new(&columns[1])?);
    if keys.null_count() > 0 {
        return Err(Error::data("JSON_OBJECTAGG has a NULL as a key").mend("filter such rows out"));
    }
    let mut texts = StringViewBuilder::with_capacity(states.len());
    let mut text = String::new();
    for range in offsets.windows(2) {
        let mut seen = BTreeSet::new();
        text.clear();
        text.push('{');
        for i in range[0] as usize..range[1] as usize {
            if !seen.insert(keys.value(i)) {
                return Err(Error::data(format!("JSON_OBJECTAGG has the key '{}' twice", keys.value(i)))
                    .mend("group by the key first"));
            }
            if absent_on_null && columns[1].is_null(i) {
                continue;
            }
            if text.len() > 1 {
                text.push(',');
            }
            crate::json::write_string(keys.value(i), &mut text);
            text.push(':');
            values.write(i, &mut text)?;
        }
        text.push('}');
        texts.append_value(&text);
    }
    Ok(Arc::new(texts.finish()))
}
