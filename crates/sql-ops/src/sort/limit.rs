//! The first rows, in an order or as they came.

use super::single;
use super::spec::{LimitSpec, SortLimitSpec};
use crate::rank::{RankInput, RankKind, TopN, TopNSpec};
use flugs_batch::{Batch, ChangeBatch};
use flugs_state::{ListTable, SnapshotTable};
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result};

/// The first rows in an order, as rows come and go: a [`TopN`] of one partition. See [`SortLimitSpec`].
pub struct SortLimit {
    /// None where no row may come out.
    first: Option<TopN>,
}

impl SortLimit {
    /// The first rows in an order.
    pub fn new(spec: SortLimitSpec) -> Self {
        let end = spec.fetch.map_or(u64::MAX, |fetch| spec.offset.saturating_add(fetch));
        let top_n = || TopNSpec {
            output: spec.input.clone(),
            input: spec.input,
            mode: if spec.retract { RankInput::Retract } else { RankInput::Append },
            keys: Vec::new(),
            order: spec.order,
            kind: RankKind::RowNumber,
            rank_start: spec.offset + 1,
            rank_end: end,
            rank_column: false,
            emit_update_before: spec.emit_update_before,
            ttl: None,
            retract_on_expiry: false,
        };
        SortLimit { first: (end > spec.offset).then(top_n).map(TopN::new) }
    }
}

impl Operator for SortLimit {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        single(context, "ORDER BY with a limit")?;
        self.first.as_mut().map_or(Ok(()), |first| first.open(context))
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.first.as_mut().map_or(Ok(Progress::Done), |first| first.process(batch, out))
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.first.as_mut().map_or(Ok(Progress::Done), |first| first.resume(out))
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.first.as_mut().map_or(Vec::new(), TopN::tables)
    }
}

/// The first rows that came. See [`LimitSpec`].
pub struct Limit {
    kind: Kind,
}

enum Kind {
    /// Of an append-only input: a row that is through stays.
    Append {
        offset: u64,
        end: u64,
        /// How many rows have come, up to `end`; one number.
        seen: Option<ListTable<u64>>,
    },
    /// Where a row goes, the next one takes its place.
    Retract(Box<SortLimit>),
}

impl Limit {
    /// The first rows that come.
    pub fn new(spec: LimitSpec) -> Self {
        let end = spec.fetch.map_or(u64::MAX, |fetch| spec.offset.saturating_add(fetch));
        let kind = match spec.retract {
            false => Kind::Append { offset: spec.offset, end, seen: None },
            true => Kind::Retract(Box::new(SortLimit::new(SortLimitSpec {
                input: spec.input,
                retract: true,
                order: Vec::new(),
                offset: spec.offset,
                fetch: spec.fetch,
                emit_update_before: spec.emit_update_before,
            }))),
        };
        Limit { kind }
    }
}

impl Operator for Limit {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        single(context, "a limit")?;
        match &mut self.kind {
            Kind::Append { seen, .. } => {
                *seen = Some(context.state.list("seen")?);
                Ok(())
            }
            Kind::Retract(first) => first.open(context),
        }
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let (offset, end, seen) = match &mut self.kind {
            Kind::Append { offset, end, seen } => (*offset, *end, seen),
            Kind::Retract(first) => return first.process(batch, out),
        };
        if !batch.is_insert_only() {
            return Err(Error::bug("a limit that was planned for insertions alone is to take a row back"));
        }
        let seen = seen.as_mut().ok_or_else(|| Error::bug("the limit operator is not open"))?;
        let before = seen.items().first().copied().unwrap_or(0);
        let after = before.saturating_add(batch.len() as u64).min(end);
        if after == before {
            return Ok(Progress::Done);
        }
        seen.replace([after]);
        let from = before.max(offset);
        if from < after {
            let _ = out.push(batch.slice((from - before) as usize, (after - from) as usize))?;
        }
        Ok(Progress::Done)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        match &mut self.kind {
            Kind::Append { .. } => Ok(Progress::Done),
            Kind::Retract(first) => first.resume(out),
        }
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        match &mut self.kind {
            Kind::Append { seen, .. } => seen.iter_mut().map(|seen| seen as &mut dyn SnapshotTable).collect(),
            Kind::Retract(first) => first.tables(),
        }
    }
}
