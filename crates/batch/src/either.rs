//! The batch of an operator with two inputs.

use crate::Batch;

/// A batch of the first or of the second input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Either<L, R> {
    /// From the first input.
    Left(L),
    /// From the second input.
    Right(R),
}

impl<L: Batch, R: Batch> Batch for Either<L, R> {
    fn len(&self) -> usize {
        match self {
            Either::Left(l) => l.len(),
            Either::Right(r) => r.len(),
        }
    }
}
