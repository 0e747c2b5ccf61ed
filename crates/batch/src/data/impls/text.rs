//! Strings: a `u32` length in bytes, then UTF-8.

use super::put_length;
use crate::data::{Data, DecodeError, Reader, Schema};
use compact_str::CompactString;
use std::sync::Arc;

#[inline]
fn put(text: &str, out: &mut Vec<u8>) {
    put_length(text.len(), out);
    out.extend_from_slice(text.as_bytes());
}

#[inline]
fn text<'a>(input: &mut Reader<'a>) -> Result<&'a str, DecodeError> {
    let n = input.length(1)?;
    std::str::from_utf8(input.take(n)?).map_err(no_text)
}

#[cold]
fn no_text(e: std::str::Utf8Error) -> DecodeError {
    DecodeError(format!("a string is not UTF-8: {e}"))
}

macro_rules! text {
    ($($t:ty, $heap_bytes:expr;)*) => {$(
        impl Data for $t {
            const BYTES_MIN: usize = 4;

            fn schema() -> Schema {
                Schema::String
            }

            #[inline]
            fn encode(&self, out: &mut Vec<u8>) {
                put(self, out);
            }

            #[inline]
            fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
                text(input).map(Self::from)
            }

            #[inline]
            fn heap_bytes(&self) -> usize {
                let heap_bytes: fn(&Self) -> usize = $heap_bytes;
                heap_bytes(self)
            }
        }
    )*};
}

text! {
    String, |s| s.capacity();
    CompactString, |s| if s.is_heap_allocated() { s.capacity() } else { 0 };
    Box<str>, |s| s.len();
    Arc<str>, |s| s.len() + 2 * size_of::<usize>();
}
