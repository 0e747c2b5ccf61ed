//! Columns while they are built, value by value. A row that fails halfway is taken back by [`Builder::truncate`].
//!
//! The one place of the formats with `unsafe`: views of strings are not checked a second time.

use super::parse::{self, NoDecimal};
use super::text::DateTime;
use arrow::array::builder::make_view;
use arrow::array::types::IntervalMonthDayNano;
use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, IntervalYearMonthArray, ListArray,
    MapArray, NullArray, RecordBatch, RecordBatchOptions, StringViewArray, StructArray,
    Time32MillisecondArray, TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, FieldRef, IntervalUnit, SchemaRef, TimeUnit};
use flugs_types::{Error, Result};
use std::sync::Arc;

const MILLIS_PER_DAY: i64 = 86_400_000;
const NANOS_PER_MILLI: i64 = 1_000_000;
/// Views up to this length hold their bytes.
const INLINE_MAX: usize = 12;

/// What a column holds.
pub(super) enum Values {
    Null,
    Boolean(Vec<bool>),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Decimal(Vec<i128>),
    Text(Texts),
    Bytes(Bytes),
    Date(Vec<i32>),
    Time(Vec<i32>),
    Timestamp(Vec<i64>),
    Months(Vec<i32>),
    Interval(Vec<IntervalMonthDayNano>),
    List { ends: Vec<i32>, items: Box<Builder> },
    Map { ends: Vec<i32>, keys: Box<Builder>, values: Box<Builder> },
    Row(Vec<Builder>),
}

#[derive(Default)]
pub(super) struct Texts {
    views: Vec<u128>,
    bytes: Vec<u8>,
}

#[derive(Default)]
pub(super) struct Bytes {
    ends: Vec<i32>,
    bytes: Vec<u8>,
}

/// How timestamps stand in text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeStyle {
    /// Between the date and the time of day.
    pub(super) separator: char,
}

impl TimeStyle {
    pub(super) const SQL: Self = TimeStyle { separator: ' ' };
    pub(super) const ISO: Self = TimeStyle { separator: 'T' };
}

/// A column that grows by one value at a time.
pub(super) struct Builder {
    field: FieldRef,
    valid: Vec<bool>,
    nulls: usize,
    pub(super) values: Values,
}

impl Builder {
    pub(super) fn new(field: &FieldRef) -> Result<Self> {
        let values = match field.data_type() {
            DataType::Null => Values::Null,
            DataType::Boolean => Values::Boolean(Vec::new()),
            DataType::Int8 => Values::Int8(Vec::new()),
            DataType::Int16 => Values::Int16(Vec::new()),
            DataType::Int32 => Values::Int32(Vec::new()),
            DataType::Int64 => Values::Int64(Vec::new()),
            DataType::Float32 => Values::Float32(Vec::new()),
            DataType::Float64 => Values::Float64(Vec::new()),
            DataType::Decimal128(..) => Values::Decimal(Vec::new()),
            DataType::Utf8View => Values::Text(Texts::default()),
            DataType::Binary => Values::Bytes(Bytes::default()),
            DataType::Date32 => Values::Date(Vec::new()),
            DataType::Time32(TimeUnit::Millisecond) => Values::Time(Vec::new()),
            DataType::Timestamp(..) => Values::Timestamp(Vec::new()),
            DataType::Interval(IntervalUnit::YearMonth) => Values::Months(Vec::new()),
            DataType::Interval(IntervalUnit::MonthDayNano) => Values::Interval(Vec::new()),
            DataType::List(item) => Values::List { ends: Vec::new(), items: Box::new(Builder::new(item)?) },
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(fields) if fields.len() == 2 => Values::Map {
                    ends: Vec::new(),
                    keys: Box::new(Builder::new(&fields[0])?),
                    values: Box::new(Builder::new(&fields[1])?),
                },
                _ => return Err(Error::bug("the entries of a map are keys and values")),
            },
            DataType::Struct(fields) => Values::Row(fields.iter().map(Builder::new).collect::<Result<_>>()?),
            other => return Err(Error::job(format!("formats cannot read columns of {other}"))),
        };
        Ok(Builder { field: field.clone(), valid: Vec::new(), nulls: 0, values })
    }

    pub(super) fn field(&self) -> &FieldRef {
        &self.field
    }

    pub(super) fn len(&self) -> usize {
        self.valid.len()
    }

    /// Says that a value was pushed into `values`.
    #[inline]
    pub(super) fn pushed(&mut self) {
        self.valid.push(true);
    }

    /// NULL; an error where it is no value of the column.
    pub(super) fn push_null(&mut self) -> Result<(), String> {
        if !self.field.is_nullable() {
            return Err("a value expected, as the column is NOT NULL; NULL found".to_owned());
        }
        self.push_nothing();
        Ok(())
    }

    /// NULL, or what stands in a field of a row that is NULL itself.
    pub(super) fn push_nothing(&mut self) {
        self.valid.push(false);
        self.nulls += 1;
        match &mut self.values {
            Values::Null => {}
            Values::Boolean(values) => values.push(false),
            Values::Int8(values) => values.push(0),
            Values::Int16(values) => values.push(0),
            Values::Int32(values) | Values::Date(values) | Values::Time(values) | Values::Months(values) => {
                values.push(0);
            }
            Values::Int64(values) | Values::Timestamp(values) => values.push(0),
            Values::Float32(values) => values.push(0.0),
            Values::Float64(values) => values.push(0.0),
            Values::Decimal(values) => values.push(0),
            Values::Text(texts) => texts.views.push(0),
            Values::Bytes(bytes) => bytes.ends.push(bytes.bytes.len() as i32),
            Values::Interval(values) => values.push(IntervalMonthDayNano::new(0, 0, 0)),
            Values::List { ends, items } => ends.push(items.len() as i32),
            Values::Map { ends, keys, .. } => ends.push(keys.len() as i32),
            Values::Row(fields) => fields.iter_mut().for_each(Builder::push_nothing),
        }
    }

    /// Takes all back that was pushed behind the first `len` values, also where it is not complete.
    pub(super) fn truncate(&mut self, len: usize) {
        if let Some(over) = self.valid.get(len..) {
            self.nulls -= over.iter().filter(|valid| !**valid).count();
            self.valid.truncate(len);
        }
        match &mut self.values {
            Values::Null => {}
            Values::Boolean(values) => values.truncate(len),
            Values::Int8(values) => values.truncate(len),
            Values::Int16(values) => values.truncate(len),
            Values::Int32(values) | Values::Date(values) | Values::Time(values) | Values::Months(values) => {
                values.truncate(len);
            }
            Values::Int64(values) | Values::Timestamp(values) => values.truncate(len),
            Values::Float32(values) => values.truncate(len),
            Values::Float64(values) => values.truncate(len),
            Values::Decimal(values) => values.truncate(len),
            // Bytes that no view shows do no harm.
            Values::Text(texts) => texts.views.truncate(len),
            Values::Bytes(bytes) => {
                bytes.ends.truncate(len);
                bytes.bytes.truncate(last(&bytes.ends));
            }
            Values::Interval(values) => values.truncate(len),
            Values::List { ends, items } => {
                ends.truncate(len);
                items.truncate(last(ends));
            }
            Values::Map { ends, keys, values } => {
                ends.truncate(len);
                keys.truncate(last(ends));
                values.truncate(last(ends));
            }
            Values::Row(fields) => fields.iter_mut().for_each(|field| field.truncate(len)),
        }
    }

    /// A string.
    #[inline]
    pub(super) fn push_text(&mut self, text: &str) -> Result<(), String> {
        let Values::Text(texts) = &mut self.values else { return Err("no text expected".to_owned()) };
        let start = u32::try_from(texts.bytes.len()).ok();
        let fits = |start: &u32| u32::try_from(text.len()).is_ok_and(|len| start.checked_add(len).is_some());
        let start = start.filter(fits).ok_or("the strings of a batch take more than 4 GiB")?;
        texts.views.push(make_view(text.as_bytes(), 0, start));
        if text.len() > INLINE_MAX {
            texts.bytes.extend_from_slice(text.as_bytes());
        }
        self.valid.push(true);
        Ok(())
    }

    /// Bytes.
    pub(super) fn push_bytes(&mut self, value: &[u8]) -> Result<(), String> {
        let Values::Bytes(bytes) = &mut self.values else { return Err("no bytes expected".to_owned()) };
        let end = i32::try_from(bytes.bytes.len() + value.len());
        bytes.ends.push(end.map_err(|_| "the bytes of a batch take more than 2 GiB".to_owned())?);
        bytes.bytes.extend_from_slice(value);
        self.valid.push(true);
        Ok(())
    }

    /// A whole number into a column of any integer or interval type.
    #[inline]
    pub(super) fn push_integer(&mut self, value: i64) -> Result<(), String> {
        fn narrowed<T: TryFrom<i64>>(values: &mut Vec<T>, value: i64, sql: &str) -> Result<(), String> {
            values.push(T::try_from(value).map_err(|_| format!("{value} is out of the range of {sql}"))?);
            Ok(())
        }
        match &mut self.values {
            Values::Int8(values) => narrowed(values, value, "TINYINT")?,
            Values::Int16(values) => narrowed(values, value, "SMALLINT")?,
            Values::Int32(values) => narrowed(values, value, "INT")?,
            Values::Int64(values) => values.push(value),
            Values::Months(values) => narrowed(values, value, "INTERVAL YEAR TO MONTH")?,
            Values::Interval(values) => values.push(interval_of_millis(value)),
            _ => return Err(format!("{} expected, {value} found", self.expected())),
        }
        self.valid.push(true);
        Ok(())
    }

    /// A value of any type but those that nest, from its text.
    pub(super) fn push_parsed(&mut self, text: &str, style: TimeStyle) -> Result<(), String> {
        let field = self.field.clone();
        let wrong = |expected: &str| format!("{expected} expected, '{}' found", shown(text));
        match &mut self.values {
            Values::Text(_) => return self.push_text(text),
            Values::Boolean(values) => values.push(text.trim().eq_ignore_ascii_case("true")),
            Values::Int8(_)
            | Values::Int16(_)
            | Values::Int32(_)
            | Values::Int64(_)
            | Values::Months(_)
            | Values::Interval(_) => {
                let value = text.trim().parse().map_err(|_| wrong(self.expected()))?;
                return self.push_integer(value);
            }
            Values::Float32(values) => values.push(text.trim().parse().map_err(|_| wrong("FLOAT"))?),
            Values::Float64(values) => values.push(text.trim().parse().map_err(|_| wrong("DOUBLE"))?),
            Values::Decimal(values) => {
                let DataType::Decimal128(precision, scale) = *field.data_type() else {
                    return Err("no decimal expected".to_owned());
                };
                match parse::decimal(text.trim(), precision, scale) {
                    Ok(value) => values.push(value),
                    Err(NoDecimal::TooLarge) => return self.push_null(),
                    Err(NoDecimal::Malformed) => return Err(wrong("DECIMAL")),
                }
            }
            Values::Bytes(_) => {
                let bytes = parse::base64(text).ok_or_else(|| wrong("bytes in base 64"))?;
                return self.push_bytes(&bytes);
            }
            Values::Date(values) => {
                let days = parse::date(text.trim()).and_then(|days| i32::try_from(days).ok());
                values.push(days.ok_or_else(|| wrong("DATE such as 2013-01-31"))?);
            }
            Values::Time(values) => {
                let at = parse::time(text.trim().trim_end_matches('Z'));
                let millis = at.and_then(|at| at.to_timestamp(TimeUnit::Millisecond));
                values.push(millis.ok_or_else(|| wrong("TIME such as 10:00:00"))? as i32);
            }
            Values::Timestamp(values) => {
                let DataType::Timestamp(unit, zone) = field.data_type() else {
                    return Err("no timestamp expected".to_owned());
                };
                let at = timestamp(text.trim(), *unit, zone.is_some(), style);
                values.push(at.ok_or_else(|| wrong(&expected_time(zone.is_some(), style)))?);
            }
            Values::Null | Values::List { .. } | Values::Map { .. } | Values::Row(_) => {
                return Err(wrong(self.expected()));
            }
        }
        self.valid.push(true);
        Ok(())
    }

    /// What a value is to be, in words.
    pub(super) fn expected(&self) -> &'static str {
        match self.values {
            Values::Null => "NULL",
            Values::Boolean(_) => "BOOLEAN",
            Values::Int8(_) => "TINYINT",
            Values::Int16(_) => "SMALLINT",
            Values::Int32(_) => "INT",
            Values::Int64(_) => "BIGINT",
            Values::Float32(_) => "FLOAT",
            Values::Float64(_) => "DOUBLE",
            Values::Decimal(_) => "DECIMAL",
            Values::Text(_) => "STRING",
            Values::Bytes(_) => "BYTES",
            Values::Date(_) => "DATE",
            Values::Time(_) => "TIME",
            Values::Timestamp(_) => "TIMESTAMP",
            Values::Months(_) | Values::Interval(_) => "INTERVAL",
            Values::List { .. } => "ARRAY",
            Values::Map { .. } => "MAP",
            Values::Row(_) => "ROW",
        }
    }

    /// The finished column; this one is empty again.
    pub(super) fn finish(&mut self) -> Result<ArrayRef> {
        let valid = std::mem::take(&mut self.valid);
        let nulls = (std::mem::take(&mut self.nulls) > 0).then(|| NullBuffer::from(valid.as_slice()));
        self.values.finish(&self.field, valid.len(), nulls)
    }
}

fn last(ends: &[i32]) -> usize {
    ends.last().map_or(0, |end| *end as usize)
}

/// The beginning of a text, for messages.
pub(super) fn shown(text: &str) -> &str {
    &text[..text.floor_char_boundary(64)]
}

fn interval_of_millis(millis: i64) -> IntervalMonthDayNano {
    let days = (millis / MILLIS_PER_DAY) as i32;
    IntervalMonthDayNano::new(0, days, millis % MILLIS_PER_DAY * NANOS_PER_MILLI)
}

fn timestamp(text: &str, unit: TimeUnit, is_zoned: bool, style: TimeStyle) -> Option<i64> {
    let text = if is_zoned { text.strip_suffix('Z')? } else { text };
    parse::date_time(text, style.separator).and_then(|at: DateTime| at.to_timestamp(unit))
}

fn expected_time(is_zoned: bool, style: TimeStyle) -> String {
    let (kind, z) = if is_zoned { ("TIMESTAMP_LTZ", "Z") } else { ("TIMESTAMP", "") };
    format!("{kind} such as '2013-01-31{}10:00:00{z}'", style.separator)
}

impl Values {
    fn finish(&mut self, field: &FieldRef, len: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        fn taken<T: arrow::datatypes::ArrowNativeType>(values: &mut Vec<T>) -> ScalarBuffer<T> {
            std::mem::take(values).into()
        }
        fn offsets(ends: &mut Vec<i32>) -> OffsetBuffer<i32> {
            let ends = std::mem::take(ends);
            OffsetBuffer::new(std::iter::once(0).chain(ends).collect())
        }
        let bug = |e: arrow::error::ArrowError| Error::bug("a built column is none").caused_by(e);
        Ok(match self {
            Values::Null => Arc::new(NullArray::new(len)),
            Values::Boolean(values) => Arc::new(BooleanArray::new(std::mem::take(values).into(), nulls)),
            Values::Int8(values) => Arc::new(Int8Array::new(taken(values), nulls)),
            Values::Int16(values) => Arc::new(Int16Array::new(taken(values), nulls)),
            Values::Int32(values) => Arc::new(Int32Array::new(taken(values), nulls)),
            Values::Int64(values) => Arc::new(Int64Array::new(taken(values), nulls)),
            Values::Float32(values) => Arc::new(Float32Array::new(taken(values), nulls)),
            Values::Float64(values) => Arc::new(Float64Array::new(taken(values), nulls)),
            Values::Decimal(values) => {
                let array = Decimal128Array::new(taken(values), nulls);
                Arc::new(array.with_data_type(field.data_type().clone()))
            }
            Values::Text(texts) => {
                let (views, bytes) = (std::mem::take(&mut texts.views), std::mem::take(&mut texts.bytes));
                let buffers: Vec<Buffer> =
                    if bytes.is_empty() { vec![] } else { vec![Buffer::from_vec(bytes)] };
                // SAFETY: a view is zero (the empty string), or was made by `push_text` from a `str` whose bytes it holds itself or
                // which stands whole in `bytes`, from the place on that the view names; `bytes` only grew since.
                Arc::new(unsafe { StringViewArray::new_unchecked(views.into(), buffers, nulls) })
            }
            Values::Bytes(bytes) => {
                let values = Buffer::from_vec(std::mem::take(&mut bytes.bytes));
                Arc::new(BinaryArray::try_new(offsets(&mut bytes.ends), values, nulls).map_err(bug)?)
            }
            Values::Date(values) => Arc::new(Date32Array::new(taken(values), nulls)),
            Values::Time(values) => Arc::new(Time32MillisecondArray::new(taken(values), nulls)),
            Values::Timestamp(values) => timestamps(field.data_type(), taken(values), nulls),
            Values::Months(values) => Arc::new(IntervalYearMonthArray::new(taken(values), nulls)),
            Values::Interval(values) => {
                Arc::new(IntervalMonthDayNanoArray::new(std::mem::take(values).into(), nulls))
            }
            Values::List { ends, items } => {
                let (item, offsets) = (items.field.clone(), offsets(ends));
                Arc::new(ListArray::try_new(item, offsets, items.finish()?, nulls).map_err(bug)?)
            }
            Values::Map { ends, keys, values } => {
                let DataType::Map(entries, sorted) = field.data_type() else {
                    return Err(Error::bug("a map column is no map"));
                };
                let DataType::Struct(fields) = entries.data_type() else {
                    return Err(Error::bug("the entries of a map are a struct"));
                };
                let columns = vec![keys.finish()?, values.finish()?];
                let pairs = StructArray::try_new(fields.clone(), columns, None).map_err(bug)?;
                let map = MapArray::try_new(entries.clone(), offsets(ends), pairs, nulls, *sorted);
                Arc::new(map.map_err(bug)?)
            }
            Values::Row(builders) => {
                let DataType::Struct(fields) = field.data_type() else {
                    return Err(Error::bug("a row column is no struct"));
                };
                let columns = builders.iter_mut().map(Builder::finish).collect::<Result<Vec<_>>>()?;
                if columns.is_empty() {
                    return Ok(Arc::new(StructArray::new_empty_fields(len, nulls)));
                }
                Arc::new(StructArray::try_new(fields.clone(), columns, nulls).map_err(bug)?)
            }
        })
    }
}

fn timestamps(data_type: &DataType, values: ScalarBuffer<i64>, nulls: Option<NullBuffer>) -> ArrayRef {
    let DataType::Timestamp(unit, zone) = data_type else { return Arc::new(Int64Array::new(values, nulls)) };
    let zone = zone.clone();
    match unit {
        TimeUnit::Second => Arc::new(TimestampSecondArray::new(values, nulls).with_timezone_opt(zone)),
        TimeUnit::Millisecond => {
            Arc::new(TimestampMillisecondArray::new(values, nulls).with_timezone_opt(zone))
        }
        TimeUnit::Microsecond => {
            Arc::new(TimestampMicrosecondArray::new(values, nulls).with_timezone_opt(zone))
        }
        TimeUnit::Nanosecond => {
            Arc::new(TimestampNanosecondArray::new(values, nulls).with_timezone_opt(zone))
        }
    }
}

/// The finished columns as a batch of `rows` rows.
pub(super) fn finish(builders: &mut [Builder], schema: &SchemaRef, rows: usize) -> Result<RecordBatch> {
    let columns = builders.iter_mut().map(Builder::finish).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
        .map_err(|e| Error::bug("decoded columns are not of the table's types").caused_by(e))
}

/// One value, read from its text as from CSV; NULL where there is none.
///
/// # Errors
/// Where the text is no value of the type.
pub fn parse_value(field: &FieldRef, text: Option<&str>) -> Result<ArrayRef> {
    let mut builder = Builder::new(field)?;
    let pushed = match text {
        Some(text) => builder.push_parsed(text, TimeStyle::SQL),
        None => builder.push_null(),
    };
    pushed.map_err(|e| Error::data(e).at(format!("column {}", field.name())))?;
    builder.finish()
}

/// A builder for each column of a schema.
pub(super) fn builders(schema: &SchemaRef) -> Result<Vec<Builder>> {
    schema.fields().iter().map(Builder::new).collect()
}
