//! What operators that keep rows by key share: keys of a batch, rows as bytes, columns put back in order.

use crate::aggregate::LocalGroups;
use crate::row::{EncodedRows, RowBytes, RowCodec};
use arrow::array::{ArrayRef, new_null_array};
use arrow::datatypes::{DataType, SchemaRef};
use flugs_batch::{Batch, ChangeBatch};
use flugs_types::{Error, Result};

/// The columns of a table, split into those of the key and the others.
#[derive(Debug, Clone)]
pub(super) struct KeyedColumns {
    pub(super) schema: SchemaRef,
    keys: Vec<usize>,
    others: Vec<usize>,
    key_codec: RowCodec,
    other_codec: RowCodec,
    /// The bytes of a row of NULLs.
    null: RowBytes,
}

/// The keys of a batch.
#[derive(Default)]
pub(super) struct BatchKeys {
    encoded: EncodedRows,
    pub(super) local: LocalGroups,
    /// Keys and hashes of the groups.
    pub(super) keys: Vec<(RowBytes, u64)>,
}

impl KeyedColumns {
    pub(super) fn new(schema: &SchemaRef, keys: &[usize]) -> Result<Self> {
        if let Some(wrong) = keys.iter().find(|key| **key >= schema.fields().len()) {
            return Err(Error::bug(format!("the key's column {wrong} is none of {}", schema.fields().len())));
        }
        let others: Vec<usize> = (0..schema.fields().len()).filter(|c| !keys.contains(c)).collect();
        let types = |columns: &[usize]| -> Vec<DataType> {
            columns.iter().map(|c| schema.field(*c).data_type().clone()).collect()
        };
        let other_codec = RowCodec::new(&types(&others))?;
        let nulls: Vec<ArrayRef> =
            others.iter().map(|c| new_null_array(schema.field(*c).data_type(), 1)).collect();
        let null = other_codec.encode(&nulls, 1)?.to_key(0);
        Ok(KeyedColumns {
            schema: schema.clone(),
            keys: keys.to_vec(),
            others,
            key_codec: RowCodec::new(&types(keys))?,
            other_codec,
            null,
        })
    }

    pub(super) fn key_columns(&self, batch: &ChangeBatch) -> Vec<ArrayRef> {
        self.keys.iter().map(|c| batch.column(*c).clone()).collect()
    }

    pub(super) fn other_columns(&self, batch: &ChangeBatch) -> Vec<ArrayRef> {
        self.others.iter().map(|c| batch.column(*c).clone()).collect()
    }

    /// Finds the groups of a batch.
    pub(super) fn find(&self, batch: &ChangeBatch, found: &mut BatchKeys) -> Result<()> {
        self.key_codec.encode_into(&self.key_columns(batch), batch.len(), &mut found.encoded)?;
        found.local.assign(&found.encoded);
        found.keys.clear();
        for row in found.local.first_rows() {
            let row = *row as usize;
            found.keys.push((found.encoded.to_key(row), found.encoded.hash(row)));
        }
        Ok(())
    }

    /// The columns that are not the key's, as bytes.
    pub(super) fn encode(&self, others: &[ArrayRef], rows: usize) -> Result<EncodedRows> {
        self.other_codec.encode(others, rows)
    }

    /// The columns that are not the key's; NULLs where there is no row.
    pub(super) fn decode<'a>(
        &'a self,
        rows: impl Iterator<Item = Option<&'a RowBytes>>,
    ) -> Result<Vec<ArrayRef>> {
        self.other_codec.decode(rows.map(|row| row.unwrap_or(&self.null).as_slice()))
    }

    pub(super) fn decode_keys<'a>(&self, keys: impl Iterator<Item = &'a RowBytes>) -> Result<Vec<ArrayRef>> {
        self.key_codec.decode(keys.map(|key| key.as_slice()))
    }

    /// Puts the key's columns and then the others into the order of the table.
    pub(super) fn in_order(&self, columns: &[ArrayRef]) -> Vec<ArrayRef> {
        let mut places: Vec<usize> = self.keys.iter().chain(&self.others).copied().collect();
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|at| places[*at]);
        places.clear();
        order.into_iter().map(|at| columns[at].clone()).collect()
    }
}
