//! Numbers, `bool`, `char`, `()` and time. Slices of numbers are copied as a whole.

use crate::data::{Data, DecodeError, Reader, Schema};
use flugs_types::Timestamp;
use std::num::Wrapping;
use std::time::Duration;

/// A number type: no padding, no invalid bytes.
///
/// # Safety
/// Every byte of a value must be initialized.
unsafe trait Number: Copy {}

/// The memory of a slice of numbers, which is their encoding where the machine is little-endian.
#[cfg(target_endian = "little")]
fn memory<T: Number>(values: &[T]) -> &[u8] {
    // SAFETY: the pointer and size are those of a live slice, which stays borrowed as long as the
    // result; `u8` has no alignment; `Number` promises that every byte is initialized.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

macro_rules! number {
    ($($t:ty => $schema:expr),* $(,)?) => {$(
        // SAFETY: a primitive number has no padding.
        unsafe impl Number for $t {}

        impl Data for $t {
            const BYTES_MIN: usize = size_of::<$t>();

            fn schema() -> Schema {
                $schema
            }

            #[inline]
            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(<$t>::from_le_bytes(input.array()?))
            }

            #[inline]
            #[cfg(target_endian = "little")]
            fn encode_slice(values: &[Self], out: &mut Vec<u8>) {
                out.extend_from_slice(memory(values));
            }

            #[inline]
            fn decode_vec(n: usize, input: &mut Reader<'_>) -> Result<Vec<Self>, DecodeError> {
                let bytes = input.take(n.saturating_mul(size_of::<$t>()))?;
                let (chunks, _) = bytes.as_chunks();
                Ok(chunks.iter().map(|chunk| <$t>::from_le_bytes(*chunk)).collect())
            }

            #[inline]
            fn decode_array<const N: usize>(input: &mut Reader<'_>) -> Result<[Self; N], DecodeError> {
                let bytes = input.take(N.saturating_mul(size_of::<$t>()))?;
                let (chunks, _) = bytes.as_chunks();
                Ok(std::array::from_fn(|i| <$t>::from_le_bytes(chunks[i])))
            }
        }
    )*};
}

number! {
    i8 => Schema::Int(8), i16 => Schema::Int(16), i32 => Schema::Int(32), i64 => Schema::Int(64), i128 => Schema::Int(128),
    u8 => Schema::UInt(8), u16 => Schema::UInt(16), u32 => Schema::UInt(32), u64 => Schema::UInt(64), u128 => Schema::UInt(128),
    f32 => Schema::Float(32), f64 => Schema::Float(64),
}

/// Types that are written as another one.
macro_rules! as_another {
    ($($t:ty as $other:ty: $schema:expr, $to:expr, $from:expr;)*) => {$(
        impl Data for $t {
            const BYTES_MIN: usize = <$other>::BYTES_MIN;

            fn schema() -> Schema {
                $schema
            }

            #[inline]
            fn encode(&self, out: &mut Vec<u8>) {
                let to: fn($t) -> $other = $to;
                to(*self).encode(out);
            }

            #[inline]
            fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
                let from: fn($other) -> Result<$t, DecodeError> = $from;
                from(<$other>::decode(input)?)
            }
        }
    )*};
}

as_another! {
    usize as u64: Schema::UInt(64), |x| x as u64, |x| usize::try_from(x).map_err(|_| too_wide(x));
    isize as i64: Schema::Int(64), |x| x as i64, |x| isize::try_from(x).map_err(|_| too_wide(x));
    char as u32: Schema::Char, u32::from, |x| char::from_u32(x).ok_or_else(|| no_char(x));
    Timestamp as i64: Schema::Timestamp, |t| t.0, |x| Ok(Timestamp(x));
}

#[cold]
fn too_wide(x: impl std::fmt::Display) -> DecodeError {
    DecodeError(format!("{x} is out of the range of this machine's word"))
}

#[cold]
fn no_char(x: u32) -> DecodeError {
    DecodeError(format!("{x:#x} is no Unicode character"))
}

impl Data for bool {
    const BYTES_MIN: usize = 1;

    fn schema() -> Schema {
        Schema::Bool
    }

    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    #[inline]
    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        input.tag("a bool")
    }
}

impl Data for () {
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
        Ok(())
    }
}

impl Data for Duration {
    const BYTES_MIN: usize = 12;

    fn schema() -> Schema {
        Schema::Duration
    }

    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        self.as_secs().encode(out);
        self.subsec_nanos().encode(out);
    }

    #[inline]
    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (secs, nanos) = (u64::decode(input)?, u32::decode(input)?);
        if nanos >= 1_000_000_000 {
            return Err(DecodeError(format!("a duration has {nanos} nanoseconds below its second")));
        }
        Ok(Duration::new(secs, nanos))
    }
}

impl<T: Data> Data for Wrapping<T> {
    const BYTES_MIN: usize = T::BYTES_MIN;

    super::described!(nesting => T::describe(nesting));

    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }

    #[inline]
    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Wrapping(T::decode(input)?))
    }
}
