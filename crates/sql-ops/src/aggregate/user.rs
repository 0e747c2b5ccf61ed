//! Aggregate functions of the program: an accumulator is a row of bytes that the function reads.

use super::accumulate::Selection;
use super::layout::Slot;
use super::state::{States, Varying};
use super::varying::pick;
use crate::row::RowBytes;
use arrow::array::ArrayRef;
use flugs_sql_types::{AggregateKind, AggregatedRow, UserFunction};
use flugs_types::{Error, Result};
use std::collections::HashMap;

/// The function of a call, where it is the program's. An error where it is to take rows back and cannot.
pub(super) fn function(kind: &AggregateKind, retract: bool) -> Result<Option<UserFunction>> {
    let AggregateKind::User(function) = kind else { return Ok(None) };
    if retract && !function.get().retracts() {
        return Err(Error::job(format!("the function {} cannot take rows back", function.get().name()))
            .mend("write its `retract` and say RETRACTS: the input updates or deletes rows, or rows leave the frame"));
    }
    Ok(Some(function.clone()))
}

fn of(slot: &Slot) -> Result<&UserFunction> {
    slot.user.as_ref().ok_or_else(|| Error::bug("the accumulator is of no function of the program"))
}

fn bytes(from: &Varying) -> &[u8] {
    match from {
        Varying::Row(bytes) => bytes.as_slice(),
        _ => &[],
    }
}

/// Lets the accumulators of the groups take the selected rows: each is read and written once.
pub(super) fn accumulate(
    slot: &Slot,
    columns: &[ArrayRef],
    selection: &Selection<'_>,
    states: &mut States,
) -> Result<()> {
    let (mut groups, mut rows): (Vec<usize>, Vec<AggregatedRow>) = (Vec::new(), Vec::new());
    let mut places: HashMap<usize, usize> = HashMap::new();
    selection.each(|row, group, sign| {
        let accumulator = *places.entry(group).or_insert_with(|| {
            groups.push(group);
            groups.len() - 1
        });
        // A row that came more than once, of sets that are merged, counts as often.
        for _ in 0..sign.unsigned_abs() {
            rows.push(AggregatedRow { row, accumulator, retracted: sign < 0 });
        }
    });
    if rows.is_empty() {
        return Ok(());
    }
    let mut accumulators: Vec<Vec<u8>> =
        groups.iter().map(|group| bytes(states.varying(*group, slot.at)).to_vec()).collect();
    of(slot)?.get().accumulate(&mut accumulators, &pick(columns, &slot.args)?, &rows)?;
    for (group, accumulator) in groups.into_iter().zip(accumulators) {
        *states.varying_mut(group, slot.at) = stored(accumulator);
    }
    Ok(())
}

fn stored(accumulator: Vec<u8>) -> Varying {
    match accumulator.is_empty() {
        true => Varying::Empty,
        false => Varying::Row(RowBytes::from(accumulator)),
    }
}

/// Adds an accumulator to another whose rows came before.
pub(super) fn merge(slot: &Slot, added: &Varying, to: &mut Varying) -> Result<()> {
    let function = of(slot)?.get();
    if !function.merges() {
        return Err(Error::job(format!("the function {} cannot merge accumulators", function.name()))
            .mend("write its `merge` and say MERGES"));
    }
    let mut accumulator = bytes(to).to_vec();
    function.merge(&mut accumulator, bytes(added))?;
    *to = stored(accumulator);
    Ok(())
}

/// The values of all groups.
pub(super) fn values(slot: &Slot, states: &States) -> Result<ArrayRef> {
    let mut accumulators = (0..states.len()).map(|group| bytes(states.varying(group, slot.at)));
    of(slot)?.get().values(&mut accumulators)
}
