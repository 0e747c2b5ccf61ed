//! Rust types and SQL types.
//!
//! | Rust | SQL |
//! | --- | --- |
//! | `bool` | `BOOLEAN` |
//! | `i8`, `i16`, `i32`, `i64` | `TINYINT`, `SMALLINT`, `INT`, `BIGINT` |
//! | `f32`, `f64` | `FLOAT`, `DOUBLE` |
//! | `&str`, `String` | `STRING` |
//! | `&[u8]`, `Vec<u8>` | `BYTES` |
//! | [`Timestamp`] | `TIMESTAMP_LTZ(6)` |
//! | `Option<T>` | the same, with NULL |

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use flugs_sql_types::{Cell, LogicalType, RowField, SqlType};
use flugs_types::{Error, Result, Timestamp};

/// A type of a closure's parameter. Implemented for `T` and `Option<T>` of the types above.
pub trait Argument {
    /// The value, borrowed from a column.
    type Of<'a>;

    /// Its type in SQL; nullable where NULL is a value.
    fn sql_type() -> SqlType;

    /// The value of a row of a column of that type; none where it is NULL and the closure is not to be called.
    fn read(column: &ArrayRef, row: usize) -> Option<Self::Of<'_>>;
}

/// What a scalar closure may give: `T`, `Option<T>`, and either as `Ok` of a [`Result`].
pub trait Returned {
    /// The value.
    type Of: Cell;

    /// Whether NULL may be given.
    const NULLABLE: bool;

    /// The value; none for NULL.
    fn into_value(self) -> Result<Option<Self::Of>>;
}

macro_rules! primitives {
    ($($rust:ty, $arrow:ty, $sql:ident;)*) => {$(
        impl Argument for $rust {
            type Of<'a> = $rust;

            fn sql_type() -> SqlType {
                LogicalType::$sql.not_null()
            }

            fn read(column: &ArrayRef, row: usize) -> Option<$rust> {
                let column = column.as_primitive::<$arrow>();
                column.is_valid(row).then(|| column.value(row))
            }
        }


        plain!($rust);
    )*};
}

/// What closures give is a value, or one that may be NULL.
macro_rules! plain {
    ($rust:ty) => {
        impl Returned for $rust {
            type Of = $rust;
            const NULLABLE: bool = false;

            fn into_value(self) -> Result<Option<$rust>> {
                Ok(Some(self))
            }
        }

        impl Returned for Option<$rust> {
            type Of = $rust;
            const NULLABLE: bool = true;

            fn into_value(self) -> Result<Option<$rust>> {
                Ok(self)
            }
        }
    };
}

primitives! {
    i8, Int8Type, TinyInt;
    i16, Int16Type, SmallInt;
    i32, Int32Type, Int;
    i64, Int64Type, BigInt;
    f32, Float32Type, Float;
    f64, Float64Type, Double;
}
plain!(bool);
plain!(String);
plain!(Vec<u8>);
plain!(Timestamp);

impl Argument for bool {
    type Of<'a> = bool;

    fn sql_type() -> SqlType {
        LogicalType::Boolean.not_null()
    }

    fn read(column: &ArrayRef, row: usize) -> Option<bool> {
        let column = column.as_boolean();
        column.is_valid(row).then(|| column.value(row))
    }
}

impl Argument for &str {
    type Of<'a> = &'a str;

    fn sql_type() -> SqlType {
        LogicalType::STRING.not_null()
    }

    fn read(column: &ArrayRef, row: usize) -> Option<&str> {
        let column = column.as_string_view();
        column.is_valid(row).then(|| column.value(row))
    }
}

impl Argument for String {
    type Of<'a> = String;

    fn sql_type() -> SqlType {
        LogicalType::STRING.not_null()
    }

    fn read(column: &ArrayRef, row: usize) -> Option<String> {
        <&str as Argument>::read(column, row).map(str::to_owned)
    }
}

impl Argument for &[u8] {
    type Of<'a> = &'a [u8];

    fn sql_type() -> SqlType {
        LogicalType::BYTES.not_null()
    }

    fn read(column: &ArrayRef, row: usize) -> Option<&[u8]> {
        let column = column.as_binary::<i32>();
        column.is_valid(row).then(|| column.value(row))
    }
}

impl Argument for Vec<u8> {
    type Of<'a> = Vec<u8>;

    fn sql_type() -> SqlType {
        LogicalType::BYTES.not_null()
    }

    fn read(column: &ArrayRef, row: usize) -> Option<Vec<u8>> {
        <&[u8] as Argument>::read(column, row).map(<[u8]>::to_vec)
    }
}

impl Argument for Timestamp {
    type Of<'a> = Timestamp;

    fn sql_type() -> SqlType {
        LogicalType::TimestampLtz(6).not_null()
    }

    fn read(column: &ArrayRef, row: usize) -> Option<Timestamp> {
        let column = column.as_primitive::<TimestampMicrosecondType>();
        column.is_valid(row).then(|| Timestamp(column.value(row)))
    }
}

impl<T: Argument> Argument for Option<T> {
    type Of<'a> = Option<T::Of<'a>>;

    fn sql_type() -> SqlType {
        T::sql_type().kind.nullable()
    }

    fn read(column: &ArrayRef, row: usize) -> Option<Option<T::Of<'_>>> {
        Some(T::read(column, row))
    }
}

/// An error of a closure: of any type, since it is only shown.
pub trait Fallible: std::fmt::Display {}

impl<E: std::fmt::Display> Fallible for E {}

impl<T: Returned, E: Fallible> Returned for std::result::Result<T, E> {
    type Of = T::Of;
    const NULLABLE: bool = T::NULLABLE;

    fn into_value(self) -> Result<Option<T::Of>> {
        match self {
            Ok(value) => value.into_value(),
            Err(error) => Err(Error::user(error.to_string())),
        }
    }
}

/// A row that a table closure gives: one value, or a tuple of up to four.
pub trait Row: Sized {
    /// The types of its columns.
    fn types() -> Vec<SqlType>;

    /// The columns of these rows.
    fn columns(rows: Vec<Self>) -> Result<Vec<ArrayRef>>;
}

impl<T: Returned> Row for T {
    fn types() -> Vec<SqlType> {
        vec![type_of::<T>()]
    }

    fn columns(rows: Vec<Self>) -> Result<Vec<ArrayRef>> {
        let values = rows.into_iter().map(T::into_value).collect::<Result<_>>()?;
        Ok(vec![T::Of::column(values)?])
    }
}

/// The type of what is returned.
pub(super) fn type_of<T: Returned>() -> SqlType {
    SqlType { nullable: T::NULLABLE, ..T::Of::sql_type() }
}

macro_rules! tuples {
    ($(($($name:ident: $values:ident),+);)*) => {$(
        impl<$($name: Returned),+> Row for ($($name,)+) {
            fn types() -> Vec<SqlType> {
                vec![$(type_of::<$name>()),+]
            }

            fn columns(rows: Vec<Self>) -> Result<Vec<ArrayRef>> {
                $(let mut $values = Vec::with_capacity(rows.len());)+
                for row in rows {
                    #[allow(non_snake_case, reason = "one name for the type and its value")]
                    let ($($name,)+) = row;
                    $($values.push($name.into_value()?);)+
                }
                Ok(vec![$($name::Of::column($values)?),+])
            }
        }
    )*};
}

tuples! {
    (A: a);
    (A: a, B: b);
    (A: a, B: b, C: c);
    (A: a, B: b, C: c, D: d);
}

/// The columns of rows of this type under these names.
pub(super) fn named<R: Row>(names: &[String]) -> Vec<RowField> {
    names.iter().zip(R::types()).map(|(name, sql_type)| RowField::new(name.clone(), sql_type)).collect()
}
