//! How records, keys and state values are written as bytes, and the schema that says what they are.
//!
//! The layout is fixed and little-endian: numbers at their natural width, a `u32` length before
//! strings and sequences, one tag byte for options, a `u32` ordinal for enum variants, fields in
//! order of declaration. There are no names or tags inside the bytes: the [`Schema`] is stored once
//! beside them, and a reader whose schema differs transcodes (see [`Transcoder`]).
//!
//! Bytes are never trusted: decoding checks every tag, length and nesting depth, and memory grows
//! only with the input that was really there.

mod impls;
mod reader;
mod schema;
mod transcode;

#[cfg(test)]
mod tests;

pub use reader::{DecodeError, Reader};
pub use schema::{Field, FieldDefault, Nesting, Schema, Variant};
pub use transcode::{Incompatible, Transcoder};

use std::hash::Hash;

/// How deep boxes, sequences and maps may stand inside one another in a value that is decoded. Only values of
/// recursive types can reach it.
pub const NESTING_MAX: u32 = 256;

/// How many elements a sequence may have whose bytes are fewer than its elements (such as a `Vec<()>`).
pub const EMPTY_ELEMENTS_MAX: usize = 1 << 16;

/// How many bytes a sequence reserves before it has seen its elements.
const RESERVE_BYTES_MAX: usize = 1 << 16;

/// A type whose values can cross an exchange and be kept in state.
///
/// Derive it: `#[derive(Data)]` on structs and enums whose fields are `Data`. It is implemented for
/// numbers, `bool`, `char`, strings, `Option`, `Result`, `Vec`, arrays, tuples up to eight, maps, sets, `Box`, `Arc`,
/// `Duration`, [`Timestamp`](flugs_types::Timestamp) and `()`.
///
/// A type may refer to itself through a `Box`, `Vec` or map; its values can be read back where they nest no deeper
/// than [`NESTING_MAX`]. Keep long chains in a `Vec`.
///
/// # Writing it by hand
///
/// `schema`, `encode` and `decode` are enough. A schema whose bytes are none of the given shapes is
/// [`Schema::Opaque`], and those bytes start with their own `u32` length. An overridden [`BYTES_MIN`](Data::BYTES_MIN)
/// must hold for every value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no encoding: it is not `Data`",
    label = "not `Data`",
    note = "put `#[derive(Clone, Data)]` on the type, or keep what it holds in types that are `Data`"
)]
pub trait Data: Clone + Send + Sync + 'static {
    /// The fewest bytes that a value takes; what a length found in the input is checked against.
    const BYTES_MIN: usize = 0;

    /// What the bytes mean. Equal schemas mean equal layouts.
    fn schema() -> Schema;

    /// [`schema`](Data::schema) inside the types named by `nesting`. Types with type parameters or fields forward
    /// it, so that a type that contains itself has a finite schema.
    fn describe(_nesting: &mut Nesting) -> Schema {
        Self::schema()
    }

    /// The encoded value of a field of this type that the writer did not have, where the type itself knows one:
    /// `None` of an `Option`.
    fn default_bytes() -> Option<Vec<u8>> {
        None
    }

    /// Appends the value's bytes.
    ///
    /// # Panics
    /// On a string or sequence of 2^32 or more elements, and on a sequence of more than [`EMPTY_ELEMENTS_MAX`] elements
    /// that take no bytes: neither could be read back.
    fn encode(&self, out: &mut Vec<u8>);

    /// Reads a value that was written by [`encode`](Data::encode) under an equal schema. Never panics, and never
    /// allocates more than the input can fill, whatever the bytes are.
    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError>;

    /// About how many bytes the value holds beyond its own size.
    fn heap_bytes(&self) -> usize {
        0
    }

    /// Appends the bytes of values in turn, without a length. Numbers do it in one copy.
    fn encode_slice(values: &[Self], out: &mut Vec<u8>) {
        for value in values {
            value.encode(out);
        }
    }

    /// Reads `n` values that stand in turn, `n` being checked by [`Reader::length`]. Numbers do it in one copy.
    fn decode_vec(n: usize, input: &mut Reader<'_>) -> Result<Vec<Self>, DecodeError> {
        let mut values = Vec::with_capacity(reservation::<Self>(n));
        for _ in 0..n {
            values.push(Self::decode(input)?);
        }
        Ok(values)
    }

    /// Reads `N` values that stand in turn. Numbers do it in one copy.
    fn decode_array<const N: usize>(input: &mut Reader<'_>) -> Result<[Self; N], DecodeError> {
        let mut failure = None;
        let slots: [Option<Self>; N] = std::array::from_fn(|_| match failure {
            None => Self::decode(input).map_err(|e| failure = Some(e)).ok(),
            Some(_) => None,
        });
        match failure {
            None => Ok(slots.map(|slot| slot.expect("a slot is empty only after a failure"))),
            Some(e) => Err(e),
        }
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

/// For how many of `n` announced elements room is made at once; the rest grows as they come.
fn reservation<T>(n: usize) -> usize {
    n.min(RESERVE_BYTES_MAX / size_of::<T>().max(1))
}
