//! Functions that are made when their operator opens, so that the handles of their states are plain fields.

use flugs_types::{Error, Result};

/// A function, or what makes it.
pub(crate) enum Opening<F, M> {
    Later(M),
    Opened(F),
    /// Making it failed.
    Lost,
}

impl<F, M> Opening<F, M> {
    /// Makes the function, if it is to be made.
    pub(crate) fn open_by(&mut self, make: impl FnOnce(M) -> Result<F>) -> Result<()> {
        *self = match std::mem::replace(self, Opening::Lost) {
            Opening::Later(maker) => Opening::Opened(make(maker)?),
            opened => opened,
        };
        Ok(())
    }

    pub(crate) fn opened(&mut self) -> Result<&mut F> {
        match self {
            Opening::Opened(function) => Ok(function),
            _ => Err(Error::bug("the function is not open")),
        }
    }
}
