//! The arguments of one evaluation of a function.

use arrow::array::{
    Array, ArrayAccessor, ArrayRef, ArrowPrimitiveType, AsArray, BinaryArray, BooleanArray, PrimitiveArray,
    StringViewArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Decimal128Type, FieldRef, Float64Type, Int32Type, Int64Type};
use datafusion_common::Result;
use datafusion_common::config::ConfigOptions;
use std::sync::Arc;

/// The arguments of one evaluation: columns of the promised types; a constant is a column of one row.
pub(crate) struct Call<'a> {
    pub(super) arguments: Vec<ArrayRef>,
    /// Which arguments are constants.
    pub(super) constant: Vec<bool>,
    /// The arguments' fields as planned, before widening.
    pub(super) fields: &'a [FieldRef],
    /// How many rows the result has.
    pub(crate) rows: usize,
    /// The field of the result.
    pub(crate) field: &'a FieldRef,
    pub(super) options: &'a Arc<ConfigOptions>,
}

impl<'a> Call<'a> {
    /// How many arguments there are.
    pub(crate) fn len(&self) -> usize {
        self.arguments.len()
    }

    /// The type of the result.
    pub(crate) fn data_type(&self) -> &'a DataType {
        self.field.data_type()
    }

    /// An argument's type.
    pub(crate) fn type_of(&self, i: usize) -> &DataType {
        self.arguments[i].data_type()
    }

    /// An argument's field as it was planned.
    pub(crate) fn field_of(&self, i: usize) -> &'a FieldRef {
        &self.fields[i]
    }

    /// The session's time zone; UTC where none is set.
    pub(crate) fn zone(&self) -> &'a str {
        self.options.execution.time_zone.as_deref().unwrap_or("UTC")
    }

    /// The session's settings.
    pub(crate) fn options(&self) -> &'a Arc<ConfigOptions> {
        self.options
    }

    /// Whether an argument is one value for all rows.
    pub(crate) fn is_constant(&self, i: usize) -> bool {
        self.constant[i]
    }

    /// An argument as it is: of one row where it is a constant.
    pub(crate) fn raw(&self, i: usize) -> &ArrayRef {
        &self.arguments[i]
    }

    /// An argument with as many rows as the result.
    pub(crate) fn array(&self, i: usize) -> Result<ArrayRef> {
        if !self.constant[i] || self.rows == 1 {
            return Ok(self.arguments[i].clone());
        }
        let first = arrow::array::UInt32Array::from(vec![0; self.rows]);
        Ok(arrow::compute::take(&self.arguments[i], &first, None)?)
    }

    /// Another array in the place of an argument: of one row where that is a constant.
    pub(crate) fn column_like<'b, T: ArrowPrimitiveType>(
        &self,
        i: usize,
        array: &'b ArrayRef,
    ) -> Column<'b, PrimitiveArray<T>> {
        Column { array: array.as_primitive::<T>(), stride: usize::from(!self.constant[i]) }
    }

    /// The rows where an argument is NULL, none being NULL where this is `None`. All arguments are looked at.
    pub(crate) fn nulls(&self) -> Option<NullBuffer> {
        let mut nulls: Option<NullBuffer> = None;
        for (array, constant) in self.arguments.iter().zip(&self.constant) {
            let own = array.logical_nulls();
            let own = match own {
                Some(own) if *constant && own.is_null(0) => Some(NullBuffer::new_null(self.rows)),
                Some(_) if *constant => None,
                own => own,
            };
            nulls = NullBuffer::union(nulls.as_ref(), own.as_ref());
        }
        nulls
    }
}

macro_rules! accessor {
    ($($(#[$doc:meta])* $name:ident: $array:ty, $as:ident $(::<$t:ty>)?;)*) => {
        impl Call<'_> {
            $($(#[$doc])*
            pub(crate) fn $name(&self, i: usize) -> Column<'_, $array> {
                Column { array: self.arguments[i].$as$(::<$t>)?(), stride: usize::from(!self.constant[i]) }
            })*
        }
    };
}

accessor! {
    /// A column of strings.
    strings: StringViewArray, as_string_view;
    /// A column of bytes.
    bytes: BinaryArray, as_binary::<i32>;
    /// A column of booleans.
    booleans: BooleanArray, as_boolean;
    /// A column of `INT`s.
    ints: PrimitiveArray<Int32Type>, as_primitive::<Int32Type>;
    /// A column of `BIGINT`s.
    big_ints: PrimitiveArray<Int64Type>, as_primitive::<Int64Type>;
    /// A column of `DOUBLE`s.
    doubles: PrimitiveArray<Float64Type>, as_primitive::<Float64Type>;
    /// A column of `DECIMAL`s, as unscaled numbers.
    decimals: PrimitiveArray<Decimal128Type>, as_primitive::<Decimal128Type>;
}

/// A column or a constant: row `i` of a constant is its only row, whatever `i` is.
pub(crate) struct Column<'a, A> {
    pub(crate) array: &'a A,
    stride: usize,
}

impl<A> Clone for Column<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Column<'_, A> {}

impl<'a, A> Column<'a, A>
where
    &'a A: ArrayAccessor,
{
    /// The value of a row; none where it is NULL.
    pub(crate) fn get(&self, row: usize) -> Option<<&'a A as ArrayAccessor>::Item> {
        let row = row * self.stride;
        (!self.array.is_null(row)).then(|| self.array.value(row))
    }

    /// What stands in the place of a row, whether or not the row is NULL.
    pub(crate) fn any(&self, row: usize) -> <&'a A as ArrayAccessor>::Item {
        self.array.value(row * self.stride)
    }

    /// Where the value of a row stands in the array.
    pub(crate) fn at(&self, row: usize) -> usize {
        row * self.stride
    }

    /// The one value of a constant; none for a column.
    pub(crate) fn constant(&self) -> Option<Option<<&'a A as ArrayAccessor>::Item>> {
        (self.stride == 0).then(|| self.get(0))
    }
}
