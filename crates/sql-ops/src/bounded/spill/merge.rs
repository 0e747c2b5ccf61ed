//! Sorted records of several sources as one.

use super::block::{BlockReader, Record};
use super::chunk::{Chunk, prefix};
use flugs_types::Result;

/// Where sorted records come from.
pub(super) enum Source {
    /// Memory, and the place of the next record.
    Chunk(Chunk, usize),
    /// A file. The record at hand is the next.
    Run(Box<BlockReader>),
}

impl Source {
    #[inline]
    fn record(&self) -> Record<'_> {
        match self {
            Source::Chunk(chunk, at) => chunk.record(*at),
            Source::Run(reader) => reader.record(),
        }
    }

    #[inline]
    fn advance(&mut self) -> Result<bool> {
        match self {
            Source::Chunk(chunk, at) => {
                *at += 1;
                Ok(*at < chunk.len())
            }
            Source::Run(reader) => reader.advance(),
        }
    }
}

/// A heap of sources by their next records. Of equal keys that of the earlier source comes first.
#[derive(Default)]
pub(super) struct Merge {
    sources: Vec<Source>,
    /// The first bytes of the next key, and the source; the least on top.
    heap: Vec<(u64, u32)>,
}

impl Merge {
    /// Before the first record. Readers have not read yet.
    pub(super) fn new(mut sources: Vec<Source>) -> Result<Self> {
        let mut heap = Vec::with_capacity(sources.len());
        for (at, source) in sources.iter_mut().enumerate() {
            let any = match source {
                Source::Chunk(chunk, _) => chunk.len() > 0,
                Source::Run(reader) => reader.advance()?,
            };
            if any {
                heap.push((prefix(source.record().key), at as u32));
            }
        }
        let mut merge = Merge { sources, heap };
        (0..merge.heap.len() / 2).rev().for_each(|at| merge.sift_down(at));
        Ok(merge)
    }

    /// The next record.
    #[inline]
    pub(super) fn record(&self) -> Option<Record<'_>> {
        self.heap.first().map(|(_, source)| self.sources[*source as usize].record())
    }

    /// Goes behind it.
    pub(super) fn advance(&mut self) -> Result<()> {
        let Some((first, source)) = self.heap.first_mut() else { return Ok(()) };
        let of = &mut self.sources[*source as usize];
        if of.advance()? {
            *first = prefix(of.record().key);
        } else {
            *of = Source::Chunk(Chunk::default(), 0);
            self.heap.swap_remove(0);
        }
        self.sift_down(0);
        Ok(())
    }

    fn is_before(&self, a: (u64, u32), b: (u64, u32)) -> bool {
        let key = |source: u32| self.sources[source as usize].record().key;
        let order = a.0.cmp(&b.0).then_with(|| key(a.1).cmp(key(b.1)));
        order.then_with(|| a.1.cmp(&b.1)).is_lt()
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.is_before(self.heap[child], self.heap[least]) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }
}
