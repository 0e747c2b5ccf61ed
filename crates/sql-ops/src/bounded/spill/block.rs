//! Records in a row of bytes: the lengths of key and value as four bytes each, then both.

use super::file::SpillFile;
use flugs_types::{Error, Result};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// How many bytes a reader fetches at a time.
const READ_BYTES: u64 = 64 << 10;
const HEADER: usize = 8;

/// A key and a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::bounded) struct Record<'a> {
    pub(in crate::bounded) key: &'a [u8],
    pub(in crate::bounded) value: &'a [u8],
}

/// Appends a record whose key and value are given in parts.
#[inline]
pub(super) fn put(key: &[&[u8]], value: &[&[u8]], to: &mut Vec<u8>) -> Result<()> {
    let length = |parts: &[&[u8]]| {
        let n = parts.iter().map(|part| part.len()).sum::<usize>();
        u32::try_from(n).map_err(|_| Error::data("a row takes more than 4 GiB"))
    };
    to.extend_from_slice(&length(key)?.to_le_bytes());
    to.extend_from_slice(&length(value)?.to_le_bytes());
    key.iter().chain(value).for_each(|part| to.extend_from_slice(part));
    Ok(())
}

/// How many bytes the record takes.
pub(super) fn bytes_of(record: Record<'_>) -> usize {
    HEADER + record.key.len() + record.value.len()
}

/// The record that begins the bytes, and what it takes; `None` where it is not all there.
#[inline]
fn parse(bytes: &[u8]) -> Option<(Record<'_>, usize)> {
    let (key, rest) = bytes.split_first_chunk::<4>()?;
    let (value, rest) = rest.split_first_chunk::<4>()?;
    let (key, value) = (u32::from_le_bytes(*key) as usize, u32::from_le_bytes(*value) as usize);
    let both = rest.get(..key + value)?;
    let (key, value) = both.split_at(key);
    Some((Record { key, value }, HEADER + both.len()))
}

/// The record at this place of bytes that were put here.
#[inline]
pub(super) fn at(bytes: &[u8], place: usize) -> Record<'_> {
    parse(&bytes[place..]).map_or(Record { key: &[], value: &[] }, |(record, _)| record)
}

/// Reads records of parts of a file, one part after the other, and then those of pages in memory.
pub(in crate::bounded) struct BlockReader {
    file: Option<Arc<SpillFile>>,
    parts: VecDeque<Range<u64>>,
    pages: VecDeque<Arc<Vec<u8>>>,
    block: Arc<Vec<u8>>,
    /// The record at hand.
    current: Range<usize>,
}

impl BlockReader {
    /// Before the first record.
    pub(super) fn new(
        file: Option<Arc<SpillFile>>,
        parts: impl IntoIterator<Item = Range<u64>>,
        pages: impl IntoIterator<Item = Arc<Vec<u8>>>,
    ) -> Self {
        let (parts, pages) = (parts.into_iter().collect(), pages.into_iter().collect());
        BlockReader { file, parts, pages, block: Arc::default(), current: 0..0 }
    }

    /// Goes to the next record; whether there is one.
    #[inline]
    pub(in crate::bounded) fn advance(&mut self) -> Result<bool> {
        let start = self.current.end;
        if let Some((_, length)) = parse(&self.block[start..]) {
            self.current = start..start + length;
            return Ok(true);
        }
        self.refill()
    }

    fn refill(&mut self) -> Result<bool> {
        let mut rest = self.block[self.current.end..].to_vec();
        self.current = 0..0;
        loop {
            if let (Some(part), Some(file)) = (self.parts.front_mut(), &self.file) {
                let needed = match rest.first_chunk::<HEADER>() {
                    Some(&[a, b, c, d, e, f, g, h]) => {
                        u64::from(u32::from_le_bytes([a, b, c, d]))
                            + u64::from(u32::from_le_bytes([e, f, g, h]))
                    }
                    None => 0,
                };
                let length = (part.end - part.start).min(READ_BYTES.max(needed));
                file.read(part.start, length as usize, &mut rest)?;
                part.start += length;
                if part.start == part.end {
                    self.parts.pop_front();
                }
            } else if rest.is_empty() {
                match self.pages.pop_front() {
                    Some(page) => self.block = page,
                    None => {
                        self.block = Arc::default();
                        return Ok(false);
                    }
                }
                if let Some((_, length)) = parse(&self.block) {
                    self.current = 0..length;
                    return Ok(true);
                }
                continue;
            } else {
                return Err(Error::bug("a spill file ends within a record"));
            }
            if let Some((_, length)) = parse(&rest) {
                self.current = 0..length;
                self.block = Arc::new(rest);
                return Ok(true);
            }
        }
    }

    /// The record at hand.
    #[inline]
    pub(in crate::bounded) fn record(&self) -> Record<'_> {
        at(&self.block, self.current.start)
    }
}
