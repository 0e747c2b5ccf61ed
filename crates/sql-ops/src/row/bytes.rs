//! An owned byte string that is short most of the time.

use flugs_batch::data::{Data, DecodeError, Reader, Schema};
use flugs_types::KeyHasher;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// The longest string that needs no allocation.
const INLINE_MAX: usize = 22;

/// A row as [`RowCodec`](super::RowCodec) encodes it, owned: a key or a value of state.
///
/// Up to 22 bytes stand in the value itself. Equality, order and hash are those of the bytes: `hash_key` of it is [`row_hash`].
#[derive(Clone, PartialEq, Eq)]
pub struct RowBytes(Repr);

/// A string is inline if and only if it is short enough, and bytes behind it are zero: so equality needs no length-dependent
/// comparison.
#[derive(Clone, Eq)]
enum Repr {
    Inline { len: u8, bytes: [u8; INLINE_MAX] },
    Heap(Box<[u8]>),
}

impl PartialEq for Repr {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Repr::Inline { len: n, bytes: a }, Repr::Inline { len: m, bytes: b }) => {
                n == m && same_bytes(a, b)
            }
            (Repr::Heap(a), Repr::Heap(b)) => a == b,
            _ => false,
        }
    }
}

/// The hash of a row's bytes: what `hash_key` gives for [`RowBytes`] of them.
#[inline(always)]
pub fn row_hash(bytes: &[u8]) -> u64 {
    let mut hasher = KeyHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

/// Whether two rows have the same bytes. Short ones are compared in pieces that may overlap, as keys mostly are: a call that looks for
/// the best way first costs more than they do.
#[inline(always)]
pub fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let n = a.len();
    if n != b.len() {
        return false;
    }
    if n > 24 {
        return a == b;
    }
    let ends = |bytes: &[u8]| Some((word(bytes.first_chunk()?), word(bytes.last_chunk()?)));
    let middle = |bytes: &[u8]| bytes[8..].first_chunk().map_or(0, word);
    match (ends(a), ends(b)) {
        (Some((a0, a1)), Some((b0, b1))) => ((a0 ^ b0) | (a1 ^ b1) | (middle(a) ^ middle(b))) == 0,
        _ => a.iter().zip(b).all(|(a, b)| a == b),
    }
}

impl RowBytes {
    /// Copies the bytes.
    #[inline]
    pub fn new(bytes: &[u8]) -> Self {
        if bytes.len() > INLINE_MAX {
            return RowBytes(Repr::Heap(bytes.into()));
        }
        RowBytes(Repr::Inline { len: bytes.len() as u8, bytes: short_copy(bytes) })
    }

    /// The bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Repr::Heap(bytes) => bytes,
        }
    }
}

/// At most 22 bytes, zeros behind them. Pieces that may overlap: a copy of so few bytes whose number is not known would cost more.
#[inline(always)]
fn short_copy(bytes: &[u8]) -> [u8; INLINE_MAX] {
    let mut to = [0; INLINE_MAX];
    let n = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk::<16>(), bytes.last_chunk::<16>()) {
        to[..16].copy_from_slice(first);
        to[n - 16..n].copy_from_slice(last);
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        to[..8].copy_from_slice(first);
        to[n - 8..n].copy_from_slice(last);
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        to[..4].copy_from_slice(first);
        to[n - 4..n].copy_from_slice(last);
    } else if n > 0 {
        to[0] = bytes[0];
        to[n / 2] = bytes[n / 2];
        to[n - 1] = bytes[n - 1];
    }
    to
}

impl Default for RowBytes {
    fn default() -> Self {
        RowBytes::new(&[])
    }
}

impl From<Vec<u8>> for RowBytes {
    fn from(bytes: Vec<u8>) -> Self {
        if bytes.len() > INLINE_MAX { RowBytes(Repr::Heap(bytes.into())) } else { RowBytes::new(&bytes) }
    }
}

impl From<&[u8]> for RowBytes {
    fn from(bytes: &[u8]) -> Self {
        RowBytes::new(bytes)
    }
}

impl Deref for RowBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl AsRef<[u8]> for RowBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for RowBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Hash for RowBytes {
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self);
    }
}

impl PartialOrd for RowBytes {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RowBytes {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

/// A `u32` length, then the bytes. The schema names the version of the format, so that rows of another are not read.
impl Data for RowBytes {
    const BYTES_MIN: usize = 4;

    fn schema() -> Schema {
        Schema::Opaque("sql.row/1".to_owned())
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let length = u32::try_from(self.len()).expect("a row has fewer than 2^32 bytes");
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(self);
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let n = input.length(1)?;
        input.take(n).map(RowBytes::new)
    }

    fn heap_bytes(&self) -> usize {
        match &self.0 {
            Repr::Inline { .. } => 0,
            Repr::Heap(bytes) => bytes.len(),
        }
    }
}
