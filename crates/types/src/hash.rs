//! The one hash of keys. It decides the key group of stored state, so it must never change unseen:
//! [`fingerprint_of_hashing`] goes into every manifest and is compared at restore.

use std::hash::{Hash, Hasher};

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const FOLD: u64 = 0xa076_1d64_78bd_642f;

/// One folded 64x64 -> 128 bit multiplication: every input bit reaches every output bit.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// One to seven bytes as a little-endian number. By two or three loads that may overlap: a copy of so few bytes whose number is
/// not known would cost more than all the rest.
#[inline(always)]
fn short_word(bytes: &[u8]) -> u64 {
    let n = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return u64::from(first) | u64::from(last) << (8 * (n - 4));
    }
    let byte = |i: usize| u64::from(bytes[i]) << (8 * i);
    byte(0) | byte(n / 2) | byte(n - 1)
}

/// The hasher of keys: a folded multiplication for each eight bytes, equal on every platform.
///
/// Not resistant to chosen collisions. The top 15 bits name the key group; tables use lower bits.
#[derive(Debug, Clone, Copy)]
pub struct KeyHasher(u64);

impl Default for KeyHasher {
    #[inline(always)]
    fn default() -> Self {
        KeyHasher(SEED)
    }
}

impl Hasher for KeyHasher {
    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
        let rest = chunks.remainder();
        if !rest.is_empty() {
            // The length goes in too: "a" and "a\0" differ.
            self.write_u64(short_word(rest) ^ ((rest.len() as u64) << 56));
        }
    }

    #[inline(always)]
    fn write_u64(&mut self, word: u64) {
        self.0 = fold(self.0 ^ word, FOLD);
    }

    #[inline(always)]
    fn write_u8(&mut self, x: u8) {
        self.write_u64(u64::from(x));
    }
    #[inline(always)]
    fn write_u16(&mut self, x: u16) {
        self.write_u64(u64::from(x));
    }
    #[inline(always)]
    fn write_u32(&mut self, x: u32) {
        self.write_u64(u64::from(x));
    }
    #[inline(always)]
    fn write_u128(&mut self, x: u128) {
        self.write_u64(x as u64);
        self.write_u64((x >> 64) as u64);
    }
    #[inline(always)]
    fn write_usize(&mut self, x: usize) {
        self.write_u64(x as u64);
    }
    #[inline(always)]
    fn write_i8(&mut self, x: i8) {
        self.write_u64(x as u64);
    }
    #[inline(always)]
    fn write_i16(&mut self, x: i16) {
        self.write_u64(x as u64);
    }
    #[inline(always)]
    fn write_i32(&mut self, x: i32) {
        self.write_u64(x as u64);
    }
    #[inline(always)]
    fn write_i64(&mut self, x: i64) {
        self.write_u64(x as u64);
    }
    #[inline(always)]
    fn write_i128(&mut self, x: i128) {
        self.write_u128(x as u128);
    }
    #[inline(always)]
    fn write_isize(&mut self, x: isize) {
        self.write_u64(x as u64);
    }
}

/// The hash of a key.
#[inline(always)]
pub fn hash_key<K: Hash + ?Sized>(key: &K) -> u64 {
    let mut hasher = KeyHasher::default();
    key.hash(&mut hasher);
    hasher.finish()
}

/// A stable hash of bytes, for fingerprints.
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = KeyHasher::default();
    hasher.write(bytes);
    hasher.write_u64(bytes.len() as u64);
    hasher.finish()
}

/// What the hashing of keys looks like in this build: the hash of probe keys of the usual types.
///
/// The standard library does not promise that `Hash` feeds a type's bytes in the same way for ever.
/// A snapshot made under another fingerprint must be re-hashed, not read by key group.
pub fn fingerprint_of_hashing() -> u64 {
    let probes = [
        hash_key(&1u64),
        hash_key(&-1i32),
        hash_key("flugs"),
        hash_key(&("a".to_owned(), 7u8)),
        hash_key(&Some(true)),
        hash_key(&[1u16, 2, 3][..]),
    ];
    probes.iter().fold(SEED, |acc, p| fold(acc ^ p, FOLD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashing_has_not_changed() {
        assert_eq!(
            fingerprint_of_hashing(),
            7_562_572_349_810_388_168,
            "a change here orphans stored keyed state"
        );
    }

    #[test]
    fn key_groups_are_even() {
        let mut seen = vec![0u32; 64];
        for k in 0..64_000u64 {
            seen[(hash_key(&k) >> 58) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
    }

    #[test]
    fn short_words_are_their_bytes() {
        for n in 1..8 {
            let bytes: Vec<u8> = (0..n).map(|i| 0x91 + 17 * i as u8).collect();
            let mut word = [0; 8];
            word[..n].copy_from_slice(&bytes);
            assert_eq!(short_word(&bytes), u64::from_le_bytes(word));
        }
    }

    #[test]
    fn a_trailing_zero_byte_counts() {
        assert_ne!(hash_bytes(b"a"), hash_bytes(b"a\0"));
        assert_ne!(hash_key("a"), hash_key("a\0"));
    }
}
