//! Frames and places in a partition whose rows are all there, in order.

use super::spec::{Frame, FrameBound, FrameUnit};
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray};
use arrow::datatypes as types;
use arrow::datatypes::{DataType, TimeUnit};
use flugs_types::{Error, Result};
use std::ops::Range;

/// The rows of a partition in order. They are numbered from 0.
pub(super) struct Segment {
    /// For each row those that are equal to it in order.
    pub(super) peers: Vec<Range<usize>>,
    /// For each row how many different orders are before it.
    pub(super) denses: Vec<usize>,
    /// What frames measure distances by, ascending in the order of rows; `None` of NULLs, which stand at one end. Empty where no frame
    /// does.
    pub(super) values: Vec<Option<i128>>,
}

impl Segment {
    /// Of rows with these orders.
    pub(super) fn new<'a>(orders: impl Iterator<Item = &'a [u8]>) -> Self {
        let orders: Vec<&[u8]> = orders.collect();
        let (mut peers, mut denses) = (Vec::with_capacity(orders.len()), Vec::with_capacity(orders.len()));
        let mut start = 0;
        for (dense, equal) in orders.chunk_by(|a, b| a == b).enumerate() {
            let end = start + equal.len();
            equal.iter().for_each(|_| {
                peers.push(start..end);
                denses.push(dense);
            });
            start = end;
        }
        Segment { peers, denses, values: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.peers.len()
    }

    /// The frame of a row.
    pub(super) fn frame(&self, frame: Frame, row: usize) -> Range<usize> {
        let n = self.len();
        let distance = |by: u64| usize::try_from(by).unwrap_or(usize::MAX);
        let start = match (frame.unit, frame.start) {
            (_, FrameBound::UnboundedPreceding) => 0,
            (FrameUnit::Rows, FrameBound::Preceding(by)) => row.saturating_sub(distance(by)),
            (FrameUnit::Rows, FrameBound::Following(by)) => row.saturating_add(distance(by)).min(n),
            (FrameUnit::Rows, _) => row,
            (FrameUnit::Range, FrameBound::Preceding(by)) => self.first_from(row, -i128::from(by)),
            (FrameUnit::Range, FrameBound::Following(by)) => self.first_from(row, i128::from(by)),
            (FrameUnit::Range, _) => self.peers[row].start,
        };
        let end = match (frame.unit, frame.end) {
            (_, FrameBound::UnboundedFollowing) => n,
            (FrameUnit::Rows, FrameBound::Preceding(by)) => (row + 1).saturating_sub(distance(by)),
            (FrameUnit::Rows, FrameBound::Following(by)) => {
                row.saturating_add(distance(by)).saturating_add(1).min(n)
            }
            (FrameUnit::Rows, _) => row + 1,
            (FrameUnit::Range, FrameBound::Preceding(by)) => self.first_beyond(row, -i128::from(by)),
            (FrameUnit::Range, FrameBound::Following(by)) => self.first_beyond(row, i128::from(by)),
            (FrameUnit::Range, _) => self.peers[row].end,
        };
        start..end.max(start)
    }

    /// The first row whose value is at or above that of `row` and `by`. NULLs are near NULLs alone.
    fn first_from(&self, row: usize, by: i128) -> usize {
        match self.values[row] {
            None => self.peers[row].start,
            Some(value) => {
                let of_values = self.of_values();
                let within = &self.values[of_values.clone()];
                of_values.start
                    + within.partition_point(|other| other.is_some_and(|other| other < value + by))
            }
        }
    }

    /// The first row whose value is above that of `row` and `by`.
    fn first_beyond(&self, row: usize, by: i128) -> usize {
        match self.values[row] {
            None => self.peers[row].end,
            Some(value) => {
                let of_values = self.of_values();
                let within = &self.values[of_values.clone()];
                of_values.start
                    + within.partition_point(|other| other.is_some_and(|other| other <= value + by))
            }
        }
    }

    /// The rows without NULL.
    fn of_values(&self) -> Range<usize> {
        let end = self.len();
        match (self.values.first(), self.values.last()) {
            (Some(None), _) => self.peers[0].end..end,
            (_, Some(None)) => 0..self.peers[end - 1].start,
            _ => 0..end,
        }
    }
}

/// The values of a column as numbers in the unit of a frame's distances; negated where they are descending. An error where a
/// type has none.
pub(super) fn distances(column: &ArrayRef, descending: bool) -> Result<Vec<Option<i128>>> {
    fn all<T: ArrowPrimitiveType>(column: &ArrayRef) -> Vec<Option<i128>>
    where
        T::Native: Into<i128>,
    {
        column.as_primitive::<T>().iter().map(|value| value.map(Into::into)).collect()
    }
    let scaled =
        |values: Vec<Option<i128>>, by: i128| values.into_iter().map(|v| v.map(|v| v * by)).collect();
    let values: Vec<Option<i128>> = match column.data_type() {
        DataType::Int8 => all::<types::Int8Type>(column),
        DataType::Int16 => all::<types::Int16Type>(column),
        DataType::Int32 => all::<types::Int32Type>(column),
        DataType::Int64 => all::<types::Int64Type>(column),
        DataType::Date32 => all::<types::Date32Type>(column),
        DataType::Time32(TimeUnit::Millisecond) => all::<types::Time32MillisecondType>(column),
        DataType::Decimal128(..) => column.as_primitive::<types::Decimal128Type>().iter().collect(),
        DataType::Timestamp(TimeUnit::Second, _) => {
            scaled(all::<types::TimestampSecondType>(column), 1_000_000)
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            scaled(all::<types::TimestampMillisecondType>(column), 1000)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => all::<types::TimestampMicrosecondType>(column),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let nanos = all::<types::TimestampNanosecondType>(column);
            nanos.into_iter().map(|v| v.map(|v| v.div_euclid(1000))).collect()
        }
        other => {
            return Err(Error::job(format!("a RANGE frame has a distance over a column of {other}"))
                .mend("order by an integer, a decimal, a date or a timestamp, or count the frame in ROWS"));
        }
    };
    // Ranges of 128 bits are far wider than any distance of 64 bits but for the greatest decimals, of which none is near the end.
    Ok(if descending { values.into_iter().map(|value| value.map(|value| -value)).collect() } else { values })
}
