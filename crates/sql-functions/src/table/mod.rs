//! Functions of one row that give rows.

use std::fmt;

/// A function that gives any number of rows for one.
pub trait TableFunction: fmt::Debug + Send + Sync {
    /// Its name.
    fn name(&self) -> &str;
}
