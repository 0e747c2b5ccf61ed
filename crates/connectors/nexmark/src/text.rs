//! A string that is cheap to make: its own bytes, or a part of a pool that many share.

use flugs_batch::data::{DecodeError, Reader, Schema};
use flugs_batch::{CompactString, Data};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// A part of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

impl Span {
    pub(crate) const EMPTY: Self = Span { start: 0, len: 0 };

    #[inline(always)]
    pub(crate) fn of(self, pool: &str) -> &str {
        &pool[self.start as usize..self.start as usize + self.len as usize]
    }
}

/// Keeps a pool alive. Each batch of events has its own, so that threads which make, clone and drop texts of
/// different batches do not count in the same cache line.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Arc<str>>);

impl Pool {
    pub(crate) fn new(text: Arc<str>) -> Self {
        Pool(Arc::new(text))
    }

    #[inline(always)]
    pub(crate) fn text(&self, span: Span) -> Text {
        Text(Repr::Pooled { pool: self.clone(), span })
    }
}

/// An immutable string, 24 bytes: short ones in place, parts of the generator's pools by reference. Compares, hashes,
/// prints and is encoded as the `str` that it is.
#[derive(Clone)]
pub struct Text(Repr);

#[derive(Clone)]
enum Repr {
    Own(CompactString),
    Pooled { pool: Pool, span: Span },
}

impl Text {
    /// A text of its own.
    pub fn new(text: &str) -> Self {
        Text(Repr::Own(text.into()))
    }

    /// The string.
    #[inline]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Repr::Own(text) => text,
            Repr::Pooled { pool, span } => span.of(&pool.0),
        }
    }
}

impl Data for Text {
    const BYTES_MIN: usize = CompactString::BYTES_MIN;

    fn schema() -> Schema {
        CompactString::schema()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let text = self.as_str();
        out.extend_from_slice(&(text.len() as u32).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Text(Repr::Own(CompactString::decode(input)?)))
    }

    /// A pool is not counted: it is there once for all.
    fn heap_bytes(&self) -> usize {
        match &self.0 {
            Repr::Own(text) => text.heap_bytes(),
            Repr::Pooled { .. } => 0,
        }
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self
    }
}

impl Default for Text {
    fn default() -> Self {
        Text(Repr::Own(CompactString::const_new("")))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Text::new(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Text(Repr::Own(text.into()))
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_same_string_pooled_or_not() {
        assert_eq!(size_of::<Text>(), 24);
        let pool = Pool::new("a pool of letters".into());
        let (pooled, own) = (pool.text(Span { start: 2, len: 4 }), Text::new("pool"));
        assert_eq!((&pooled, pooled.as_str(), pooled.to_string()), (&own, "pool", "pool".to_owned()));
        assert_eq!(flugs_types::hash_key(&pooled), flugs_types::hash_key("pool"));
        assert_eq!((pooled.to_bytes(), Text::schema()), ("pool".to_owned().to_bytes(), String::schema()));
        assert_eq!(Text::from_bytes(&pooled.to_bytes()).unwrap(), own);
        assert_eq!((pooled.heap_bytes(), own.heap_bytes()), (0, 0));
        assert!(pooled < Text::new("pools") && pooled == "pool" && Text::default().is_empty());
    }
}
