//! Changes by key made changes of all kinds.

use super::keyed_rows::{BatchKeys, KeyedColumns};
use crate::changes::Changes;
use crate::outbox::Outbox;
use crate::row::RowBytes;
use crate::ttl::TimeToLive;
use arrow::array::{ArrayRef, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::SchemaRef;
use flugs_batch::{Batch, ChangeBatch};
use flugs_derive::Data;
use flugs_state::{KeyedTable, SnapshotTable};
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, RowKind, Timestamp};
use std::time::Duration;

/// What a [`ChangelogNormalize`] does.
#[derive(Debug, Clone)]
pub struct ChangelogNormalizeSpec {
    /// The columns, of input and output.
    pub schema: SchemaRef,
    /// The columns of the key.
    pub keys: Vec<usize>,
    /// Whether `-U` rows are handed on.
    pub emit_update_before: bool,
    /// How long a row is kept after its last change, in processing time; for ever where it is none. A row that comes again
    /// unchanged is handed on all the same then, as in Flink.
    pub ttl: Option<Duration>,
    /// Whether a row that expires is taken back.
    pub retract_on_expiry: bool,
}

/// The last row of a key, without the key, and when it came.
#[derive(Debug, Clone, Data)]
#[data(crate = "flugs_batch")]
struct Kept {
    row: RowBytes,
    changed: u64,
}

struct Opened {
    columns: KeyedColumns,
    rows: KeyedTable<RowBytes, Kept>,
    ttl: Option<TimeToLive>,
}

/// Keeps the last row of each key and hands on how it changes: `+I`, `-U` and `+U`, `-D`, with whole rows.
///
/// The input has changes by key (a `-D` may hold the key alone), or changes of all kinds with some of them twice. `-U` and `-D` take the
/// key's row back, whatever they hold; those of a key without a row are passed over. There is one change for each key and
/// batch, and none where the row stays as it was.
///
/// State: `rows`.
pub struct ChangelogNormalize {
    spec: ChangelogNormalizeSpec,
    opened: Option<Opened>,
    found: BatchKeys,
    outbox: Outbox,
}

fn not_open() -> Error {
    Error::bug("the operator is not open")
}

impl ChangelogNormalize {
    /// By this key.
    pub fn new(spec: ChangelogNormalizeSpec) -> Self {
        ChangelogNormalize { spec, opened: None, found: BatchKeys::default(), outbox: Outbox::default() }
    }

    fn normalize(&mut self, batch: &ChangeBatch) -> Result<()> {
        let Opened { columns, rows, ttl } = self.opened.as_mut().ok_or_else(not_open)?;
        columns.find(batch, &mut self.found)?;
        let found = &self.found;
        let last = last_rows(found);
        let new = taken(&columns.other_columns(batch), &last)?;
        let encoded = columns.encode(&new, last.len())?;
        let (mut changes, mut old) = (Changes::default(), Vec::with_capacity(last.len()));
        let now = ttl.as_ref().map_or(0, TimeToLive::now);
        if let Some(ttl) = ttl {
            ttl.touched();
        }
        for (group, (key, hash)) in found.keys.iter().enumerate() {
            let row = encoded.row(group);
            let stays = batch.kind(last[group] as usize).is_addition();
            let fresh =
                Kept { row: if stays { RowBytes::new(row) } else { RowBytes::default() }, changed: now };
            let before = if stays {
                match rows.get_mut_hashed(*hash, key) {
                    Some(kept) => Some(std::mem::replace(kept, fresh)),
                    None => {
                        rows.get_or_insert_hashed(*hash, key, || fresh);
                        None
                    }
                }
            } else {
                rows.remove_hashed(*hash, key)
            };
            let lives = |kept: &Kept| match ttl.as_ref().filter(|ttl| ttl.is_expired(kept.changed)) {
                Some(ttl) => {
                    ttl.count(1);
                    self.spec.retract_on_expiry
                }
                None => true,
            };
            let before = before.filter(lives).map(|kept| kept.row);
            match (&before, stays) {
                (None, true) => changes.new_row(RowKind::Insert, group),
                (None, false) => {}
                (Some(_), false) => changes.old(RowKind::Delete, group),
                (Some(before), true) if ttl.is_none() && before.as_slice() == row => {}
                (Some(_), true) => {
                    if self.spec.emit_update_before {
                        changes.old(RowKind::UpdateBefore, group);
                    }
                    changes.new_row(RowKind::UpdateAfter, group);
                }
            }
            old.push(before);
        }
        if changes.is_empty() {
            return Ok(());
        }
        let old = match old.iter().any(Option::is_some) {
            true => columns.decode(old.iter().map(Option::as_ref))?,
            false => Vec::new(),
        };
        let changed = changes.columns(&columns.key_columns(batch), found.local.first_rows(), &old, &new)?;
        self.outbox.put(changes.of_columns(&columns.schema, columns.in_order(&changed))?);
        Ok(())
    }

    fn sweep(&mut self) -> Result<()> {
        let Opened { columns, rows, ttl } = self.opened.as_mut().ok_or_else(not_open)?;
        let Some(ttl) = ttl else { return Ok(()) };
        let (mut gone, mut count) = (Vec::new(), 0);
        let retracts = self.spec.retract_on_expiry;
        ttl.sweep(|ttl, cursor, fuel| {
            rows.sweep(
                cursor,
                fuel,
                |_, kept| ttl.is_expired(kept.changed),
                |key, kept| {
                    count += 1;
                    if retracts {
                        gone.push((key.clone(), kept.row.clone()));
                    }
                    false
                },
            )
        });
        ttl.count(count);
        if rows.is_empty() {
            ttl.rest();
        }
        if !gone.is_empty() {
            let mut changed = columns.decode_keys(gone.iter().map(|(key, _)| key))?;
            changed.extend(columns.decode(gone.iter().map(|(_, row)| Some(row)))?);
            let rows = arrow::array::RecordBatch::try_new(columns.schema.clone(), columns.in_order(&changed))
                .map_err(|e| Error::bug("kept rows do not fit their schema").caused_by(e))?;
            self.outbox.put(ChangeBatch::new(rows, &vec![RowKind::Delete; gone.len()])?);
        }
        Ok(())
    }
}

/// The last row of each group.
fn last_rows(found: &BatchKeys) -> Vec<u32> {
    let mut last = found.local.first_rows().to_vec();
    for (row, group) in found.local.of_rows().iter().enumerate() {
        last[*group as usize] = row as u32;
    }
    last
}

fn taken(columns: &[ArrayRef], rows: &[u32]) -> Result<Vec<ArrayRef>> {
    let rows = UInt64Array::from_iter_values(rows.iter().map(|row| u64::from(*row)));
    let taken = columns.iter().map(|column| take(column, &rows, None)).collect::<Result<_, _>>();
    taken.map_err(|e| Error::bug("a row is missing").caused_by(e))
}

impl Operator for ChangelogNormalize {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.opened = Some(Opened {
            columns: KeyedColumns::new(&self.spec.schema, &self.spec.keys)?,
            rows: context.state.keyed("rows")?,
            ttl: self.spec.ttl.map(|ttl| TimeToLive::new(ttl, context)),
        });
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if !batch.is_empty() {
            self.normalize(&batch)?;
        }
        self.outbox.hand_on(out)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.outbox.hand_on(out)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.opened.as_ref()?.ttl.as_ref()?.next_tick()
    }

    fn tick(&mut self, _: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.sweep()?;
        self.outbox.hand_on(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.opened.iter_mut().map(|opened| &mut opened.rows as &mut dyn SnapshotTable).collect()
    }
}
