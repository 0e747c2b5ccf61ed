//! Loops over the rows of a call.

use super::call::Call;
use super::text::{Text, TextWriter};
use arrow::array::{ArrayRef, ArrowPrimitiveType, BinaryBuilder, BooleanArray, PrimitiveArray};
use arrow::buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use datafusion_common::Result;
use std::sync::Arc;

impl Call<'_> {
    /// A column of strings; `fill` writes a row, or gives false for NULL.
    pub(crate) fn texts(
        &self,
        mut fill: impl FnMut(usize, &mut Text<'_>) -> Result<bool>,
    ) -> Result<ArrayRef> {
        let mut writer = TextWriter::new(self.rows);
        for row in 0..self.rows {
            writer.write(|text| fill(row, text))?;
        }
        Ok(writer.finish())
    }

    /// A column of strings.
    pub(crate) fn collect_texts<S: AsRef<str>>(
        &self,
        mut value: impl FnMut(usize) -> Result<Option<S>>,
    ) -> Result<ArrayRef> {
        let mut writer = TextWriter::new(self.rows);
        for row in 0..self.rows {
            match value(row)? {
                Some(text) => writer.push(text.as_ref())?,
                None => writer.push_null(),
            }
        }
        Ok(writer.finish())
    }

    /// A column of byte strings.
    pub(crate) fn collect_bytes<B: AsRef<[u8]>>(
        &self,
        mut value: impl FnMut(usize) -> Result<Option<B>>,
    ) -> Result<ArrayRef> {
        let mut builder = BinaryBuilder::with_capacity(self.rows, 0);
        for row in 0..self.rows {
            builder.append_option(value(row)?);
        }
        Ok(Arc::new(builder.finish()))
    }

    /// A column of fixed-width values; decimals and timestamps get the type of the result.
    pub(crate) fn collect<T: ArrowPrimitiveType>(
        &self,
        mut value: impl FnMut(usize) -> Result<Option<T::Native>>,
    ) -> Result<ArrayRef> {
        let mut values = Vec::with_capacity(self.rows);
        let mut valid = Vec::with_capacity(self.rows);
        for row in 0..self.rows {
            let value = value(row)?;
            valid.push(value.is_some());
            values.push(value.unwrap_or_default());
        }
        let array = PrimitiveArray::<T>::new(ScalarBuffer::from(values), some_nulls(valid));
        Ok(Arc::new(array.with_data_type(self.data_type().clone())))
    }

    /// A column of booleans.
    pub(crate) fn collect_booleans(
        &self,
        mut value: impl FnMut(usize) -> Result<Option<bool>>,
    ) -> Result<ArrayRef> {
        let mut values = Vec::with_capacity(self.rows);
        let mut valid = Vec::with_capacity(self.rows);
        for row in 0..self.rows {
            let value = value(row)?;
            valid.push(value.is_some());
            values.push(value.unwrap_or_default());
        }
        Ok(Arc::new(BooleanArray::new(BooleanBuffer::from(values), some_nulls(valid))))
    }

    /// A column of fixed-width values, NULL where an argument is NULL; `value` is asked for every row and must be total.
    pub(crate) fn map_all<T: ArrowPrimitiveType>(&self, value: impl FnMut(usize) -> T::Native) -> ArrayRef {
        let values: Vec<T::Native> = (0..self.rows).map(value).collect();
        let array = PrimitiveArray::<T>::new(ScalarBuffer::from(values), self.nulls());
        Arc::new(array.with_data_type(self.data_type().clone()))
    }
}

fn some_nulls(valid: Vec<bool>) -> Option<NullBuffer> {
    (!valid.iter().all(|v| *v)).then(|| NullBuffer::from(valid))
}
