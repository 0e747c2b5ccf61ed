//! Records by their keys, more of them than fit into memory.
//!
//! Records come into chunks, each of which is sorted when it is full. When all chunks together are too much, they are merged: where
//! few records are kept they shrink, else they become a run in a file. Runs of one level share a file; when they are many, they
//! become one of the next level. So the number of runs grows with the logarithm of the rows, and equal keys stay in the order in
//! which they came: higher levels are older.

use super::STEP_BYTES;
use super::block::{BlockReader, Record, bytes_of, put};
use super::chunk::Chunk;
use super::file::SpillFile;
use super::kept::{Kept, Sieve};
use super::merge::{Merge, Source};
use crate::bounded::spec::SpillSpec;
use flugs_types::Result;
use std::ops::Range;
use std::sync::Arc;

/// So many runs of a level are merged.
const RUNS_MAX: usize = 24;
const CHUNK_BYTES_MIN: usize = 1 << 10;
/// How many records a step reads at most.
const STEP_RECORDS: usize = 16 << 10;

struct Level {
    file: Arc<SpillFile>,
    runs: Vec<Range<u64>>,
}

/// A merge on its way.
struct Merging {
    merge: Merge,
    sieve: Sieve,
    to: Target,
}

enum Target {
    Memory(Vec<Chunk>),
    Run { level: usize, file: Arc<SpillFile>, run: Range<u64>, buffer: Vec<u8> },
}

/// See the module.
pub(in crate::bounded) struct Sorter {
    spec: SpillSpec,
    kept: Kept,
    chunk_bytes: usize,
    open: Chunk,
    chunks: Vec<Chunk>,
    /// Of `chunks`.
    bytes: usize,
    levels: Vec<Option<Level>>,
    merging: Option<Merging>,
    /// Records behind this key are not kept.
    limit: Option<Vec<u8>>,
    has_spilled: bool,
    /// At the end.
    given: Option<(Merge, Sieve)>,
}

impl Sorter {
    pub(in crate::bounded) fn new(spec: &SpillSpec, kept: Kept) -> Self {
        Sorter {
            spec: spec.clone(),
            kept,
            chunk_bytes: (spec.memory_bytes / 16).clamp(CHUNK_BYTES_MIN, STEP_BYTES),
            open: Chunk::default(),
            chunks: Vec::new(),
            bytes: 0,
            levels: Vec::new(),
            merging: None,
            limit: None,
            has_spilled: false,
            given: None,
        }
    }

    /// Takes a record, whose key and value are given in parts. Between batches, [`settle`](Self::settle) until it is done.
    pub(in crate::bounded) fn push(&mut self, key: &[&[u8]], value: &[&[u8]]) -> Result<()> {
        if let Some(limit) = &self.limit
            && is_behind(key, limit)
        {
            return Ok(());
        }
        self.open.push(key, value)?;
        if self.open.bytes() >= self.chunk_bytes {
            self.seal();
        }
        Ok(())
    }

    fn seal(&mut self) {
        let mut chunk = std::mem::take(&mut self.open);
        if chunk.len() > 0 {
            chunk.sort();
            self.bytes += chunk.bytes();
            self.chunks.push(chunk);
        }
    }

    /// Whether anything has gone to a file.
    #[cfg(test)]
    pub(in crate::bounded) fn has_spilled(&self) -> bool {
        self.has_spilled
    }

    /// A step towards the memory that is allowed. Says whether there is nothing left to do.
    pub(in crate::bounded) fn settle(&mut self) -> Result<bool> {
        if self.merging.is_some() {
            self.step()?;
            return Ok(false);
        }
        if let Some(level) = self
            .levels
            .iter()
            .position(|level| level.as_ref().is_some_and(|level| level.runs.len() >= RUNS_MAX))
        {
            self.merge_level(level)?;
            return Ok(false);
        }
        // What is kept of the records is made beside them.
        let shrinks = self.kept != Kept::All;
        if self.bytes < if shrinks { self.spec.memory_bytes / 2 } else { self.spec.memory_bytes } {
            return Ok(true);
        }
        let to = if shrinks { Target::Memory(Vec::new()) } else { self.new_run(0)? };
        self.merge_chunks(to)?;
        Ok(false)
    }

    fn merge_chunks(&mut self, to: Target) -> Result<()> {
        self.bytes = 0;
        let sources = std::mem::take(&mut self.chunks).into_iter().map(|chunk| Source::Chunk(chunk, 0));
        let merge = Merge::new(sources.collect())?;
        self.merging = Some(Merging { merge, sieve: Sieve::new(self.kept), to });
        Ok(())
    }

    fn merge_level(&mut self, level: usize) -> Result<()> {
        let to = self.new_run(level + 1)?;
        let merge = Merge::new(self.levels[level].take().into_iter().flat_map(sources).collect())?;
        self.merging = Some(Merging { merge, sieve: Sieve::new(self.kept), to });
        Ok(())
    }

    /// A run at the end of the level's file.
    fn new_run(&mut self, level: usize) -> Result<Target> {
        self.has_spilled = true;
        if self.levels.len() <= level {
            self.levels.resize_with(level + 1, || None);
        }
        let of = match &mut self.levels[level] {
            Some(of) => of,
            none => none.insert(Level { file: SpillFile::create(&self.spec)?, runs: Vec::new() }),
        };
        let at = of.runs.last().map_or(0, |run| run.end);
        Ok(Target::Run { level, file: of.file.clone(), run: at..at, buffer: Vec::new() })
    }

    /// Goes on with a merge.
    fn step(&mut self) -> Result<()> {
        let Some(mut merging) = self.merging.take() else { return Ok(()) };
        if merging.step(self.chunk_bytes)? {
            self.merging = Some(merging);
            return Ok(());
        }
        match merging.to {
            Target::Run { level, run, .. } => {
                if let Some(level) = self.levels[level].as_mut().filter(|_| !run.is_empty()) {
                    level.runs.push(run);
                }
            }
            Target::Memory(chunks) => {
                let records: usize = chunks.iter().map(Chunk::len).sum();
                if let (Kept::First(n), Some(last)) = (self.kept, chunks.last())
                    && records as u64 == n
                {
                    self.limit = Some(last.record(last.len() - 1).key.to_vec());
                }
                self.bytes = chunks.iter().map(Chunk::bytes).sum();
                self.chunks = chunks;
                // Chunks that have hardly shrunk would be merged again and again.
                if self.bytes >= self.spec.memory_bytes / 4 {
                    let to = self.new_run(0)?;
                    self.merge_chunks(to)?;
                }
            }
        }
        Ok(())
    }

    /// No more records come. [`settle`](Self::settle) must have been done.
    pub(in crate::bounded) fn finish(&mut self) -> Result<()> {
        self.seal();
        let levels = std::mem::take(&mut self.levels).into_iter().rev().flatten();
        let chunks = std::mem::take(&mut self.chunks).into_iter().map(|chunk| Source::Chunk(chunk, 0));
        let merge = Merge::new(levels.flat_map(sources).chain(chunks).collect())?;
        self.given = Some((merge, Sieve::new(self.kept)));
        Ok(())
    }

    /// Goes to the next record that is kept; whether there is one. After [`finish`](Self::finish); the first is at hand then.
    pub(in crate::bounded) fn next(&mut self) -> Result<Option<Record<'_>>> {
        let Some((merge, sieve)) = &mut self.given else { return Ok(None) };
        loop {
            match merge.record() {
                Some(record) if !sieve.is_over() => {
                    if sieve.keeps(record)? {
                        break;
                    }
                }
                _ => return Ok(None),
            }
            merge.advance()?;
        }
        Ok(merge.record())
    }

    /// Goes behind the record that [`next`](Self::next) gave.
    pub(in crate::bounded) fn advance(&mut self) -> Result<()> {
        self.given.as_mut().map_or(Ok(()), |(merge, _)| merge.advance())
    }
}

/// Readers of a level's runs, the oldest first.
fn sources(level: Level) -> impl Iterator<Item = Source> {
    let Level { file, runs } = level;
    runs.into_iter().map(move |run| Source::Run(Box::new(BlockReader::new(Some(file.clone()), [run], []))))
}

/// Whether the key is greater than the limit.
fn is_behind(key: &[&[u8]], mut limit: &[u8]) -> bool {
    for part in key {
        let n = part.len().min(limit.len());
        match part[..n].cmp(&limit[..n]) {
            std::cmp::Ordering::Equal => {}
            order => return order.is_gt(),
        }
        if n < part.len() {
            return true;
        }
        limit = &limit[n..];
    }
    false
}

impl Merging {
    /// Whether there is more to do.
    fn step(&mut self, chunk_bytes: usize) -> Result<bool> {
        let (mut bytes, mut records) = (0, 0);
        let mut more = true;
        while more && bytes < STEP_BYTES && records < STEP_RECORDS {
            let Some(record) = self.merge.record().filter(|_| !self.sieve.is_over()) else {
                more = false;
                break;
            };
            records += 1;
            if self.sieve.keeps(record)? {
                bytes += bytes_of(record);
                match &mut self.to {
                    Target::Run { buffer, .. } => put(&[record.key], &[record.value], buffer)?,
                    Target::Memory(chunks) => {
                        if chunks.last().is_none_or(|last| last.bytes() >= chunk_bytes) {
                            chunks.push(Chunk::default());
                        }
                        if let Some(last) = chunks.last_mut() {
                            last.push(&[record.key], &[record.value])?;
                        }
                    }
                }
            }
            self.merge.advance()?;
        }
        if let Target::Run { file, run, buffer, .. } = &mut self.to {
            file.write(run.end, buffer)?;
            run.end += buffer.len() as u64;
            buffer.clear();
        }
        Ok(more)
    }
}
