//! Any source, slowed down.

use crate::source::{
    Boundedness, EnumeratorContext, Malformed, PollContext, ReaderContext, ReaderStatus, Source,
    SourceOutput, SourceReader, Split, SplitEnumerator, SplitStatus,
};
use flugs_batch::{Record, Records};
use flugs_types::{Result, SubtaskId, Timestamp};
use std::time::Duration;

/// A source whose readers together read at most so many rows a second.
///
/// The rate is held over batches, not between rows: a reader that has read a batch waits until it would have been
/// due. Everything else is the inner source's affair.
pub struct Throttled<S> {
    inner: S,
    rows_per_second: f64,
}

impl<S: Source> Throttled<S> {
    /// `inner` at this rate, which must be above zero.
    pub fn new(inner: S, rows_per_second: f64) -> Self {
        Throttled { inner, rows_per_second: rows_per_second.max(f64::MIN_POSITIVE) }
    }
}

impl<S: Source> Source for Throttled<S> {
    type Item = S::Item;

    fn boundedness(&self) -> Boundedness {
        self.inner.boundedness()
    }

    fn enumerator(&self, context: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>> {
        self.inner.enumerator(context)
    }

    fn reader(&self, context: ReaderContext) -> Result<Box<dyn SourceReader<S::Item>>> {
        let SubtaskId { parallelism, .. } = context.subtask;
        let seconds_per_row = f64::from(parallelism) / self.rows_per_second;
        Ok(Box::new(Reader { inner: self.inner.reader(context)?, seconds_per_row, due: Timestamp::MIN }))
    }
}

struct Reader<T> {
    inner: Box<dyn SourceReader<T>>,
    seconds_per_row: f64,
    /// When the next batch is due.
    due: Timestamp,
}

impl<T: Record> SourceReader<T> for Reader<T> {
    fn add_splits(&mut self, splits: Vec<Split>) -> Result<()> {
        self.inner.add_splits(splits)
    }

    fn no_more_splits(&mut self) {
        self.inner.no_more_splits();
    }

    fn poll(&mut self, context: &mut PollContext, out: &mut dyn SourceOutput<T>) -> Result<ReaderStatus> {
        if context.now < self.due {
            return Ok(ReaderStatus::WaitUntil(self.due));
        }
        let mut counted = Counted { out, rows: 0 };
        let status = self.inner.poll(context, &mut counted)?;
        let rows = counted.rows;
        if rows > 0 {
            let span =
                Duration::try_from_secs_f64(rows as f64 * self.seconds_per_row).unwrap_or(Duration::MAX);
            self.due = context.now + span;
        }
        Ok(match status {
            ReaderStatus::More if rows > 0 => ReaderStatus::WaitUntil(self.due),
            other => other,
        })
    }

    fn snapshot(&mut self) -> Result<Vec<Split>> {
        self.inner.snapshot()
    }

    fn committed(&mut self) -> Result<()> {
        self.inner.committed()
    }
}

struct Counted<'a, T> {
    out: &'a mut dyn SourceOutput<T>,
    rows: usize,
}

impl<T> SourceOutput<T> for Counted<'_, T> {
    fn emit(&mut self, split: &str, rows: Records<T>) -> Result<()> {
        self.rows += rows.len();
        self.out.emit(split, rows)
    }

    fn malformed(&mut self, record: Malformed) -> Result<()> {
        self.rows += 1;
        self.out.malformed(record)
    }

    fn status(&mut self, split: &str, status: SplitStatus) {
        self.out.status(split, status);
    }

    fn finished(&mut self, split: &str) {
        self.out.finished(split);
    }
}
