//! Changes by one key made changes by another.

use super::keyed_rows::{BatchKeys, KeyedColumns};
use crate::changes::Changes;
use crate::outbox::Outbox;
use crate::row::{RowBytes, RowCodec};
use crate::ttl::TimeToLive;
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, SchemaRef};
use flugs_batch::{Batch, ChangeBatch};
use flugs_derive::Data;
use flugs_state::{KeyedTable, SnapshotTable};
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, RowKind, Timestamp};
use std::time::Duration;

/// What a [`SinkMaterialize`] does.
#[derive(Debug, Clone)]
pub struct SinkMaterializeSpec {
    /// The columns, of input and output.
    pub schema: SchemaRef,
    /// The sink's primary key.
    pub keys: Vec<usize>,
    /// The key by which the input changes: a row replaces the one of the same key, a `-U` or `-D` takes it back. None: rows are told
    /// apart by all their columns.
    pub upsert_key: Option<Vec<usize>>,
    /// How long the rows of a key are kept after their last change, in processing time; for ever where it is none.
    pub ttl: Option<Duration>,
}

/// A row of a key.
#[derive(Debug, Clone, PartialEq, Data)]
#[data(crate = "flugs_batch")]
struct Version {
    /// By what it is told apart; empty where by all of it.
    id: RowBytes,
    /// Without the key.
    row: RowBytes,
}

/// The rows of a key, the newest last; never none.
#[derive(Debug, Clone, Default, Data)]
#[data(crate = "flugs_batch")]
struct Versions {
    rows: Vec<Version>,
    changed: u64,
}

impl Versions {
    /// A row comes, or goes: the last one that it is told apart from by nothing is meant.
    fn change(&mut self, version: Version, comes: bool, by_id: bool) {
        let same = |other: &Version| if by_id { other.id == version.id } else { *other == version };
        let at = self.rows.iter().rposition(same);
        match (at, comes) {
            (Some(at), true) if by_id => self.rows[at] = version,
            (_, true) => self.rows.push(version),
            (Some(at), false) => drop(self.rows.remove(at)),
            (None, false) => {}
        }
    }
}

struct Opened {
    columns: KeyedColumns,
    ids: Option<(Vec<usize>, RowCodec)>,
    rows: KeyedTable<RowBytes, Versions>,
    ttl: Option<TimeToLive>,
}

/// Stands before a sink by key where the query's rows change by another key, so that several may have one key of the sink for a while, or
/// changes of one key come out of order. Keeps all rows of a key and hands on the newest: `+I` first, `+U` where another is the
/// newest now, `-D` where none is left. There is one change for each key and batch.
///
/// As Flink's `SinkUpsertMaterializer`. State: `rows`.
pub struct SinkMaterialize {
    spec: SinkMaterializeSpec,
    opened: Option<Opened>,
    found: BatchKeys,
    outbox: Outbox,
}

fn not_open() -> Error {
    Error::bug("the operator is not open")
}

impl SinkMaterialize {
    /// By this key.
    pub fn new(spec: SinkMaterializeSpec) -> Self {
        SinkMaterialize { spec, opened: None, found: BatchKeys::default(), outbox: Outbox::default() }
    }

    fn materialize(&mut self, batch: &ChangeBatch) -> Result<()> {
        let Opened { columns, ids, rows, ttl } = self.opened.as_mut().ok_or_else(not_open)?;
        columns.find(batch, &mut self.found)?;
        let found = &self.found;
        let encoded = columns.encode(&columns.other_columns(batch), batch.len())?;
        let ids = match ids {
            Some((of, codec)) => {
                let of: Vec<ArrayRef> = of.iter().map(|column| batch.column(*column).clone()).collect();
                Some(codec.encode(&of, batch.len())?)
            }
            None => None,
        };
        let mut versions: Vec<Versions> = Vec::with_capacity(found.keys.len());
        for (key, hash) in &found.keys {
            let kept = rows.get_mut_hashed(*hash, key).map(std::mem::take).unwrap_or_default();
            let expired = ttl.as_ref().filter(|ttl| !kept.rows.is_empty() && ttl.is_expired(kept.changed));
            versions.push(match expired {
                Some(ttl) => {
                    ttl.count(1);
                    Versions::default()
                }
                None => kept,
            });
        }
        let newest = |versions: &Versions| versions.rows.last().map(|version| version.row.clone());
        let old: Vec<Option<RowBytes>> = versions.iter().map(newest).collect();
        for (row, group) in found.local.of_rows().iter().enumerate() {
            let id = ids.as_ref().map_or_else(RowBytes::default, |ids| ids.to_key(row));
            let version = Version { id, row: encoded.to_key(row) };
            versions[*group as usize].change(version, batch.kind(row).is_addition(), ids.is_some());
        }
        let new: Vec<Option<RowBytes>> = versions.iter().map(newest).collect();
        let now = ttl.as_ref().map_or(0, TimeToLive::now);
        if let Some(ttl) = ttl {
            ttl.touched();
        }
        for ((key, hash), mut versions) in found.keys.iter().zip(versions) {
            if versions.rows.is_empty() {
                rows.remove_hashed(*hash, key);
            } else {
                versions.changed = now;
                *rows.get_or_insert_hashed(*hash, key, Versions::default) = versions;
            }
        }
        let mut changes = Changes::default();
        for (group, (old, new)) in old.iter().zip(&new).enumerate() {
            match (old, new) {
                (None, None) => {}
                (None, Some(_)) => changes.new_row(RowKind::Insert, group),
                (Some(_), None) => changes.old(RowKind::Delete, group),
                (Some(old), Some(new)) if old == new && ttl.is_none() => {}
                (Some(_), Some(_)) => changes.new_row(RowKind::UpdateAfter, group),
            }
        }
        if changes.is_empty() {
            return Ok(());
        }
        let old = columns.decode(old.iter().map(Option::as_ref))?;
        let new = columns.decode(new.iter().map(Option::as_ref))?;
        let changed = changes.columns(&columns.key_columns(batch), found.local.first_rows(), &old, &new)?;
        self.outbox.put(changes.of_columns(&columns.schema, columns.in_order(&changed))?);
        Ok(())
    }
}

impl Operator for SinkMaterialize {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        let schema = &self.spec.schema;
        let ids = match &self.spec.upsert_key {
            Some(key) => {
                let types: Vec<DataType> = key.iter().map(|c| schema.field(*c).data_type().clone()).collect();
                Some((key.clone(), RowCodec::new(&types)?))
            }
            None => None,
        };
        self.opened = Some(Opened {
            columns: KeyedColumns::new(schema, &self.spec.keys)?,
            ids,
            rows: context.state.keyed("rows")?,
            ttl: self.spec.ttl.map(|ttl| TimeToLive::new(ttl, context)),
        });
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if !batch.is_empty() {
            self.materialize(&batch)?;
        }
        self.outbox.hand_on(out)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.outbox.hand_on(out)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.opened.as_ref()?.ttl.as_ref()?.next_tick()
    }

    fn tick(&mut self, _: Timestamp, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        let Opened { rows, ttl, .. } = self.opened.as_mut().ok_or_else(not_open)?;
        if let Some(ttl) = ttl {
            let mut count = 0;
            ttl.sweep(|ttl, cursor, fuel| {
                let drop = |_: &RowBytes, _: &mut Versions| {
                    count += 1;
                    false
                };
                rows.sweep(cursor, fuel, |_, versions| ttl.is_expired(versions.changed), drop)
            });
            ttl.count(count);
            if rows.is_empty() {
                ttl.rest();
            }
        }
        Ok(Progress::Done)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.opened.iter_mut().map(|opened| &mut opened.rows as &mut dyn SnapshotTable).collect()
    }
}
