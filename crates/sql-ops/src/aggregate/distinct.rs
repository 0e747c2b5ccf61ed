//! Equal rows that count once.
//!
//! A [view](View) keeps the rows of one set of columns that a group has seen, for all filters of its aggregates together. It
//! says for each row and filter whether the row is the first of its kind, or, of rows that are taken back, the last.
//! A set stands in the group's state, where states must be merged, or in a table of its own, cut into chunks: as a group's set
//! grows, each of its chunks splits in two, so that a row touches little of it.

use super::accumulate::{Selection, true_mask};
use super::distinct_set::{Chunk, Numbers};
use super::layout::View;
use super::state::States;
use super::varying::{counts, pick};
use crate::row::{EncodedRows, RowBytes, null_keys, row_hash};
use arrow::array::{ArrayRef, BooleanBufferBuilder};
use arrow::buffer::BooleanBuffer;
use flugs_state::{PaneTable, SnapshotTable};
use flugs_types::{Error, Result};

/// About how many rows a chunk has.
const CHUNK_ROWS: u64 = 128;
/// A group's set has at most two to the power of this chunks.
const LEVEL_MAX: u32 = 12;
/// The bits of a view's word that hold the number of rows; those above hold the level.
const ROWS_BITS: u32 = 56;

/// The sets of all groups and views: by view and chunk, then by group.
pub(super) type DistinctTable = PaneTable<RowBytes, (u16, u16), Chunk>;

/// Where sets are kept.
pub(super) enum Sets<'a> {
    /// In the groups' states.
    Inside,
    /// In a table; keys and hashes of the groups.
    Table { table: &'a mut DistinctTable, keys: &'a [RowBytes], hashes: &'a [u64] },
}

/// For each filter of the view, the rows that count. `signs` and `groups` as in [`Selection`].
pub(super) fn changed(
    at: usize,
    view: &View,
    columns: &[ArrayRef],
    rows: &Selection<'_>,
    states: &mut States,
    sets: &mut Sets<'_>,
) -> Result<Vec<BooleanBuffer>> {
    let args = pick(columns, &view.args)?;
    let n = rows.groups.len();
    let encoded = view.codec.encode(&args, n)?;
    let nulls = if view.skip_nulls { null_keys(&args) } else { None };
    let filters: Vec<Option<BooleanBuffer>> = view
        .filters
        .iter()
        .map(|filter| filter.map(|column| true_mask(&columns[column])).transpose())
        .collect::<Result<_>>()?;
    let mut changed: Vec<BooleanBufferBuilder> = filters
        .iter()
        .map(|_| {
            let mut builder = BooleanBufferBuilder::new(n);
            builder.append_n(n, false);
            builder
        })
        .collect();
    let mut touch = Touch { view, bits: view.has_bits(rows.signs.is_some()), key: Vec::new() };
    for block in (0..n).step_by(BLOCK) {
        let block = block..n.min(block + BLOCK);
        if let Sets::Table { table, hashes, keys } = sets {
            let groups = &rows.groups[block.clone()];
            let words = |group: u32| view.word.map_or(0, |word| states.words(group as usize)[word]);
            fetch(
                groups.iter().zip(block.clone()).map(|(group, row)| {
                    let (key, hash) = (&keys[*group as usize], hashes[*group as usize]);
                    let row = encoded.hash(row);
                    Fetched { pane: (at as u16, row as u16 & mask(level(words(*group)))), key, hash, row }
                }),
                table,
            );
        }
        for row in block {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                continue;
            }
            let sign = rows.signs.map_or(1, |signs| i64::from(signs[row]));
            let passes = |filter: usize| filters[filter].as_ref().is_none_or(|mask| mask.value(row));
            let mark = |filter: usize| changed[filter].set_bit(row, true);
            let place = Place { at, group: rows.groups[row] as usize };
            touch.row(place, &encoded, row, sign, states, sets, passes, mark)?;
        }
    }
    Ok(changed.iter_mut().map(BooleanBufferBuilder::finish).collect())
}

/// Rows whose sets are fetched together.
const BLOCK: usize = 32;

/// A row of which the set's part is wanted.
struct Fetched<'a> {
    pane: (u16, u16),
    key: &'a RowBytes,
    hash: u64,
    row: u64,
}

/// Asks for the memory of a block's rows, first of their groups' chunks, then of the rows in these.
fn fetch<'a>(rows: impl Iterator<Item = Fetched<'a>> + Clone, table: &DistinctTable) {
    let mut panes = [None; BLOCK];
    for (row, pane) in rows.clone().zip(&mut panes) {
        *pane = table.pane(&row.pane);
        if let Some(groups) = pane {
            groups.prefetch(row.hash);
        }
    }
    for (row, groups) in rows.zip(panes) {
        if let Some(chunk) = groups.and_then(|groups| groups.get_hashed(row.hash, row.key)) {
            chunk.prefetch(row.row);
        }
    }
}

#[derive(Clone, Copy)]
struct Place {
    at: usize,
    group: usize,
}

struct Touch<'a> {
    view: &'a View,
    bits: bool,
    key: Vec<u8>,
}

impl Touch<'_> {
    #[allow(clippy::too_many_arguments, reason = "one row of a loop over all these")]
    fn row(
        &mut self,
        place: Place,
        encoded: &EncodedRows,
        row: usize,
        sign: i64,
        states: &mut States,
        sets: &mut Sets<'_>,
        passes: impl Fn(usize) -> bool,
        mark: impl FnMut(usize),
    ) -> Result<()> {
        let filters = self.view.filters.len();
        if !(0..filters).any(&passes) {
            return Ok(());
        }
        let bytes = encoded.row(row);
        match sets {
            Sets::Inside => {
                let at =
                    self.view.varying.ok_or_else(|| Error::bug("a set in the state has a place there"))?;
                let set = counts(states.varying_mut(place.group, at));
                self.touch(set, 0, bytes, sign, passes, mark);
            }
            Sets::Table { table, keys, hashes } => {
                let at = self.view.word.ok_or_else(|| Error::bug("a set in a table has a word"))?;
                let word = &mut states.words_mut(place.group)[at];
                let (key, hash) = (&keys[place.group], hashes[place.group]);
                let chunk = encoded.hash(row) as u16 & mask(level(*word));
                let pane = (place.at as u16, chunk);
                let set = table.pane_mut(pane).get_or_insert_hashed(hash, key, Chunk::default);
                let before = set.len() as u64;
                self.touch(set, encoded.hash(row), bytes, sign, passes, mark);
                let after = set.len() as u64;
                if after == 0 {
                    remove_chunk(table, pane, hash, key);
                }
                let rows = rows_of(*word).wrapping_add(after).wrapping_sub(before);
                *word = u64::from(level(*word)) << ROWS_BITS | rows;
                if rows > CHUNK_ROWS << level(*word) && level(*word) < LEVEL_MAX {
                    split(table, place.at as u16, hash, key, level(*word), self.suffix());
                    *word += 1 << ROWS_BITS;
                }
            }
        }
        Ok(())
    }

    /// How many bytes stand behind the row in a set's keys.
    fn suffix(&self) -> usize {
        usize::from(!self.bits)
    }

    fn touch(
        &mut self,
        set: &mut impl Numbers,
        hash: u64,
        bytes: &[u8],
        sign: i64,
        passes: impl Fn(usize) -> bool,
        mut mark: impl FnMut(usize),
    ) {
        let filters = 0..self.view.filters.len();
        if self.bits {
            let wanted =
                filters.filter(|filter| passes(*filter)).fold(0i64, |bits, filter| bits | 1 << filter);
            let seen = set.number(hash, bytes);
            let new = wanted & !*seen;
            *seen |= new;
            (0..self.view.filters.len()).filter(|filter| new >> filter & 1 == 1).for_each(mark);
            return;
        }
        for filter in filters.filter(|filter| passes(*filter)) {
            self.key.clear();
            self.key.extend_from_slice(bytes);
            self.key.push(filter as u8);
            if add(set, &self.key, sign) {
                mark(filter);
            }
        }
    }
}

/// Changes a row's count; says whether it came to be there, or ceased to.
fn add(set: &mut impl Numbers, key: &[u8], by: i64) -> bool {
    let hash = row_hash(key);
    let count = set.number(hash, key);
    let before = *count;
    *count = count.wrapping_add(by);
    let after = *count;
    if after == 0 {
        set.remove_row(hash, key);
    }
    (before > 0) != (after > 0)
}

fn level(word: u64) -> u32 {
    (word >> ROWS_BITS) as u32
}

fn rows_of(word: u64) -> u64 {
    word & ((1 << ROWS_BITS) - 1)
}

fn mask(level: u32) -> u16 {
    (1u16 << level) - 1
}

fn remove_chunk(table: &mut DistinctTable, pane: (u16, u16), hash: u64, key: &RowBytes) {
    if let Some(groups) = table.existing_mut(&pane) {
        groups.remove_hashed(hash, key);
        if groups.is_empty() {
            table.discard(&pane);
        }
    }
}

/// Splits each chunk of a group in two.
fn split(table: &mut DistinctTable, view: u16, hash: u64, key: &RowBytes, level: u32, suffix: usize) {
    for chunk in 0..1u16 << level {
        let Some(set) = table.existing_mut(&(view, chunk)).and_then(|pane| pane.remove_hashed(hash, key))
        else {
            continue;
        };
        let moves = |row: &RowBytes| {
            let bytes = &row[..row.len() - suffix.min(row.len())];
            row_hash(bytes) as u16 & 1 << level != 0
        };
        let (high, low) = set.split(moves);
        for (chunk, set) in [(chunk, low), (chunk | 1 << level, high)] {
            if set.len() > 0 {
                table.pane_mut((view, chunk)).insert(key.clone(), set);
            }
        }
    }
}

/// Removes the sets of a group, whose views have these words.
pub(super) fn clear(table: &mut DistinctTable, views: &[View], words: &[u64], hash: u64, key: &RowBytes) {
    for (at, view) in views.iter().enumerate() {
        let Some(word) = view.word.and_then(|word| words.get(word)) else { continue };
        if rows_of(*word) > 0 {
            (0..=mask(level(*word))).for_each(|chunk| remove_chunk(table, (at as u16, chunk), hash, key));
        }
    }
}

/// The table's entry points for an operator that keeps sets in a table.
pub(super) fn as_snapshot(table: &mut DistinctTable) -> &mut dyn SnapshotTable {
    table
}

/// Rows that came to be there, or ceased to, when one group's set was added to another's.
pub(super) struct Merged {
    pub(super) rows: Vec<RowBytes>,
    pub(super) groups: Vec<u32>,
    pub(super) signs: Vec<i8>,
    /// By row, whether it is new for each filter.
    pub(super) filters: Vec<u64>,
}

/// Adds the sets of `source` to those of `states`, group by group; the changes are for the accumulators.
pub(super) fn merge(
    view: &View,
    retract: bool,
    source: &mut States,
    to: &[u32],
    states: &mut States,
) -> Result<Merged> {
    let at = view.varying.ok_or_else(|| Error::bug("sets that are merged are in the states"))?;
    let mut merged = Merged { rows: Vec::new(), groups: Vec::new(), signs: Vec::new(), filters: Vec::new() };
    for (from, to) in to.iter().enumerate() {
        let added = std::mem::take(counts(source.varying_mut(from, at)));
        let set = counts(states.varying_mut(*to as usize, at));
        for (row, number) in added {
            let (bytes, filters, sign) = if view.has_bits(retract) {
                let seen = set.entry(row.clone()).or_insert(0);
                let new = number & !*seen;
                *seen |= new;
                (row, new as u64, 1)
            } else {
                let (filter, bytes) =
                    row.split_last().ok_or_else(|| Error::bug("a row of a set names its filter"))?;
                let bytes = RowBytes::new(bytes);
                let filters = 1u64.checked_shl(u32::from(*filter)).ok_or_else(|| {
                    Error::job(
                        "merged aggregates have at most 64 filters of DISTINCT calls of the same columns",
                    )
                })?;
                let changes = add(set, &row, number);
                (bytes, if changes { filters } else { 0 }, if number > 0 { 1 } else { -1 })
            };
            if filters != 0 {
                merged.rows.push(bytes);
                merged.groups.push(*to);
                merged.signs.push(sign);
                merged.filters.push(filters);
            }
        }
    }
    Ok(merged)
}
