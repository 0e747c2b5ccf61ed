//! A source of rows that are there already.

use super::assign_once::AssignOnce;
use crate::{
    Boundedness, EnumeratorContext, PollContext, ReaderContext, ReaderStatus, Source, SourceOutput,
    SourceReader, Split, SplitEnumerator,
};
use flugs_batch::{Record, Records};
use flugs_types::{Error, Result, Timestamp};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

/// A bounded source of the rows of a collection.
///
/// Each of the first readers gets one contiguous part; with a parallelism of 1 rows come in the order of the
/// collection. Positions are row numbers: a job must be restored with the same collection.
pub struct CollectionSource<T> {
    rows: Arc<Records<T>>,
    batch_rows: usize,
}

impl<T: Record + Sync> CollectionSource<T> {
    /// Rows without event times.
    pub fn new(rows: impl IntoIterator<Item = T>) -> Self {
        Self::of(Records::untimed(rows.into_iter().collect()))
    }

    /// Rows with their event times.
    pub fn timed(rows: impl IntoIterator<Item = (T, Timestamp)>) -> Self {
        Self::of(rows.into_iter().collect())
    }

    fn of(rows: Records<T>) -> Self {
        CollectionSource { rows: Arc::new(rows), batch_rows: super::batch_rows::<T>() }
    }

    /// At most so many rows in a batch: one where rows are whole batches themselves. By default what fits into 64 KiB, but 64 at
    /// least and 4096 at most.
    #[must_use]
    pub fn batch_rows(mut self, rows: u32) -> Self {
        self.batch_rows = rows.max(1) as usize;
        self
    }

    fn shares(&self, parallelism: u32) -> Vec<Vec<Split>> {
        let bound = |reader: u32| {
            let rows = self.rows.len() as u128 * u128::from(reader);
            (rows / u128::from(parallelism)) as u64
        };
        let share = |reader| Part { next: bound(reader), start: bound(reader), end: bound(reader + 1) };
        (0..parallelism).map(share).map(|part| part.split().into_iter().collect()).collect()
    }
}

/// Rows `start..end`, read up to `next`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    start: u64,
    end: u64,
    next: u64,
}

const VERSION: u8 = 1;

impl Part {
    fn id(self) -> String {
        format!("{}..{}", self.start, self.end)
    }

    /// No split where there is no row.
    fn split(self) -> Option<Split> {
        let mut payload = vec![VERSION];
        for n in [self.start, self.end, self.next] {
            payload.extend(n.to_le_bytes());
        }
        (self.start < self.end).then(|| Split { id: self.id(), payload })
    }

    fn parse(payload: &[u8]) -> Option<Self> {
        let (&[VERSION], rest) = payload.split_first_chunk()? else { return None };
        let (start, rest) = rest.split_first_chunk()?;
        let (end, rest) = rest.split_first_chunk()?;
        let part = Part {
            start: u64::from_le_bytes(*start),
            end: u64::from_le_bytes(*end),
            next: u64::from_le_bytes(rest.try_into().ok()?),
        };
        (part.start <= part.next && part.next <= part.end).then_some(part)
    }
}

impl<T: Record + Sync> Source for CollectionSource<T> {
    type Item = T;

    fn boundedness(&self) -> Boundedness {
        Boundedness::Bounded
    }

    fn enumerator(&self, context: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>> {
        Ok(Box::new(AssignOnce::new(context, || self.shares(context.parallelism))?))
    }

    fn reader(&self, context: ReaderContext) -> Result<Box<dyn SourceReader<T>>> {
        let (rows, waker) = (self.rows.clone(), context.waker);
        let batch_rows = self.batch_rows as u64;
        Ok(Box::new(Reader { rows, batch_rows, parts: VecDeque::new(), complete: false, waker }))
    }
}

struct Reader<T> {
    rows: Arc<Records<T>>,
    batch_rows: u64,
    parts: VecDeque<Part>,
    complete: bool,
    waker: Waker,
}

impl<T: Record + Sync> SourceReader<T> for Reader<T> {
    fn add_splits(&mut self, splits: Vec<Split>) -> Result<()> {
        for split in splits {
            let place = || format!("split '{}'", split.id.escape_default());
            let part = Part::parse(&split.payload).ok_or_else(|| {
                Error::state("the position in the split is not readable")
                    .at(place())
                    .mend("restore with the source that wrote the checkpoint, or under another uid")
            })?;
            if part.end > self.rows.len() as u64 {
                let message =
                    format!("the collection has {} rows, the split reaches {}", self.rows.len(), part.end);
                return Err(Error::state(message).at(place()).mend("restore with the same collection"));
            }
            let at = self.parts.partition_point(|other| other.start < part.start);
            self.parts.insert(at, part);
        }
        self.waker.wake_by_ref();
        Ok(())
    }

    fn no_more_splits(&mut self) {
        self.complete = true;
        self.waker.wake_by_ref();
    }

    fn poll(&mut self, _context: &mut PollContext, out: &mut dyn SourceOutput<T>) -> Result<ReaderStatus> {
        if let Some(part) = self.parts.front_mut() {
            let stop = part.end.min(part.next + self.batch_rows);
            // Checked against the collection when the split was added.
            let range = part.next as usize..stop as usize;
            part.next = stop;
            if !range.is_empty() {
                let (values, times) =
                    (self.rows.values[range.clone()].to_vec(), self.rows.times[range].to_vec());
                out.emit(&part.id(), Records { values, times })?;
            }
            if part.next == part.end {
                out.finished(&part.id());
                self.parts.pop_front();
            }
        }
        Ok(match (self.parts.is_empty(), self.complete) {
            (false, _) => ReaderStatus::More,
            (true, true) => ReaderStatus::Finished,
            (true, false) => ReaderStatus::Waiting,
        })
    }

    fn snapshot(&mut self) -> Result<Vec<Split>> {
        Ok(self.parts.iter().filter_map(|part| part.split()).collect())
    }
}

#[cfg(test)]
mod tests;
