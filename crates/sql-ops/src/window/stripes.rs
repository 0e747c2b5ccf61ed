//! Reading several tables of state side by side, a bounded part at a time.

use crate::row::RowBytes;
use flugs_batch::Data;
use flugs_state::{Fuel, KeyedTable};

/// A sweep with this ends at the first border.
const ONE_SHARD: Fuel = Fuel(1);

/// The cursor of a table that was read to its end.
const ENDED: u64 = u64::MAX;

/// How far each of some tables was read.
///
/// Tables of the same key groups show their keys in the order of the same places, and a step of a sweep ends at a border that
/// finer tables have too. So when all were read up to the furthest of them, each key that was seen was seen in all: that is a stripe,
/// keys whose hashes stand together. Sorted by hash within stripes, keys are sorted by hash altogether.
pub(super) struct Stripes {
    cursors: Vec<u64>,
}

impl Stripes {
    pub(super) fn new(tables: usize) -> Self {
        Stripes { cursors: vec![0; tables] }
    }

    /// Reads the next stripe: `read` is called with a table's number and cursor, reads a step of it and says whether that was its last.
    /// Says whether it was the last stripe.
    pub(super) fn next(&mut self, mut read: impl FnMut(usize, &mut u64) -> bool) -> bool {
        let mut border = self.cursors.iter().copied().max().unwrap_or(ENDED).saturating_add(1);
        while self.cursors.iter().any(|cursor| *cursor < border) {
            for (table, cursor) in self.cursors.iter_mut().enumerate() {
                while *cursor < border {
                    if read(table, cursor) {
                        *cursor = ENDED;
                    }
                    border = border.max(*cursor);
                }
            }
        }
        border == ENDED
    }
}

/// Shows a step of a table. Says whether it was the last.
pub(super) fn show_step<V: Data>(
    table: Option<&mut KeyedTable<RowBytes, V>>,
    cursor: &mut u64,
    mut show: impl FnMut(&RowBytes, &V),
) -> bool {
    let Some(table) = table else { return true };
    let show = |key: &RowBytes, value: &V| {
        show(key, value);
        false
    };
    table.sweep(cursor, &mut { ONE_SHARD }, show, |_, _| true)
}

/// Takes the entries of a step out of a table. Says whether it was the last.
pub(super) fn take_step<V: Data + Default>(
    table: Option<&mut KeyedTable<RowBytes, V>>,
    cursor: &mut u64,
    mut take: impl FnMut(RowBytes, V),
) -> bool {
    let Some(table) = table else { return true };
    let keep = |key: &RowBytes, value: &mut V| {
        take(key.clone(), std::mem::take(value));
        false
    };
    table.sweep(cursor, &mut { ONE_SHARD }, |_, _| true, keep)
}
