//! How batches and control items go from an operator to the next.

use crate::Control;
use flugs_types::Result;

/// Whether the receiver can take more.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flow {
    /// Go on.
    Ready,
    /// What was given is accepted, but the receiver has work left that it can go on with at once: nothing more
    /// may be pushed until [`resume`](Push::resume) has returned `Ready`.
    Yield,
    /// The same, but the receiver waits for something: the task is woken when a `resume` can help.
    Full,
}

impl Flow {
    /// The more restrictive of the two.
    pub fn and(self, other: Flow) -> Flow {
        self.max(other)
    }
}

/// The next operator, outlet or sink of a chain.
///
/// A push always takes what it is given; `Yield` and `Full` ask the caller to stop afterwards. A caller that
/// goes on all the same loses nothing, but memory then grows by what it pushes: operators that can
/// explode look at the answer after each batch. After an error the receiver is not used again.
pub trait Push<B>: Send {
    /// Takes a batch.
    fn push(&mut self, batch: B) -> Result<Flow>;

    /// Takes a control item, which is ordered after all batches pushed so far.
    fn control(&mut self, control: Control) -> Result<Flow>;

    /// Goes on with work that was left when `Yield` or `Full` was returned.
    fn resume(&mut self) -> Result<Flow>;
}

impl<B, P: Push<B> + ?Sized> Push<B> for Box<P> {
    fn push(&mut self, batch: B) -> Result<Flow> {
        (**self).push(batch)
    }

    fn control(&mut self, control: Control) -> Result<Flow> {
        (**self).control(control)
    }

    fn resume(&mut self) -> Result<Flow> {
        (**self).resume()
    }
}
