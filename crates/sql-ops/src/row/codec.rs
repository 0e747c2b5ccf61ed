//! The codec, and the batches of rows that it makes.

use super::bytes::{RowBytes, row_hash};
use super::decode::decode_columns;
use super::encode::{Encoder, Rows};
use super::layout::Column;
use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;
use flugs_types::{Error, Result};
use std::cell::OnceCell;

/// How a column is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SortOptions {
    /// Highest first.
    pub descending: bool,
    /// NULLs before all values, whichever way these are ordered; else behind them.
    pub nulls_first: bool,
}

/// Ascending, NULLs first: how keys are encoded.
impl Default for SortOptions {
    fn default() -> Self {
        SortOptions { descending: false, nulls_first: true }
    }
}

/// Encodes columns of given types into rows of bytes, and decodes these. See the [module](super).
#[derive(Debug, Clone)]
pub struct RowCodec {
    columns: Vec<Column>,
    options: Vec<SortOptions>,
    /// The length of every row, where all columns are of fixed width.
    stride: Option<usize>,
}

impl RowCodec {
    /// The version of the format, which is part of the schema of [`RowBytes`].
    pub const VERSION: u32 = 1;

    /// A codec of these columns, ascending, NULLs first. An error where a type is none of SQL's.
    pub fn new(types: &[DataType]) -> Result<Self> {
        RowCodec::ordered(types, &vec![SortOptions::default(); types.len()])
    }

    /// A codec of these columns, each in its order.
    pub fn ordered(types: &[DataType], options: &[SortOptions]) -> Result<Self> {
        if types.len() != options.len() {
            return Err(Error::bug(format!("{} sort options for {} columns", options.len(), types.len())));
        }
        let columns: Vec<Column> = types.iter().map(Column::new).collect::<Result<_>>()?;
        let stride = columns.iter().try_fold(0, |sum, column| Some(sum + column.stride()?));
        Ok(RowCodec { columns, options: options.to_vec(), stride })
    }

    /// The types of the columns.
    pub fn types(&self) -> impl ExactSizeIterator<Item = &DataType> {
        self.columns.iter().map(|column| &column.data_type)
    }

    /// Encodes `rows` rows of these columns, of which there must be as many as the codec has, of its types.
    pub fn encode(&self, columns: &[ArrayRef], rows: usize) -> Result<EncodedRows> {
        let mut encoded = EncodedRows::default();
        self.encode_into(columns, rows, &mut encoded)?;
        Ok(encoded)
    }

    /// Likewise, in place of what `encoded` held before, using its memory again.
    pub fn encode_into(&self, columns: &[ArrayRef], rows: usize, encoded: &mut EncodedRows) -> Result<()> {
        self.check(columns, rows)?;
        encoded.hashes.take();
        encoded.nulls = null_keys(columns);
        Encoder { columns: &self.columns, options: &self.options, stride: self.stride }.encode(
            columns,
            rows,
            &mut encoded.rows,
        )
    }

    fn check(&self, columns: &[ArrayRef], rows: usize) -> Result<()> {
        if columns.len() != self.columns.len() {
            return Err(Error::bug(format!("{} columns for a row of {}", columns.len(), self.columns.len())));
        }
        for (column, expected) in columns.iter().zip(&self.columns) {
            if column.len() != rows || column.data_type() != &expected.data_type {
                return Err(Error::bug(format!(
                    "a column of {} rows of {} where {rows} rows of {} were expected",
                    column.len(),
                    column.data_type(),
                    expected.data_type
                )));
            }
        }
        Ok(())
    }

    /// The columns of these rows; entries of maps come back in the order of their keys. An error of kind `State` where the bytes
    /// are no rows of this codec.
    pub fn decode<'a>(&self, rows: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<ArrayRef>> {
        decode_columns(&self.columns, &self.options, rows.into_iter().collect())
            .map_err(|e| e.mend("the state was written by another query, or is damaged"))
    }
}

/// For keys of a join, where NULL equals nothing: the rows in which one of the columns is NULL are those that this buffer calls null.
/// `None` where there is no such row.
pub fn null_keys(columns: &[ArrayRef]) -> Option<NullBuffer> {
    let nulls = columns.iter().fold(None, |nulls: Option<NullBuffer>, column| {
        NullBuffer::union(nulls.as_ref(), column.logical_nulls().as_ref())
    });
    nulls.filter(|nulls| nulls.null_count() > 0)
}

/// Rows of bytes, one after the other in one buffer.
#[derive(Debug, Default)]
pub struct EncodedRows {
    pub(super) rows: Rows,
    nulls: Option<NullBuffer>,
    hashes: OnceCell<Vec<u64>>,
}

impl EncodedRows {
    /// How many rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of a row.
    #[inline(always)]
    pub fn row(&self, i: usize) -> &[u8] {
        self.rows.row(i)
    }

    /// All rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.row(i))
    }

    /// The bytes of a row, owned.
    #[inline(always)]
    pub fn to_key(&self, i: usize) -> RowBytes {
        RowBytes::new(self.row(i))
    }

    /// The hashes of all rows ([`row_hash`]), computed at the first call.
    pub fn hashes(&self) -> &[u64] {
        self.hashes.get_or_init(|| self.iter().map(row_hash).collect())
    }

    /// The hash of a row: what `hash_key` gives for its [`RowBytes`].
    #[inline(always)]
    pub fn hash(&self, i: usize) -> u64 {
        self.hashes()[i]
    }

    /// Whether a column of the row is NULL.
    #[inline]
    pub fn has_null(&self, i: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(i))
    }

    /// The rows in which a column is NULL are those that this buffer calls null; `None` where there is none.
    pub fn nulls(&self) -> Option<&NullBuffer> {
        self.nulls.as_ref()
    }

    /// The memory that the rows take.
    pub fn bytes(&self) -> usize {
        self.rows.bytes()
    }
}
