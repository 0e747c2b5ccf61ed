//! The input that the engine, the hand-written loops and the peers share, and the sum that shows that they agree.

use flugs::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Event time of the first row, in milliseconds.
pub(crate) const BASE_MS: i64 = 1_436_918_400_000;
/// Length of a window, in milliseconds. `BASE_MS` is a multiple, so windows begin with the rows.
pub(crate) const WINDOW_MS: i64 = 5_000;
/// Rows of a millisecond of event time.
const ROWS_PER_MS: u64 = 1_000;

/// The finalizer of SplitMix64 in David Stafford's variant 13.
#[inline(always)]
pub(crate) fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Key and value of row `i`.
#[inline(always)]
pub(crate) fn sum_row(i: u64, keys: u64) -> (u64, u64) {
    let r = mix(i + 1);
    (((r >> 32) * keys) >> 32, r & 1023)
}

/// Event time of row `i`: a million rows a second.
#[inline(always)]
pub(crate) fn time_ms(i: u64) -> i64 {
    BASE_MS + (i / ROWS_PER_MS) as i64
}

/// The number of the window that a time in milliseconds is in.
#[inline(always)]
pub(crate) fn window_of(ms: i64) -> i64 {
    (ms - BASE_MS) / WINDOW_MS
}

/// The number of the window that a result with this event time is of.
#[inline(always)]
pub(crate) fn window_of_result(time: Timestamp) -> u64 {
    window_of(time.0.div_euclid(1_000)) as u64
}

/// Results and the sum of their hashes: equal for equal results in any order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Digest {
    pub(crate) results: u64,
    pub(crate) sum: u64,
}

impl Digest {
    /// Counts a result.
    #[inline(always)]
    pub(crate) fn add<const N: usize>(&mut self, result: [u64; N]) {
        self.results += 1;
        self.sum = self.sum.wrapping_add(result.iter().fold(7, |hash, x| mix(hash ^ x)));
    }

    /// The results of both.
    #[must_use]
    pub(crate) fn and(self, other: Digest) -> Digest {
        Digest { results: self.results + other.results, sum: self.sum.wrapping_add(other.sum) }
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{:016x}", self.results, self.sum)
    }
}

/// A digest that sinks add to.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedDigest(Arc<(AtomicU64, AtomicU64)>);

impl SharedDigest {
    /// Adds what a batch gave.
    pub(crate) fn add(&self, digest: Digest) {
        self.0.0.fetch_add(digest.results, Ordering::Relaxed);
        self.0.1.fetch_add(digest.sum, Ordering::Relaxed);
    }

    /// What was added so far.
    pub(crate) fn get(&self) -> Digest {
        Digest { results: self.0.0.load(Ordering::Relaxed), sum: self.0.1.load(Ordering::Relaxed) }
    }
}

/// How many words the text's vocabulary has.
pub(crate) const VOCABULARY: u64 = 10_000;
const POOL: usize = (1 << 16) + 1024;

/// A text of so many words out of 10 000 (3 to 10 letters each), ten a line.
pub(crate) fn text(words: u64) -> String {
    let pool: String = (0..POOL as u64).map(|i| char::from(b'a' + (letter(i) % 26) as u8)).collect();
    let vocabulary: Vec<&str> = (0..VOCABULARY)
        .map(|i| {
            let r = mix(i + 77);
            let start = (r & 0xffff) as usize;
            &pool[start..start + 3 + (r >> 60) as usize % 8]
        })
        .collect();
    let mut text = String::new();
    for i in 0..words {
        text.push_str(vocabulary[(((mix(i + 5) >> 32) * VOCABULARY) >> 32) as usize]);
        text.push(if i % 10 == 9 { '\n' } else { ' ' });
    }
    text
}

/// The letters of the peers' vocabulary, so that the words are theirs.
fn letter(i: u64) -> u64 {
    mix((3 * 131 + i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 99u64.wrapping_mul(0xd1b5_4a32_d192_ed03))
}

/// The text cut into pieces of about 64 KiB, at ends of lines.
pub(crate) fn pieces(text: &str) -> Vec<Arc<str>> {
    let mut rest = text;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let least = rest.len().min(64 << 10);
        let end = rest[least..].find('\n').map_or(rest.len(), |line| least + line + 1);
        pieces.push(Arc::from(&rest[..end]));
        rest = &rest[end..];
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_begin_with_the_rows() {
        assert_eq!(BASE_MS % WINDOW_MS, 0);
        assert_eq!((window_of(time_ms(4_999_999)), window_of(time_ms(5_000_000))), (0, 1));
        let last = Timestamp((BASE_MS + 2 * WINDOW_MS) * 1_000 - 1);
        assert_eq!(window_of_result(last), 1, "a result has the last instant of its window");
    }

    #[test]
    fn a_text_is_its_pieces() {
        let text = text(50_000);
        assert_eq!(text.split_ascii_whitespace().count(), 50_000);
        let pieces = pieces(&text);
        assert!(pieces.len() > 3 && pieces.iter().all(|p| p.ends_with('\n')));
        assert_eq!(pieces.concat(), text);
    }

    #[test]
    fn digests_do_not_depend_on_order() {
        let (mut a, mut b) = (Digest::default(), Digest::default());
        a.add([1, 2]);
        a.add([3, 4]);
        b.add([3, 4]);
        assert_ne!(a, b);
        let mut rest = Digest::default();
        rest.add([1, 2]);
        assert_eq!(b.and(rest), a);
    }
}
