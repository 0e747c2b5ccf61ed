//! `Data` of the standard types, by kind.

mod enums;
mod maps;
mod numbers;
mod sequences;
mod text;
mod tuples;
mod wrappers;

use super::{Data, EMPTY_ELEMENTS_MAX};

/// `schema` and `describe` of a type that contains others.
macro_rules! described {
    ($nesting:ident => $schema:expr) => {
        fn schema() -> $crate::data::Schema {
            Self::describe(&mut $crate::data::Nesting::default())
        }

        fn describe($nesting: &mut $crate::data::Nesting) -> $crate::data::Schema {
            $schema
        }
    };
}
use described;

/// Writes the length of a string or sequence.
#[inline]
fn put_length(n: usize, out: &mut Vec<u8>) {
    u32::try_from(n).expect("a string or sequence in a record has fewer than 2^32 elements").encode(out);
}

/// Refuses, when it is written, a sequence that [`length`](super::Reader::length) would refuse when it is read.
#[inline]
fn check_elements<T: Data>(n: usize, bytes: usize) {
    if T::BYTES_MIN == 0 {
        assert!(
            n <= EMPTY_ELEMENTS_MAX || bytes >= n,
            "a sequence of {n} elements that take no bytes cannot be encoded, at most {EMPTY_ELEMENTS_MAX} can",
        );
    }
}
