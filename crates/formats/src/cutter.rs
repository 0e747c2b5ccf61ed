//! Cuts a stream of bytes into chunks of whole records, in bounded memory.

use crate::{Framer, Framing};
use memchr::memchr_iter;

/// How many bytes of a malformed record are kept for its report.
pub const RAW_BYTES_MAX: usize = 64 << 10;

/// Whole records, one behind the other, and where in the stream they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    base: u64,
    bytes: Vec<u8>,
    /// The end of each record in `bytes`, behind its line end.
    ends: Vec<u32>,
    /// Bytes and line ends of the first record that were too many to keep.
    dropped: Dropped,
    framing: Framing,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Dropped {
    bytes: u64,
    lines: u64,
}

impl Chunk {
    /// How many records.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Offset in the stream of the first byte of record `i`; of the end of the chunk for `i == len()`.
    pub fn offset(&self, i: usize) -> u64 {
        match i.checked_sub(1) {
            None => self.base,
            Some(before) => self.base + self.dropped.bytes + u64::from(self.ends[before]),
        }
    }

    /// Record `i` with its line end, as far as it was kept.
    fn with_line_end(&self, i: usize) -> &[u8] {
        let start = i.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.bytes[start..self.ends[i] as usize]
    }

    /// Record `i` without its line end, as far as it was kept.
    #[inline]
    pub fn record(&self, i: usize) -> &[u8] {
        let record = self.with_line_end(i);
        if let Framing::Delimited(end) = self.framing {
            return record.strip_suffix(&[end]).unwrap_or(record);
        }
        match record {
            [record @ .., b'\r', b'\n'] | [record @ .., b'\n'] => record,
            _ => record,
        }
    }

    /// How many bytes record `i` has in the stream, its line end included.
    pub fn record_bytes(&self, i: usize) -> u64 {
        self.offset(i + 1) - self.offset(i)
    }

    /// How many lines record `i` takes.
    #[inline]
    pub fn lines(&self, i: usize) -> u64 {
        if self.framing.splits_anywhere() {
            return 1;
        }
        let kept = memchr_iter(b'\n', self.with_line_end(i)).count() as u64;
        let dropped = if i == 0 { self.dropped.lines } else { 0 };
        (kept + dropped).max(1)
    }

    /// Leaves out the records that start at `offset` or later. Says whether there were such.
    pub fn cut_from(&mut self, offset: u64) -> bool {
        let kept = (0..self.len()).rev().find(|&i| self.offset(i) < offset).map_or(0, |i| i + 1);
        let any = kept < self.len();
        self.ends.truncate(kept);
        any
    }

    /// Leaves out the first record.
    pub fn drop_first(&mut self) {
        if self.is_empty() {
            return;
        }
        let first = self.ends.remove(0);
        self.base += u64::from(first) + self.dropped.bytes;
        self.dropped = Dropped::default();
        self.bytes.drain(..first as usize);
        self.ends.iter_mut().for_each(|end| *end -= first);
    }
}

/// Cuts a stream of bytes into chunks of whole records.
///
/// Bytes are appended to [`buffer`](Self::buffer), then [`cut`](Self::cut) takes out what is complete. Of a
/// record that grows beyond `record_bytes_max` only the first [`RAW_BYTES_MAX`] bytes are kept; it comes out
/// with its true length, so that it can be reported. So no more than `record_bytes_max` and one portion
/// of appended bytes are ever held.
#[derive(Debug)]
pub struct Cutter {
    framing: Framing,
    framer: Framer,
    record_bytes_max: usize,
    base: u64,
    buffer: Vec<u8>,
    /// How much of the buffer the framer has seen.
    seen: usize,
    dropped: Dropped,
}

impl Cutter {
    /// A cutter of a stream whose next byte has this offset and begins a record.
    pub fn new(framing: Framing, record_bytes_max: usize, offset: u64) -> Self {
        Cutter {
            framing,
            framer: Framer::new(framing),
            record_bytes_max,
            base: offset,
            buffer: Vec::new(),
            seen: 0,
            dropped: Dropped::default(),
        }
    }

    /// Where to append what follows in the stream: at most some MiB between two cuts.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Takes out all records that are complete.
    pub fn cut(&mut self) -> Option<Chunk> {
        let mut ends = Vec::new();
        let mut at = self.seen;
        while let Some(end) = self.framer.find_end(&self.buffer[at..]) {
            at += end;
            ends.push(at as u32);
        }
        let Some(&last) = ends.last() else {
            self.drop_surplus();
            return None;
        };
        let rest = self.buffer[last as usize..].to_vec();
        let bytes = std::mem::replace(&mut self.buffer, rest);
        Some(self.chunk(bytes, ends))
    }

    /// Takes out all that is left: the last record needs no line end.
    pub fn finish(&mut self) -> Option<Chunk> {
        if let Some(mut chunk) = self.cut() {
            // The chunk's bytes still have the incomplete record at their end.
            if !self.buffer.is_empty() {
                self.buffer.clear();
                chunk.ends.push(chunk.bytes.len() as u32);
            }
            return Some(chunk);
        }
        if self.buffer.is_empty() {
            return None;
        }
        let bytes = std::mem::take(&mut self.buffer);
        let ends = vec![bytes.len() as u32];
        Some(self.chunk(bytes, ends))
    }

    fn chunk(&mut self, bytes: Vec<u8>, ends: Vec<u32>) -> Chunk {
        let chunk = Chunk {
            base: self.base,
            bytes,
            ends,
            dropped: std::mem::take(&mut self.dropped),
            framing: self.framing,
        };
        self.base = chunk.offset(chunk.len());
        self.framer = Framer::new(self.framing);
        // The start of the next record is looked at again: at most one record for each portion read.
        self.seen = 0;
        chunk
    }

    /// The buffer holds an incomplete record alone, all of which the framer has seen.
    fn drop_surplus(&mut self) {
        if self.dropped.bytes > 0 || self.buffer.len() > self.record_bytes_max {
            let kept = self.buffer.len().min(RAW_BYTES_MAX);
            self.dropped.bytes += (self.buffer.len() - kept) as u64;
            self.dropped.lines += memchr_iter(b'\n', &self.buffer[kept..]).count() as u64;
            self.buffer.truncate(kept);
        }
        self.seen = self.buffer.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Offset, length, lines and kept text of each record.
    type Seen = Vec<(u64, u64, u64, Vec<u8>)>;

    fn run(framing: Framing, record_bytes_max: usize, pieces: &[&[u8]]) -> Seen {
        let mut cutter = Cutter::new(framing, record_bytes_max, 100);
        let mut seen = Vec::new();
        let mut take = |chunk: Option<Chunk>| {
            let Some(chunk) = chunk else { return };
            for i in 0..chunk.len() {
                seen.push((chunk.offset(i), chunk.record_bytes(i), chunk.lines(i), chunk.record(i).to_vec()));
            }
        };
        for piece in pieces {
            cutter.buffer().extend_from_slice(piece);
            take(cutter.cut());
        }
        take(cutter.finish());
        seen
    }

    #[test]
    fn line_ends_are_stripped_and_the_last_needs_none() {
        assert_eq!(
            run(Framing::Lines, 100, &[b"a\r\n\nb\rc\n", b"d"]),
            [
                (100, 3, 1, b"a".to_vec()),
                (103, 1, 1, b"".to_vec()),
                (104, 4, 1, b"b\rc".to_vec()),
                (108, 1, 1, b"d".to_vec()),
            ]
        );
        assert_eq!(run(Framing::Lines, 100, &[b"", b""]), []);
        let zero = [(100, 4, 1, b"a\r\n".to_vec()), (104, 1, 1, b"b".to_vec())];
        assert_eq!(run(Framing::Delimited(0), 100, &[b"a\r\n\0b"]), zero);
    }

    #[test]
    fn of_an_endless_record_only_the_head_is_kept() {
        let long = vec![b'x'; RAW_BYTES_MAX];
        let pieces: Vec<&[u8]> = vec![b"a\n", &long, &long, &long, b"yz\nb\n"];
        let seen = run(Framing::Lines, 1000, &pieces);
        assert_eq!(seen.len(), 3);
        assert_eq!((seen[1].0, seen[1].1), (102, 3 * RAW_BYTES_MAX as u64 + 3));
        assert!(seen[1].3.len() <= RAW_BYTES_MAX + 2, "{}", seen[1].3.len());
        assert_eq!(seen[2], (102 + 3 * RAW_BYTES_MAX as u64 + 3, 2, 1, b"b".to_vec()));
    }

    #[test]
    fn records_can_be_left_out_at_both_ends() {
        let mut cutter = Cutter::new(Framing::Lines, 100, 10);
        cutter.buffer().extend_from_slice(b"ab\ncd\nef\n");
        let mut chunk = cutter.cut().unwrap();
        chunk.drop_first();
        assert_eq!((chunk.offset(0), chunk.record(0), chunk.record(1)), (13, &b"cd"[..], &b"ef"[..]));
        assert!(!chunk.cut_from(17), "a record that starts before is kept whole");
        assert!(chunk.cut_from(16));
        assert_eq!((chunk.len(), chunk.offset(1)), (1, 16));
        assert!(chunk.cut_from(13));
        assert!(chunk.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn records_tile_the_stream_whatever_the_pieces(
            pieces in prop::collection::vec("[ab\n\r\",]{0,12}", 0..12),
            record_bytes_max in 1usize..20,
            quoted: bool,
        ) {
            let framing = if quoted { Framing::Quoted { delimiter: b',', quote: b'"' } } else { Framing::Lines };
            let whole = pieces.concat();
            let pieces: Vec<&[u8]> = pieces.iter().map(|p| p.as_bytes()).collect();
            let seen = run(framing, record_bytes_max, &pieces);
            prop_assert_eq!(&seen, &run(framing, usize::MAX >> 1, &[whole.as_bytes()]));
            let mut at = 100;
            for (offset, bytes, lines, text) in &seen {
                prop_assert_eq!(*offset, at);
                let stretch = &whole.as_bytes()[(at - 100) as usize..(at - 100 + bytes) as usize];
                prop_assert!(stretch.starts_with(text));
                prop_assert_eq!(stretch.iter().filter(|&&b| b == b'\n').count().max(1) as u64, *lines);
                at += bytes;
            }
            prop_assert_eq!(at, 100 + whole.len() as u64);
            if !quoted {
                let naive: Vec<&str> = whole.lines().collect();
                let cut: Vec<&str> = seen.iter().map(|s| std::str::from_utf8(&s.3).unwrap()).collect();
                // `str::lines` keeps a bare `\r` at the very end, and so do we.
                prop_assert_eq!(cut, naive);
            }
        }
    }
}
