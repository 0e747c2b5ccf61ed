//! Rows that are a function of their number: for examples, tests and benchmarks.

use super::assign_once::AssignOnce;
use super::index_split::{INDEX_MAX, IndexCursor, IndexSplit, first_shares};
use super::pace::{Pace, check_rate};
use crate::{
    Boundedness, EnumeratorContext, PollContext, ReaderContext, ReaderStatus, Source, SourceOutput,
    SourceReader, Split, SplitEnumerator, SplitStatus,
};
use flugs_batch::{Record, Records};
use flugs_types::{Error, Result, Timestamp};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Consecutive numbers that fall to one reader at full speed.
const BLOCK: u64 = 4096;
/// A poll goes over at most this many numbers for each row of a batch: where most numbers give no row, work stays
/// bounded.
const INDEXES_PER_ROW: u64 = 64;

type Fill<T> = dyn Fn(Range<u64>, &mut Records<T>) + Send + Sync;
type FillWhole<T> = dyn Fn(&[Range<u64>], &mut Records<T>) -> Result<()> + Send + Sync;

/// How rows are made of numbers.
enum Rows<T> {
    /// Of each range of a poll by itself.
    Ranges(Arc<Fill<T>>),
    /// Of all ranges of a poll at once, which have so many numbers at most.
    Whole(Arc<FillWhole<T>>, u64),
}

impl<T> Clone for Rows<T> {
    fn clone(&self) -> Self {
        match self {
            Rows::Ranges(fill) => Rows::Ranges(fill.clone()),
            Rows::Whole(fill, numbers) => Rows::Whole(fill.clone(), *numbers),
        }
    }
}

/// A source of `f(0), f(1), f(2), ...`, as Flink's `DataGeneratorSource`.
///
/// The rows are the same at any parallelism; only their order across readers differs. Reader `k` of `P` takes
/// the blocks `k, k + P, ...` of consecutive numbers, so that readers advance through the numbers (and
/// event time) side by side. A block has 4096 numbers at full speed and one under a [`rate`](Self::rate).
/// After a restore with another parallelism each number is still emitted exactly once, lowest first
/// within a reader.
///
/// A reader emits the rows of all its splits, in order, under the name of one of them, and reports the others as
/// caught up: its watermark follows the lowest number not yet read. That one is the split which was furthest
/// behind when splits were added, so whatever watermark it was restored with, no row comes late by it.
pub struct GeneratorSource<T> {
    rows: Rows<T>,
    count: Option<u64>,
    rate: Option<f64>,
    block: Option<u64>,
    batch_rows: usize,
}

impl<T: Record> GeneratorSource<T> {
    /// `count` rows, or rows for ever, without event times.
    pub fn new(count: Option<u64>, row: impl Fn(u64) -> T + Send + Sync + 'static) -> Self {
        Self::batches(count, move |range, out| {
            out.times.resize(out.times.len() + span(&range), Timestamp::MIN);
            #[allow(
                clippy::redundant_closure,
                reason = "a call through a reference is not inlined across codegen units"
            )]
            out.values.extend(range.map(|index| row(index)));
        })
    }

    /// `count` rows, or rows for ever, with their event times.
    pub fn timed(count: Option<u64>, row: impl Fn(u64) -> (T, Timestamp) + Send + Sync + 'static) -> Self {
        Self::batches(count, move |range, out| {
            out.values.reserve(span(&range));
            out.times.reserve(span(&range));
            for index in range {
                let (value, time) = row(index);
                out.push(value, time);
            }
        })
    }

    /// The bulk form, for full speed: `fill` adds the rows of a range of numbers to a batch, in order, at most one
    /// row for each number. The batch may hold rows already and has room for those of the range.
    pub fn batches(
        count: Option<u64>,
        fill: impl Fn(Range<u64>, &mut Records<T>) + Send + Sync + 'static,
    ) -> Self {
        Self::of_rows(count, Rows::Ranges(Arc::new(fill)))
    }

    /// For items that are whole batches themselves: `fill` is called once a poll with all ranges that fall to it, in
    /// order, at most `numbers` numbers together, and adds the item made of them, or none. An error fails the job.
    pub fn chunks(
        count: Option<u64>,
        numbers: u32,
        fill: impl Fn(&[Range<u64>], &mut Records<T>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self::of_rows(count, Rows::Whole(Arc::new(fill), u64::from(numbers.max(1))))
    }

    fn of_rows(count: Option<u64>, rows: Rows<T>) -> Self {
        GeneratorSource { rows, count, rate: None, block: None, batch_rows: super::batch_rows::<T>() }
    }

    /// Emits so many numbers a second over all readers together: number `i` is due `i / rate` seconds after the
    /// start. Rows are emitted as they become due, in grains of 50 µs; after a stall what is
    /// overdue follows at full speed. A rate that is not positive fails the job at its start.
    #[must_use]
    pub fn rate(mut self, rows_per_second: f64) -> Self {
        self.rate = Some(rows_per_second);
        self
    }

    /// How many consecutive numbers fall to one reader. A restored job keeps the blocks it began with.
    #[must_use]
    pub fn block(mut self, numbers: u32) -> Self {
        self.block = Some(u64::from(numbers.max(1)));
        self
    }

    /// At most so many rows in a batch. By default what fits into 64 KiB, but 64 at least and 4096 at most.
    #[must_use]
    pub fn batch_rows(mut self, rows: u32) -> Self {
        self.batch_rows = rows.max(1) as usize;
        self
    }

    fn check(&self) -> Result<()> {
        self.rate.map_or(Ok(()), check_rate)
    }
}

impl<T: Record> Source for GeneratorSource<T> {
    type Item = T;

    fn boundedness(&self) -> Boundedness {
        if self.count.is_some() { Boundedness::Bounded } else { Boundedness::Unbounded }
    }

    fn enumerator(&self, context: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>> {
        self.check()?;
        let block = self.block.unwrap_or(if self.rate.is_some() { 1 } else { BLOCK });
        let shares = || first_shares(context.parallelism, block);
        Ok(Box::new(AssignOnce::new(context, shares)?))
    }

    fn reader(&self, context: ReaderContext) -> Result<Box<dyn SourceReader<T>>> {
        self.check()?;
        Ok(Box::new(Reader {
            rows: self.rows.clone(),
            end: self.count.unwrap_or(INDEX_MAX).min(INDEX_MAX),
            pace: self.rate.map(Pace::new),
            batch_rows: self.batch_rows,
            cursor: IndexCursor::default(),
            speaker: None,
            regroup: false,
            complete: false,
            context,
        }))
    }
}

fn span(range: &Range<u64>) -> usize {
    usize::try_from(range.end - range.start).unwrap_or(usize::MAX)
}

/// The split under whose name all rows are emitted; it ends last.
struct Speaker {
    id: String,
    /// Where it ended, once nothing is left of it but others go on.
    ended: Option<IndexSplit>,
}

struct Reader<T> {
    rows: Rows<T>,
    /// Numbers end before this.
    end: u64,
    pace: Option<Pace>,
    batch_rows: usize,
    cursor: IndexCursor,
    speaker: Option<Speaker>,
    /// Splits were added since the speaker was chosen.
    regroup: bool,
    complete: bool,
    context: ReaderContext,
}

impl<T: Record> Reader<T> {
    /// The rows of the next due numbers.
    fn next_batch(&mut self, limit: u64) -> Result<Records<T>> {
        match self.rows.clone() {
            Rows::Ranges(fill) => self.next_ranges(limit, &*fill),
            Rows::Whole(fill, numbers) => self.next_whole(limit, &*fill, numbers),
        }
    }

    fn next_whole(&mut self, limit: u64, fill: &FillWhole<T>, numbers: u64) -> Result<Records<T>> {
        let (mut ranges, mut left) = (Vec::new(), numbers);
        while let Some(range) = self.cursor.take(limit, left) {
            left -= range.end - range.start;
            ranges.push(range);
        }
        let mut rows = Records::new();
        if !ranges.is_empty() {
            fill(&ranges, &mut rows)?;
        }
        Ok(rows)
    }

    fn next_ranges(&mut self, limit: u64, fill: &Fill<T>) -> Result<Records<T>> {
        let Some(next) = self.cursor.next().filter(|&next| next < limit) else { return Ok(Records::new()) };
        let room = usize::try_from(limit - next).unwrap_or(usize::MAX).min(self.batch_rows);
        let mut rows = Records::with_capacity(room);
        let mut budget = self.batch_rows as u64 * INDEXES_PER_ROW;
        // The last eighth is left empty where filling it would take several short ranges.
        while rows.len() <= self.batch_rows - self.batch_rows.div_ceil(8) {
            let max = budget.min((self.batch_rows - rows.len()) as u64);
            let Some(range) = self.cursor.take(limit, max) else { break };
            budget -= range.end - range.start;
            fill(range, &mut rows);
        }
        if rows.values.len() != rows.times.len() {
            let (values, times) = (rows.values.len(), rows.times.len());
            return Err(Error::user(format!(
                "the generator function left {values} values but {times} times"
            ))
            .mend("add a time for each value, Timestamp::MIN where there is none"));
        }
        Ok(rows)
    }

    /// Lets the split speak that is furthest behind, and no other.
    fn choose_speaker(&mut self, out: &mut dyn SourceOutput<T>) {
        let Some(first) = self.cursor.splits().next() else { return };
        let before = self.speaker.replace(Speaker { id: first.id(), ended: None });
        if let Some(before) = before.filter(|before| before.ended.is_some()) {
            out.finished(&before.id);
        }
        out.status(&first.id(), SplitStatus::Behind);
        for split in self.cursor.splits().skip(1) {
            out.status(&split.id(), SplitStatus::CaughtUp);
        }
    }

    /// Reports the splits that have ended since the last time.
    fn report_finished(&mut self, out: &mut dyn SourceOutput<T>) {
        for split in self.cursor.take_finished(self.end) {
            let id = split.id();
            match &mut self.speaker {
                Some(speaker) if speaker.id == id => speaker.ended = Some(split),
                _ => out.finished(&id),
            }
        }
        if self.cursor.next().is_none()
            && let Some(speaker) = self.speaker.take()
        {
            out.finished(&speaker.id);
        }
    }

    fn status(&self, limit: u64, context: &PollContext) -> ReaderStatus {
        match self.cursor.next() {
            None if self.complete => ReaderStatus::Finished,
            None => ReaderStatus::Waiting,
            Some(next) if next < limit => ReaderStatus::More,
            Some(next) => {
                let now = self.context.clock.monotonic();
                let wait = self.pace.as_ref().map_or(Duration::ZERO, |pace| pace.wait(now, next));
                // Rounded up, as a timestamp has no nanoseconds.
                ReaderStatus::WaitUntil(context.now + (wait + Duration::from_nanos(999)))
            }
        }
    }
}

impl<T: Record> SourceReader<T> for Reader<T> {
    fn add_splits(&mut self, splits: Vec<Split>) -> Result<()> {
        for split in &splits {
            self.cursor.add(IndexSplit::from_split(split)?);
        }
        self.regroup = true;
        self.context.waker.wake_by_ref();
        Ok(())
    }

    fn no_more_splits(&mut self) {
        self.complete = true;
        self.context.waker.wake_by_ref();
    }

    fn poll(&mut self, context: &mut PollContext, out: &mut dyn SourceOutput<T>) -> Result<ReaderStatus> {
        if std::mem::take(&mut self.regroup) {
            self.choose_speaker(out);
        }
        let limit = match (&mut self.pace, self.cursor.next()) {
            (Some(pace), Some(next)) => pace.due_below(self.context.clock.monotonic(), next).min(self.end),
            _ => self.end,
        };
        let rows = self.next_batch(limit)?;
        if let Some(speaker) = self.speaker.as_ref().filter(|_| !rows.is_empty()) {
            out.emit(&speaker.id, rows)?;
        }
        self.report_finished(out);
        Ok(self.status(limit, context))
    }

    fn snapshot(&mut self) -> Result<Vec<Split>> {
        let ended = self.speaker.as_ref().and_then(|speaker| speaker.ended);
        Ok(self.cursor.splits().copied().chain(ended).map(IndexSplit::to_split).collect())
    }
}

#[cfg(test)]
mod tests;
