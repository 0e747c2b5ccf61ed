//! Columns of a batch as bytes.

use crate::row::{EncodedRows, RowCodec, SortOptions};
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Schema};
use flugs_batch::{Batch, ChangeBatch};
use flugs_types::{Error, Result};

/// Some columns of each batch, encoded in turn into the same memory.
pub(crate) struct Encoded {
    codec: RowCodec,
    columns: Vec<usize>,
    rows: EncodedRows,
}

impl Encoded {
    /// These columns, as keys.
    pub(crate) fn new(schema: &Schema, columns: &[usize]) -> Result<Self> {
        let codec = RowCodec::new(&types_of(schema, columns)?)?;
        Ok(Encoded { codec, columns: columns.to_vec(), rows: EncodedRows::default() })
    }

    /// All columns.
    pub(crate) fn all(schema: &Schema) -> Result<Self> {
        let columns: Vec<usize> = (0..schema.fields().len()).collect();
        Encoded::new(schema, &columns)
    }

    /// These columns, so that bytes compare as they are to be ordered.
    pub(crate) fn ordered(schema: &Schema, order: &[(usize, SortOptions)]) -> Result<Self> {
        let (columns, options): (Vec<usize>, Vec<SortOptions>) = order.iter().copied().unzip();
        let codec = RowCodec::ordered(&types_of(schema, &columns)?, &options)?;
        Ok(Encoded { codec, columns, rows: EncodedRows::default() })
    }

    pub(crate) fn codec(&self) -> &RowCodec {
        &self.codec
    }

    /// Encodes the columns of the batch.
    pub(crate) fn encode(&mut self, batch: &ChangeBatch) -> Result<()> {
        let columns: Vec<ArrayRef> = self.columns.iter().map(|c| batch.column(*c).clone()).collect();
        self.codec.encode_into(&columns, batch.len(), &mut self.rows)
    }

    /// The rows of the batch that was encoded last.
    #[inline(always)]
    pub(crate) fn rows(&self) -> &EncodedRows {
        &self.rows
    }

    /// The bytes of a row of that batch.
    #[inline(always)]
    pub(crate) fn row(&self, row: usize) -> &[u8] {
        self.rows.row(row)
    }
}

/// The types of these columns. An error where there is no such column.
pub(crate) fn types_of(schema: &Schema, columns: &[usize]) -> Result<Vec<DataType>> {
    let type_of = |column: &usize| {
        let field = schema.fields().get(*column);
        field.map(|f| f.data_type().clone()).ok_or_else(|| Error::bug(format!("there is no column {column}")))
    };
    columns.iter().map(type_of).collect()
}
