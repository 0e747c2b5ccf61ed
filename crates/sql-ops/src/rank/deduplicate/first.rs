//! The first row of each key that comes: nothing but the key is kept.

use super::{GROUP, Rows};
use crate::rank::columns::Encoded;
use crate::rank::expiry::Expiry;
use crate::rank::spec::DeduplicateSpec;
use crate::row::RowBytes;
use arrow::array::UInt64Array;
use flugs_batch::{Batch, ChangeBatch};
use flugs_state::{KeyedTable, SnapshotTable};
use flugs_task::{OpenContext, Output, Progress};
use flugs_types::{Clock, Result, Timestamp};
use std::sync::Arc;

/// See the module.
pub(super) struct First {
    keys: Encoded,
    /// The keys whose row has come, and when that was, where they expire.
    seen: KeyedTable<RowBytes, Timestamp>,
    expiry: Option<Expiry>,
    clock: Arc<dyn Clock>,
}

impl First {
    pub(super) fn open(spec: &DeduplicateSpec, context: &mut OpenContext<'_>) -> Result<Self> {
        Ok(First {
            keys: Encoded::new(&spec.input, &spec.keys)?,
            seen: context.state.keyed("seen")?,
            expiry: Expiry::open(context, spec.ttl),
            clock: Arc::clone(context.clock),
        })
    }
}

impl Rows for First {
    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.keys.encode(&batch)?;
        let now = if self.expiry.is_some() { self.clock.now() } else { Timestamp::EPOCH };
        let mut first: Vec<u64> = Vec::new();
        let hashes = self.keys.rows().hashes();
        for start in (0..batch.len()).step_by(GROUP) {
            let end = batch.len().min(start + GROUP);
            hashes[start..end].iter().for_each(|hash| self.seen.prefetch(*hash));
            for (row, hash) in (start..end).zip(&hashes[start..end]) {
                let key = self.keys.rows().to_key(row);
                match self.seen.get_hashed(*hash, &key) {
                    None => drop(self.seen.insert(key, now)),
                    Some(at) => match &self.expiry {
                        Some(expiry) if expiry.is_over(*at, now) => {
                            expiry.count();
                            self.seen.insert(key, now);
                        }
                        _ => continue,
                    },
                }
                first.push(row as u64);
            }
        }
        if first.is_empty() {
            return Ok(Progress::Done);
        }
        if let Some(expiry) = &mut self.expiry {
            expiry.touch(now);
        }
        let all = first.len() == batch.len();
        let _ = out.push(if all { batch } else { batch.take(&UInt64Array::from(first))? })?;
        Ok(Progress::Done)
    }

    fn give(&mut self, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        Ok(Progress::Done)
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

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        vec![&mut self.seen]
    }
}
