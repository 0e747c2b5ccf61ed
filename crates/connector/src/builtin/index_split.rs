//! Splits of the numbers 0, 1, 2, ...: residue classes of blocks, and the cursor that merges those of a reader.
//!
//! There are more classes than readers, and their number never changes after the first start, so that
//! they can move between readers of another parallelism and each number is read exactly once. Reader `k` of
//! `P` starts with the classes `k, k + P, ...` of a multiple of `P`; merged, they are the blocks
//! `k, k + P, k + 2P, ...`: readers advance through the numbers side by side.

use crate::Split;
use flugs_types::{Error, Result};
use std::collections::VecDeque;
use std::ops::Range;

/// Numbers end here, so that arithmetic on them cannot overflow.
pub(super) const INDEX_MAX: u64 = 1 << 62;
/// About so many classes, so that they fall evenly to most parallelisms.
const CLASSES: u32 = 120;
/// At least so many for each first reader: room to scale out.
const CLASSES_PER_READER: u32 = 4;

const VERSION: u8 = 1;

/// How many classes a source starts with: a multiple of the number of readers.
fn classes_for(parallelism: u32) -> u32 {
    parallelism * CLASSES.div_ceil(parallelism).max(CLASSES_PER_READER)
}

/// The first splits of each of `parallelism` readers.
pub(super) fn first_shares(parallelism: u32, block: u64) -> Vec<Vec<Split>> {
    let classes = classes_for(parallelism);
    let of_reader = |reader: u32| (reader..classes).step_by(parallelism as usize);
    (0..parallelism)
        .map(|reader| {
            of_reader(reader).map(|class| IndexSplit::new(class, classes, block).to_split()).collect()
        })
        .collect()
}

/// The blocks `class, class + classes, class + 2 * classes, ...` and how far they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexSplit {
    class: u32,
    classes: u32,
    /// Numbers in a block.
    block: u64,
    /// The next number to read.
    next: u64,
}

impl IndexSplit {
    fn new(class: u32, classes: u32, block: u64) -> Self {
        IndexSplit { class, classes, block, next: u64::from(class) * block }
    }

    pub(super) fn id(&self) -> String {
        format!("{}/{}", self.class, self.classes)
    }

    pub(super) fn to_split(self) -> Split {
        let mut payload = vec![VERSION];
        payload.extend(self.class.to_le_bytes());
        payload.extend(self.classes.to_le_bytes());
        payload.extend(self.block.to_le_bytes());
        payload.extend(self.next.to_le_bytes());
        Split { id: self.id(), payload }
    }

    pub(super) fn from_split(split: &Split) -> Result<Self> {
        Self::parse(&split.payload).ok_or_else(|| {
            Error::state("the position in the split is not readable")
                .at(format!("split '{}'", split.id.escape_default()))
                .mend("restore with the source that wrote the checkpoint, or under another uid")
        })
    }

    fn parse(payload: &[u8]) -> Option<Self> {
        let (&[VERSION], rest) = payload.split_first_chunk()? else { return None };
        let (class, rest) = rest.split_first_chunk()?;
        let (classes, rest) = rest.split_first_chunk()?;
        let (block, rest) = rest.split_first_chunk()?;
        let next = rest.try_into().ok()?;
        let split = IndexSplit {
            class: u32::from_le_bytes(*class),
            classes: u32::from_le_bytes(*classes),
            block: u64::from_le_bytes(*block),
            next: u64::from_le_bytes(next),
        };
        let IndexSplit { class, classes, block, next } = split;
        let sound = class < classes
            && block > 0
            && u64::from(classes).checked_mul(block).is_some_and(|stride| stride < INDEX_MAX)
            && next <= INDEX_MAX * 2
            && next / block % u64::from(classes) == u64::from(class);
        sound.then_some(split)
    }

    /// Numbers left in the block that `next` is in.
    fn left_in_block(&self) -> u64 {
        self.block - self.next % self.block
    }

    /// Steps over `n` numbers of the block.
    fn advance(&mut self, n: u64) {
        let left = self.left_in_block();
        debug_assert!(n <= left);
        self.next += n;
        if n == left {
            self.next += u64::from(self.classes - 1) * self.block;
        }
    }
}

/// The splits of one reader, read lowest number first.
#[derive(Debug, Default)]
pub(super) struct IndexCursor {
    /// Sorted by `next`. Classes of one stride leave at the front and come back at the end.
    splits: VecDeque<IndexSplit>,
}

impl IndexCursor {
    pub(super) fn add(&mut self, split: IndexSplit) {
        let after = self.splits.iter().rposition(|other| other.next <= split.next);
        self.splits.insert(after.map_or(0, |i| i + 1), split);
    }

    /// The lowest number not yet read.
    pub(super) fn next(&self) -> Option<u64> {
        self.splits.front().map(|split| split.next)
    }

    pub(super) fn splits(&self) -> impl Iterator<Item = &IndexSplit> {
        self.splits.iter()
    }

    /// Takes the next numbers: at most `max`, all below `limit`, and as many as follow each other.
    pub(super) fn take(&mut self, limit: u64, max: u64) -> Option<Range<u64>> {
        let start = self.next().filter(|&next| next < limit && max > 0)?;
        let stop = limit.min(start.saturating_add(max));
        let mut end = start;
        while let Some(split) = self.splits.front_mut().filter(|split| split.next == end && end < stop) {
            let n = split.left_in_block().min(stop - end);
            split.advance(n);
            end += n;
            self.settle_front();
        }
        Some(start..end)
    }

    /// Moves the front, which has just advanced, to where it belongs.
    fn settle_front(&mut self) {
        let Some(&front) = self.splits.front() else { return };
        if self.splits.get(1).is_none_or(|second| front.next <= second.next) {
            return;
        }
        self.splits.pop_front();
        self.add(front);
    }

    /// Takes out the splits that have nothing below `end` any more.
    pub(super) fn take_finished(&mut self, end: u64) -> Vec<IndexSplit> {
        let first = self.splits.partition_point(|split| split.next < end);
        self.splits.drain(first..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(splits: &[Split]) -> IndexCursor {
        let mut cursor = IndexCursor::default();
        for split in splits {
            cursor.add(IndexSplit::from_split(split).unwrap());
        }
        cursor
    }

    #[test]
    fn reader_k_of_p_reads_every_pth_block_in_order() {
        for (parallelism, block) in [(1, 50), (2, 50), (3, 1), (7, 4), (200, 3)] {
            for (share, k) in first_shares(parallelism, block).iter().zip(0u64..) {
                let mut cursor = cursor(share);
                let mut seen = Vec::new();
                while let Some(range) = cursor.take(10_000, 33) {
                    assert!(range.end - range.start <= 33);
                    seen.extend(range);
                }
                let want: Vec<u64> =
                    (0..10_000).filter(|i| i / block % u64::from(parallelism) == k).collect();
                assert_eq!(seen, want, "reader {k} of {parallelism}");
            }
        }
    }

    #[test]
    fn neighbouring_blocks_are_taken_in_one_range() {
        let mut cursor = cursor(&first_shares(1, 50)[0]);
        assert_eq!(cursor.take(INDEX_MAX, 4096), Some(0..4096));
        assert_eq!(cursor.take(INDEX_MAX, 1), Some(4096..4097));
        assert_eq!(cursor.take(4100, 4096), Some(4097..4100));
        assert_eq!(cursor.take(4100, 4096), None);
        assert_eq!(cursor.next(), Some(4100));
    }

    #[test]
    fn a_class_that_lags_is_read_first() {
        let shares = first_shares(2, 10);
        let (mut ahead, behind) = (cursor(&shares[0]), cursor(&shares[1]));
        while ahead.take(500, 100).is_some() {}
        for split in behind.splits() {
            ahead.add(*split);
        }
        assert_eq!(ahead.take(1000, 100), Some(10..20));
        assert_eq!(ahead.take(1000, 100), Some(30..40));
        while ahead.take(500, 100).is_some() {}
        assert_eq!(ahead.take(1000, 100), Some(500..600));
    }

    #[test]
    fn classes_are_a_multiple_of_the_readers() {
        for (parallelism, classes) in [(1, 120), (2, 120), (7, 126), (16, 128), (120, 480), (1000, 4000)] {
            assert_eq!(classes_for(parallelism), classes);
        }
    }

    #[test]
    fn refuses_positions_that_are_none() {
        let good = IndexSplit::new(3, 8, 50).to_split();
        assert_eq!(
            IndexSplit::from_split(&good).unwrap(),
            IndexSplit { class: 3, classes: 8, block: 50, next: 150 }
        );
        for cut in 0..good.payload.len() {
            let split = Split { id: "3/8".into(), payload: good.payload[..cut].to_vec() };
            assert!(IndexSplit::from_split(&split).is_err());
        }
        for at in 0..good.payload.len() {
            let mut split = good.clone();
            split.payload[at] = 0xff;
            // Only a number within the right class may pass.
            if let Ok(parsed) = IndexSplit::from_split(&split) {
                assert_eq!(parsed.next / parsed.block % u64::from(parsed.classes), u64::from(parsed.class));
            }
        }
    }
}
