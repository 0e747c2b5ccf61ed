//! A run: one immutable file with the state of one subtask of an operator at one instant.
//!
//! ```text
//! "FLUGRUN" version:u8
//! blocks of entries, one after the other without gaps
//! footer: uid, subtask, fingerprint of hashing, sections (name, schema, index of blocks)
//! footer bytes:u64  footer crc32:u32  "FLUGREND"
//! ```
//! A section is one table. Its entries stand in blocks, each with its crc32 and the key groups it spans in the index,
//! by which the blocks of a section are ordered. A block is checked when it is read and the footer when the
//! file is opened, so no damaged byte is taken for data. Numbers are little-endian.

mod reader;
mod writer;

pub use reader::{Block, RunReader, Section};
pub use writer::{LastPart, PieceWriter, RunWriter, SectionId};

const MAGIC: [u8; 8] = *b"FLUGRUN\x01";
const END: [u8; 8] = *b"FLUGREND";
/// Bytes after the footer.
const TAIL: usize = 8 + 4 + 8;
/// Bytes of a block's line in the index: offset, length, entries, first group, last group, crc.
const INDEX_LINE: usize = 8 + 8 + 4 + 2 + 2 + 4;

#[cfg(test)]
mod tests;
