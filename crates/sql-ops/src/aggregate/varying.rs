//! Accumulators of variable size: rows as bytes, in order of arrival, sorted, or counted.

use super::accumulate::Selection;
use super::layout::{Op, Slot};
use super::state::{Index, States, Varying};
use super::{text, user};
use crate::row::{EncodedRows, RowBytes};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes as types;
use arrow::datatypes::DataType;
use flugs_types::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};

/// Among more rows than this, equal ones are found by an index.
const SEARCHED_MAX: usize = 64;

/// Lets one accumulator of each group take the selected rows.
pub(super) fn accumulate(
    slot: &Slot,
    columns: &[ArrayRef],
    selection: &Selection<'_>,
    states: &mut States,
) -> Result<()> {
    match slot.op {
        Op::User => return user::accumulate(slot, columns, selection, states),
        Op::Text => return text::accumulate(slot, columns, selection, states),
        _ => {}
    }
    let codec = slot.codec.as_ref().ok_or_else(|| Error::bug("an accumulator of rows has a codec"))?;
    let n = selection.groups.len();
    // The argument behind those that are kept is a frequency.
    let (kept, frequency) = slot.args.split_at(codec.types().len());
    let rows = codec.encode(&pick(columns, kept)?, n)?;
    let keys = match &slot.order {
        Some(order) => {
            let by: Vec<usize> = slot.order_by.iter().map(|(column, _)| *column).collect();
            Some(order.encode(&pick(columns, &by)?, n)?)
        }
        None => None,
    };
    let frequencies = frequency.first().map(|column| frequencies(&columns[*column])).transpose()?;
    selection.each(|row, group, sign| {
        let to = states.varying_mut(group, slot.at);
        let bytes = rows.row(row);
        match slot.op {
            Op::BestRow { max } => best(to, bytes, max),
            Op::First => {
                if *to == Varying::Empty {
                    *to = Varying::Row(RowBytes::new(bytes));
                }
            }
            Op::Last => *to = Varying::Row(RowBytes::new(bytes)),
            Op::Log => log(to, bytes),
            Op::Ordered => ordered(to, keys.as_ref(), row, bytes, sign),
            _ => count(to, bytes, frequencies.as_ref().map_or(1, |f| f[row]) * sign),
        }
    });
    Ok(())
}

pub(super) fn pick(columns: &[ArrayRef], which: &[usize]) -> Result<Vec<ArrayRef>> {
    which
        .iter()
        .map(|column| columns.get(*column).cloned())
        .collect::<Option<_>>()
        .ok_or_else(|| Error::bug("a column of an aggregate is missing"))
}

/// How often each row counts; a frequency below 0 is an error, one of 0 counts nothing.
fn frequencies(column: &ArrayRef) -> Result<Vec<i64>> {
    let cast = arrow::compute::cast(column, &DataType::Int64)
        .map_err(|e| Error::bug("a frequency is an integer").caused_by(e))?;
    let numbers = cast.as_primitive::<types::Int64Type>();
    let negative = (0..numbers.len()).find(|i| numbers.is_valid(*i) && numbers.value(*i) < 0);
    if let Some(row) = negative {
        return Err(Error::data(format!("PERCENTILE has a frequency of {}", numbers.value(row)))
            .mend("filter such rows out"));
    }
    Ok((0..numbers.len()).map(|i| if numbers.is_valid(i) { numbers.value(i) } else { 0 }).collect())
}

pub(super) fn best(to: &mut Varying, bytes: &[u8], max: bool) {
    let better = match &*to {
        Varying::Row(row) => row.as_slice() != bytes && (bytes > row.as_slice()) == max,
        _ => true,
    };
    if better {
        *to = Varying::Row(RowBytes::new(bytes));
    }
}

pub(super) fn log(to: &mut Varying, bytes: &[u8]) {
    if !matches!(to, Varying::Log(_)) {
        *to = Varying::Log(Vec::new());
    }
    if let Varying::Log(log) = to {
        // Rows of 4 GB do not come through an exchange.
        log.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        log.extend_from_slice(bytes);
    }
}

/// The rows of a log.
pub(super) fn logged(mut log: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = log.split_first_chunk::<4>()?;
        let (row, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        log = rest;
        Some(row)
    })
}

/// The counts, made where there are none.
pub(super) fn counts(to: &mut Varying) -> &mut BTreeMap<RowBytes, i64> {
    if !matches!(to, Varying::Counts(_)) {
        *to = Varying::Counts(BTreeMap::new());
    }
    match to {
        Varying::Counts(counts) => counts,
        _ => unreachable!("it was just made one"),
    }
}

/// Counts may fall below zero, where a row is taken back before it comes.
pub(super) fn count(to: &mut Varying, bytes: &[u8], by: i64) {
    if by == 0 {
        return;
    }
    let counts = counts(to);
    let key = RowBytes::new(bytes);
    match counts.get_mut(&key) {
        None => drop(counts.insert(key, by)),
        Some(count) => {
            *count = count.wrapping_add(by);
            if *count == 0 {
                counts.remove(&key);
            }
        }
    }
    if counts.is_empty() {
        *to = Varying::Empty;
    }
}

/// A row that is taken back is the oldest one that equals it; one that is not there is passed over.
fn ordered(to: &mut Varying, keys: Option<&EncodedRows>, row: usize, bytes: &[u8], sign: i64) {
    let key = keys.map_or(&[][..], |keys| keys.row(row));
    if sign > 0 {
        return insert_ordered(to, key, bytes);
    }
    let Varying::Ordered { rows, places, .. } = to else { return };
    if let Some(place) = oldest(rows, places, key, bytes) {
        rows.remove(&place);
        if let Some(places) = &mut places.0 {
            remove_place(places, bytes, &place);
        }
    }
}

/// The first place of a row with this sort key.
fn oldest(
    rows: &BTreeMap<RowBytes, RowBytes>,
    places: &mut Index,
    key: &[u8],
    bytes: &[u8],
) -> Option<RowBytes> {
    let from = RowBytes::new(key);
    if rows.len() <= SEARCHED_MAX {
        let mut of_key = rows.range(from..).take_while(|(place, _)| place.starts_with(key));
        return of_key.find(|(_, row)| row.as_slice() == bytes).map(|(place, _)| place.clone());
    }
    let places = places.0.get_or_insert_with(|| {
        let mut places = BTreeMap::<RowBytes, BTreeSet<RowBytes>>::new();
        for (place, row) in rows {
            places.entry(row.clone()).or_default().insert(place.clone());
        }
        places
    });
    let of_row = places.get(&RowBytes::new(bytes))?;
    of_row.range(from..).next().filter(|place| place.starts_with(key)).cloned()
}

fn remove_place(places: &mut BTreeMap<RowBytes, BTreeSet<RowBytes>>, bytes: &[u8], place: &RowBytes) {
    let row = RowBytes::new(bytes);
    if let Some(of_row) = places.get_mut(&row) {
        of_row.remove(place);
        if of_row.is_empty() {
            places.remove(&row);
        }
    }
}

/// Behind the rows of the same sort key.
pub(super) fn insert_ordered(to: &mut Varying, key: &[u8], bytes: &[u8]) {
    if !matches!(to, Varying::Ordered { .. }) {
        *to = Varying::Ordered { rows: BTreeMap::new(), next: 0, places: Index::default() };
    }
    if let Varying::Ordered { rows, next, places } = to {
        let mut place = key.to_vec();
        place.extend_from_slice(&next.to_be_bytes());
        *next += 1;
        let (place, row) = (RowBytes::from(place), RowBytes::new(bytes));
        if let Some(places) = &mut places.0 {
            places.entry(row.clone()).or_default().insert(place.clone());
        }
        rows.insert(place, row);
    }
}

/// The rows that an accumulator keeps, in order.
pub(super) fn kept(from: &Varying) -> Box<dyn Iterator<Item = &[u8]> + '_> {
    match from {
        Varying::Empty | Varying::Text(_) => Box::new(std::iter::empty()),
        Varying::Row(row) => Box::new(std::iter::once(row.as_slice())),
        Varying::Log(log) => Box::new(logged(log)),
        Varying::Counts(counts) => Box::new(counts.keys().map(RowBytes::as_slice)),
        Varying::Ordered { rows, .. } => Box::new(rows.values().map(RowBytes::as_slice)),
    }
}
