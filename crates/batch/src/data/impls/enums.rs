//! The enums of two sides: `Result` and `Either`.

use super::described;
use crate::Either;
use crate::data::{Data, DecodeError, Field, Reader, Schema, Variant};

macro_rules! two_sided {
    ($t:ident, $first:ident, $second:ident) => {
        impl<A: Data, B: Data> Data for $t<A, B> {
            const BYTES_MIN: usize = 4;

            described!(nesting => nesting.enter::<Self>(|nesting| Schema::Enum {
                name: stringify!($t).to_owned(),
                variants: vec![
                    Variant { name: stringify!($first).to_owned(), fields: vec![Field::of::<A>("0", nesting)] },
                    Variant { name: stringify!($second).to_owned(), fields: vec![Field::of::<B>("0", nesting)] },
                ],
            }));

            fn encode(&self, out: &mut Vec<u8>) {
                match self {
                    $t::$first(value) => {
                        0u32.encode(out);
                        value.encode(out);
                    }
                    $t::$second(value) => {
                        1u32.encode(out);
                        value.encode(out);
                    }
                }
            }

            fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
                match u32::decode(input)? {
                    0 => A::decode(input).map($t::$first),
                    1 => B::decode(input).map($t::$second),
                    other => Err(DecodeError::no_variant(stringify!($t), other)),
                }
            }

            fn heap_bytes(&self) -> usize {
                match self {
                    $t::$first(value) => value.heap_bytes(),
                    $t::$second(value) => value.heap_bytes(),
                }
            }
        }
    };
}

two_sided!(Result, Ok, Err);
two_sided!(Either, Left, Right);
