//! Rust types as rows of tables.

use crate::cell::{Cell, of_other_type, there};
use crate::sql_type::{LogicalType, RowField, SqlType};
use arrow::array::{Array, ArrayRef, AsArray, StructArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;
use compact_str::CompactString;
use flugs_types::{Error, Result, Timestamp};
use std::sync::Arc;

/// A type whose values are rows of a table.
///
/// Derive it for structs: a field is a column of its name. Tuples, tuple structs and single values have columns by place, named
/// `f0`, `f1` and so on. See [`Cell`] for the types of columns.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no row of a table",
    label = "no row of a table",
    note = "put `#[derive(SqlRow)]` on the struct, or use a tuple of column values"
)]
pub trait SqlRow: Sized + Send + 'static {
    /// Whether its columns are found by their names; by their places otherwise.
    const NAMED: bool;

    /// Its columns.
    fn fields() -> Vec<RowField>;

    /// The columns of these rows; none is NULL in each of them.
    fn columns(rows: Vec<Option<Self>>) -> Result<Vec<ArrayRef>>;

    /// The rows of columns; none where the row as a whole is NULL.
    fn rows(columns: &RowColumns<'_>) -> Result<Vec<Option<Self>>>;
}

/// Columns that are read as rows.
#[derive(Debug, Clone, Copy)]
pub struct RowColumns<'a> {
    columns: &'a [ArrayRef],
    len: usize,
    nulls: Option<&'a NullBuffer>,
}

impl<'a> RowColumns<'a> {
    /// These columns, of so many rows.
    pub fn new(columns: &'a [ArrayRef], len: usize) -> Self {
        RowColumns { columns, len, nulls: None }
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether a row as a whole is NULL.
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(row))
    }

    /// The values of a column.
    pub fn values<T: Cell>(&self, column: usize) -> Result<std::vec::IntoIter<Option<T>>> {
        let values =
            self.columns.get(column).ok_or_else(|| Error::bug(format!("there is no column {column}")))?;
        Ok(T::values(values)?.into_iter())
    }
}

/// The column of a field.
pub fn row_field<T: Cell>(name: &str) -> RowField {
    RowField::new(name, T::sql_type())
}

/// The next value of a column that has no NULL; an error where it has one.
pub fn next_value<T>(values: Option<Option<T>>, column: &str) -> Result<T> {
    there(values.flatten(), || format!("column '{column}' of a row"))
}

/// What [`Cell::sql_type`] is for rows.
pub fn row_type<R: SqlRow>() -> SqlType {
    LogicalType::Row(R::fields()).not_null()
}

/// What [`Cell::column`] is for rows.
pub fn row_column<R: SqlRow>(rows: Vec<Option<R>>) -> Result<ArrayRef> {
    let nulls: NullBuffer = rows.iter().map(Option::is_some).collect();
    let DataType::Struct(fields) = row_type::<R>().kind.to_arrow() else {
        return Err(Error::bug("a row is a struct"));
    };
    let length = rows.len();
    let structs = StructArray::try_new_with_length(fields, R::columns(rows)?, Some(nulls), length);
    Ok(Arc::new(structs.map_err(|e| Error::bug("rows do not fit their type").caused_by(e))?))
}

/// What [`Cell::values`] is for rows.
pub fn row_values<R: SqlRow + Cell>(column: &ArrayRef) -> Result<Vec<Option<R>>> {
    let structs = column.as_struct_opt().ok_or_else(|| of_other_type::<R>(column))?;
    R::rows(&RowColumns { columns: structs.columns(), len: structs.len(), nulls: structs.nulls() })
}

macro_rules! single {
    ($($type:ty),*) => {$(
        impl SqlRow for $type {
            const NAMED: bool = false;

            fn fields() -> Vec<RowField> {
                vec![row_field::<$type>("f0")]
            }

            fn columns(rows: Vec<Option<Self>>) -> Result<Vec<ArrayRef>> {
                Ok(vec![<$type as Cell>::column(rows)?])
            }

            fn rows(columns: &RowColumns<'_>) -> Result<Vec<Option<Self>>> {
                columns.values::<$type>(0)?.map(|value| next_value(Some(value), "f0").map(Some)).collect()
            }
        }
    )*};
}

single!(bool, i8, i16, i32, i64, u16, u32, u64, f32, f64, String, CompactString, Timestamp, Vec<u8>);

macro_rules! tuples {
    ($(($($type:ident $values:ident $name:literal),+);)*) => {$(
        impl<$($type: Cell + Send + 'static),+> SqlRow for ($($type,)+) {
            const NAMED: bool = false;

            fn fields() -> Vec<RowField> {
                vec![$(row_field::<$type>($name)),+]
            }

            fn columns(rows: Vec<Option<Self>>) -> Result<Vec<ArrayRef>> {
                $(let mut $values = Vec::with_capacity(rows.len());)+
                for row in rows {
                    #[allow(non_snake_case, reason = "one name for the type and its value")]
                    match row {
                        Some(($($type,)+)) => { $($values.push(Some($type));)+ }
                        None => { $($values.push(None);)+ }
                    }
                }
                Ok(vec![$($type::column($values)?),+])
            }

            fn rows(columns: &RowColumns<'_>) -> Result<Vec<Option<Self>>> {
                let mut column = 0..;
                let mut next = move || column.next().unwrap_or(usize::MAX);
                $(let mut $values = columns.values::<$type>(next())?;)+
                let mut row = |at: usize| {
                    let row = ($($values.next(),)+);
                    #[allow(non_snake_case, reason = "one name for the type and its value")]
                    let ($($type,)+) = row;
                    match columns.is_null(at) {
                        true => Ok(None),
                        false => Ok(Some(($(next_value($type, $name)?,)+))),
                    }
                };
                (0..columns.len()).map(&mut row).collect()
            }
        }
    )*};
}

tuples! {
    (A a "f0");
    (A a "f0", B b "f1");
    (A a "f0", B b "f1", C c "f2");
    (A a "f0", B b "f1", C c "f2", D d "f3");
    (A a "f0", B b "f1", C c "f2", D d "f3", E e "f4");
    (A a "f0", B b "f1", C c "f2", D d "f3", E e "f4", F f "f5");
    (A a "f0", B b "f1", C c "f2", D d "f3", E e "f4", F f "f5", G g "f6");
    (A a "f0", B b "f1", C c "f2", D d "f3", E e "f4", F f "f5", G g "f6", H h "f7");
}
