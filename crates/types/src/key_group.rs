//! Key groups: the fixed 32,768 shards of every keyed state. A subtask owns a contiguous range.

use crate::SubtaskId;

/// How many key groups there are. Fixed for ever, so there is no max parallelism to choose.
pub const KEY_GROUPS: u32 = 1 << 15;

/// A shard of keyed state: the top 15 bits of a key's hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyGroup(pub u16);

impl KeyGroup {
    /// The key group of a key with this hash (see [`hash_key`](crate::hash_key)).
    #[inline(always)]
    pub fn of_hash(hash: u64) -> Self {
        KeyGroup((hash >> 49) as u16)
    }

    /// The subtask, of `parallelism`, that owns this group.
    #[inline(always)]
    pub fn owner(self, parallelism: u32) -> u32 {
        (u32::from(self.0) * parallelism) / KEY_GROUPS
    }
}

/// The key groups `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyGroupRange {
    /// First group.
    pub start: u32,
    /// One past the last group.
    pub end: u32,
}

impl KeyGroupRange {
    /// All key groups.
    pub const ALL: Self = KeyGroupRange { start: 0, end: KEY_GROUPS };

    /// The groups that a subtask owns: those `g` for which `g.owner(parallelism) == index`.
    pub fn of(subtask: SubtaskId) -> Self {
        let bound = |i: u32| (i * KEY_GROUPS).div_ceil(subtask.parallelism);
        KeyGroupRange { start: bound(subtask.index), end: bound(subtask.index + 1) }
    }

    /// Whether the group is within.
    #[inline(always)]
    pub fn contains(self, group: KeyGroup) -> bool {
        (self.start..self.end).contains(&u32::from(group.0))
    }

    /// Whether the two share a group.
    pub fn intersects(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_partition_the_groups_and_agree_with_owner() {
        for parallelism in [1, 2, 3, 7, 8, 100, 128, 1000, 32_768] {
            let mut next = 0;
            for index in 0..parallelism {
                let range = KeyGroupRange::of(SubtaskId::new(index, parallelism));
                assert_eq!(range.start, next);
                next = range.end;
                for g in range.start..range.end {
                    assert_eq!(KeyGroup(g as u16).owner(parallelism), index);
                }
            }
            assert_eq!(next, KEY_GROUPS);
        }
    }
}
