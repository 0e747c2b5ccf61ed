//! Record formats over bytes: [`Json`] lines, [`Csv`] and plain [`Lines`], and what every connector that
//! reads bytes needs besides: finding where records end ([`Cutter`]) and reading ahead ([`Feed`]).
//!
//! A format is a small cloneable value. It says how bytes are cut into records ([`Framing`]) and decodes and
//! encodes one record at a time; files, sockets and queues take any of them. This crate knows nothing of files,
//! sockets, splits or tasks, and no memory here grows with the length of a record beyond a stated bound.

#[cfg(feature = "arrow")]
pub mod columns;
mod csv;
mod cutter;
mod feed;
mod format;
mod framing;
mod json;
mod lines;
pub mod rfc3339;

pub use csv::{Csv, CsvDecoder, CsvEncoder};
pub use cutter::{Chunk, Cutter, RAW_BYTES_MAX};
pub use feed::{Feed, Pull};
pub use format::{Decode, DecodeError, Encode, InputFormat, OutputFormat};
pub use framing::{Framer, Framing};
pub use json::{Json, JsonDecoder, JsonEncoder};
pub use lines::{Line, Lines, LinesDecoder, LinesEncoder};
