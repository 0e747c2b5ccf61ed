//! Rows in memory by key: what a look-up in a small table needs.

use crate::connector::LookupSource;
use arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::row::{RowConverter, Rows, SortField};
use flugs_types::{Error, Result, hash_bytes};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Rows of a table, found by the equality of key columns. NULL is equal to nothing, as in SQL.
pub struct KeyedRows {
    rows: RecordBatch,
    keys: Vec<usize>,
    converter: RowConverter,
    encoded: Rows,
    /// By the hash of the key: the first row with it.
    first: HashMap<u64, u32, BuildHasherDefault<Hashed>>,
    /// For each row the next one with the same hash; its own number at the end.
    next: Vec<u32>,
}

/// A hash that is made already.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash_bytes(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl KeyedRows {
    /// Rows by these key columns.
    pub fn new(rows: RecordBatch, keys: &[usize]) -> Result<Self> {
        let fields = keys.iter().map(|&key| SortField::new(rows.column(key).data_type().clone()));
        let converter = RowConverter::new(fields.collect()).map_err(no_key)?;
        let columns: Vec<ArrayRef> = keys.iter().map(|&key| rows.column(key).clone()).collect();
        let encoded = converter.convert_columns(&columns).map_err(no_key)?;
        let count = u32::try_from(rows.num_rows())
            .map_err(|_| Error::job("a table to look up in has more than four billion rows"))?;
        let mut next: Vec<u32> = (0..count).collect();
        let mut first: HashMap<u64, u32, BuildHasherDefault<Hashed>> = HashMap::default();
        // From the end, so that rows of one key are met in their order.
        for row in (0..count).rev().filter(|row| !any_null(&columns, *row as usize)) {
            let hash = hash_bytes(encoded.row(row as usize).as_ref());
            if let Some(later) = first.insert(hash, row) {
                next[row as usize] = later;
            }
        }
        Ok(KeyedRows { rows, keys: keys.to_vec(), converter, encoded, first, next })
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.num_rows()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn any_null(columns: &[ArrayRef], row: usize) -> bool {
    columns.iter().any(|column| column.is_null(row))
}

fn no_key(error: arrow::error::ArrowError) -> Error {
    Error::job("rows cannot be looked up by a column of this type").caused_by(error)
}

impl LookupSource for KeyedRows {
    fn lookup(&self, keys: &RecordBatch) -> Result<(RecordBatch, Vec<u32>)> {
        let columns = keys.columns();
        let same_types = columns.len() == self.keys.len()
            && columns.iter().zip(&self.keys).all(|(c, k)| c.data_type() == self.rows.column(*k).data_type());
        if !same_types {
            return Err(Error::bug("a look-up has keys of other types than the table's"));
        }
        let encoded = self.converter.convert_columns(columns).map_err(no_key)?;
        let (mut found, mut of) = (Vec::new(), Vec::new());
        for asked in 0..keys.num_rows() {
            if any_null(columns, asked) {
                continue;
            }
            let key = encoded.row(asked);
            let mut row = self.first.get(&hash_bytes(key.as_ref())).copied();
            while let Some(at) = row {
                if self.encoded.row(at as usize) == key {
                    found.push(at);
                    of.push(asked as u32);
                }
                row = Some(self.next[at as usize]).filter(|next| *next != at);
            }
        }
        let rows = take_record_batch(&self.rows, &UInt32Array::from(found))
            .map_err(|e| Error::bug("found rows cannot be taken").caused_by(e))?;
        Ok((rows, of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{AsArray, Int64Array, StringViewArray};
    use std::sync::Arc;

    #[test]
    fn rows_of_a_key_come_in_order_and_null_is_equal_to_nothing() {
        let ids: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(2), None, Some(1)]));
        let names: ArrayRef = Arc::new(StringViewArray::from(vec!["a", "b", "c", "a far longer name"]));
        let table = RecordBatch::try_from_iter([("id", ids), ("name", names)]).unwrap();
        let keyed = KeyedRows::new(table.clone(), &[0]).unwrap();
        let asked: ArrayRef = Arc::new(Int64Array::from(vec![Some(2), None, Some(9), Some(1), Some(2)]));
        let (rows, of) = keyed.lookup(&RecordBatch::try_from_iter([("k", asked)]).unwrap()).unwrap();
        assert_eq!(of, [0, 3, 3, 4]);
        let names: Vec<&str> = rows.column(1).as_string_view().iter().flatten().collect();
        assert_eq!(names, ["b", "a", "a far longer name", "b"]);
        assert_eq!((keyed.len(), rows.num_columns()), (4, 2));

        let keyed = KeyedRows::new(table, &[1, 0]).unwrap();
        let names: ArrayRef = Arc::new(StringViewArray::from(vec!["a", "a"]));
        let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let (rows, of) =
            keyed.lookup(&RecordBatch::try_from_iter([("n", names), ("i", ids)]).unwrap()).unwrap();
        assert_eq!((rows.num_rows(), of), (1, vec![0]));
        let wrong: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        assert!(keyed.lookup(&RecordBatch::try_from_iter([("n", wrong)]).unwrap()).is_err());
    }
}
