//! How records, keys and state values are written as bytes, and the schema that says what they are.
//!
//! The layout is fixed and little-endian: numbers at their natural width, a `u32` length before
//! strings and sequences, one tag byte for options, a `u32` ordinal for enum variants, fields in
//! order of declaration. There are no names or tags inside the bytes: the [`Schema`] is stored once
//! beside them, and a reader whose schema differs transcodes (see [`transcode`]).

mod impls;
mod reader;
mod schema;
mod transcode;

pub use reader::{DecodeError, Reader};
pub use schema::{Field, FieldDefault, Schema, Variant};
pub use transcode::{Transcoder, transcode};

use std::hash::Hash;

/// A type whose values can cross an exchange and be kept in state.
///
/// Derive it: `#[derive(Data)]` on structs and enums whose fields are `Data`. It is implemented for
/// numbers, `bool`, `char`, strings, `Option`, `Vec`, arrays, tuples, maps, sets, `Box`, `Arc`,
/// `Duration`, [`Timestamp`](flugs_types::Timestamp) and `()`.
pub trait Data: Clone + Send + Sync + 'static {
    /// What the bytes mean. Equal schemas mean equal layouts.
    fn schema() -> Schema;

    /// Appends the value's bytes.
    fn encode(&self, out: &mut Vec<u8>);

    /// Reads a value that was written by [`encode`](Data::encode) under an equal schema. Never panics, and never
    /// allocates more than the input can fill, whatever the bytes are.
    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError>;

    /// About how many bytes the value holds beyond its own size.
    fn heap_bytes(&self) -> usize {
        0
    }

    /// Encodes into a fresh buffer.
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(&mut out);
        out
    }

    /// Decodes all of `bytes`; bytes left over are an error.
    fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = Self::decode(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }
}

/// A type that can be a key: hashed for its key group, ordered so that state files and timers are
/// deterministic.
pub trait Key: Data + Eq + Hash + Ord {}

impl<T: Data + Eq + Hash + Ord> Key for T {}
