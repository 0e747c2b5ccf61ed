//! Enums: `Result`, `Either`, `RowKind`.

use super::described;
use crate::Either;
use crate::data::{Data, DecodeError, Field, Reader, Schema, Variant};
use flugs_types::RowKind;

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

/// As an enum of four variants, in the order of their numbers.
impl Data for RowKind {
    const BYTES_MIN: usize = 4;

    fn schema() -> Schema {
        let variant = |name: &str| Variant { name: name.to_owned(), fields: Vec::new() };
        Schema::Enum {
            name: "RowKind".to_owned(),
            variants: ["Insert", "UpdateBefore", "UpdateAfter", "Delete"].map(variant).to_vec(),
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        (*self as u32).encode(out);
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match u32::decode(input)? {
            0 => RowKind::Insert,
            1 => RowKind::UpdateBefore,
            2 => RowKind::UpdateAfter,
            3 => RowKind::Delete,
            other => return Err(DecodeError::no_variant("RowKind", other)),
        })
    }
}
