//! `Data` of the standard types.

use super::{Data, DecodeError, Reader, Schema};
use flugs_types::Timestamp;

macro_rules! number {
    ($($t:ty => $schema:expr),* $(,)?) => {$(
        impl Data for $t {
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
        }
    )*};
}

number! {
    i8 => Schema::Int(8), i16 => Schema::Int(16), i32 => Schema::Int(32), i64 => Schema::Int(64), i128 => Schema::Int(128),
    u8 => Schema::UInt(8), u16 => Schema::UInt(16), u32 => Schema::UInt(32), u64 => Schema::UInt(64), u128 => Schema::UInt(128),
    f32 => Schema::Float(32), f64 => Schema::Float(64),
}

impl Data for Timestamp {
    fn schema() -> Schema {
        Schema::Timestamp
    }

    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }

    #[inline]
    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Timestamp(i64::decode(input)?))
    }
}

impl Data for String {
    fn schema() -> Schema {
        Schema::String
    }

    fn encode(&self, out: &mut Vec<u8>) {
        (self.len() as u32).encode(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let n = input.length(1)?;
        let text = std::str::from_utf8(input.take(n)?).map_err(|e| DecodeError(format!("invalid UTF-8: {e}")))?;
        Ok(text.to_owned())
    }

    fn heap_bytes(&self) -> usize {
        self.capacity()
    }
}
