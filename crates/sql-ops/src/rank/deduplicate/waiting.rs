//! The first row of each key by event time: it waits until no earlier one can come.

use super::Rows;
use crate::rank::columns::Encoded;
use crate::rank::expiry::Expiry;
use crate::rank::late::LateRows;
use crate::rank::outgoing::{OUTPUT_ROWS, Outgoing};
use crate::rank::reached::Reached;
use crate::rank::spec::DeduplicateSpec;
use crate::rank::time::{read_micros, read_raw};
use crate::row::RowBytes;
use flugs_batch::ChangeBatch;
use flugs_state::{KeyedTable, SnapshotTable};
use flugs_task::{OpenContext, Output, Progress};
use flugs_types::{Clock, Result, RowKind, Timestamp, hash_key};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A row that waits: its time in microseconds and in the unit of its column, and its columns.
type Candidate = (i64, i64, RowBytes);

/// See the module.
pub(super) struct Waiting {
    column: usize,
    keys: Encoded,
    rows: Encoded,
    waiting: KeyedTable<RowBytes, Candidate>,
    /// The times and keys of that table.
    times: BTreeSet<(i64, RowBytes)>,
    /// The keys whose row is out, and when that was.
    seen: KeyedTable<RowBytes, Timestamp>,
    expiry: Option<Expiry>,
    reached: Reached,
    late: LateRows,
    clock: Arc<dyn Clock>,
    outgoing: Outgoing,
    micros: Vec<i64>,
}

impl Waiting {
    pub(super) fn open(spec: &DeduplicateSpec, column: usize, context: &mut OpenContext<'_>) -> Result<Self> {
        let rows = Encoded::all(&spec.input)?;
        let waiting: KeyedTable<RowBytes, Candidate> = context.state.keyed("waiting")?;
        Ok(Waiting {
            column,
            keys: Encoded::new(&spec.input, &spec.keys)?,
            outgoing: Outgoing::new(rows.codec().clone(), spec.input.clone(), false),
            rows,
            times: waiting.iter().map(|(key, (time, ..))| (*time, key.clone())).collect(),
            waiting,
            seen: context.state.keyed("seen")?,
            expiry: Expiry::open(context, spec.ttl),
            reached: Reached::open(context)?,
            late: LateRows::open(context, spec.late_output),
            clock: Arc::clone(context.clock),
            micros: Vec::new(),
        })
    }

    fn is_seen(&self, hash: u64, key: &RowBytes, now: Timestamp) -> bool {
        let seen = self.seen.get_hashed(hash, key);
        seen.is_some_and(|at| self.expiry.as_ref().is_none_or(|expiry| !expiry.is_over(*at, now)))
    }
}

impl Rows for Waiting {
    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        read_micros(&batch, self.column, &mut self.micros)?;
        let raw = read_raw(&batch, self.column)?;
        self.keys.encode(&batch)?;
        self.rows.encode(&batch)?;
        let now = if self.expiry.is_some() { self.clock.now() } else { Timestamp::EPOCH };
        for (row, (micros, raw)) in self.micros.iter().zip(raw).enumerate() {
            if Timestamp(*micros) < self.reached.time() {
                self.late.push(row);
                continue;
            }
            let (hash, key) = (self.keys.rows().hash(row), self.keys.rows().to_key(row));
            if self.is_seen(hash, &key, now) {
                continue;
            }
            let former = self.waiting.get_hashed(hash, &key).map(|(micros, raw, _)| (*micros, *raw));
            if former.is_some_and(|(_, former)| former <= *raw) {
                continue;
            }
            if let Some((former, _)) = former {
                self.times.remove(&(former, key.clone()));
            }
            self.times.insert((*micros, key.clone()));
            self.waiting.insert(key, (*micros, *raw, self.rows.rows().to_key(row)));
        }
        self.late.hand_out(&batch, out)?;
        Ok(Progress::Done)
    }

    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let now = self.clock.now();
        loop {
            let due = self.times.first().is_some_and(|(time, _)| Timestamp(*time) <= self.reached.time());
            if (!due || self.outgoing.len() >= OUTPUT_ROWS) && !self.outgoing.send(out)? {
                return Ok(Progress::More);
            }
            let Some((_, key)) = due.then(|| self.times.pop_first()).flatten() else {
                return Ok(Progress::Done);
            };
            if let Some((_, _, row)) = self.waiting.remove_hashed(hash_key(&key), &key) {
                self.outgoing.push(RowKind::Insert, &row, 0);
            }
            match &mut self.expiry {
                Some(expiry) => {
                    expiry.touch(now);
                    self.seen.insert(key, now);
                }
                None => drop(self.seen.insert(key, Timestamp::EPOCH)),
            }
        }
    }

    /// A watermark that is sent again after a restore lets nothing out that came at its time: so the run is the same without.
    fn advance(&mut self, watermark: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if watermark <= self.reached.time() {
            return Ok(Progress::Done);
        }
        self.reached.advance(watermark);
        self.give(out)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.expiry.as_ref().and_then(Expiry::next_tick)
    }

    fn tick(&mut self, now: Timestamp, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        if let Some(expiry) = &mut self.expiry {
            expiry.sweep(&mut self.seen, now, |at| Some(*at), |_| {});
        }
        Ok(Progress::Done)
    }

    fn barrier(&mut self) {
        self.reached.barrier();
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        vec![&mut self.waiting, &mut self.seen, self.reached.table()]
    }
}
