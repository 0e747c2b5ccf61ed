//! Batches of typed records.

use crate::data::Data;
use flugs_types::Timestamp;

/// Anything that moves between operators as a unit.
pub trait Batch: Send + 'static {
    /// How many rows.
    fn len(&self) -> usize;

    /// Whether there is no row.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A batch that may be split, merged and kept waiting: what an exchange moves.
pub trait Exchanged: Batch + Default {
    /// About how many bytes of memory the rows take.
    fn bytes(&self) -> usize;

    /// Moves all rows of `other` behind these.
    fn append(&mut self, other: Self);
}

/// What a stream can carry: any type that can be cloned (a stream may be read twice) and sent.
pub trait Record: Clone + Send + 'static {}

impl<T: Clone + Send + 'static> Record for T {}

/// Rows of one type and their event times, in two parallel vectors of equal length.
///
/// A row without an event time has [`Timestamp::MIN`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Records<T> {
    /// The rows.
    pub values: Vec<T>,
    /// The event time of each row.
    pub times: Vec<Timestamp>,
}

impl<T> Default for Records<T> {
    fn default() -> Self {
        Records { values: Vec::new(), times: Vec::new() }
    }
}

impl<T> Records<T> {
    /// No rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// No rows, room for some.
    pub fn with_capacity(rows: usize) -> Self {
        Records { values: Vec::with_capacity(rows), times: Vec::with_capacity(rows) }
    }

    /// Rows without event times.
    pub fn untimed(values: Vec<T>) -> Self {
        let times = vec![Timestamp::MIN; values.len()];
        Records { values, times }
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Adds a row.
    #[inline(always)]
    pub fn push(&mut self, value: T, time: Timestamp) {
        self.values.push(value);
        self.times.push(time);
    }

    /// Takes out all rows, in order, with their times.
    pub fn drain(&mut self) -> impl Iterator<Item = (T, Timestamp)> + '_ {
        self.values.drain(..).zip(self.times.drain(..))
    }

    /// The rows with their times.
    pub fn iter(&self) -> impl Iterator<Item = (&T, Timestamp)> + '_ {
        self.values.iter().zip(self.times.iter().copied())
    }
}

impl<T> IntoIterator for Records<T> {
    type Item = (T, Timestamp);
    type IntoIter = std::iter::Zip<std::vec::IntoIter<T>, std::vec::IntoIter<Timestamp>>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.into_iter().zip(self.times)
    }
}

impl<T> FromIterator<(T, Timestamp)> for Records<T> {
    fn from_iter<I: IntoIterator<Item = (T, Timestamp)>>(rows: I) -> Self {
        let (values, times) = rows.into_iter().unzip();
        Records { values, times }
    }
}

impl<T: Send + 'static> Batch for Records<T> {
    fn len(&self) -> usize {
        self.values.len()
    }
}

/// How many rows are measured to estimate a batch's bytes.
const SAMPLE: usize = 16;

impl<T: Data> Exchanged for Records<T> {
    /// The rows' own size plus what a sample of them holds on the heap.
    fn bytes(&self) -> usize {
        let fixed = self.len() * (size_of::<T>() + size_of::<Timestamp>());
        if !std::mem::needs_drop::<T>() || self.is_empty() {
            return fixed;
        }
        let step = self.len().div_ceil(SAMPLE);
        let (mut heap, mut seen) = (0, 0);
        for value in self.values.iter().step_by(step) {
            heap += value.heap_bytes();
            seen += 1;
        }
        fixed + heap * self.len() / seen
    }

    fn append(&mut self, mut other: Self) {
        if self.is_empty() {
            *self = other;
            return;
        }
        self.values.append(&mut other.values);
        self.times.append(&mut other.times);
    }
}
