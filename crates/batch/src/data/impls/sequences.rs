//! Vectors, slices, arrays and queues.

use super::{check_elements, described, put_length};
use crate::data::{Data, DecodeError, Reader, Schema};
use std::collections::VecDeque;
use std::sync::Arc;

fn put<T: Data>(values: &[T], out: &mut Vec<u8>) {
    put_length(values.len(), out);
    let start = out.len();
    T::encode_slice(values, out);
    check_elements::<T>(values.len(), out.len() - start);
}

fn heap_bytes<T: Data>(values: &[T]) -> usize {
    values.iter().map(T::heap_bytes).sum()
}

impl<T: Data> Data for Vec<T> {
    const BYTES_MIN: usize = 4;

    described!(nesting => Schema::List(Box::new(T::describe(nesting))));

    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        put(self, out);
    }

    #[inline]
    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let n = input.length(T::BYTES_MIN)?;
        input.nested(|input| T::decode_vec(n, input))
    }

    fn heap_bytes(&self) -> usize {
        self.capacity() * size_of::<T>() + heap_bytes(self)
    }
}

macro_rules! slice {
    ($($t:ty, $extra_bytes:expr;)*) => {$(
        impl<T: Data> Data for $t {
            const BYTES_MIN: usize = 4;

            described!(nesting => Vec::<T>::describe(nesting));

            fn encode(&self, out: &mut Vec<u8>) {
                put(self, out);
            }

            fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Vec::decode(input).map(Self::from)
            }

            fn heap_bytes(&self) -> usize {
                $extra_bytes + size_of_val::<[T]>(self) + heap_bytes(self)
            }
        }
    )*};
}

slice! {
    Box<[T]>, 0;
    Arc<[T]>, 2 * size_of::<usize>();
}

impl<T: Data> Data for VecDeque<T> {
    const BYTES_MIN: usize = 4;

    described!(nesting => Vec::<T>::describe(nesting));

    fn encode(&self, out: &mut Vec<u8>) {
        put_length(self.len(), out);
        let start = out.len();
        let (front, back) = self.as_slices();
        T::encode_slice(front, out);
        T::encode_slice(back, out);
        check_elements::<T>(self.len(), out.len() - start);
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Vec::decode(input).map(Self::from)
    }

    fn heap_bytes(&self) -> usize {
        let (front, back) = self.as_slices();
        self.capacity() * size_of::<T>() + heap_bytes(front) + heap_bytes(back)
    }
}

impl<T: Data, const N: usize> Data for [T; N] {
    const BYTES_MIN: usize = N * T::BYTES_MIN;

    described!(nesting => {
        const { assert!(N <= u32::MAX as usize, "an array in a record has fewer than 2^32 elements") };
        Schema::Array(N as u32, Box::new(T::describe(nesting)))
    });

    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        T::encode_slice(self, out);
    }

    #[inline]
    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        T::decode_array(input)
    }

    fn heap_bytes(&self) -> usize {
        heap_bytes(self)
    }
}
