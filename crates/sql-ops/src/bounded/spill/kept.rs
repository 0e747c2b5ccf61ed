//! Which of the records in order are needed.

use super::block::Record;
use crate::rank::RankKind;
use flugs_types::{Error, Result};

/// Which records of a sorter are given. Those that are not are dropped as early as may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::bounded) enum Kept {
    All,
    /// So many at most.
    First(u64),
    /// Of each group those up to this rank. Values are [grouped].
    Ranks {
        kind: RankKind,
        last: u64,
    },
}

/// A value that says how many of the key's bytes are that of its group: these four bytes stand before it.
pub(in crate::bounded) fn grouped(group: &[u8]) -> [u8; 4] {
    (group.len() as u32).to_le_bytes()
}

/// The bytes of the group and the value proper.
pub(in crate::bounded) fn ungrouped(record: Record<'_>) -> Result<(&[u8], &[u8])> {
    let split = record.value.split_first_chunk::<4>();
    let group = split.and_then(|(length, _)| record.key.get(..u32::from_le_bytes(*length) as usize));
    match (group, split) {
        (Some(group), Some((_, value))) => Ok((group, value)),
        _ => Err(Error::bug("a sorted row does not say what group it is of")),
    }
}

/// The ranks of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::bounded) struct Ranks {
    row_number: u64,
    rank: u64,
    dense: u64,
}

impl Ranks {
    pub(in crate::bounded) fn of(self, kind: RankKind) -> u64 {
        match kind {
            RankKind::RowNumber => self.row_number,
            RankKind::Rank => self.rank,
            RankKind::DenseRank => self.dense,
        }
    }
}

/// Ranks records that come in order.
#[derive(Debug, Default)]
pub(in crate::bounded) struct Ranking {
    key: Vec<u8>,
    group: usize,
    ranks: Ranks,
}

impl Ranking {
    /// The ranks of the next record.
    pub(in crate::bounded) fn next(&mut self, group: &[u8], key: &[u8]) -> Ranks {
        let any = self.ranks.row_number > 0;
        if !any || self.key[..self.group] != *group {
            self.ranks = Ranks { row_number: 1, rank: 1, dense: 1 };
        } else {
            self.ranks.row_number += 1;
            if self.key != key {
                self.ranks.rank = self.ranks.row_number;
                self.ranks.dense += 1;
            }
        }
        self.key.clear();
        self.key.extend_from_slice(key);
        self.group = group.len();
        self.ranks
    }
}

/// Decides of records that come in order.
#[derive(Debug)]
pub(super) struct Sieve {
    kept: Kept,
    seen: u64,
    ranking: Ranking,
}

impl Sieve {
    pub(super) fn new(kept: Kept) -> Self {
        Sieve { kept, seen: 0, ranking: Ranking::default() }
    }

    /// Whether no record behind is kept.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.kept, Kept::First(n) if self.seen >= n)
    }

    /// Whether the record is kept.
    pub(super) fn keeps(&mut self, record: Record<'_>) -> Result<bool> {
        match self.kept {
            Kept::All => Ok(true),
            Kept::First(n) => {
                self.seen += 1;
                Ok(self.seen <= n)
            }
            Kept::Ranks { kind, last } => {
                let (group, _) = ungrouped(record)?;
                Ok(self.ranking.next(group, record.key).of(kind) <= last)
            }
        }
    }
}
