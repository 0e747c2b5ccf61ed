//! A bounds-checked cursor over encoded bytes.

use super::{EMPTY_ELEMENTS_MAX, NESTING_MAX};
use std::fmt;

/// Why bytes are not a value of the expected type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(pub(crate) String);

impl DecodeError {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        DecodeError(message.into())
    }

    /// The enum `name` has no variant of this ordinal.
    #[cold]
    pub fn no_variant(name: &str, ordinal: u32) -> Self {
        DecodeError(format!("enum {name} has no variant number {ordinal}"))
    }

    #[cold]
    pub(super) fn bad_tag(what: &str, tag: u8) -> Self {
        DecodeError(format!("{what} starts with 0 or 1, not with {tag}"))
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DecodeError {}

/// A cursor over encoded bytes.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
    depth: u32,
}

impl<'a> Reader<'a> {
    /// A cursor at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes, depth: 0 }
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The next `n` bytes.
    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], DecodeError> {
        match self.rest.split_at_checked(n) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(short(n, self.rest.len())),
        }
    }

    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        match self.rest.split_first_chunk::<N>() {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(*taken)
            }
            None => Err(short(N, self.rest.len())),
        }
    }

    /// The next byte, which must be 0 or 1; `what` names what it starts.
    #[inline]
    pub(super) fn tag(&mut self, what: &str) -> Result<bool, DecodeError> {
        match self.array::<1>()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [tag] => Err(DecodeError::bad_tag(what, tag)),
        }
    }

    /// A `u32` length of a sequence whose elements take at least `element_bytes_min` bytes each;
    /// refused where the input is too short to hold them. Where elements may take no bytes at all, up to
    /// [`EMPTY_ELEMENTS_MAX`] are taken on trust.
    #[inline]
    pub fn length(&mut self, element_bytes_min: usize) -> Result<usize, DecodeError> {
        let n = u32::from_le_bytes(self.array()?) as usize;
        let want = n.saturating_mul(element_bytes_min.max(1));
        if want > self.rest.len() && (element_bytes_min > 0 || n > EMPTY_ELEMENTS_MAX) {
            return Err(short(want, self.rest.len()));
        }
        Ok(n)
    }

    /// Reads what stands one level deeper; refused below [`NESTING_MAX`] levels, so that damaged bytes of a recursive
    /// type cannot exhaust the stack.
    #[inline]
    pub fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        if self.depth == NESTING_MAX {
            return Err(too_deep());
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    /// Fails if bytes are left.
    pub fn finish(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(DecodeError(format!("{} bytes are left over", self.rest.len())))
    }
}

#[cold]
fn short(want: usize, have: usize) -> DecodeError {
    DecodeError(format!("{want} bytes expected, {have} left"))
}

#[cold]
fn too_deep() -> DecodeError {
    DecodeError(format!("the value nests deeper than {NESTING_MAX} levels"))
}
