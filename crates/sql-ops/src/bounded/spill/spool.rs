//! Records as they came, in many rows of which some go to a file.

use super::STEP_BYTES;
use super::block::{BlockReader, Record, put};
use super::file::SpillFile;
use crate::bounded::spec::SpillSpec;
use flugs_types::Result;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

pub(in crate::bounded) type SpoolReader = BlockReader;

const PAGE_BYTES_MIN: usize = 256;

/// Records in the order in which they came.
#[derive(Debug, Default)]
pub(in crate::bounded) struct Spool {
    file: Option<Arc<SpillFile>>,
    /// The oldest records.
    parts: Vec<Range<u64>>,
    /// Those behind them.
    pages: VecDeque<Arc<Vec<u8>>>,
    /// The newest.
    open: Vec<u8>,
    records: u64,
    bytes: u64,
}

impl Spool {
    /// How many records it has.
    pub(in crate::bounded) fn len(&self) -> u64 {
        self.records
    }

    /// How many bytes they take, in memory and on disk.
    pub(in crate::bounded) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends a record. The memory is not counted.
    pub(in crate::bounded) fn push(&mut self, record: Record<'_>) -> Result<()> {
        let before = self.open.len();
        put(&[record.key], &[record.value], &mut self.open)?;
        self.records += 1;
        self.bytes += (self.open.len() - before) as u64;
        Ok(())
    }

    /// Reads all records, from the first on.
    pub(in crate::bounded) fn reader(&mut self) -> SpoolReader {
        self.close_page();
        BlockReader::new(self.file.clone(), self.parts.iter().cloned(), self.pages.iter().cloned())
    }

    fn close_page(&mut self) {
        if !self.open.is_empty() {
            self.pages.push_back(Arc::new(std::mem::take(&mut self.open)));
        }
    }
}

/// Several spools that share memory and a file.
pub(in crate::bounded) struct Spools {
    spec: SpillSpec,
    page_bytes: usize,
    spools: Vec<Spool>,
    file: Option<Arc<SpillFile>>,
    end: u64,
    /// In memory.
    bytes: usize,
}

impl Spools {
    /// So many spools.
    pub(in crate::bounded) fn new(spec: &SpillSpec, spools: usize) -> Self {
        Spools {
            page_bytes: (spec.memory_bytes / (2 * spools.max(1))).clamp(PAGE_BYTES_MIN, STEP_BYTES),
            spec: spec.clone(),
            spools: (0..spools).map(|_| Spool::default()).collect(),
            file: None,
            end: 0,
            bytes: 0,
        }
    }

    /// Appends a record to one of them. Between batches, [`settle`](Self::settle) until it is done.
    pub(in crate::bounded) fn push(&mut self, at: usize, record: Record<'_>) -> Result<()> {
        let spool = &mut self.spools[at];
        let before = spool.bytes;
        spool.push(record)?;
        self.bytes += (spool.bytes - before) as usize;
        if spool.open.len() >= self.page_bytes {
            spool.close_page();
        }
        Ok(())
    }

    /// Writes a page to the file where there are too many. Says whether there is nothing left to do.
    pub(in crate::bounded) fn settle(&mut self) -> Result<bool> {
        if self.bytes < self.spec.memory_bytes {
            return Ok(true);
        }
        let most = self.spools.iter_mut().max_by_key(|spool| spool.pages.len());
        let Some((spool, page)) = most.and_then(|spool| {
            let page = spool.pages.pop_front()?;
            Some((spool, page))
        }) else {
            return Ok(true);
        };
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(SpillFile::create(&self.spec)?),
        };
        file.write(self.end, &page)?;
        let part = self.end..self.end + page.len() as u64;
        self.end = part.end;
        self.bytes -= page.len();
        spool.file = Some(file.clone());
        spool.parts.push(part);
        Ok(false)
    }

    /// All of them, in order.
    pub(in crate::bounded) fn into_spools(self) -> Vec<Spool> {
        self.spools
    }
}
