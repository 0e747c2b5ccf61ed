//! The word count by hand: words borrow from the text. On two threads each counts a half, and the small maps are merged.

use super::hand_table::fold;
use crate::figures::{Line, Table, best_of, timed};
use crate::options::Options;
use crate::rows::{Digest, mix, text};
use flugs::{Error, Result};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A folded product for each eight bytes.
#[derive(Default)]
struct WordHasher(u64);

impl Hasher for WordHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = fold(self.0 ^ u64::from_le_bytes(word));
        }
    }
}

type Counts<'t> = HashMap<&'t str, u64, BuildHasherDefault<WordHasher>>;

fn count(text: &str) -> Counts<'_> {
    let mut counts = Counts::default();
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte <= b' ' {
            if at > start {
                *counts.entry(&text[start..at]).or_insert(0) += 1;
            }
            start = at + 1;
        }
    }
    counts
}

fn count_halves(text: &str) -> Option<Counts<'_>> {
    let middle = text.len() / 2;
    let middle = text[middle..].find('\n').map_or(text.len(), |line| middle + line + 1);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| count(&text[middle..]));
        let mut counts = count(&text[..middle]);
        for (word, n) in second.join().ok()? {
            *counts.entry(word).or_insert(0) += n;
        }
        Some(counts)
    })
}

/// A word and its count as a result.
pub(super) fn result(word: &str, count: u64) -> [u64; 2] {
    (word.bytes().fold(0, |hash, byte| mix(hash ^ u64::from(byte))), count).into()
}

fn digest(counts: &Counts<'_>) -> Digest {
    let mut digest = Digest::default();
    counts.iter().for_each(|(word, n)| digest.add(result(word, *n)));
    digest
}

/// The results for this text.
pub(super) fn expected(text: &str) -> Digest {
    digest(&count(text))
}

pub(crate) fn run(options: &Options, table: &mut Table) -> Result<()> {
    let words = options.number("events", 20_000_000);
    let text = text(words);
    let one = best_of(options.runs(), || timed(|| Ok(digest(&count(&text)))))?;
    let line = Line::of_best("hand-words", words, &one).parameter("threads", 1);
    table.print(line.detail("results", one.made));
    let two = best_of(options.runs(), || {
        timed(|| {
            let counts = count_halves(&text).ok_or_else(|| Error::bug("a thread of the loop has failed"))?;
            Ok(digest(&counts))
        })
    })?;
    let same = if one.made == two.made { "yes" } else { "NO" };
    let line = Line::of_best("hand-words", words, &two).parameter("threads", 2);
    table.print(line.detail("results", two.made).detail("same_as_1_thread", same));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_words_however_they_are_cut() {
        let text = text(20_000);
        let mut sorted: Vec<&str> = text.split_ascii_whitespace().collect();
        sorted.sort_unstable();
        let mut expected = Digest::default();
        sorted.chunk_by(|a, b| a == b).for_each(|same| expected.add(result(same[0], same.len() as u64)));
        assert_eq!(digest(&count(&text)), expected);
        assert_eq!(count_halves(&text).map(|counts| digest(&counts)), Some(expected));
    }
}
