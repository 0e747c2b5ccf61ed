//! One partition of both inputs.

use super::block::{Block, Filling};
use super::pairs::{Probe, right_alone};
use super::plan::{Plan, Side};
use crate::bounded::spec::SpillSpec;
use crate::bounded::spill::{STEP_BYTES, Spool, SpoolReader, Spools};
use crate::row::row_hash;
use arrow::array::BooleanBufferBuilder;
use flugs_batch::{Batch, ChangeBatch};
use flugs_task::Output;
use flugs_types::Result;

/// How many partitions an input has, and a partition that is partitioned again.
pub(super) const PARTITIONS: usize = 16;
/// How often a partition is partitioned.
const DEPTH_MAX: u32 = 6;
/// A part with more of a partition's right than nine of so many tenths is not partitioned again.
const SKEWED_TENTHS: u64 = 10;
/// How many batches a step gives at most.
const STEP_BATCHES: usize = 16;

/// The partition of a key with this hash. Neither the bits that chose the subtask nor those of a lesser depth.
pub(super) fn partition_of(hash: u64, depth: u32) -> usize {
    let mixed =
        (hash ^ u64::from(depth).wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> 60) as usize
}

/// How many bytes of the right are made into a block at a time: with what finds them they take about three times as much.
fn block_limit(spill: &SpillSpec) -> usize {
    (spill.memory_bytes / 8).max(1 << 10)
}

/// The part of the memory that is for the partitions of this depth: all depths together have less than all of it.
pub(super) fn share(spill: &SpillSpec, depth: u32) -> SpillSpec {
    SpillSpec { memory_bytes: spill.memory_bytes >> (depth + 1), ..spill.clone() }
}

/// See the module.
pub(super) struct Job {
    left: Spool,
    right: Spool,
    depth: u32,
    stage: Stage,
}

enum Stage {
    New,
    /// Both sides become partitions of their own.
    Splitting {
        side: Side,
        reader: SpoolReader,
        parts: Box<Spools>,
    },
    Split(Vec<Job>),
    /// A block of the right is read.
    Filling {
        filling: Filling,
        right: SpoolReader,
        matched: BooleanBufferBuilder,
    },
    /// The left is read.
    Probing(Box<Probing>),
    /// Rows of the block are given that have had no match, from this one on.
    Alone {
        from: usize,
        probing: Box<Probing>,
    },
}

struct Probing {
    block: Block,
    /// Behind the block.
    right: SpoolReader,
    is_last: bool,
    left: SpoolReader,
    probe: Option<Probe>,
    /// How many rows of the left were read.
    read: usize,
    /// Of the left.
    matched: BooleanBufferBuilder,
}

impl Job {
    pub(super) fn new(left: Spool, right: Spool, depth: u32) -> Self {
        Job { left, right, depth, stage: Stage::New }
    }

    /// Rows of the left that match nothing.
    pub(super) fn of_left(left: Spool) -> Self {
        Job::new(left, Spool::default(), DEPTH_MAX)
    }

    /// Rows of the right that match nothing.
    pub(super) fn of_right(right: Spool) -> Self {
        Job::new(Spool::default(), right, DEPTH_MAX)
    }

    /// Whether there is nothing to be given.
    pub(super) fn is_nothing(&self, plan: &Plan) -> bool {
        let (left, right) = (self.left.len() > 0, self.right.len() > 0);
        matches!(self.stage, Stage::New)
            && !(left && right)
            && !(left && plan.keeps_unmatched(Side::Left))
            && !(right && plan.keeps_unmatched(Side::Right))
    }

    /// The partitions that it has become.
    pub(super) fn into_parts(self) -> Vec<Job> {
        match self.stage {
            Stage::Split(jobs) => jobs,
            _ => Vec::new(),
        }
    }

    /// Whether there is more to do.
    pub(super) fn step(
        &mut self,
        plan: &Plan,
        spill: &SpillSpec,
        out: &mut Output<ChangeBatch>,
    ) -> Result<bool> {
        let limit = block_limit(spill);
        let stage = std::mem::replace(&mut self.stage, Stage::Split(Vec::new()));
        self.stage = match stage {
            Stage::New if self.right.bytes() > limit as u64 && self.depth < DEPTH_MAX => {
                let parts = Box::new(Spools::new(&share(spill, self.depth + 1), 2 * PARTITIONS));
                Stage::Splitting { side: Side::Left, reader: self.left.reader(), parts }
            }
            Stage::New => self.first_block(),
            Stage::Splitting { side, reader, parts } => self.split(side, reader, parts)?,
            Stage::Split(jobs) => {
                self.stage = Stage::Split(jobs);
                return Ok(false);
            }
            Stage::Filling { mut filling, mut right, matched } => {
                let (full, is_last) = filling.step(&mut right, limit)?;
                if full {
                    let block = filling.into_block(plan)?;
                    let left = self.left.reader();
                    let probing = Probing { block, right, is_last, left, probe: None, read: 0, matched };
                    Stage::Probing(Box::new(probing))
                } else {
                    Stage::Filling { filling, right, matched }
                }
            }
            Stage::Probing(mut probing) => match probing.step(plan, out)? {
                true => Stage::Probing(probing),
                false if plan.keeps_unmatched(Side::Right) => Stage::Alone { from: 0, probing },
                false => return Ok(self.next_block(*probing)),
            },
            Stage::Alone { from, probing } => {
                let (batch, from) = right_alone(plan, &probing.block, from)?;
                give(batch, out)?;
                if from == probing.block.len() {
                    return Ok(self.next_block(*probing));
                }
                Stage::Alone { from, probing }
            }
        };
        Ok(true)
    }

    fn first_block(&mut self) -> Stage {
        let rows = self.left.len() as usize;
        let mut matched = BooleanBufferBuilder::new(rows);
        matched.append_n(rows, false);
        Stage::Filling { filling: Filling::default(), right: self.right.reader(), matched }
    }

    /// Whether there is a further block.
    fn next_block(&mut self, probing: Probing) -> bool {
        if probing.is_last {
            return false;
        }
        let Probing { right, matched, .. } = probing;
        self.stage = Stage::Filling { filling: Filling::default(), right, matched };
        true
    }

    fn split(&mut self, side: Side, mut reader: SpoolReader, mut parts: Box<Spools>) -> Result<Stage> {
        if !parts.settle()? {
            return Ok(Stage::Splitting { side, reader, parts });
        }
        let depth = self.depth + 1;
        let of = if side == Side::Left { 0 } else { PARTITIONS };
        let mut bytes = 0;
        while bytes < STEP_BYTES {
            if !reader.advance()? {
                return Ok(match side {
                    Side::Left => Stage::Splitting { side: Side::Right, reader: self.right.reader(), parts },
                    Side::Right => self.parts(*parts),
                });
            }
            let record = reader.record();
            bytes += record.key.len() + record.value.len();
            parts.push(of + partition_of(row_hash(record.key), depth), record)?;
        }
        Ok(Stage::Splitting { side, reader, parts })
    }

    fn parts(&mut self, parts: Spools) -> Stage {
        let mut left = parts.into_spools();
        let right = left.split_off(PARTITIONS);
        let whole = self.right.bytes();
        let job = |(left, right): (Spool, Spool)| {
            let is_skewed =
                right.bytes().saturating_mul(SKEWED_TENTHS) > whole.saturating_mul(SKEWED_TENTHS - 1);
            let depth = if is_skewed { DEPTH_MAX } else { self.depth + 1 };
            Job::new(left, right, depth)
        };
        let jobs = left.into_iter().zip(right).map(job).collect();
        (self.left, self.right) = (Spool::default(), Spool::default());
        Stage::Split(jobs)
    }
}

impl Probing {
    /// Goes on with the left; whether there is more of it.
    fn step(&mut self, plan: &Plan, out: &mut Output<ChangeBatch>) -> Result<bool> {
        for _ in 0..STEP_BATCHES {
            let Some(probe) = &mut self.probe else {
                let Probing { block, left, matched, read, .. } = self;
                self.probe = Probe::read(left, plan, block, matched, *read)?;
                match &self.probe {
                    Some(probe) => self.read += probe.len(),
                    None => return Ok(false),
                }
                continue;
            };
            match probe.step(plan, &mut self.block, &mut self.matched)? {
                Some(batch) => give(batch, out)?,
                None => {
                    if self.is_last {
                        give(probe.alone(plan, &self.matched)?, out)?;
                    }
                    self.probe = None;
                }
            }
            if !out.is_ready() {
                break;
            }
        }
        Ok(true)
    }
}

fn give(batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<()> {
    if !batch.is_empty() {
        let _ = out.push(batch)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_one_partition_spread_at_the_next_depth() {
        for depth in 0..DEPTH_MAX {
            let of_one = (0..20_000u32).map(|key| row_hash(&key.to_be_bytes()));
            let of_one = of_one.filter(|hash| partition_of(*hash, depth) == 3);
            let mut counts = [0; PARTITIONS];
            of_one.for_each(|hash| counts[partition_of(hash, depth + 1)] += 1);
            assert!(counts.iter().all(|count| (30..150).contains(count)), "depth {depth}: {counts:?}");
        }
    }
}
