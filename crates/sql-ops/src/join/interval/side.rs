//! The rows of one input, by key, in panes of time.

use crate::join::bag::{Bag, Layout};
use crate::join::plan::SidePlan;
use crate::row::RowBytes;
use arrow::array::ArrayRef;
use flugs_state::{KeyedTable, OpenState, PaneTable};
use flugs_types::{Result, Timestamp, hash_key};

/// A pane spans at least a millisecond.
const PANE_MICROS_MIN: i64 = 1000;
const LAYOUT: Layout = Layout { counted: false, tracked: true, timed: true };

/// See the module. A row's mark says whether it has had a match.
pub(super) struct TimedSide {
    /// By the start of the pane.
    pub(super) panes: PaneTable<RowBytes, Timestamp, Bag>,
    /// How much time a pane spans, in microseconds.
    pub(super) width: i64,
    /// A row can be met while time is at most this much later than the row.
    pub(super) life: i64,
    /// Rows of the other input meet rows of this one from this much before them ...
    pub(super) before: i64,
    /// ... to this much after them.
    pub(super) after: i64,
    /// Rows that nothing has met are given out when they can be met no more.
    pub(super) gives_unmet: bool,
}

impl TimedSide {
    pub(super) fn open(
        from: &mut OpenState,
        name: &str,
        (lower, upper): (i64, i64),
        gives_unmet: bool,
    ) -> Result<Self> {
        let span = upper.saturating_sub(lower);
        // Rows of the other input come up to `upper` after those of this one.
        let life = upper;
        // What is given out when a pane ends should not wait much longer than it must.
        let width = if gives_unmet { (life / 16).max(span / 32) } else { span.max(life / 64) };
        let mut side = TimedSide {
            panes: from.panes(name)?,
            width: width.max(PANE_MICROS_MIN),
            life,
            before: upper.saturating_neg(),
            after: lower.saturating_neg(),
            gives_unmet,
        };
        side.align()?;
        Ok(side)
    }

    /// The panes of a snapshot may be those of another interval: sorts their rows into panes of this one.
    fn align(&mut self) -> Result<()> {
        let fits = |(start, pane): (&Timestamp, &KeyedTable<RowBytes, Bag>)| {
            pane.iter().all(|(_, bag)| bag.iter().all(|entry| self.start_of(entry.time) == start.0))
        };
        if self.panes.iter().all(fits) {
            return Ok(());
        }
        let mut all = Vec::new();
        while let Some((_, mut pane)) = self.panes.take_first() {
            all.extend(pane.drain());
        }
        for (key, bag) in all {
            for entry in bag.iter() {
                self.push(hash_key(&key), &key, entry.row, entry.time, entry.tracked > 0)?;
            }
        }
        Ok(())
    }

    pub(super) fn start_of(&self, time: i64) -> i64 {
        time.saturating_sub(time.rem_euclid(self.width))
    }

    /// Whether a row of this time can be met by rows to come, or be given out later.
    pub(super) fn is_kept(&self, time: i64, reached: Timestamp) -> bool {
        time.saturating_add(self.life) >= reached.0
    }

    pub(super) fn push(&mut self, hash: u64, key: &RowBytes, row: &[u8], time: i64, met: bool) -> Result<()> {
        let pane = self.panes.pane_mut(Timestamp(self.start_of(time)));
        pane.get_or_insert_hashed(hash, key, || Bag::new(LAYOUT)).push(row, 0, 1, u32::from(met), time)?;
        Ok(())
    }

    /// The bag of a key in a pane, to be marked.
    pub(super) fn bag_mut(&mut self, pane: i64, hash: u64, key: &RowBytes) -> Option<&mut Bag> {
        self.panes.existing_mut(&Timestamp(pane))?.get_mut_hashed(hash, key)
    }

    /// When the first pane is over: nothing can meet its rows from then on.
    pub(super) fn due(&self) -> Option<Timestamp> {
        let (start, _) = self.panes.first()?;
        Some(Timestamp(start.0.saturating_add(self.width).saturating_add(self.life)))
    }

    /// Drops the first pane if it is over; gives the columns of its rows that nothing has met, in the order of time.
    pub(super) fn drop_pane(&mut self, plan: &SidePlan, reached: Timestamp) -> Result<Option<Vec<ArrayRef>>> {
        if self.due().is_none_or(|due| due > reached) {
            return Ok(None);
        }
        let Some((&start, _)) = self.panes.first() else { return Ok(None) };
        if !self.gives_unmet {
            self.panes.discard(&start);
            return Ok(Some(Vec::new()));
        }
        let Some((_, pane)) = self.panes.take_first() else { return Ok(None) };
        let mut unmet: Vec<_> = pane
            .iter()
            .flat_map(|(_, bag)| bag.iter().filter(|entry| entry.tracked == 0))
            .map(|entry| (entry.time, entry.row))
            .collect();
        unmet.sort_unstable();
        if unmet.is_empty() {
            return Ok(Some(Vec::new()));
        }
        plan.codec.decode(unmet.into_iter().map(|(_, row)| row)).map(Some)
    }
}
