//! Columns to be read value by value: their types are looked at once for each batch.

use arrow::array::types::IntervalMonthDayNano;
use arrow::array::{Array, AsArray, BinaryArray, BooleanArray, RecordBatch, StringViewArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, IntervalMonthDayNanoType, IntervalUnit, IntervalYearMonthType, Time32MillisecondType,
    TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};

/// A column.
pub(super) struct View<'a> {
    nulls: Option<&'a NullBuffer>,
    pub(super) data: Data<'a>,
}

/// What it holds.
pub(super) enum Data<'a> {
    Null,
    Boolean(&'a BooleanArray),
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    Float32(&'a [f32]),
    Float64(&'a [f64]),
    /// Values and scale.
    Decimal(&'a [i128], i8),
    Text(&'a StringViewArray),
    Bytes(&'a BinaryArray),
    Date(&'a [i32]),
    Time(&'a [i32]),
    Timestamp {
        unit: TimeUnit,
        is_zoned: bool,
        values: &'a [i64],
    },
    Months(&'a [i32]),
    Interval(&'a [IntervalMonthDayNano]),
    List(&'a [i32], Box<View<'a>>),
    Map(&'a [i32], Box<View<'a>>, Box<View<'a>>),
    Row(Vec<(&'a str, View<'a>)>),
    /// Of a type that no table has.
    Other(&'a dyn Array),
}

impl<'a> View<'a> {
    pub(super) fn of(column: &'a dyn Array) -> Self {
        let data = match column.data_type() {
            DataType::Null => Data::Null,
            DataType::Boolean => Data::Boolean(column.as_boolean()),
            DataType::Int8 => Data::Int8(column.as_primitive::<Int8Type>().values()),
            DataType::Int16 => Data::Int16(column.as_primitive::<Int16Type>().values()),
            DataType::Int32 => Data::Int32(column.as_primitive::<Int32Type>().values()),
            DataType::Int64 => Data::Int64(column.as_primitive::<Int64Type>().values()),
            DataType::Float32 => Data::Float32(column.as_primitive::<Float32Type>().values()),
            DataType::Float64 => Data::Float64(column.as_primitive::<Float64Type>().values()),
            DataType::Decimal128(_, scale) => {
                Data::Decimal(column.as_primitive::<Decimal128Type>().values(), *scale)
            }
            DataType::Utf8View => Data::Text(column.as_string_view()),
            DataType::Binary => Data::Bytes(column.as_binary()),
            DataType::Date32 => Data::Date(column.as_primitive::<Date32Type>().values()),
            DataType::Time32(TimeUnit::Millisecond) => {
                Data::Time(column.as_primitive::<Time32MillisecondType>().values())
            }
            DataType::Timestamp(unit, zone) => {
                let values = match unit {
                    TimeUnit::Second => column.as_primitive::<TimestampSecondType>().values(),
                    TimeUnit::Millisecond => column.as_primitive::<TimestampMillisecondType>().values(),
                    TimeUnit::Microsecond => column.as_primitive::<TimestampMicrosecondType>().values(),
                    TimeUnit::Nanosecond => column.as_primitive::<TimestampNanosecondType>().values(),
                };
                Data::Timestamp { unit: *unit, is_zoned: zone.is_some(), values }
            }
            DataType::Interval(IntervalUnit::YearMonth) => {
                Data::Months(column.as_primitive::<IntervalYearMonthType>().values())
            }
            DataType::Interval(IntervalUnit::MonthDayNano) => {
                Data::Interval(column.as_primitive::<IntervalMonthDayNanoType>().values())
            }
            DataType::List(_) => {
                let list = column.as_list::<i32>();
                Data::List(list.value_offsets(), Box::new(View::of(&**list.values())))
            }
            DataType::Map(..) => {
                let map = column.as_map();
                let (keys, values) = (View::of(&**map.keys()), View::of(&**map.values()));
                Data::Map(map.value_offsets(), Box::new(keys), Box::new(values))
            }
            DataType::Struct(fields) => {
                let columns = column.as_struct().columns();
                let field =
                    |(name, column): (&'a str, &'a arrow::array::ArrayRef)| (name, View::of(&**column));
                Data::Row(fields.iter().map(|f| f.name().as_str()).zip(columns).map(field).collect())
            }
            _ => Data::Other(column),
        };
        View { nulls: column.nulls(), data }
    }

    /// The columns of a batch.
    pub(super) fn all(rows: &'a RecordBatch) -> Vec<Self> {
        rows.columns().iter().map(|column| View::of(&**column)).collect()
    }

    #[inline]
    pub(super) fn is_null(&self, row: usize) -> bool {
        matches!(self.data, Data::Null) || self.nulls.is_some_and(|nulls| nulls.is_null(row))
    }
}

/// The elements of a row of a list or map.
#[inline]
pub(super) fn elements(offsets: &[i32], row: usize) -> std::ops::Range<usize> {
    offsets[row] as usize..offsets[row + 1] as usize
}

/// An interval as milliseconds, as Flink keeps it.
pub(super) fn interval_millis(value: IntervalMonthDayNano) -> i64 {
    const MILLIS_PER_DAY: i64 = 86_400_000;
    i64::from(value.days) * MILLIS_PER_DAY + value.nanoseconds / 1_000_000
}
