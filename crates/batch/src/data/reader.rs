//! A bounds-checked cursor over encoded bytes.

use std::fmt;

/// Why bytes are not a value of the expected type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(pub(crate) String);

impl DecodeError {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        DecodeError(message.into())
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
}

impl<'a> Reader<'a> {
    /// A cursor at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
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

    /// A `u32` length of a sequence whose elements take at least `element_bytes_min` bytes each;
    /// refused where the input is too short to hold them.
    pub fn length(&mut self, element_bytes_min: usize) -> Result<usize, DecodeError> {
        let n = u32::from_le_bytes(self.array()?) as usize;
        if n.saturating_mul(element_bytes_min) > self.rest.len() {
            return Err(short(n.saturating_mul(element_bytes_min), self.rest.len()));
        }
        Ok(n)
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
