//! Writing a run.

use super::{END, MAGIC};
use crate::snapshot::{FrozenPiece, StateKind, StateSchema};
use bytes::Bytes;
use flugs_batch::Data;
use flugs_types::{KEY_GROUPS, KeyGroup, SubtaskId, fingerprint_of_hashing};

/// A block is closed after a piece, or within one, once it has this many bytes ...
const BLOCK_BYTES_MIN: usize = 8 << 10;
/// ... and here at the latest, but for an entry that is larger.
const BLOCK_BYTES_MAX: usize = 64 << 10;

/// A section of a [`RunWriter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionId(usize);

/// Builds a run. Pieces of one table are best written one after the other, as blocks end where another table's
/// begin. What is finished of a large run can be taken out in parts, in order, while the rest is written.
pub struct RunWriter {
    uid: String,
    subtask: SubtaskId,
    /// How many bytes were taken out: where `out` begins in the file.
    taken: u64,
    out: Vec<u8>,
    /// A buffer to go on with when a part is taken out.
    spare: Vec<u8>,
    sections: Vec<SectionWriter>,
    /// The section that was written to last.
    current: usize,
    open: OpenBlock,
}

struct SectionWriter {
    name: String,
    schema: StateSchema,
    index: Vec<IndexLine>,
}

/// The block at the end of what is written.
struct OpenBlock {
    start: usize,
    entries: u32,
    first: u16,
    last: u16,
}

struct IndexLine {
    offset: u64,
    len: u64,
    entries: u32,
    first: u16,
    last: u16,
    crc: u32,
}

impl OpenBlock {
    fn at(start: usize) -> Self {
        OpenBlock { start, entries: 0, first: u16::MAX, last: 0 }
    }

    /// Closes the block, which belongs to the section of this index, and opens the next one.
    fn close(&mut self, taken: u64, out: &[u8], index: &mut Vec<IndexLine>) {
        let block = std::mem::replace(self, OpenBlock::at(out.len()));
        if block.entries > 0 {
            let bytes = &out[block.start..];
            index.push(IndexLine {
                offset: taken + block.start as u64,
                len: bytes.len() as u64,
                entries: block.entries,
                first: block.first,
                last: block.last,
                crc: crc32fast::hash(bytes),
            });
        }
    }
}

impl RunWriter {
    /// An empty run of the operator's subtask.
    pub fn new(uid: &str, subtask: SubtaskId) -> Self {
        Self::with_capacity(uid, subtask, 0)
    }

    /// Likewise, with room for so many bytes: a large file is built faster where its size is about known.
    pub fn with_capacity(uid: &str, subtask: SubtaskId, bytes: usize) -> Self {
        let mut out = Vec::with_capacity(bytes + MAGIC.len());
        out.extend_from_slice(&MAGIC);
        let open = OpenBlock::at(out.len());
        let (spare, sections) = (Vec::new(), Vec::new());
        RunWriter { uid: uid.to_owned(), subtask, taken: 0, out, spare, sections, current: 0, open }
    }

    /// The section of a table; the same one when it is asked for again. A table without entries has one too, so
    /// that its schema is known.
    pub fn section(&mut self, name: &str, schema: &StateSchema) -> SectionId {
        let at = self.sections.iter().position(|s| s.name == name).unwrap_or_else(|| {
            self.sections.push(SectionWriter {
                name: name.to_owned(),
                schema: schema.clone(),
                index: Vec::new(),
            });
            self.sections.len() - 1
        });
        SectionId(at)
    }

    /// Appends a piece of the section's table.
    pub fn piece(&mut self, section: SectionId, piece: &dyn FrozenPiece) {
        if self.current != section.0 {
            self.close();
            self.current = section.0;
        }
        let SectionWriter { schema, index, .. } = &mut self.sections[section.0];
        let RunWriter { taken, out, open, .. } = self;
        piece.encode(&mut PieceWriter { kind: schema.kind, prefix: &[], taken: *taken, out, open, index });
        if self.out.len() - self.open.start >= BLOCK_BYTES_MIN {
            self.close();
        }
    }

    fn close(&mut self) {
        if let Some(section) = self.sections.get_mut(self.current) {
            self.open.close(self.taken, &self.out, &mut section.index);
        }
    }

    /// The bytes written so far, those taken out included.
    pub fn bytes(&self) -> u64 {
        self.taken + self.out.len() as u64
    }

    /// Takes out the next part of the file, if at least so many bytes of it are finished.
    pub fn take_part(&mut self, bytes_min: usize) -> Option<Vec<u8>> {
        let end = self.open.start;
        if end < bytes_min.max(1) {
            return None;
        }
        let mut next = std::mem::take(&mut self.spare);
        next.clear();
        next.extend_from_slice(&self.out[end..]);
        self.out.truncate(end);
        self.taken += end as u64;
        self.open.start = 0;
        Some(std::mem::replace(&mut self.out, next))
    }

    /// Gives the memory of a part back, to be written to again: fresh memory costs more than the writing.
    pub fn give_back(&mut self, part: Vec<u8>) {
        self.spare = part;
    }

    /// The finished file, or what was not taken out of it.
    pub fn finish(self) -> Bytes {
        self.finish_part().part
    }

    /// The last part of the finished file.
    pub fn finish_part(mut self) -> LastPart {
        self.close();
        let mut footer = Vec::new();
        self.uid.encode(&mut footer);
        self.subtask.index.encode(&mut footer);
        self.subtask.parallelism.encode(&mut footer);
        fingerprint_of_hashing().encode(&mut footer);
        (self.sections.len() as u32).encode(&mut footer);
        for section in &mut self.sections {
            section.encode(&mut footer);
        }
        let crc = crc32fast::hash(&footer);
        self.out.extend_from_slice(&footer);
        (footer.len() as u64).encode(&mut self.out);
        crc.encode(&mut self.out);
        self.out.extend_from_slice(&END);
        LastPart { end: self.taken + self.out.len() as u64, part: Bytes::from(self.out) }
    }
}

/// The last part of a file of state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastPart {
    /// Its bytes.
    pub part: Bytes,
    /// The length of the whole file.
    pub end: u64,
}

impl SectionWriter {
    fn encode(&mut self, out: &mut Vec<u8>) {
        // Stable: the blocks of lists, which all span every group, keep the order of their items.
        self.index.sort_by_key(|line| (line.first, line.last));
        self.name.encode(out);
        out.push(kind_tag(self.schema.kind));
        self.schema.key.encode(out);
        self.schema.value.encode(out);
        (self.index.len() as u32).encode(out);
        for line in &self.index {
            line.offset.encode(out);
            line.len.encode(out);
            line.entries.encode(out);
            line.first.encode(out);
            line.last.encode(out);
            line.crc.encode(out);
        }
    }
}

/// The number of a kind in the file. Numbers are never reused.
pub(super) fn kind_tag(kind: StateKind) -> u8 {
    match kind {
        StateKind::Keyed => 1,
        StateKind::KeyedPanes => 2,
        StateKind::Timers => 3,
        StateKind::List => 4,
        StateKind::UnionList => 5,
        StateKind::Broadcast => 6,
    }
}

/// Where a piece writes its entries. A block may end after any of them.
pub struct PieceWriter<'a> {
    kind: StateKind,
    /// Stands before each entry.
    prefix: &'a [u8],
    taken: u64,
    out: &'a mut Vec<u8>,
    open: &'a mut OpenBlock,
    index: &'a mut Vec<IndexLine>,
}

impl PieceWriter<'_> {
    /// A writer that puts these bytes before each entry: the first part of the entries' keys.
    pub fn with_prefix<'b>(&'b mut self, prefix: &'b [u8]) -> PieceWriter<'b> {
        let PieceWriter { kind, taken, .. } = *self;
        PieceWriter { kind, prefix, taken, out: self.out, open: self.open, index: self.index }
    }

    /// Writes the entry of a key with this hash: `encode` appends the key, then the value.
    #[inline]
    pub fn keyed(&mut self, hash: u64, encode: impl FnOnce(&mut Vec<u8>)) {
        debug_assert!(self.kind.is_keyed());
        let group = KeyGroup::of_hash(hash).0;
        self.entry(group, group, encode);
    }

    /// Writes an entry of operator state, which belongs to no key group.
    pub fn unkeyed(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        debug_assert!(!self.kind.is_keyed());
        self.entry(0, (KEY_GROUPS - 1) as u16, encode);
    }

    #[inline]
    fn entry(&mut self, first: u16, last: u16, encode: impl FnOnce(&mut Vec<u8>)) {
        self.out.extend_from_slice(self.prefix);
        encode(self.out);
        self.open.entries += 1;
        self.open.first = self.open.first.min(first);
        self.open.last = self.open.last.max(last);
        if self.out.len() - self.open.start >= BLOCK_BYTES_MAX {
            self.open.close(self.taken, self.out, self.index);
        }
    }
}
