//! The last row of each key, which later ones update.

use super::{GROUP, Rows};
use crate::rank::columns::Encoded;
use crate::rank::expiry::Expiry;
use crate::rank::outgoing::Outgoing;
use crate::rank::spec::DeduplicateSpec;
use crate::rank::time::read_raw;
use crate::row::RowBytes;
use arrow::array::UInt64Array;
use flugs_batch::data::{DecodeError, Reader, Schema};
use flugs_batch::{Batch, ChangeBatch, Data};
use flugs_state::{KeyedTable, SnapshotTable};
use flugs_task::{OpenContext, Output, Progress};
use flugs_types::{Clock, Result, RowKind, Timestamp};
use std::sync::Arc;

/// What is kept of a key.
#[derive(Debug, Clone, Default)]
struct Kept {
    /// The time of its row, in the unit of the column.
    time: i64,
    /// Its row, where that is needed again.
    row: Box<[u8]>,
    /// When it changed last, where it expires.
    touched: Timestamp,
    /// The bundle that changed it last, and its place among the changes of that; not stored.
    bundle: u32,
    place: u32,
}

/// A key that the bundle has changed.
struct Change {
    hash: u64,
    /// The row of the batch that is its last now.
    row: u32,
    /// Whether there was one before.
    is_update: bool,
    /// That one, where rows are kept.
    former: Box<[u8]>,
}

/// See the module.
pub(super) struct Last {
    column: Option<usize>,
    update_before: bool,
    retract_on_expiry: bool,
    keys: Encoded,
    rows: Encoded,
    last: KeyedTable<RowBytes, Kept>,
    expiry: Option<Expiry>,
    clock: Arc<dyn Clock>,
    bundle: u32,
    changes: Vec<Change>,
    outgoing: Outgoing,
}

impl Last {
    pub(super) fn open(
        spec: &DeduplicateSpec,
        column: Option<usize>,
        context: &mut OpenContext<'_>,
    ) -> Result<Self> {
        let rows = Encoded::all(&spec.input)?;
        Ok(Last {
            column,
            update_before: spec.emit_update_before,
            retract_on_expiry: spec.retract_on_expiry && spec.ttl.is_some(),
            keys: Encoded::new(&spec.input, &spec.keys)?,
            outgoing: Outgoing::new(rows.codec().clone(), spec.input.clone(), false),
            rows,
            last: context.state.keyed("last")?,
            expiry: Expiry::open(context, spec.ttl),
            clock: Arc::clone(context.clock),
            bundle: 0,
            changes: Vec::new(),
        })
    }

    fn keeps_rows(&self) -> bool {
        self.update_before || self.retract_on_expiry
    }

    fn take_in(&mut self, batch: &ChangeBatch, now: Timestamp) -> Result<()> {
        let times = self.column.map(|column| read_raw(batch, column)).transpose()?;
        self.keys.encode(batch)?;
        let keeps_rows = self.keeps_rows();
        if keeps_rows {
            self.rows.encode(batch)?;
        }
        // 0 is of keys that were restored.
        self.bundle = self.bundle.checked_add(1).unwrap_or(1);
        let hashes = self.keys.rows().hashes();
        for start in (0..batch.len()).step_by(GROUP) {
            let end = batch.len().min(start + GROUP);
            hashes[start..end].iter().for_each(|hash| self.last.prefetch(*hash));
            for row in start..end {
                let (time, key) = (times.map_or(0, |times| times[row]), self.keys.rows().to_key(row));
                let mut is_new = false;
                let kept = self.last.get_or_insert_hashed(hashes[row], &key, || {
                    is_new = true;
                    Kept::default()
                });
                let mut is_over = false;
                if let Some(expiry) = &mut self.expiry {
                    is_over = !is_new && expiry.is_over(kept.touched, now);
                    if is_over {
                        expiry.count();
                    }
                    expiry.touch(now);
                }
                if !is_new && !is_over && time < kept.time {
                    continue;
                }
                kept.time = time;
                kept.touched = now;
                let former = match keeps_rows {
                    true => std::mem::replace(&mut kept.row, self.rows.row(row).into()),
                    false => Box::default(),
                };
                // The numbers of bundles come again: then the place is another key's, or none.
                let earlier = Some(kept.place as usize).filter(|_| kept.bundle == self.bundle && !is_new);
                let earlier = earlier.and_then(|place| self.changes.get_mut(place));
                if let Some(change) = earlier.filter(|change| change.hash == hashes[row]) {
                    change.row = row as u32;
                    continue;
                }
                (kept.bundle, kept.place) = (self.bundle, self.changes.len() as u32);
                let is_update = !is_new && (!is_over || self.retract_on_expiry);
                self.changes.push(Change { hash: hashes[row], row: row as u32, is_update, former });
            }
        }
        Ok(())
    }

    /// The changes of the bundle as rows of its batch.
    fn give_rows(&mut self, batch: &ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let rows: UInt64Array = self.changes.iter().map(|change| u64::from(change.row)).collect();
        let kinds: Vec<RowKind> = self.changes.drain(..).map(|change| kind_of(&change)).collect();
        if !kinds.is_empty() {
            let _ = out.push(ChangeBatch::new(batch.take(&rows)?.into_rows(), &kinds)?)?;
        }
        Ok(Progress::Done)
    }
}

fn kind_of(change: &Change) -> RowKind {
    if change.is_update { RowKind::UpdateAfter } else { RowKind::Insert }
}

impl Rows for Last {
    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let now = if self.expiry.is_some() { self.clock.now() } else { Timestamp::EPOCH };
        self.take_in(&batch, now)?;
        if !self.keeps_rows() {
            return self.give_rows(&batch, out);
        }
        for change in self.changes.drain(..) {
            let row = self.rows.row(change.row as usize);
            if change.is_update && *change.former == *row {
                continue;
            }
            if change.is_update && self.update_before {
                self.outgoing.push(RowKind::UpdateBefore, &change.former, 0);
            }
            self.outgoing.push(kind_of(&change), row, 0);
        }
        self.give(out)
    }

    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        Ok(if self.outgoing.send(out)? { Progress::Done } else { Progress::More })
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.expiry.as_ref().and_then(Expiry::next_tick)
    }

    fn tick(&mut self, now: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let Some(expiry) = &mut self.expiry else { return Ok(Progress::Done) };
        let (retract, outgoing) = (self.retract_on_expiry, &mut self.outgoing);
        expiry.sweep(
            &mut self.last,
            now,
            |kept| Some(kept.touched),
            |kept| {
                if retract {
                    outgoing.push(RowKind::Delete, &kept.row, 0);
                }
            },
        );
        self.give(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        vec![&mut self.last]
    }
}

/// A row is written as [`RowBytes`] are.
type Written = (i64, RowBytes, Timestamp);

impl Data for Kept {
    const BYTES_MIN: usize = 8 + RowBytes::BYTES_MIN + 8;

    fn schema() -> Schema {
        Written::schema()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.time.encode(out);
        let length = u32::try_from(self.row.len()).expect("a row has fewer than 2^32 bytes");
        length.encode(out);
        out.extend_from_slice(&self.row);
        self.touched.encode(out);
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (time, row, touched) = Written::decode(input)?;
        Ok(Kept { time, row: row.as_slice().into(), touched, bundle: 0, place: 0 })
    }

    fn heap_bytes(&self) -> usize {
        self.row.len()
    }
}
