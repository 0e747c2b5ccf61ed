//! The windowed sum by hand: the same rows, blocks of 4096, a table a window. On two threads the rows are split by a
//! bit of the key's hash and one half is given to the other thread.

use super::hand_table::{HandTable, fold};
use crate::figures::{Line, Table, best_of, timed};
use crate::options::Options;
use crate::rows::{Digest, sum_row, time_ms, window_of};
use flugs::{Error, Result};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

/// Rows that are made at once.
const BLOCK: u64 = 4096;
/// Blocks that may wait for the other thread.
const WAITING_MAX: usize = 4;

type Row = (u64, i64, u64);

#[derive(Default)]
struct Sums {
    window: i64,
    table: HandTable,
    digest: Digest,
}

impl Sums {
    /// Adds rows in order of time.
    fn add(&mut self, rows: &[Row]) {
        let mut rest = rows;
        while let Some(first) = rest.first() {
            let window = window_of(first.1);
            let (run, later) = rest.split_at(rest.partition_point(|row| window_of(row.1) == window));
            if window != self.window {
                self.close();
                self.window = window;
            }
            self.table.each(run.len(), |i| run[i].0 + 1, |i, sum| *sum += run[i].2);
            rest = later;
        }
    }

    fn close(&mut self) {
        for (key, sum) in self.table.iter() {
            self.digest.add([self.window as u64, key - 1, sum]);
        }
        self.table.clear();
    }
}

fn fill(block: u64, events: u64, keys: u64, rows: &mut Vec<Row>) {
    rows.clear();
    let numbers = (block * BLOCK).min(events)..((block + 1) * BLOCK).min(events);
    rows.extend(numbers.map(|i| {
        let (key, value) = sum_row(i, keys);
        (key, time_ms(i), value)
    }));
}

fn one_thread(events: u64, keys: u64) -> Digest {
    let (mut sums, mut rows) = (Sums::default(), Vec::new());
    for block in 0..events.div_ceil(BLOCK) {
        fill(block, events, keys, &mut rows);
        sums.add(&rows);
    }
    sums.close();
    sums.digest
}

/// What one of two threads does: it makes every second block, keeps the rows of its keys, and gives away the others.
fn half(
    me: usize,
    events: u64,
    keys: u64,
    give: &SyncSender<Vec<Row>>,
    take: &Receiver<Vec<Row>>,
) -> Option<Digest> {
    let (mut sums, mut rows) = (Sums::default(), Vec::new());
    for pair in 0..events.div_ceil(BLOCK * 2) {
        fill(pair * 2 + me as u64, events, keys, &mut rows);
        let mut halves = [Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len())];
        for row in &rows {
            halves[(fold(row.0) >> 40 & 1) as usize].push(*row);
        }
        let own = std::mem::take(&mut halves[me]);
        give.send(std::mem::take(&mut halves[1 - me])).ok()?;
        let others = receive(take)?;
        // The first thread's block is the earlier one.
        let (first, second) = if me == 0 { (own, others) } else { (others, own) };
        sums.add(&first);
        sums.add(&second);
    }
    sums.close();
    Some(sums.digest)
}

/// Waits without giving up the processor; `None` where the other thread is gone.
fn receive(from: &Receiver<Vec<Row>>) -> Option<Vec<Row>> {
    loop {
        match from.try_recv() {
            Ok(rows) => return Some(rows),
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
            Err(TryRecvError::Disconnected) => return None,
        }
    }
}

fn two_threads(events: u64, keys: u64) -> Option<Digest> {
    let (to_second, from_first) = sync_channel(WAITING_MAX);
    let (to_first, from_second) = sync_channel(WAITING_MAX);
    std::thread::scope(|scope| {
        let second = scope.spawn(move || half(1, events, keys, &to_first, &from_first));
        let first = half(0, events, keys, &to_second, &from_second);
        Some(first?.and(second.join().ok()??))
    })
}

/// The results of these rows.
pub(super) fn expected(events: u64, keys: u64) -> Digest {
    one_thread(events, keys)
}

pub(crate) fn run(options: &Options, table: &mut Table) -> Result<()> {
    let events = options.number("events", 20_000_000);
    for keys in options.list("keys", &[1_000, 1_000_000]) {
        let one = best_of(options.runs(), || timed(|| Ok(one_thread(events, keys))))?;
        let line = Line::of_best("hand-sum", events, &one).parameter("keys", keys);
        table.print(line.parameter("threads", 1).detail("results", one.made));
        let two = best_of(options.runs(), || {
            timed(|| two_threads(events, keys).ok_or_else(|| Error::bug("a thread of the loop has failed")))
        })?;
        let line = Line::of_best("hand-sum", events, &two).parameter("keys", keys).parameter("threads", 2);
        let same = if one.made == two.made { "yes" } else { "NO" };
        table.print(line.detail("results", two.made).detail("same_as_1_thread", same));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_loops_give_what_a_map_of_all_windows_does() {
        // A window and a bit; a last block that is not full.
        let (events, keys) = (5_050_123, 50);
        let mut sums = BTreeMap::new();
        for i in 0..events {
            let (key, value) = sum_row(i, keys);
            *sums.entry((i / 5_000_000, key)).or_insert(0) += value;
        }
        let mut expected = Digest::default();
        sums.iter().for_each(|(&(window, key), &sum)| expected.add([window, key, sum]));
        assert_eq!(one_thread(events, keys), expected);
        assert_eq!(two_threads(events, keys), Some(expected));
    }
}
