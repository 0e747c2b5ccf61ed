//! Types around one value: `Option`, and those that leave no trace in the bytes.

use super::described;
use crate::data::{Data, DecodeError, Reader, Schema};
use std::cmp::Reverse;
use std::marker::PhantomData;
use std::sync::Arc;

impl<T: Data> Data for Option<T> {
    const BYTES_MIN: usize = 1;

    described!(nesting => Schema::Option(Box::new(T::describe(nesting))));

    fn default_bytes() -> Option<Vec<u8>> {
        Some(vec![0])
    }

    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            None => out.push(0),
            Some(value) => {
                out.push(1);
                value.encode(out);
            }
        }
    }

    #[inline]
    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        if input.tag("an option")? { T::decode(input).map(Some) } else { Ok(None) }
    }

    #[inline]
    fn heap_bytes(&self) -> usize {
        self.as_ref().map_or(0, T::heap_bytes)
    }
}

/// Pointers: a type that contains itself does so through one of these, so they count the depth.
macro_rules! pointer {
    ($($t:ident, $extra_bytes:expr;)*) => {$(
        impl<T: Data> Data for $t<T> {
            const BYTES_MIN: usize = T::BYTES_MIN;

            described!(nesting => T::describe(nesting));

            fn default_bytes() -> Option<Vec<u8>> {
                T::default_bytes()
            }

            #[inline]
            fn encode(&self, out: &mut Vec<u8>) {
                T::encode(self, out);
            }

            #[inline]
            fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
                input.nested(T::decode).map(Self::new)
            }

            #[inline]
            fn heap_bytes(&self) -> usize {
                $extra_bytes + size_of::<T>() + T::heap_bytes(self)
            }
        }
    )*};
}

pointer! {
    Box, 0;
    Arc, 2 * size_of::<usize>();
}

impl<T: Data> Data for Reverse<T> {
    const BYTES_MIN: usize = T::BYTES_MIN;

    described!(nesting => T::describe(nesting));

    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }

    #[inline]
    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        T::decode(input).map(Reverse)
    }

    #[inline]
    fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }
}

impl<T: Send + Sync + 'static> Data for PhantomData<T> {
    fn schema() -> Schema {
        Schema::Unit
    }

    fn default_bytes() -> Option<Vec<u8>> {
        Some(Vec::new())
    }

    #[inline]
    fn encode(&self, _out: &mut Vec<u8>) {}

    #[inline]
    fn decode(_input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(PhantomData)
    }
}
