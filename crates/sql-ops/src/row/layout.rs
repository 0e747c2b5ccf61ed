//! How each type stands in a row.

use arrow::datatypes::{DataType, FieldRef, IntervalUnit};
use flugs_types::{Error, Result};

/// The byte before a value, and before a NULL inside a value and where NULLs come first.
pub(super) const VALUE: u8 = 1;
pub(super) const NULL: u8 = 0;
/// The byte before a NULL where NULLs come last.
pub(super) const NULL_LAST: u8 = 2;
/// The byte before an element of an array or map, and behind the last.
pub(super) const ELEMENT: u8 = 1;
pub(super) const END: u8 = 0;

/// The shape of a column's bytes.
#[derive(Debug, Clone)]
pub(super) enum Layout {
    /// So many bytes for every row, the marker not counted.
    Fixed(usize),
    /// Escaped bytes.
    Bytes,
    /// Elements.
    List(Box<Column>),
    /// Keys and values.
    Map(Box<Column>, Box<Column>),
    /// Fields.
    Struct(Vec<Column>),
}

/// A column's type and shape.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) data_type: DataType,
    pub(super) layout: Layout,
}

impl Column {
    /// The shape of a type. An error where SQL has no such type.
    pub(super) fn new(data_type: &DataType) -> Result<Self> {
        let layout = match data_type {
            DataType::Null => Layout::Fixed(0),
            DataType::Boolean | DataType::Int8 | DataType::UInt8 => Layout::Fixed(1),
            DataType::Int16 | DataType::UInt16 => Layout::Fixed(2),
            DataType::Int32
            | DataType::UInt32
            | DataType::Float32
            | DataType::Date32
            | DataType::Time32(_)
            | DataType::Interval(IntervalUnit::YearMonth) => Layout::Fixed(4),
            DataType::Int64
            | DataType::UInt64
            | DataType::Float64
            | DataType::Date64
            | DataType::Time64(_)
            | DataType::Timestamp(..)
            | DataType::Duration(_)
            | DataType::Interval(IntervalUnit::DayTime) => Layout::Fixed(8),
            DataType::Decimal128(..) => Layout::Fixed(16),
            DataType::Interval(IntervalUnit::MonthDayNano) => Layout::Fixed(20),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Layout::Bytes,
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_) => Layout::Bytes,
            DataType::List(item) => Layout::List(Box::new(Column::of(item)?)),
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(fields) if fields.len() == 2 => {
                    Layout::Map(Box::new(Column::of(&fields[0])?), Box::new(Column::of(&fields[1])?))
                }
                _ => return Err(Error::bug("the entries of a map are keys and values")),
            },
            DataType::Struct(fields) => Layout::Struct(fields.iter().map(Column::of).collect::<Result<_>>()?),
            other => {
                return Err(Error::job(format!("values of type {other} cannot be keys or be kept in state"))
                    .mend("cast them to one of SQL's types"));
            }
        };
        Ok(Column { data_type: data_type.clone(), layout })
    }

    fn of(field: &FieldRef) -> Result<Self> {
        Column::new(field.data_type())
    }

    /// How many bytes a column takes in every row, with the marker; `None` where that differs from row to row.
    pub(super) fn stride(&self) -> Option<usize> {
        match self.layout {
            Layout::Fixed(width) => Some(1 + width),
            _ => None,
        }
    }
}
