//! The partitions of a rank, and which of them a bundle has changed.

use crate::rank::columns::Encoded;
use crate::rank::diff::Rules;
use crate::rank::expiry::Expiry;
use crate::rank::outgoing::Outgoing;
use crate::rank::partition::{Limit, Partition, Payload, Ranked};
use crate::rank::spec::{RankInput, TopNSpec};
use crate::row::RowBytes;
use arrow::array::UInt64Array;
use flugs_batch::{Batch, ChangeBatch};
use flugs_state::{KeyedTable, SnapshotTable};
use flugs_task::OpenContext;
use flugs_types::{Error, Result, RowKind, Timestamp};

/// Rows whose places in the table are fetched together.
const GROUP: usize = 64;

/// What is encoded of each batch.
struct Columns {
    keys: Encoded,
    orders: Encoded,
    /// The unique key of rows, where they have one.
    uniques: Encoded,
    /// Whole rows: of the batch, or of those of it that are pending.
    rows: Encoded,
}

/// A partition that the bundle has changed.
struct Touched {
    key: RowBytes,
    hash: u64,
    /// Rows that were in front at the start of the bundle and are not now.
    gone: Vec<Ranked>,
}

/// See the module.
pub(super) struct Ranks {
    limit: Limit,
    rules: Rules,
    mode: RankInput,
    retract_on_expiry: bool,
    columns: Columns,
    partitions: KeyedTable<RowBytes, Partition>,
    expiry: Option<Expiry>,
    touched: Vec<Touched>,
    /// The rows of the batch that did not lose when they came.
    pending: Vec<u64>,
    /// How many of `touched` have given their changes.
    given: usize,
}

impl Ranks {
    pub(super) fn open(spec: &TopNSpec, context: &mut OpenContext<'_>) -> Result<Self> {
        if spec.rank_start == 0 || spec.rank_start > spec.rank_end {
            return Err(Error::bug(format!(
                "there are no ranks from {} to {}",
                spec.rank_start, spec.rank_end
            )));
        }
        let uniques: &[usize] = match &spec.mode {
            RankInput::UpdateByKey(columns) => columns,
            RankInput::Append | RankInput::Retract => &[],
        };
        let limit = Limit { kind: spec.kind, end: usize::try_from(spec.rank_end).unwrap_or(usize::MAX) };
        let mut partitions: KeyedTable<RowBytes, Partition> = context.state.keyed("partitions")?;
        if context.state.is_restored() && spec.mode == RankInput::Append {
            partitions.for_each_mut(|_, partition| partition.set_bound(limit));
        }
        Ok(Ranks {
            limit,
            rules: Rules {
                kind: spec.kind,
                start: spec.rank_start,
                end: spec.rank_end,
                ranked: spec.rank_column,
                by_key: matches!(spec.mode, RankInput::UpdateByKey(_)),
                update_before: spec.emit_update_before,
            },
            mode: spec.mode.clone(),
            retract_on_expiry: spec.retract_on_expiry,
            columns: Columns {
                keys: Encoded::new(&spec.input, &spec.keys)?,
                orders: Encoded::ordered(&spec.input, &spec.order)?,
                uniques: Encoded::new(&spec.input, uniques)?,
                rows: Encoded::all(&spec.input)?,
            },
            partitions,
            expiry: Expiry::open(context, spec.ttl),
            touched: Vec::new(),
            pending: Vec::new(),
            given: 0,
        })
    }

    /// Whole rows out of this state.
    pub(super) fn outgoing(&self, spec: &TopNSpec) -> Outgoing {
        Outgoing::new(self.columns.rows.codec().clone(), spec.output.clone(), spec.rank_column)
    }

    /// Takes the rows of a batch in, which comes at `now` of the machine's clock.
    pub(super) fn take_in(&mut self, batch: &ChangeBatch, now: Timestamp) -> Result<()> {
        self.columns.keys.encode(batch)?;
        self.columns.orders.encode(batch)?;
        match self.mode {
            RankInput::Append => {}
            RankInput::UpdateByKey(_) => self.columns.uniques.encode(batch)?,
            RankInput::Retract => self.columns.rows.encode(batch)?,
        }
        for start in (0..batch.len()).step_by(GROUP) {
            let end = batch.len().min(start + GROUP);
            let hashes = &self.columns.keys.rows().hashes()[start..end];
            hashes.iter().for_each(|hash| self.partitions.prefetch(*hash));
            for row in start..end {
                self.take_row(row, batch.kind(row), now)?;
            }
        }
        if !self.pending.is_empty() {
            let rows = UInt64Array::from(std::mem::take(&mut self.pending));
            self.columns.rows.encode(&batch.take(&rows)?)?;
        }
        Ok(())
    }

    fn take_row(&mut self, row: usize, kind: RowKind, now: Timestamp) -> Result<()> {
        let Ranks { limit, columns, partitions, expiry, touched, pending, .. } = self;
        let (hash, key) = (columns.keys.rows().hash(row), columns.keys.rows().to_key(row));
        let order = columns.orders.row(row);
        match (&self.mode, kind) {
            (RankInput::Append, RowKind::Insert) => {
                let loses = partitions.get_hashed(hash, &key).is_some_and(|partition| {
                    partition.loses(*limit, order)
                        && expiry.as_ref().is_none_or(|expiry| !expiry.is_over(partition.touched, now))
                });
                if loses {
                    return Ok(());
                }
            }
            (RankInput::UpdateByKey(_), RowKind::UpdateBefore) => return Ok(()),
            (RankInput::UpdateByKey(_), RowKind::Insert | RowKind::UpdateAfter) | (RankInput::Retract, _) => {
            }
            (mode, kind) => return Err(Error::bug(format!("a rank over {mode:?} got {kind}"))),
        }
        let partition = partitions.get_or_insert_hashed(hash, &key, Partition::default);
        if partition.mark == 0 {
            let mut gone = Vec::new();
            if let Some(expiry) = expiry {
                let over = !partition.is_empty() && expiry.is_over(partition.touched, now);
                if over && !self.retract_on_expiry {
                    partition.clear(&mut gone);
                    gone.clear();
                }
                partition.begin(touched.len());
                if over {
                    expiry.count();
                    partition.clear(&mut gone);
                }
                expiry.touch(now);
                partition.touched = now;
            } else {
                partition.begin(touched.len());
            }
            touched.push(Touched { key, hash, gone });
        }
        let gone = &mut touched[partition.mark as usize - 1].gone;
        let mut payload = || {
            pending.push(row as u64);
            Payload::Pending(pending.len() as u32 - 1)
        };
        match self.mode {
            RankInput::Append => partition.insert(*limit, order, RowBytes::default(), payload(), gone),
            RankInput::UpdateByKey(_) => {
                partition.replace(*limit, order, columns.uniques.rows().to_key(row), payload(), gone);
            }
            RankInput::Retract if kind.is_addition() => {
                partition.insert_kept(*limit, order, columns.rows.rows().to_key(row), gone);
            }
            RankInput::Retract => partition.remove(*limit, order, columns.rows.row(row), gone),
        }
        Ok(())
    }

    /// Gives the changes of the next partition that the bundle has changed. Says whether there was one.
    pub(super) fn give_changes(&mut self, out: &mut Outgoing) -> bool {
        let Some(touched) = self.touched.get_mut(self.given) else {
            self.touched.clear();
            self.given = 0;
            return false;
        };
        self.given += 1;
        let (rules, gone) = (self.rules, std::mem::take(&mut touched.gone));
        let rows = self.columns.rows.rows();
        self.partitions.update_hashed(touched.hash, &touched.key, |partition| {
            if let Some(of_key) = partition {
                of_key.mark = 0;
                of_key.store_pending(rows);
                rules.changes(&of_key.front, &gone, out);
                if of_key.is_empty() {
                    *partition = None;
                }
            }
        });
        true
    }

    pub(super) fn next_tick(&self) -> Option<Timestamp> {
        self.expiry.as_ref().and_then(Expiry::next_tick)
    }

    /// Removes partitions that have expired.
    pub(super) fn sweep(&mut self, now: Timestamp, out: &mut Outgoing) {
        let (rules, retract) = (self.rules, self.retract_on_expiry);
        if let Some(expiry) = &mut self.expiry {
            expiry.sweep(
                &mut self.partitions,
                now,
                |partition| Some(partition.touched),
                |partition| {
                    if retract {
                        rules.take_back(&partition.front, out);
                    }
                },
            );
        }
    }

    pub(super) fn table(&mut self) -> &mut dyn SnapshotTable {
        &mut self.partitions
    }
}
