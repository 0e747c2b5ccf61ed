//! Batches that a case can cut into rows and put together again.

use flugs_batch::{Batch, Either, Record, Records};

/// Which of two subtasks a row goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// The owner of the key group of the key with this hash (`hash_key(&key)`).
    Key(u64),
    /// Both.
    All,
}

/// A batch that a [`Case`](crate::Case) replays in several ways.
pub trait CaseBatch: Batch + Clone {
    /// Each row as a batch of its own.
    fn rows(self) -> Vec<Self>;

    /// Appends `next`, or gives it back if it cannot stand in the same batch.
    fn merge(&mut self, next: Self) -> Option<Self>;
}

impl<T: Record> CaseBatch for Records<T> {
    fn rows(self) -> Vec<Self> {
        self.into_iter().map(|row| std::iter::once(row).collect()).collect()
    }

    fn merge(&mut self, next: Self) -> Option<Self> {
        self.values.extend(next.values);
        self.times.extend(next.times);
        None
    }
}

impl<L: CaseBatch, R: CaseBatch> CaseBatch for Either<L, R> {
    fn rows(self) -> Vec<Self> {
        match self {
            Either::Left(left) => left.rows().into_iter().map(Either::Left).collect(),
            Either::Right(right) => right.rows().into_iter().map(Either::Right).collect(),
        }
    }

    fn merge(&mut self, next: Self) -> Option<Self> {
        match (self, next) {
            (Either::Left(left), Either::Left(next)) => left.merge(next).map(Either::Left),
            (Either::Right(right), Either::Right(next)) => right.merge(next).map(Either::Right),
            (_, next) => Some(next),
        }
    }
}
