//! Columns of strings, written row by row.

use super::data_error;
use arrow::array::{ArrayRef, StringViewArray};
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};
use datafusion_common::Result;
use std::fmt;
use std::sync::Arc;

/// Up to this many bytes a string lies in its view.
pub(super) const INLINE: usize = 12;
/// A buffer is closed once it has this many bytes.
const BLOCK_BYTES: usize = 1 << 20;
/// The most bytes a function may make a string of; longer ones fail the query.
pub(crate) const STRING_BYTES_MAX: usize = 64 << 20;
/// The most bytes a function may give for one batch of rows.
const COLUMN_BYTES_MAX: usize = 1 << 30;

/// The string of the row being written. It can only grow.
pub(crate) struct Text<'a>(&'a mut String);

impl Text<'_> {
    /// Appends a string.
    pub(crate) fn push_str(&mut self, part: &str) {
        self.0.push_str(part);
    }

    /// Appends a character.
    pub(crate) fn push(&mut self, c: char) {
        self.0.push(c);
    }
}

impl fmt::Write for Text<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.0.push_str(part);
        Ok(())
    }
}

/// Writes a column of strings.
pub(crate) struct TextWriter {
    views: Vec<u128>,
    valid: Vec<bool>,
    nulls: bool,
    block: String,
    blocks: Vec<Buffer>,
    bytes: usize,
}

impl TextWriter {
    /// A writer of about this many rows.
    pub(crate) fn new(rows: usize) -> Self {
        let (views, valid) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        TextWriter { views, valid, nulls: false, block: String::new(), blocks: Vec::new(), bytes: 0 }
    }

    /// A NULL.
    pub(crate) fn push_null(&mut self) {
        self.views.push(0);
        self.valid.push(false);
        self.nulls = true;
    }

    /// A string.
    pub(crate) fn push(&mut self, text: &str) -> Result<()> {
        if text.len() <= INLINE {
            self.views.push(inline(text.as_bytes()));
            self.valid.push(true);
            return Ok(());
        }
        self.write(|row| {
            row.push_str(text);
            Ok(true)
        })
    }

    /// A string as `edit` changes it, keeping its length.
    pub(crate) fn push_edited(&mut self, text: &str, edit: fn(&mut str)) -> Result<()> {
        if text.len() > INLINE {
            return self.write(|row| {
                let start = row.0.len();
                row.0.push_str(text);
                edit(&mut row.0[start..]);
                Ok(true)
            });
        }
        let mut short = [0; INLINE];
        let short = &mut short[..text.len()];
        short.copy_from_slice(text.as_bytes());
        edit(std::str::from_utf8_mut(short).expect("a copy of a string is one"));
        self.views.push(inline(short));
        self.valid.push(true);
        Ok(())
    }

    /// A string that `fill` writes; NULL where it gives false.
    pub(crate) fn write(&mut self, fill: impl FnOnce(&mut Text<'_>) -> Result<bool>) -> Result<()> {
        let start = self.block.len();
        if !fill(&mut Text(&mut self.block))? {
            self.block.truncate(start);
            self.push_null();
            return Ok(());
        }
        let text = &self.block.as_bytes()[start..];
        let length = text.len();
        self.valid.push(true);
        if length <= INLINE {
            self.views.push(inline(text));
            self.block.truncate(start);
            return Ok(());
        }
        self.bytes += length;
        if length > STRING_BYTES_MAX || self.bytes > COLUMN_BYTES_MAX {
            return Err(too_long(length));
        }
        let prefix = u32::from_le_bytes([text[0], text[1], text[2], text[3]]);
        self.views.push(
            length as u128
                | u128::from(prefix) << 32
                | (self.blocks.len() as u128) << 64
                | (start as u128) << 96,
        );
        if self.block.len() >= BLOCK_BYTES {
            self.close_block();
        }
        Ok(())
    }

    fn close_block(&mut self) {
        let block = std::mem::take(&mut self.block);
        self.blocks.push(Buffer::from_vec(block.into_bytes()));
    }

    /// The column.
    pub(crate) fn finish(mut self) -> ArrayRef {
        if !self.block.is_empty() {
            self.close_block();
        }
        let nulls = self.nulls.then(|| NullBuffer::from(self.valid));
        let views = ScalarBuffer::from(self.views);
        // SAFETY: every view was made by `push` or `write` of a whole `str`: a short one holds its bytes and zeros behind them;
        // a long one holds its length, its first four bytes, the number its block got when it was closed, and where in the
        // block the row began. A block is a `String` that only grew (`Text` can do nothing else; `truncate` goes back to where
        // the row began), so both ends of a row stand between characters. There is one validity bit for each view.
        Arc::new(unsafe { StringViewArray::new_unchecked(views, self.blocks, nulls) })
    }
}

/// The error of a string that is longer than functions make.
pub(crate) fn too_long(bytes: usize) -> datafusion_common::DataFusionError {
    data_error(format!(
        "a string of {bytes} bytes is longer than {STRING_BYTES_MAX} bytes, or one batch has more than {COLUMN_BYTES_MAX} bytes"
    ))
}

pub(super) fn inline(bytes: &[u8]) -> u128 {
    let mut view = [0; 16];
    view[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
    view[4..4 + bytes.len()].copy_from_slice(bytes);
    u128::from_le_bytes(view)
}
