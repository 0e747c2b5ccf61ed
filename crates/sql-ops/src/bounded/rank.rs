//! The first rows of each partition, and the first or last row of each key.

use super::operator::{Bounded, Work, give_sorted, inserts_only, not_open, progress};
use super::spec::{BoundedDeduplicateSpec, BoundedRankSpec};
use super::spill::{Kept, Ranking, Sorter, grouped, ungrouped};
use crate::rank::columns::Encoded;
use crate::rank::outgoing::Outgoing;
use crate::rank::time::read_raw;
use crate::rank::{DeduplicateTime, Keep, RankKind};
use crate::row::SortOptions;
use flugs_batch::{Batch, ChangeBatch};
use flugs_task::{OpenContext, Output, Progress};
use flugs_types::{Result, RowKind};

/// Carries out a [`BoundedRankSpec`].
pub type BoundedRank = Bounded<RankWork>;

impl BoundedRank {
    /// An operator that is not open yet.
    pub fn new(spec: BoundedRankSpec) -> Self {
        Bounded::of(RankWork { spec, latest_first: false, time: None, opened: None })
    }
}

/// Carries out a [`BoundedDeduplicateSpec`].
pub type BoundedDeduplicate = Bounded<DeduplicateWork>;

impl BoundedDeduplicate {
    /// An operator that is not open yet.
    pub fn new(spec: BoundedDeduplicateSpec) -> Self {
        Bounded::of(DeduplicateWork(first_by_time(spec)))
    }
}

/// See [`BoundedDeduplicate`]: the row number 1 by time.
pub struct DeduplicateWork(RankWork);

fn first_by_time(spec: BoundedDeduplicateSpec) -> RankWork {
    let time = match spec.time {
        DeduplicateTime::Event { column } => Some(column),
        DeduplicateTime::Processing => None,
    };
    let options = SortOptions { descending: spec.keep == Keep::Last, nulls_first: true };
    let rank = BoundedRankSpec {
        output: spec.input.clone(),
        input: spec.input,
        keys: spec.keys,
        order: time.map(|column| (column, options)).into_iter().collect(),
        kind: RankKind::RowNumber,
        rank_start: 1,
        rank_end: 1,
        rank_column: false,
        spill: spec.spill,
    };
    RankWork { spec: rank, latest_first: spec.keep == Keep::Last, time, opened: None }
}

impl Work for DeduplicateWork {
    type In = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.0.open(context)
    }

    fn take(&mut self, batch: ChangeBatch) -> Result<()> {
        self.0.take(batch)
    }

    fn settle(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.0.settle(out)
    }

    fn finish(&mut self) -> Result<()> {
        self.0.finish()
    }

    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.0.give(out)
    }
}

/// See [`BoundedRank`].
pub struct RankWork {
    spec: BoundedRankSpec,
    /// Whether of rows that are equal in order the last to come is the first.
    latest_first: bool,
    /// A column that must not be NULL.
    time: Option<usize>,
    opened: Option<Opened>,
}

struct Opened {
    keys: Encoded,
    order: Encoded,
    rows: Encoded,
    /// How many rows have come.
    came: u64,
    sorter: Sorter,
    ranking: Ranking,
    outgoing: Outgoing,
}

impl Work for RankWork {
    type In = ChangeBatch;

    fn open(&mut self, _: &mut OpenContext<'_>) -> Result<()> {
        let spec = &self.spec;
        let rows = Encoded::all(&spec.input)?;
        let kept = match spec.rank_end {
            u64::MAX => Kept::All,
            last => Kept::Ranks { kind: spec.kind, last },
        };
        self.opened = Some(Opened {
            keys: Encoded::new(&spec.input, &spec.keys)?,
            order: Encoded::ordered(&spec.input, &spec.order)?,
            outgoing: Outgoing::new(rows.codec().clone(), spec.output.clone(), spec.rank_column),
            rows,
            came: 0,
            sorter: Sorter::new(&spec.spill, kept),
            ranking: Ranking::default(),
        });
        Ok(())
    }

    fn take(&mut self, batch: ChangeBatch) -> Result<()> {
        inserts_only(&batch)?;
        if let Some(time) = self.time.filter(|_| !batch.is_empty()) {
            read_raw(&batch, time)?;
        }
        let Opened { keys, order, rows, came, sorter, .. } = self.opened.as_mut().ok_or_else(not_open)?;
        keys.encode(&batch)?;
        order.encode(&batch)?;
        rows.encode(&batch)?;
        for row in 0..batch.len() {
            let key = keys.row(row);
            *came += 1;
            let latest = (u64::MAX - *came).to_be_bytes();
            let latest: &[u8] = if self.latest_first { &latest } else { &[] };
            sorter.push(&[key, order.row(row), latest], &[&grouped(key), rows.row(row)])?;
        }
        Ok(())
    }

    fn settle(&mut self, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened.as_mut().ok_or_else(not_open)?.sorter.settle().map(progress)
    }

    fn finish(&mut self) -> Result<()> {
        self.opened.as_mut().ok_or_else(not_open)?.sorter.finish()
    }

    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let Opened { sorter, ranking, outgoing, .. } = self.opened.as_mut().ok_or_else(not_open)?;
        let (kind, first) = (self.spec.kind, self.spec.rank_start);
        give_sorted(sorter, outgoing, out, |record, outgoing| {
            let (group, row) = ungrouped(record)?;
            let rank = ranking.next(group, record.key).of(kind);
            if rank >= first {
                outgoing.push(RowKind::Insert, row, rank);
            }
            Ok(())
        })
    }
}
