//! Joins of two bounded inputs.
//!
//! Inputs come in any order and end together, so both are kept until then: as rows of bytes, partitioned by the hash of their join
//! keys, in memory or beyond it in a file (a grace hash join). Then the partitions are joined one after the other. A partition
//! whose right does not fit into memory is partitioned again by other bits of the hash. Where that does not help, because one key
//! has it all, a block of the right at a time meets the whole left.
//!
//! `NOT IN` without correlation and other conditions (by far the most) is an anti join, but for what NULLs make of it: see
//! [`NotIn`](not_in::NotIn). Others meet all rows of their correlation, as in streams.

mod block;
mod not_in;
mod pairs;
mod partition;
mod plan;

use super::operator::{Bounded, Work, inserts_only, not_open, progress};
use super::spec::HashJoinSpec;
use super::spill::Spools;
use flugs_batch::{ChangeBatch, Either};
use flugs_task::{OpenContext, Output, Progress};
use flugs_types::Result;
use not_in::NotIn;
use partition::{Job, PARTITIONS, partition_of, share};
use plan::{Plan, Side};
use std::sync::Arc;

/// Carries out a [`HashJoinSpec`].
pub type HashJoin = Bounded<JoinWork>;

impl HashJoin {
    /// An operator that is not open yet.
    pub fn new(spec: HashJoinSpec) -> Self {
        Bounded::of(JoinWork { spec, opened: None })
    }
}

/// See [`HashJoin`].
pub struct JoinWork {
    spec: HashJoinSpec,
    opened: Option<Opened>,
}

struct Opened {
    plan: Arc<Plan>,
    not_in: Option<NotIn>,
    /// The partitions of the left and then those of the right; behind the partitions of each side stand its rows that match nothing.
    inputs: Option<Spools>,
    jobs: Vec<Job>,
}

impl JoinWork {
    fn add(&mut self, side: Side, batch: ChangeBatch) -> Result<()> {
        inserts_only(&batch)?;
        let Opened { plan, not_in, inputs, .. } = self.opened.as_mut().ok_or_else(not_open)?;
        if let (Some(not_in), Side::Right) = (&mut *not_in, side) {
            not_in.see(batch.rows());
        }
        let spools = inputs.as_mut().ok_or_else(not_open)?;
        let of = if side == Side::Left { 0 } else { PARTITIONS + 1 };
        let keeps_unmatched = plan.keeps_unmatched(side) || not_in.is_some();
        plan.encode(side, batch.rows(), |record, matchable, hash| match matchable {
            true => spools.push(of + partition_of(hash, 0), record),
            false if keeps_unmatched => spools.push(of + PARTITIONS, record),
            false => Ok(()),
        })
    }
}

impl Work for JoinWork {
    type In = Either<ChangeBatch, ChangeBatch>;

    fn open(&mut self, _: &mut OpenContext<'_>) -> Result<()> {
        self.opened = Some(Opened {
            plan: Arc::new(Plan::new(&self.spec)?),
            not_in: NotIn::of(&self.spec),
            inputs: Some(Spools::new(&share(&self.spec.spill, 0), 2 * (PARTITIONS + 1))),
            jobs: Vec::new(),
        });
        Ok(())
    }

    fn take(&mut self, batch: Self::In) -> Result<()> {
        match batch {
            Either::Left(batch) => self.add(Side::Left, batch),
            Either::Right(batch) => self.add(Side::Right, batch),
        }
    }

    fn settle(&mut self, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        let inputs = self.opened.as_mut().and_then(|opened| opened.inputs.as_mut());
        inputs.map_or(Ok(Progress::Done), |inputs| inputs.settle().map(progress))
    }

    fn finish(&mut self) -> Result<()> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        let mut left = opened.inputs.take().ok_or_else(not_open)?.into_spools();
        let right = left.split_off(PARTITIONS + 1);
        let (mut left, mut right) = (left, right);
        let (unmatched_left, unmatched_right) = (left.pop(), right.pop());
        opened.jobs = left.into_iter().zip(right).map(|(left, right)| Job::new(left, right, 0)).collect();
        let (gives, gives_nulls) = match &opened.not_in {
            Some(not_in) => (not_in.gives_any(), not_in.gives_nulls()),
            None => (true, true),
        };
        if !gives {
            opened.jobs.clear();
        }
        if gives_nulls {
            opened.jobs.extend(unmatched_left.map(Job::of_left));
        }
        opened.jobs.extend(unmatched_right.map(Job::of_right));
        opened.jobs.reverse();
        Ok(())
    }

    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        let Some(job) = opened.jobs.last_mut() else { return Ok(Progress::Done) };
        if job.is_nothing(&opened.plan) {
            opened.jobs.pop();
            return Ok(Progress::More);
        }
        if !job.step(&opened.plan, &self.spec.spill, out)? {
            let done = opened.jobs.pop();
            opened.jobs.extend(done.into_iter().flat_map(Job::into_parts));
        }
        Ok(Progress::More)
    }
}
