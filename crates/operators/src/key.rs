//! What rows are keyed by.

use flugs_batch::Key;

/// Takes the key out of a row. Every closure from `&T` to a key is one.
pub trait KeySelector<T>: Send + 'static {
    /// The key.
    type Key: Key;

    /// The key of the row: always the same for the same row.
    fn key(&self, row: &T) -> Self::Key;
}

impl<T, K: Key, F: Fn(&T) -> K + Send + 'static> KeySelector<T> for F {
    type Key = K;

    #[inline]
    fn key(&self, row: &T) -> K {
        self(row)
    }
}
