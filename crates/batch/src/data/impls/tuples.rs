//! Tuples of one to eight elements.

use super::described;
use crate::data::{Data, DecodeError, Reader, Schema};

macro_rules! tuple {
    ($($t:ident $i:tt),*) => {
        impl<$($t: Data),*> Data for ($($t,)*) {
            const BYTES_MIN: usize = 0 $(+ $t::BYTES_MIN)*;

            described!(nesting => Schema::Tuple(vec![$($t::describe(nesting)),*]));

            #[inline]
            fn encode(&self, out: &mut Vec<u8>) {
                $(self.$i.encode(out);)*
            }

            #[inline]
            fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(($($t::decode(input)?,)*))
            }

            #[inline]
            fn heap_bytes(&self) -> usize {
                0 $(+ self.$i.heap_bytes())*
            }
        }
    };
}

tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
