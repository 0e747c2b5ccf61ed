//! The rows of one side of an interval join, by key, in panes of time.

use super::Interval;
use flugs_batch::{Data, Key};
use flugs_state::{KeyedTable, OpenState, PaneTable, SnapshotTable};
use flugs_types::{Result, Timestamp};

/// A pane spans at least a millisecond ...
const PANE_MICROS_MIN: i64 = 1000;
/// ... and at least this part of the time that a row is kept for.
const PANES_OF_A_LIFE: i64 = 64;

/// Rows of one key and pane in the order of their times, and of their arrival.
type Timed<T> = Vec<(Timestamp, T)>;

/// See the module.
pub(super) struct JoinSide<K, T> {
    /// By the start of the pane.
    panes: PaneTable<K, Timestamp, Timed<T>>,
    /// How much time a pane spans, in microseconds.
    width: i64,
    /// A row is needed while the watermark is at most this much later than the row.
    life: i64,
}

impl<K: Key, T: Data> JoinSide<K, T> {
    /// The side whose rows are met by rows within `interval` of them.
    pub(super) fn open(from: &mut OpenState, name: &str, interval: Interval) -> Result<Self> {
        let Interval { lower, upper } = interval;
        let width = upper.saturating_sub(lower).max(upper / PANES_OF_A_LIFE).max(PANE_MICROS_MIN);
        let mut side = JoinSide { panes: from.panes(name)?, width, life: upper };
        side.align();
        Ok(side)
    }

    /// The panes of a snapshot may be those of another interval: sorts their rows into panes of this one.
    fn align(&mut self) {
        let fits = |(start, pane): (&Timestamp, &KeyedTable<K, Timed<T>>)| {
            pane.iter().all(|(_, rows)| rows.iter().all(|(time, _)| start_of(*time, self.width) == *start))
        };
        if self.panes.iter().all(fits) {
            return;
        }
        let mut all = Vec::new();
        while let Some((_, mut pane)) = self.panes.take_first() {
            all.extend(pane.drain());
        }
        for (key, rows) in all {
            for (time, row) in rows {
                insert(self.pane_mut(time).get_or_insert_with(key.clone(), Vec::new), time, row);
            }
        }
    }

    fn pane_mut(&mut self, time: Timestamp) -> &mut KeyedTable<K, Timed<T>> {
        self.panes.pane_mut(start_of(time, self.width))
    }

    /// Keeps a row, if any row to come can meet it.
    pub(super) fn keep(&mut self, hash: u64, key: &K, row: T, time: Timestamp, watermark: Timestamp) {
        if time.0.saturating_add(self.life) < watermark.0 {
            return;
        }
        insert(self.pane_mut(time).get_or_insert_hashed(hash, key, Vec::new), time, row);
    }

    /// Calls `meet` for each row of the key within `interval` of `time`.
    pub(super) fn within(
        &self,
        hash: u64,
        key: &K,
        time: Timestamp,
        interval: Interval,
        mut meet: impl FnMut(Timestamp, &T) -> Result<()>,
    ) -> Result<()> {
        let first = Timestamp(time.0.saturating_add(interval.lower));
        let last = Timestamp(time.0.saturating_add(interval.upper));
        let mut start = start_of(first, self.width);
        while start <= last {
            if let Some(rows) = self.panes.pane(&start).and_then(|pane| pane.get_hashed(hash, key)) {
                let from = rows.partition_point(|(time, _)| *time < first);
                for (time, row) in rows[from..].iter().take_while(|(time, _)| *time <= last) {
                    meet(*time, row)?;
                }
            }
            match start.0.checked_add(self.width) {
                Some(next) => start = Timestamp(next),
                None => break,
            }
        }
        Ok(())
    }

    /// Drops the first pane, if no row to come can meet any of its rows. Says whether it did.
    pub(super) fn drop_pane(&mut self, watermark: Timestamp) -> bool {
        let Some((&start, _)) = self.panes.first() else { return false };
        let last = start.0.saturating_add(self.width - 1);
        let over = watermark == Timestamp::MAX || last.saturating_add(self.life) < watermark.0;
        over && self.panes.discard(&start)
    }

    pub(super) fn table(&mut self) -> &mut dyn SnapshotTable {
        &mut self.panes
    }
}

fn start_of(time: Timestamp, width: i64) -> Timestamp {
    Timestamp(time.0.saturating_sub(time.0.rem_euclid(width)))
}

fn insert<T>(rows: &mut Timed<T>, time: Timestamp, row: T) {
    let at = rows.partition_point(|(other, _)| *other <= time);
    rows.insert(at, (time, row));
}
