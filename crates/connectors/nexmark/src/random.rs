//! The random numbers of an event: SplitMix64 (Steele, Lea, Flood 2014), and the words made of them.

use std::fmt;
use std::hint::select_unpredictable;
use std::ops::Deref;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
pub(crate) fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Uniform in `0..n` from the upper half of a draw.
#[inline(always)]
pub(crate) fn below(draw: u64, n: u64) -> u64 {
    ((draw >> 32) * n) >> 32
}

/// A place in a sequence of draws. The state advances by a constant, so draws can be skipped or looked at in
/// any order for the price of an addition.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Draws(u64);

impl Draws {
    /// The draws of event `id`.
    #[inline(always)]
    pub(crate) fn of_event(seed: u64, id: u64) -> Self {
        Draws(mix(seed.wrapping_add(id)))
    }

    /// The draws that the shared pools of a seed are made of.
    pub(crate) fn of_pools(seed: u64) -> Self {
        Draws(mix(seed ^ 0x5eed))
    }

    #[cfg(test)]
    pub(crate) fn starting_at(state: u64) -> Self {
        Draws(state)
    }

    /// Behind the next `n` draws.
    #[inline(always)]
    pub(crate) fn skip(self, n: u64) -> Self {
        Draws(self.0.wrapping_add(GOLDEN.wrapping_mul(n)))
    }

    /// Behind the next `n` draws, or behind the next `m`. A draw decides which, so a branch would often be
    /// mispredicted.
    #[inline(always)]
    pub(crate) fn skip_either(self, first: bool, n: u64, m: u64) -> Self {
        Draws(select_unpredictable(first, self.skip(n).0, self.skip(m).0))
    }

    /// The draw that comes after `n` others.
    #[inline(always)]
    pub(crate) fn peek(self, n: u64) -> u64 {
        mix(self.skip(n + 1).0)
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> u64 {
        *self = self.skip(1);
        mix(self.0)
    }

    #[inline(always)]
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        below(self.next(), n)
    }

    /// A word of 3 to `max - 1` letters of which one in 13 is a `gap`; blanks at both ends are left out.
    pub(crate) fn word<const N: usize>(&mut self, to: &mut Letters<N>, max: u64, gap: u8) {
        let start = to.len;
        for _ in 0..3 + self.below(max - 3) {
            // A gap takes one draw and a letter two.
            let is_gap = below(self.peek(0), 13) == 0;
            let letter = select_unpredictable(is_gap, gap, b'a' + below(self.peek(1), 26) as u8);
            *self = self.skip_either(is_gap, 1, 2);
            to.bytes[to.len] = letter;
            to.len += usize::from(letter != b' ' || to.len > start);
        }
        while to.len > start && to.bytes[to.len - 1] == b' ' {
            to.len -= 1;
        }
    }
}

/// A short ASCII text, made in place: a `str`.
#[derive(Clone, Copy)]
pub struct Letters<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Letters<N> {
    pub(crate) fn new() -> Self {
        Letters { bytes: [0; N], len: 0 }
    }

    pub(crate) fn push(&mut self, letter: u8) {
        self.bytes[self.len] = letter;
        self.len += 1;
    }
}

impl<const N: usize> Deref for Letters<N> {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).expect("only ASCII is pushed")
    }
}

impl<const N: usize> fmt::Display for Letters<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl<const N: usize> fmt::Debug for Letters<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_can_be_looked_at_in_any_order() {
        let start = Draws::of_event(7, 42);
        let mut draws = start;
        let in_order: Vec<u64> = (0..10).map(|_| draws.next()).collect();
        assert!((0..10).rev().all(|n| start.peek(n) == in_order[n as usize]));
        assert_eq!(start.skip(4).peek(3), in_order[7]);
        // The reference implementation in C for the state 1234567.
        assert_eq!(Draws(1_234_567).peek(0), 6_457_827_717_110_365_317);
    }

    #[test]
    fn words_are_trimmed_at_both_ends_but_not_within() {
        let (mut blanks, mut short) = (0, 0);
        for id in 0..2000 {
            let mut word = Letters::<32>::new();
            word.push(b'@');
            Draws::of_event(1, id).word(&mut word, 20, b' ');
            let text = &word[1..];
            assert_eq!(text, text.trim());
            assert!(text.len() <= 19);
            blanks += usize::from(text.contains(' '));
            short += usize::from(text.len() < 3);
        }
        assert!(blanks > 200 && short > 0, "{blanks} {short}");
    }
}
