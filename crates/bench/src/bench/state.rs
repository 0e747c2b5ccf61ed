//! The keyed table alone: a count for each key, one thread, keys made beforehand and all of them in the table.

use super::hand_table::HandTable;
use crate::figures::{Line, Run, Table, best_of, timed};
use crate::options::Options;
use crate::rows::mix;
use flugs::Result;
use flugs::connectors::{Draw, Zipf};
use flugs::state::KeyedTable;
use flugs_types::KeyGroupRange;

/// Rows of a batch.
const BATCH: usize = 4096;

pub(crate) fn run(options: &Options, table: &mut Table) -> Result<()> {
    let events = options.number("events", 10_000_000);
    for keys in options.list("keys", &[1_000, 1_000_000, 10_000_000]) {
        for distribution in ["uniform", "zipf"] {
            let drawn = draw(events, keys, distribution);
            let mut counts = KeyedTable::new("counts", KeyGroupRange::ALL);
            (0..keys).for_each(|key| *counts.get_or_insert_with(key, || 0) = 0);
            let mut by_hand = HandTable::default();
            by_hand.each(keys as usize, |i| i as u64 + 1, |_, _| {});
            let batched = best_of(options.runs(), || update(|| update_batches(&mut counts, &drawn)))?;
            let single = best_of(options.runs(), || update(|| update_rows(&mut counts, &drawn)))?;
            let hand = best_of(options.runs(), || update(|| update_by_hand(&mut by_hand, &drawn)))?;
            for (name, best) in [("batch", batched), ("row", single), ("hand", hand)] {
                let Run { seconds, .. } = best.run;
                let line = Line::of_best("state", events, &best)
                    .parameter("keys", keys)
                    .parameter("distribution", distribution)
                    .parameter("access", name);
                table.print(line.detail("ns_per_update", format!("{:.1}", seconds * 1e9 / events as f64)));
            }
        }
    }
    Ok(())
}

fn update(updates: impl FnOnce()) -> Result<(Run, ())> {
    timed(|| {
        updates();
        Ok(())
    })
}

/// Keys in the order of their updates. Frequent keys are spread over the table.
fn draw(events: u64, keys: u64, distribution: &str) -> Vec<u64> {
    let zipf = Zipf::new(keys, 1.0);
    let key = |i| match distribution {
        "zipf" => mix(Draw::of(1, i).zipf(&zipf)) % keys,
        _ => ((mix(i) >> 32) * keys) >> 32,
    };
    (0..events).map(key).collect()
}

fn update_batches(counts: &mut KeyedTable<u64, u64>, keys: &[u64]) {
    for keys in keys.chunks(BATCH) {
        counts.for_each_row(keys.len(), |i| keys[i], || 0, |_, n| *n += 1);
    }
}

fn update_rows(counts: &mut KeyedTable<u64, u64>, keys: &[u64]) {
    keys.iter().for_each(|key| *counts.get_or_insert_with(*key, || 0) += 1);
}

fn update_by_hand(counts: &mut HandTable, keys: &[u64]) {
    for keys in keys.chunks(BATCH) {
        counts.each(keys.len(), |i| keys[i] + 1, |_, n| *n += 1);
    }
}
