//! Batches that are worked through row by row, with a stop in between where the output asks for one.

use flugs_batch::{Batch, Either, Record, Records};
use flugs_types::Timestamp;

/// A batch whose rows can be taken one by one.
pub trait Rows: Batch {
    /// What is left of it.
    type Rest: Default + Send;

    /// All of it is left.
    fn into_rest(self) -> Self::Rest;

    /// Whether nothing is left.
    fn is_done(rest: &Self::Rest) -> bool;
}

/// What is left of a batch of records.
pub struct RecordsRest<T> {
    values: std::vec::IntoIter<T>,
    times: std::vec::IntoIter<Timestamp>,
}

impl<T> Default for RecordsRest<T> {
    fn default() -> Self {
        RecordsRest { values: Vec::new().into_iter(), times: Vec::new().into_iter() }
    }
}

impl<T> RecordsRest<T> {
    /// The rows that are left.
    pub(crate) fn values(&self) -> &[T] {
        self.values.as_slice()
    }
}

impl<T> Iterator for RecordsRest<T> {
    type Item = (T, Timestamp);

    #[inline]
    fn next(&mut self) -> Option<(T, Timestamp)> {
        Some((self.values.next()?, self.times.next()?))
    }
}

impl<T: Record> Rows for Records<T> {
    type Rest = RecordsRest<T>;

    fn into_rest(self) -> RecordsRest<T> {
        RecordsRest { values: self.values.into_iter(), times: self.times.into_iter() }
    }

    fn is_done(rest: &RecordsRest<T>) -> bool {
        rest.values.as_slice().is_empty()
    }
}

/// What is left of a batch of one of two inputs.
pub enum EitherRest<L, R> {
    /// Of the first.
    Left(RecordsRest<L>),
    /// Of the second.
    Right(RecordsRest<R>),
}

impl<L, R> Default for EitherRest<L, R> {
    fn default() -> Self {
        EitherRest::Left(RecordsRest::default())
    }
}

impl<L: Record, R: Record> Rows for Either<Records<L>, Records<R>> {
    type Rest = EitherRest<L, R>;

    fn into_rest(self) -> EitherRest<L, R> {
        match self {
            Either::Left(left) => EitherRest::Left(left.into_rest()),
            Either::Right(right) => EitherRest::Right(right.into_rest()),
        }
    }

    fn is_done(rest: &EitherRest<L, R>) -> bool {
        match rest {
            EitherRest::Left(left) => Records::is_done(left),
            EitherRest::Right(right) => Records::is_done(right),
        }
    }
}
