//! What rows are keyed by.

use flugs_batch::{Data, Key};
use flugs_state::KeyedTable;
use flugs_types::hash_key;

/// Takes the key out of a row. Every closure from `&T` to a key is one; see also [`KeyRef`].
pub trait KeySelector<T>: Send + 'static {
    /// The key.
    type Key: Key;

    /// The key of the row: always the same for the same row.
    fn key(&self, row: &T) -> Self::Key;

    /// The hash of the row's key.
    #[inline]
    fn hash(&self, row: &T) -> u64 {
        hash_key(&self.key(row))
    }

    /// For each row in order, calls `f` with the value of the row's key in the table; `init` makes that of a new key.
    #[inline]
    fn for_each_row<V: Data>(
        &self,
        table: &mut KeyedTable<Self::Key, V>,
        rows: &[T],
        init: impl FnMut() -> V,
        f: impl FnMut(usize, &mut V),
    ) where
        Self: Sized,
    {
        table.for_each_row(rows.len(), |row| self.key(&rows[row]), init, f);
    }
}

impl<T, K: Key, F: Fn(&T) -> K + Send + 'static> KeySelector<T> for F {
    type Key = K;

    #[inline]
    fn key(&self, row: &T) -> K {
        self(row)
    }
}

/// A key that stands in the row as it is: it is cloned only where it is kept.
#[derive(Debug, Clone, Copy)]
pub struct KeyRef<F>(pub F);

impl<T: 'static, K: Key, F: Fn(&T) -> &K + Send + 'static> KeySelector<T> for KeyRef<F> {
    type Key = K;

    #[inline]
    fn key(&self, row: &T) -> K {
        (self.0)(row).clone()
    }

    #[inline]
    fn hash(&self, row: &T) -> u64 {
        hash_key((self.0)(row))
    }

    #[inline]
    fn for_each_row<V: Data>(
        &self,
        table: &mut KeyedTable<K, V>,
        rows: &[T],
        init: impl FnMut() -> V,
        f: impl FnMut(usize, &mut V),
    ) {
        table.for_each_row_ref(rows.len(), |row| (self.0)(&rows[row]), init, f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flugs_types::KeyGroupRange;

    #[test]
    fn a_key_in_the_row_is_the_key_that_a_clone_is() {
        let by_clone = |row: &(String, u8)| row.0.clone();
        fn of_row(row: &(String, u8)) -> &String {
            &row.0
        }
        let by_ref = KeyRef(of_row);
        let rows: Vec<(String, u8)> = (0..200).map(|i| (format!("key {}", i % 7), i)).collect();
        let mut counts: Vec<KeyedTable<String, u64>> =
            (0..2).map(|_| KeyedTable::new("counts", KeyGroupRange::ALL)).collect();
        by_clone.for_each_row(&mut counts[0], &rows, || 0, |row, n| *n += u64::from(rows[row].1));
        by_ref.for_each_row(&mut counts[1], &rows, || 0, |row, n| *n += u64::from(rows[row].1));
        for row in &rows {
            assert_eq!((by_ref.key(row), by_ref.hash(row)), (by_clone.key(row), by_clone.hash(row)));
            assert_eq!(counts[0].get(&row.0), counts[1].get(&row.0));
        }
        let expected: u64 = (0..200).filter(|i| i % 7 == 3).sum();
        assert_eq!(counts[1].get(&"key 3".to_owned()), Some(&expected));
    }
}
