//! A batch on its way into the state of its input.

use super::side::{Identity, Tally};
use super::work::Delta;
use crate::join::bag::{Bag, Layout, bag_hash};
use crate::join::plan::{Keys, SidePlan};
use crate::row::{EncodedRows, RowBytes, RowCodec};
use arrow::array::ArrayRef;
use arrow::compute::concat;
use flugs_batch::ChangeBatch;
use flugs_state::KeyedTable;
use flugs_types::{Error, Result, RowKind};

/// Keys whose places in the table are fetched together.
const GROUP: usize = 64;

/// Where a row of a batch stands in the bag of its key.
pub(super) fn find(
    identity: Identity,
    bag: &Bag,
    rows: &EncodedRows,
    first: Option<&EncodedRows>,
    row: usize,
) -> Option<u32> {
    match identity {
        Identity::Log => None,
        Identity::Single => bag.live(0).map(|entry| entry.at),
        Identity::First => {
            let start = first?.row(row);
            bag.find(start, bag_hash(start))
        }
        Identity::Whole => bag.find(rows.row(row), bag_hash(rows.row(row))),
    }
}

/// Rows that were in state and are not in the batch.
#[derive(Default)]
pub(super) struct Old {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Old {
    pub(super) fn keep(&mut self, row: &[u8]) -> u32 {
        self.bytes.extend_from_slice(row);
        self.ends.push(self.bytes.len());
        self.ends.len() as u32 - 1
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |end| &self.bytes[std::mem::replace(&mut start, *end)..*end])
    }

    /// The columns of a batch and behind them these rows.
    pub(super) fn beside(&self, columns: Vec<ArrayRef>, plan: &SidePlan) -> Result<Vec<ArrayRef>> {
        if self.ends.is_empty() {
            return Ok(columns);
        }
        let old = plan.codec.decode(self.iter())?;
        let both = columns.iter().zip(&old).map(|(new, old)| concat(&[new.as_ref(), old.as_ref()]));
        both.collect::<std::result::Result<_, _>>()
            .map_err(|e| Error::bug("stored rows do not fit those that come").caused_by(e))
    }
}

/// Marks the updates that change nothing of what is put out.
pub(super) fn mark_same(deltas: &mut [Delta], columns: &[ArrayRef], plan: &SidePlan) -> Result<()> {
    if deltas.iter().all(|delta| !delta.is_update()) {
        return Ok(());
    }
    let Some(shown) = plan.shown(columns) else { return Ok(()) };
    let types: Vec<_> = shown.iter().map(|column| column.data_type().clone()).collect();
    let rows = RowCodec::new(&types)?.encode(&shown, columns.first().map_or(0, |c| c.len()))?;
    for delta in deltas.iter_mut().filter(|delta| delta.is_update()) {
        delta.same = rows.row(delta.minus as usize) == rows.row(delta.plus as usize);
    }
    Ok(())
}

/// What a row, or a pair of them, does.
#[derive(Clone, Copy)]
enum Change {
    Add(usize),
    Take(usize),
    Update { old: usize, new: usize },
}

/// See the module.
pub(super) struct Taking<'a> {
    pub(super) rows: &'a EncodedRows,
    pub(super) first: Option<&'a EncodedRows>,
    pub(super) identity: Identity,
    pub(super) expiring: bool,
    pub(super) upsert: bool,
    pub(super) unseen_upto: Option<i64>,
    pub(super) now: i64,
    pub(super) deltas: Vec<Delta>,
    pub(super) old: Old,
    pub(super) tally: Tally,
}

impl Taking<'_> {
    /// Rows that only come and are never sought.
    pub(super) fn log(
        &mut self,
        table: &mut KeyedTable<RowBytes, Bag>,
        layout: Layout,
        keys: &Keys,
        lonely: bool,
    ) -> Result<()> {
        let n = self.rows.len();
        for start in (0..n).step_by(GROUP) {
            let group = start..n.min(start + GROUP);
            keys.hashes[group.clone()].iter().for_each(|hash| table.prefetch(*hash));
            for row in group {
                let null = keys.is_null(row);
                if !null {
                    let bag =
                        table.get_or_insert_hashed(keys.hashes[row], &keys.keys[row], || Bag::new(layout));
                    if let Some(upto) = self.unseen_upto.filter(|upto| bag.is_due(*upto)) {
                        bag.expire(upto, |entry| self.tally.expired += entry.count as usize);
                    }
                    let place = bag.push(self.rows.row(row), 0, 1, 0, self.now)?;
                    let delta = Delta::plus(row as u32, row as u32, bag.total());
                    self.deltas.push(Delta { place, ..delta });
                } else if lonely {
                    self.deltas.push(Delta::plus(row as u32, row as u32, 0));
                }
            }
        }
        Ok(())
    }

    pub(super) fn changes(
        &mut self,
        table: &mut KeyedTable<RowBytes, Bag>,
        layout: Layout,
        batch: &ChangeBatch,
        keys: &Keys,
        lonely: bool,
    ) -> Result<()> {
        let mut row = 0;
        while row < self.rows.len() {
            if row % GROUP == 0 {
                let group = row..self.rows.len().min(row + GROUP);
                keys.hashes[group].iter().for_each(|hash| table.prefetch(*hash));
            }
            let at = row;
            row += 1;
            let change = match batch.kind(at) {
                kind if kind.is_addition() => Change::Add(at),
                RowKind::UpdateBefore
                    if row < self.rows.len()
                        && batch.kind(row) == RowKind::UpdateAfter
                        && keys.keys[at] == keys.keys[row] =>
                {
                    row += 1;
                    Change::Update { old: at, new: at + 1 }
                }
                _ => Change::Take(at),
            };
            if keys.is_null(at) {
                if lonely {
                    self.unkeyed(change);
                }
                continue;
            }
            let (hash, key) = (keys.hashes[at], &keys.keys[at]);
            let left = match change {
                Change::Take(_) => match table.get_mut_hashed(hash, key) {
                    Some(bag) => {
                        self.apply(bag, at as u32, change)?;
                        bag.total()
                    }
                    None => {
                        self.missing(at as u32, at, 0);
                        continue;
                    }
                },
                _ => {
                    let bag = table.get_or_insert_hashed(hash, key, || Bag::new(layout));
                    self.apply(bag, at as u32, change)?;
                    bag.total()
                }
            };
            if left == 0 {
                table.remove_hashed(hash, key);
            }
        }
        Ok(())
    }

    /// A row whose key is NULL matches nothing, and is not kept.
    fn unkeyed(&mut self, change: Change) {
        match change {
            Change::Add(row) => self.deltas.push(Delta::plus(row as u32, row as u32, 0)),
            Change::Take(row) => self.deltas.push(Delta::minus(row as u32, row as u32, 0)),
            Change::Update { old, new } if self.rows.row(old) != self.rows.row(new) => {
                self.deltas.push(Delta::update(old as u32, old as u32, new as u32, 0));
            }
            Change::Update { .. } => {}
        }
    }

    fn apply(&mut self, bag: &mut Bag, key: u32, change: Change) -> Result<()> {
        if let Some(upto) = self.unseen_upto.filter(|upto| bag.is_due(*upto)) {
            bag.expire(upto, |entry| self.tally.expired += entry.count as usize);
        }
        match (change, self.identity) {
            (Change::Add(new), Identity::Single | Identity::First) => self.replace(bag, key, None, new),
            (Change::Add(new), _) => {
                self.add(bag, new)?;
                self.deltas.push(Delta::plus(key, new as u32, bag.total()));
                Ok(())
            }
            (Change::Take(row), _) => {
                match find(self.identity, bag, self.rows, self.first, row) {
                    Some(at) => {
                        let minus = self.remove(bag, at, row);
                        self.deltas.push(Delta::minus(key, minus, bag.total()));
                    }
                    None => self.missing(key, row, bag.total()),
                }
                Ok(())
            }
            (Change::Update { old, new }, Identity::Single) => self.replace(bag, key, Some(old), new),
            (Change::Update { old, new }, Identity::First) => {
                if self.first.is_some_and(|first| first.row(old) == first.row(new)) {
                    return self.replace(bag, key, Some(old), new);
                }
                self.apply(bag, key, Change::Take(old))?;
                self.apply(bag, key, Change::Add(new))
            }
            (Change::Update { old, new }, _) => self.exchange(bag, key, old, new),
        }
    }

    /// A row in place of the one that it is identified with; `old` is what the input says of that.
    fn replace(&mut self, bag: &mut Bag, key: u32, old: Option<usize>, new: usize) -> Result<()> {
        let Some(at) = find(self.identity, bag, self.rows, self.first, new) else {
            self.add(bag, new)?;
            let delta = match old {
                Some(old) if self.expiring => Delta::update(key, old as u32, new as u32, bag.total()),
                _ => Delta::plus(key, new as u32, bag.total()),
            };
            self.tally.unknown += usize::from(old.is_some() && !self.expiring);
            self.deltas.push(delta);
            return Ok(());
        };
        if bag.entry(at).is_some_and(|entry| entry.row == self.rows.row(new)) {
            return bag.touch(at, self.now);
        }
        let minus = self.remove(bag, at, old.unwrap_or(new));
        self.add(bag, new)?;
        self.deltas.push(Delta::update(key, minus, new as u32, bag.total()));
        Ok(())
    }

    /// A row in place of one that differs in any column.
    fn exchange(&mut self, bag: &mut Bag, key: u32, old: usize, new: usize) -> Result<()> {
        let found = find(self.identity, bag, self.rows, self.first, old);
        let unchanged = self.rows.row(old) == self.rows.row(new);
        match found {
            Some(at) if unchanged => return bag.touch(at, self.now),
            Some(at) => bag.take_one(at),
            None if !self.expiring => self.tally.unknown += 1,
            None => {}
        }
        self.add(bag, new)?;
        let delta = match found {
            None if !self.expiring => Delta::plus(key, new as u32, bag.total()),
            None if unchanged => return Ok(()),
            _ => Delta::update(key, old as u32, new as u32, bag.total()),
        };
        self.deltas.push(delta);
        Ok(())
    }

    fn add(&mut self, bag: &mut Bag, row: usize) -> Result<()> {
        let bytes = self.rows.row(row);
        let hash = match (self.identity, self.first) {
            (Identity::First, Some(first)) => bag_hash(first.row(row)),
            (Identity::Whole, _) => {
                let hash = bag_hash(bytes);
                if let Some(at) = bag.find(bytes, hash) {
                    return bag.add_one(at, self.now);
                }
                hash
            }
            _ => 0,
        };
        bag.push(bytes, hash, 1, 0, self.now).map(drop)
    }

    /// Removes the row that stands at a place; `row` of the batch is likely the same. Returns where its columns are.
    fn remove(&mut self, bag: &mut Bag, at: u32, row: usize) -> u32 {
        let kept = bag.entry(at).filter(|entry| entry.row != self.rows.row(row));
        let minus = match kept {
            Some(entry) => self.rows.len() as u32 + self.old.keep(entry.row),
            None => row as u32,
        };
        match self.identity {
            Identity::Single => bag.clear(),
            _ => bag.take_one(at),
        }
        minus
    }

    /// A row is taken back that is not there. Where rows expire its results may still stand in the output, so they are taken back;
    /// else it never was.
    fn missing(&mut self, key: u32, row: usize, total: u32) {
        if self.expiring && !self.upsert {
            self.deltas.push(Delta::minus(key, row as u32, total));
        } else {
            self.tally.unknown += 1;
        }
    }
}
