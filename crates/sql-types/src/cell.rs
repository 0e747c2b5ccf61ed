//! Rust types as types of columns.
//!
//! | Rust | SQL |
//! | --- | --- |
//! | `bool` | `BOOLEAN` |
//! | `i8`, `i16`, `i32`, `i64` | `TINYINT`, `SMALLINT`, `INT`, `BIGINT` |
//! | `u16`, `u32`, `u64` | `INT`, `BIGINT`, `DECIMAL(20, 0)`: the next that holds them all |
//! | `f32`, `f64` | `FLOAT`, `DOUBLE` |
//! | `String`, [`CompactString`] | `STRING` |
//! | `Vec<u8>` | `BYTES` |
//! | [`Timestamp`] | `TIMESTAMP_LTZ(6)` |
//! | `Vec<T>` | `ARRAY` |
//! | `BTreeMap<K, V>`, `HashMap<K, V>` | `MAP` |
//! | structs with `#[derive(SqlRow)]` | `ROW` |
//! | `Option<T>` | the same, with NULL |

use crate::arrow_map::{LTZ, to_field};
use crate::sql_type::{LogicalType, SqlType};
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryBuilder, BooleanArray, ListArray, MapArray,
    PrimitiveArray, StringViewBuilder, StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{
    DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimeUnit,
    TimestampMicrosecondType,
};
use compact_str::CompactString;
use flugs_types::{Error, Result, Timestamp};
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;

/// A type whose values stand in a column.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of a column",
    label = "no type of a column",
    note = "columns are numbers, `bool`, strings, `Vec<u8>`, `Timestamp`, `Option`, `Vec` and maps of these, and structs with `#[derive(SqlRow)]`"
)]
pub trait Cell: Sized {
    /// Its type in SQL; nullable where NULL is a value.
    fn sql_type() -> SqlType;

    /// The column of these values; none is NULL.
    fn column(values: Vec<Option<Self>>) -> Result<ArrayRef>;

    /// The values of a column of that type; none where it is NULL. An error where it is of another type, or a value is none of
    /// the Rust type.
    fn values(column: &ArrayRef) -> Result<Vec<Option<Self>>>;
}

pub(crate) fn of_other_type<T: Cell>(column: &ArrayRef) -> Error {
    Error::bug(format!("a column of {} is no {}", column.data_type(), T::sql_type().kind))
}

fn primitive<T: ArrowPrimitiveType>(
    values: impl Iterator<Item = Option<T::Native>>,
    kind: &LogicalType,
) -> ArrayRef {
    Arc::new(values.collect::<PrimitiveArray<T>>().with_data_type(kind.to_arrow()))
}

fn numbers<T: ArrowPrimitiveType, C: Cell>(column: &ArrayRef) -> Result<&PrimitiveArray<T>> {
    column.as_primitive_opt::<T>().ok_or_else(|| of_other_type::<C>(column))
}

macro_rules! primitives {
    ($($rust:ty, $arrow:ty, $sql:ident;)*) => {$(
        impl Cell for $rust {
            fn sql_type() -> SqlType {
                LogicalType::$sql.not_null()
            }

            fn column(values: Vec<Option<Self>>) -> Result<ArrayRef> {
                Ok(primitive::<$arrow>(values.into_iter(), &LogicalType::$sql))
            }

            fn values(column: &ArrayRef) -> Result<Vec<Option<Self>>> {
                Ok(numbers::<$arrow, Self>(column)?.iter().collect())
            }
        }
    )*};
}

primitives! {
    i8, Int8Type, TinyInt;
    i16, Int16Type, SmallInt;
    i32, Int32Type, Int;
    i64, Int64Type, BigInt;
    f32, Float32Type, Float;
    f64, Float64Type, Double;
}

/// Numbers without a sign, in the next wider type.
macro_rules! unsigned {
    ($($rust:ty, $arrow:ty, $native:ty, $sql:expr;)*) => {$(
        impl Cell for $rust {
            fn sql_type() -> SqlType {
                $sql.not_null()
            }

            fn column(values: Vec<Option<Self>>) -> Result<ArrayRef> {
                let wide = values.into_iter().map(|value| value.map(<$native>::from));
                Ok(primitive::<$arrow>(wide, &$sql))
            }

            fn values(column: &ArrayRef) -> Result<Vec<Option<Self>>> {
                let narrow = |value: $native| {
                    <$rust>::try_from(value)
                        .map_err(|_| Error::data(format!("{value} is no {}", stringify!($rust))))
                };
                numbers::<$arrow, Self>(column)?.iter().map(|value| value.map(narrow).transpose()).collect()
            }
        }
    )*};
}

unsigned! {
    u16, Int32Type, i32, LogicalType::Int;
    u32, Int64Type, i64, LogicalType::BigInt;
    u64, Decimal128Type, i128, LogicalType::Decimal(20, 0);
}

impl Cell for bool {
    fn sql_type() -> SqlType {
        LogicalType::Boolean.not_null()
    }

    fn column(values: Vec<Option<Self>>) -> Result<ArrayRef> {
        Ok(Arc::new(BooleanArray::from(values)))
    }

    fn values(column: &ArrayRef) -> Result<Vec<Option<Self>>> {
        Ok(column.as_boolean_opt().ok_or_else(|| of_other_type::<Self>(column))?.iter().collect())
    }
}

macro_rules! strings {
    ($($rust:ty;)*) => {$(
        impl Cell for $rust {
            fn sql_type() -> SqlType {
                LogicalType::STRING.not_null()
            }

            fn column(values: Vec<Option<Self>>) -> Result<ArrayRef> {
                let mut builder = StringViewBuilder::with_capacity(values.len());
                builder.extend(values);
                Ok(Arc::new(builder.finish()))
            }

            fn values(column: &ArrayRef) -> Result<Vec<Option<Self>>> {
                let texts = column.as_string_view_opt().ok_or_else(|| of_other_type::<Self>(column))?;
                Ok(texts.iter().map(|text| text.map(Self::from)).collect())
            }
        }
    )*};
}

strings! {
    String;
    CompactString;
}

impl Cell for Vec<u8> {
    fn sql_type() -> SqlType {
        LogicalType::BYTES.not_null()
    }

    fn column(values: Vec<Option<Self>>) -> Result<ArrayRef> {
        let mut builder = BinaryBuilder::with_capacity(values.len(), 0);
        builder.extend(values);
        Ok(Arc::new(builder.finish()))
    }

    fn values(column: &ArrayRef) -> Result<Vec<Option<Self>>> {
        let bytes = column.as_binary_opt::<i32>().ok_or_else(|| of_other_type::<Self>(column))?;
        Ok(bytes.iter().map(|bytes| bytes.map(<[u8]>::to_vec)).collect())
    }
}

impl Cell for Timestamp {
    fn sql_type() -> SqlType {
        LogicalType::TimestampLtz(6).not_null()
    }

    fn column(values: Vec<Option<Self>>) -> Result<ArrayRef> {
        let micros: PrimitiveArray<TimestampMicrosecondType> =
            values.into_iter().map(|value| value.map(|time| time.0)).collect();
        Ok(Arc::new(micros.with_data_type(DataType::Timestamp(TimeUnit::Microsecond, Some(LTZ.into())))))
    }

    fn values(column: &ArrayRef) -> Result<Vec<Option<Self>>> {
        let micros = numbers::<TimestampMicrosecondType, Self>(column)?;
        Ok(micros.iter().map(|value| value.map(Timestamp)).collect())
    }
}

impl<T: Cell> Cell for Option<T> {
    fn sql_type() -> SqlType {
        T::sql_type().kind.nullable()
    }

    fn column(values: Vec<Option<Self>>) -> Result<ArrayRef> {
        T::column(values.into_iter().map(Option::flatten).collect())
    }

    fn values(column: &ArrayRef) -> Result<Vec<Option<Self>>> {
        Ok(T::values(column)?.into_iter().map(Some).collect())
    }
}

/// A value that is not NULL: of a field or element that is no `Option`.
pub(crate) fn there<T>(value: Option<T>, what: impl FnOnce() -> String) -> Result<T> {
    value.ok_or_else(|| {
        Error::data(format!("{} is NULL, and its Rust type has no NULL", what()))
            .mend("make it an Option, or leave such rows out: WHERE ... IS NOT NULL")
    })
}

/// Elements one behind the other, and where those of each value begin and end.
fn flattened<C, I: IntoIterator>(
    values: Vec<Option<C>>,
) -> Result<(Vec<I::Item>, OffsetBuffer<i32>, NullBuffer)>
where
    C: IntoIterator<Item = I::Item, IntoIter = I::IntoIter>,
{
    let (mut all, mut lengths, mut valid) = (Vec::new(), Vec::with_capacity(values.len()), Vec::new());
    for value in values {
        let before = all.len();
        valid.push(value.is_some());
        all.extend(value.into_iter().flatten());
        lengths.push(all.len() - before);
    }
    if i32::try_from(all.len()).is_err() {
        return Err(Error::data("the arrays and maps of a batch have more than 2^31 elements"));
    }
    Ok((all, OffsetBuffer::from_lengths(lengths), NullBuffer::from(valid)))
}

fn misfit(e: arrow::error::ArrowError) -> Error {
    Error::bug("values do not fit the column of their type").caused_by(e)
}

impl<T: Cell> Cell for Vec<T> {
    fn sql_type() -> SqlType {
        LogicalType::Array(Box::new(T::sql_type())).not_null()
    }

    fn column(values: Vec<Option<Self>>) -> Result<ArrayRef> {
        let (elements, offsets, nulls) = flattened::<_, Vec<T>>(values)?;
        let elements = T::column(elements.into_iter().map(Some).collect())?;
        let item = Arc::new(to_field("item", &T::sql_type()));
        Ok(Arc::new(ListArray::try_new(item, offsets, elements, Some(nulls)).map_err(misfit)?))
    }

    fn values(column: &ArrayRef) -> Result<Vec<Option<Self>>> {
        let lists = column.as_list_opt::<i32>().ok_or_else(|| of_other_type::<Self>(column))?;
        let (first, last) = (lists.value_offsets()[0], lists.value_offsets()[lists.len()]);
        let elements = T::values(&lists.values().slice(first as usize, (last - first) as usize))?;
        let mut elements = elements.into_iter();
        let list = |row: usize| {
            let own = elements.by_ref().take(lists.value_length(row) as usize).collect::<Vec<_>>();
            if lists.is_null(row) {
                return Ok(None);
            }
            let element = |value| there(value, || "an element of an array".to_owned());
            own.into_iter().map(element).collect::<Result<Vec<T>>>().map(Some)
        };
        (0..lists.len()).map(list).collect()
    }
}

macro_rules! maps {
    ($($map:ident: $($bound:ident)|+;)*) => {$(
        impl<K: Cell $(+ $bound)+, V: Cell> Cell for $map<K, V> {
            fn sql_type() -> SqlType {
                LogicalType::Map(Box::new(K::sql_type()), Box::new(V::sql_type())).not_null()
            }

            fn column(values: Vec<Option<Self>>) -> Result<ArrayRef> {
                map_column::<K, V, Self>(values)
            }

            fn values(column: &ArrayRef) -> Result<Vec<Option<Self>>> {
                map_values::<K, V, Self>(column)
            }
        }
    )*};
}

maps! {
    BTreeMap: Ord;
    HashMap: Eq | Hash;
}

fn map_column<K: Cell, V: Cell, M: Cell + IntoIterator<Item = (K, V)>>(
    values: Vec<Option<M>>,
) -> Result<ArrayRef> {
    let (pairs, offsets, nulls) = flattened::<_, M>(values)?;
    let (keys, values): (Vec<_>, Vec<_>) = pairs.into_iter().map(|(k, v)| (Some(k), Some(v))).unzip();
    let DataType::Map(entries, sorted) = M::sql_type().kind.to_arrow() else {
        return Err(Error::bug("a map is a map"));
    };
    let DataType::Struct(fields) = entries.data_type() else { return Err(Error::bug("a map has entries")) };
    let pairs = StructArray::try_new(fields.clone(), vec![K::column(keys)?, V::column(values)?], None);
    let map = MapArray::try_new(entries.clone(), offsets, pairs.map_err(misfit)?, Some(nulls), sorted);
    Ok(Arc::new(map.map_err(misfit)?))
}

fn map_values<K: Cell, V: Cell, M: Cell + FromIterator<(K, V)>>(column: &ArrayRef) -> Result<Vec<Option<M>>> {
    let maps = column.as_map_opt().ok_or_else(|| of_other_type::<M>(column))?;
    let (first, last) = (maps.value_offsets()[0], maps.value_offsets()[maps.len()]);
    let range = (first as usize, (last - first) as usize);
    let keys = K::values(&maps.keys().slice(range.0, range.1))?;
    let mut pairs = keys.into_iter().zip(V::values(&maps.values().slice(range.0, range.1))?);
    let map = |row: usize| {
        let own = pairs.by_ref().take(maps.value_length(row) as usize).collect::<Vec<_>>();
        if maps.is_null(row) {
            return Ok(None);
        }
        let pair = |(key, value)| {
            Ok((there(key, || "a key of a map".to_owned())?, there(value, || "a value of a map".to_owned())?))
        };
        own.into_iter().map(pair).collect::<Result<M>>().map(Some)
    };
    (0..maps.len()).map(map).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int32Array, Int64Array};

    #[test]
    fn values_of_a_part_of_a_column_are_its_own() {
        let lists = vec![Some(vec![Some(1i64), None]), None, Some(vec![]), Some(vec![Some(4)])];
        let column = Vec::<Option<i64>>::column(lists.clone()).unwrap();
        assert_eq!(*column.data_type(), Vec::<Option<i64>>::sql_type().kind.to_arrow());
        for from in 0..4 {
            let part = column.slice(from, 4 - from);
            assert_eq!(Vec::<Option<i64>>::values(&part).unwrap(), lists[from..]);
        }
        let map = |pairs: &[(&str, i32)]| -> BTreeMap<String, i32> {
            pairs.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect()
        };
        let maps = vec![Some(map(&[("a", 1), ("b", 2)])), None, Some(map(&[("c", 3)]))];
        let column = BTreeMap::<String, i32>::column(maps.clone()).unwrap();
        for from in 0..3 {
            let part = column.slice(from, 3 - from);
            assert_eq!(<BTreeMap<String, i32> as Cell>::values(&part).unwrap(), maps[from..]);
        }
    }

    #[test]
    fn values_that_are_none_of_the_rust_type_are_errors() {
        let wide: ArrayRef = Arc::new(Int32Array::from(vec![65_536]));
        assert_eq!(u16::values(&wide).unwrap_err().message(), "65536 is no u16");
        let lists = Vec::<Option<i64>>::column(vec![Some(vec![None])]).unwrap();
        let error = Vec::<i64>::values(&lists).unwrap_err();
        assert!(error.to_string().contains("an element of an array is NULL"), "{error}");
        let other: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        assert!(String::values(&other).is_err() && bool::values(&other).is_err());
        assert_eq!(
            u64::values(&u64::column(vec![Some(u64::MAX), None]).unwrap()).unwrap(),
            [Some(u64::MAX), None]
        );
    }
}
