//! Any source, slowed down.

use crate::source::{
    Boundedness, EnumeratorContext, Malformed, PollContext, ReaderContext, ReaderStatus, Source,
    SourceOutput, SourceReader, Split, SplitEnumerator, SplitStatus,
};
use flugs_batch::{Record, Records};
use flugs_types::{Result, Timestamp};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A source whose readers in this process together read at most so many rows a second.
///
/// The rate is held over batches, not between rows: a reader that has read a batch waits until the rows that all readers have
/// read would have been due. So those that have something to read share the rate, batch by batch in turn, and those that
/// have no split take no part of it. What is not read in time is not made up for. Everything else is the inner
/// source's affair.
pub struct Throttled<S> {
    inner: S,
    rows_per_second: f64,
    read: Arc<Mutex<Debt>>,
}

impl<S: Source> Throttled<S> {
    /// `inner` at this rate, which must be above zero.
    pub fn new(inner: S, rows_per_second: f64) -> Self {
        let rows_per_second = rows_per_second.max(f64::MIN_POSITIVE);
        Throttled { inner, rows_per_second, read: Arc::default() }
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
        Ok(Box::new(Reader {
            inner: self.inner.reader(context)?,
            seconds_per_row: self.rows_per_second.recip(),
            read: self.read.clone(),
            due: Timestamp::MIN,
            polled: Timestamp::MIN,
        }))
    }
}

/// By how much all readers together are ahead of the rate.
#[derive(Debug, Default)]
struct Debt {
    at: Timestamp,
    ahead: Duration,
}

impl Debt {
    /// Rows were read that take so long under the rate; says how far ahead all are now.
    fn add(&mut self, now: Timestamp, span: Duration) -> Duration {
        // A clock that was set back only stops for once.
        self.ahead = self.ahead.saturating_sub(now.since(self.at)).saturating_add(span);
        self.at = now;
        self.ahead
    }
}

struct Reader<T> {
    inner: Box<dyn SourceReader<T>>,
    seconds_per_row: f64,
    read: Arc<Mutex<Debt>>,
    /// When the next batch is due.
    due: Timestamp,
    /// The time of the last poll.
    polled: Timestamp,
}

impl<T> Reader<T> {
    /// Makes up for a clock that was set back since the last poll.
    fn move_to(&mut self, now: Timestamp) {
        self.due = self.due - self.polled.since(now);
        self.polled = now;
    }

    fn have_read(&mut self, now: Timestamp, rows: usize) {
        let span = Duration::try_from_secs_f64(rows as f64 * self.seconds_per_row).unwrap_or(Duration::MAX);
        self.due = now + self.read.lock().unwrap_or_else(PoisonError::into_inner).add(now, span);
    }
}

impl<T: Record> SourceReader<T> for Reader<T> {
    fn add_splits(&mut self, splits: Vec<Split>) -> Result<()> {
        self.inner.add_splits(splits)
    }

    fn no_more_splits(&mut self) {
        self.inner.no_more_splits();
    }

    fn poll(&mut self, context: &mut PollContext, out: &mut dyn SourceOutput<T>) -> Result<ReaderStatus> {
        self.move_to(context.now);
        if context.now < self.due {
            return Ok(ReaderStatus::WaitUntil(self.due));
        }
        let mut counted = Counted { out, rows: 0 };
        let status = self.inner.poll(context, &mut counted)?;
        let rows = counted.rows;
        if rows > 0 {
            self.have_read(context.now, rows);
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

    fn mended(&mut self, records: usize) {
        self.out.mended(records);
    }

    fn status(&mut self, split: &str, status: SplitStatus) {
        self.out.status(split, status);
    }

    fn finished(&mut self, split: &str) {
        self.out.finished(split);
    }
}

#[cfg(test)]
mod tests;
