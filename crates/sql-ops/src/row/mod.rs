//! Rows as byte strings: keys of state, rows in state, sort keys.
//!
//! [`RowCodec`] turns columns into one byte string a row ([`EncodedRows`]) and back; [`RowBytes`] owns such a string and is a key of
//! keyed state. Two rows have equal bytes where SQL's `DISTINCT` calls them equal (NULL = NULL, -0.0 = 0.0, NaN = NaN), and
//! bytes compare as the rows do under the codec's [`SortOptions`]. Each column delimits itself, so that the bytes of leading
//! columns are a prefix of the row's.
//!
//! # Format, version 1
//!
//! A column is a marker, then its value. The marker is 1 before a value; of a NULL it is 0 where NULLs come first and 2 where they
//! come last. The value's bytes (not the marker) are inverted where the column is descending.
//!
//! | type | value |
//! | --- | --- |
//! | integers, dates, times, timestamps, decimals, year-month intervals | big-endian at their width, signed ones with the sign bit flipped |
//! | `BOOLEAN` | one byte, 0 or 1 |
//! | `FLOAT`, `DOUBLE` | IEEE bits, big-endian; negative ones inverted, others with the sign bit flipped; -0.0 as 0.0, NaN as one positive NaN |
//! | day-time intervals | months as above (4 bytes), then days and nanoseconds as one number of nanoseconds (16 bytes) |
//! | strings, bytes | the bytes, with 0 as 1 1 and 1 as 1 2; then 0 |
//! | arrays | for each element 1 and the element as a column; then 0 |
//! | maps, multisets | the same with key and value for each entry, in order of the keys' bytes |
//! | rows | the fields as columns |
//!
//! A NULL of a type of fixed width is followed by as many zeros as a value would take (inverted where the column is descending), any
//! other NULL by nothing. Inside arrays, maps and rows all is ascending and NULLs come first.

mod bytes;
mod codec;
mod decode;
mod encode;
mod fixed;
mod layout;

pub use bytes::{RowBytes, row_hash, same_bytes};
pub use codec::{EncodedRows, RowCodec, SortOptions, null_keys};

#[cfg(test)]
mod tests;
