//! The rows of one input, and what a batch does to them.

use super::taking::{Old, Taking, find, mark_same};
use super::work::{Delta, Work};
use crate::join::bag::{Bag, Layout, bag_hash};
use crate::join::plan::{Keys, NONE, Side, SidePlan};
use crate::join::spec::{InputUniqueness, JoinInput};
use crate::row::{EncodedRows, RowBytes, row_hash};
use flugs_batch::{Batch, ChangeBatch};
use flugs_state::{Fuel, KeyedTable, OpenState};
use flugs_table::ChangelogMode;
use flugs_types::{Error, Result};

/// How rows of a key are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Identity {
    /// Not at all: rows only come.
    Log,
    /// There is one.
    Single,
    /// By their first columns.
    First,
    /// By all of their stored columns; equal ones are counted.
    Whole,
}

/// See the module.
pub(super) struct JoinSide {
    pub(super) table: KeyedTable<RowBytes, Bag>,
    layout: Layout,
    identity: Identity,
    upsert: bool,
    /// In microseconds.
    ttl: Option<i64>,
    /// Rows that expire are forgotten as if they had never been there, and not taken back.
    silent: bool,
    cursor: u64,
    /// It was stored without the number of each row's matches.
    uncounted: bool,
}

/// What became of a batch or a sweep besides its deltas.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tally {
    /// Rows that were to be taken back and were not there.
    pub(super) unknown: usize,
    pub(super) expired: usize,
}

impl JoinSide {
    /// `tracked` says that each row has the number of its matches.
    pub(super) fn open(
        from: &mut OpenState,
        name: &str,
        input: &JoinInput,
        plan: &SidePlan,
        tracked: bool,
        retract_on_expiry: bool,
        now: i64,
    ) -> Result<Self> {
        let identity = match &input.unique {
            InputUniqueness::KeyIsUnique => Identity::Single,
            InputUniqueness::HasUniqueKey(columns) if !columns.is_empty() => Identity::First,
            _ if input.mode == ChangelogMode::Append && !plan.is_bare() => Identity::Log,
            _ => Identity::Whole,
        };
        let counted = matches!(identity, Identity::First | Identity::Whole);
        // As in Flink, no time at all is no limit.
        let ttl = input.ttl.filter(|ttl| !ttl.is_zero());
        let layout = Layout { counted, tracked, timed: ttl.is_some() };
        let mut table: KeyedTable<RowBytes, Bag> = from.keyed(name)?;
        let uncounted = tracked && table.iter().any(|(_, bag)| !bag.layout().tracked);
        if table.iter().any(|(_, bag)| bag.layout() != layout) {
            let mut failed = Ok(());
            table.for_each_mut(|_, bag| match convert(bag, layout, identity, plan, now) {
                Ok(converted) => *bag = converted,
                Err(e) => failed = Err(e),
            });
            failed?;
        }
        Ok(JoinSide {
            table,
            layout,
            identity,
            upsert: input.mode == ChangelogMode::Upsert,
            ttl: ttl.map(|ttl| i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX).max(1)),
            silent: !retract_on_expiry,
            cursor: 0,
            uncounted,
        })
    }

    /// Counts the matches of each row where the state that was restored does not have them: without a condition, for then it would
    /// have them.
    pub(super) fn count_matches(&mut self, other: &JoinSide) {
        if !std::mem::take(&mut self.uncounted) {
            return;
        }
        self.table.for_each_mut(|key, bag| {
            let matches = other.table.get(key).map_or(0, Bag::total);
            let mut at = 0;
            while let Some((place, next)) = bag.live(at).map(|entry| (entry.at, entry.next)) {
                bag.set_tracked(place, matches);
                at = next;
            }
        });
    }

    pub(super) fn ttl(&self) -> Option<i64> {
        self.ttl
    }

    /// Rows whose times are at or before this are there no more.
    pub(super) fn unseen_upto(&self, now: i64) -> Option<i64> {
        self.ttl.filter(|_| self.silent).map(|ttl| now.saturating_sub(ttl))
    }

    /// Where a row of a batch stands.
    pub(super) fn find(
        &self,
        bag: &Bag,
        rows: &EncodedRows,
        first: Option<&EncodedRows>,
        row: usize,
    ) -> Option<u32> {
        find(self.identity, bag, rows, first, row)
    }

    /// Changes the state by a batch. The deltas are what is to be joined; where `lonely` is true rows whose key is NULL are among
    /// them.
    pub(super) fn take_in(
        &mut self,
        side: Side,
        plan: &SidePlan,
        batch: &ChangeBatch,
        now: i64,
        lonely: bool,
    ) -> Result<(Work, Tally)> {
        let n = batch.len();
        if n >= NONE as usize / 2 {
            return Err(Error::bug("a batch of more than 2^31 rows"));
        }
        let keys = plan.keys(batch.rows())?;
        let columns = plan.columns(batch.rows());
        let rows = plan.codec.encode(&columns, n)?;
        let first = match self.identity {
            Identity::First => Some(plan.encode_first(&columns, n)?),
            _ => None,
        };
        let mut taking = Taking {
            rows: &rows,
            first: first.as_ref(),
            identity: self.identity,
            expiring: self.ttl.is_some(),
            upsert: self.upsert,
            unseen_upto: self.unseen_upto(now),
            now,
            deltas: Vec::with_capacity(n),
            old: Old::default(),
            tally: Tally::default(),
        };
        match self.identity {
            Identity::Log if !batch.is_insert_only() => {
                return Err(Error::bug("a row is taken back from an input that only grows"));
            }
            Identity::Log => taking.log(&mut self.table, self.layout, &keys, lonely)?,
            _ => taking.changes(&mut self.table, self.layout, batch, &keys, lonely)?,
        }
        let Taking { mut deltas, old, tally, .. } = taking;
        let columns = old.beside(columns, plan)?;
        mark_same(&mut deltas, &columns, plan)?;
        Ok((Work::new(side, now, columns, Some((rows, first)), keys, deltas), tally))
    }

    /// Removes some of the rows that have expired. Says whether the end of the table was reached, and, unless they go silently, gives
    /// what is to be taken back.
    pub(super) fn sweep(
        &mut self,
        side: Side,
        plan: &SidePlan,
        now: i64,
        fuel: &mut Fuel,
    ) -> Result<(bool, Option<Work>, Tally)> {
        let Some(ttl) = self.ttl else { return Ok((true, None, Tally::default())) };
        let upto = now.saturating_sub(ttl);
        let (silent, mut tally) = (self.silent, Tally::default());
        let (mut old, mut deltas, mut keys) = (Old::default(), Vec::new(), Vec::new());
        let complete = self.table.sweep(
            &mut self.cursor,
            fuel,
            |_, bag| bag.is_due(upto),
            |key, bag| {
                let mut total = bag.total();
                bag.expire(upto, |entry| {
                    tally.expired += entry.count as usize;
                    for _ in 0..if silent { 0 } else { entry.count } {
                        total -= 1;
                        let minus = old.keep(entry.row);
                        deltas.push(Delta::minus(keys.len() as u32, minus, total));
                    }
                });
                if !silent {
                    keys.push(key.clone());
                }
                bag.total() > 0
            },
        );
        if deltas.is_empty() {
            return Ok((complete, None, tally));
        }
        let columns = plan.codec.decode(old.iter())?;
        let keys = Keys { hashes: keys.iter().map(|key| row_hash(key)).collect(), keys, nulls: None };
        Ok((complete, Some(Work::new(side, now, columns, None, keys, deltas)), tally))
    }
}

fn convert(bag: &Bag, layout: Layout, identity: Identity, plan: &SidePlan, now: i64) -> Result<Bag> {
    let hash = |row: &[u8]| {
        let first = match identity {
            Identity::First => plan.codec.decode([row]).and_then(|columns| plan.encode_first(&columns, 1)),
            _ => return bag_hash(row),
        };
        first.map_or_else(|_| bag_hash(row), |first| bag_hash(first.row(0)))
    };
    bag.in_layout(layout, now, hash)
}
