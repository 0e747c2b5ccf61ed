//! How the values of a column are made.

use arrow::array::types::IntervalMonthDayNano;
use arrow::array::{
    Array, ArrayRef, BinaryBuilder, BooleanArray, Decimal128Array, Float64Array, Int32Array, Int64Array,
    IntervalMonthDayNanoArray, ListArray, MapArray, StringViewBuilder, StructArray,
    TimestampMicrosecondArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, IntervalUnit};
use flugs_connector::Draw;
use flugs_sql_types::{LogicalType, MAX_LENGTH, from_field};
use flugs_table::Options;
use flugs_types::{Error, Result, Timestamp};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

const STRING_LENGTH: usize = 100;
const COLLECTION_LENGTH: usize = 3;
/// Longer strings and collections would not leave a batch in memory.
const LENGTH_MAX: usize = 1 << 20;
const MILLIS_PER_DAY: i64 = 86_400_000;

/// Makes the values of a column, or of what is nested in one.
pub(super) struct FieldGenerator {
    field: FieldRef,
    kind: Kind,
    null_rate: f64,
}

enum Kind {
    Sequence { start: i64, end: i64 },
    Boolean,
    Whole { min: i64, max: i64 },
    Real { min: f64, max: f64 },
    Decimal { min: i128, max: i128 },
    Text { length: usize, var_len: bool },
    Bytes { length: usize, var_len: bool },
    Date,
    Time,
    Past(Duration),
    Days { min: i64, max: i64 },
    List { length: usize, element: Box<FieldGenerator> },
    Map { length: usize, key: Box<FieldGenerator>, value: Box<FieldGenerator> },
    Row(Vec<FieldGenerator>),
}

/// The options of one field.
struct Of<'o> {
    options: &'o Options,
    path: &'o str,
}

impl Of<'_> {
    fn key(&self, option: &str) -> String {
        format!("fields.{}.{option}", self.path)
    }

    fn parsed<T: FromStr>(&self, option: &str, expected: &str) -> Result<Option<T>> {
        let key = self.key(option);
        let Some(text) = self.options.get(&key) else { return Ok(None) };
        text.trim().parse().map(Some).map_err(|_| {
            Error::job(format!("option '{key}' has the value '{text}', and {expected} was expected"))
        })
    }

    /// Both bounds, which must not be the wrong way round.
    fn bounds<T: FromStr + PartialOrd + Copy>(&self, min: T, max: T, expected: &str) -> Result<(T, T)> {
        let bounds =
            (self.parsed("min", expected)?.unwrap_or(min), self.parsed("max", expected)?.unwrap_or(max));
        if bounds.0 <= bounds.1 {
            return Ok(bounds);
        }
        Err(Error::job(format!("option '{}' is above '{}'", self.key("min"), self.key("max"))))
    }

    fn length(&self, of_type: Option<usize>) -> Result<usize> {
        let length = self.parsed("length", "a whole number")?.or(of_type).unwrap_or(STRING_LENGTH);
        self.check_length(length)
    }

    fn check_length(&self, length: usize) -> Result<usize> {
        if length <= LENGTH_MAX {
            return Ok(length);
        }
        Err(Error::job(format!("option '{}' is above {LENGTH_MAX}", self.key("length"))))
    }
}

impl FieldGenerator {
    /// For a field at `path` (`a.b`).
    pub(super) fn new(path: &str, field: &FieldRef, options: &Options) -> Result<Self> {
        let of = Of { options, path };
        let null_rate = options.double(&of.key("null-rate"))?.unwrap_or(0.0);
        let is_sequence =
            options.get(&of.key("kind")).is_some_and(|kind| kind.eq_ignore_ascii_case("sequence"));
        let kind = if is_sequence { Self::sequence(&of, field)? } else { Self::random(&of, field)? };
        Ok(FieldGenerator { field: field.clone(), kind, null_rate })
    }

    fn sequence(of: &Of<'_>, field: &FieldRef) -> Result<Kind> {
        let whole = "a whole number";
        let required = |option: &str| {
            let value = of.parsed(option, whole)?;
            value.ok_or_else(|| Error::job(format!("option '{}' is missing", of.key(option))))
        };
        let (start, end) = (required("start")?, required("end")?);
        if start > end {
            return Err(Error::job(format!("option '{}' is above '{}'", of.key("start"), of.key("end"))));
        }
        let is_counted = matches!(
            field.data_type(),
            DataType::Int8
                | DataType::Int16
                | DataType::Int32
                | DataType::Int64
                | DataType::Float32
                | DataType::Float64
                | DataType::Decimal128(..)
                | DataType::Utf8View
        );
        if is_counted {
            return Ok(Kind::Sequence { start, end });
        }
        Err(Error::job("a sequence is of numbers or strings").mend("take 'random' for the kind"))
    }

    fn random(of: &Of<'_>, field: &FieldRef) -> Result<Kind> {
        let within = |min: i64, max: i64| {
            of.bounds(min, max, "a whole number").map(|(min, max)| Kind::Whole { min, max })
        };
        let var_len = of.options.boolean(&of.key("var-len"))?.unwrap_or(false);
        let limited = |n: u32| (n != MAX_LENGTH).then_some(n as usize);
        let child = |name: &str, child: &FieldRef| {
            FieldGenerator::new(&format!("{}.{name}", of.path), child, of.options)
        };
        let collection = || of.length(Some(COLLECTION_LENGTH));
        Ok(match from_field(field)?.kind {
            LogicalType::Boolean => Kind::Boolean,
            LogicalType::TinyInt => within(i8::MIN.into(), i8::MAX.into())?,
            LogicalType::SmallInt => within(i16::MIN.into(), i16::MAX.into())?,
            LogicalType::Int => within(i32::MIN.into(), i32::MAX.into())?,
            LogicalType::BigInt => within(i64::MIN, i64::MAX)?,
            LogicalType::IntervalYearMonth => within(0, 120_000)?,
            LogicalType::IntervalDaySecond => {
                let (min, max) = of.bounds(0, 3_650_000 * MILLIS_PER_DAY, "milliseconds")?;
                Kind::Days { min, max }
            }
            LogicalType::Float => real(of, f32::MIN.into(), f32::MAX.into())?,
            LogicalType::Double => real(of, f64::MIN / 2.0, f64::MAX / 2.0)?,
            LogicalType::Decimal(precision, scale) => {
                let greatest = 10i128.pow(precision.into()) - 1;
                let unscaled = |x: f64| (x * 10f64.powi(scale.into())) as i128;
                let min = of.parsed("min", "a number")?.map_or(-greatest, unscaled);
                let max = of.parsed("max", "a number")?.map_or(greatest, unscaled);
                Kind::Decimal { min: min.max(-greatest), max: max.min(greatest).max(min.max(-greatest)) }
            }
            LogicalType::Char(n) => Kind::Text { length: of.check_length(n as usize)?, var_len: false },
            LogicalType::VarChar(n) => Kind::Text { length: of.length(limited(n))?, var_len },
            LogicalType::Binary(n) => Kind::Bytes { length: of.check_length(n as usize)?, var_len: false },
            LogicalType::VarBinary(n) => Kind::Bytes { length: of.length(limited(n))?, var_len },
            LogicalType::Date => Kind::Date,
            LogicalType::Time(_) => Kind::Time,
            LogicalType::Timestamp(_) | LogicalType::TimestampLtz(_) => {
                Kind::Past(of.options.duration(&of.key("max-past"))?.unwrap_or(Duration::ZERO))
            }
            LogicalType::Array(_) => match field.data_type() {
                DataType::List(item) => {
                    Kind::List { length: collection()?, element: Box::new(child("element", item)?) }
                }
                _ => return Err(Error::bug("an array is a list")),
            },
            LogicalType::Map(..) | LogicalType::Multiset(_) => {
                let DataType::Map(entries, _) = field.data_type() else {
                    return Err(Error::bug("a map is a map"));
                };
                let DataType::Struct(pair) = entries.data_type() else {
                    return Err(Error::bug("the entries of a map are a struct"));
                };
                let is_multiset = is_multiset(field);
                let (key, value) = if is_multiset { ("element", "count") } else { ("key", "value") };
                let mut value = child(value, &pair[1])?;
                if is_multiset {
                    value.kind = Kind::Whole { min: 1, max: 1 };
                }
                Kind::Map {
                    length: collection()?,
                    key: Box::new(child(key, &pair[0])?),
                    value: Box::new(value),
                }
            }
            LogicalType::Row(_) => match field.data_type() {
                DataType::Struct(fields) => {
                    let fields = fields.iter().map(|field| child(field.name(), field));
                    Kind::Row(fields.collect::<Result<_>>()?)
                }
                _ => return Err(Error::bug("a row is a struct")),
            },
            LogicalType::Null => return Err(Error::job("a column of NULLs cannot be generated")),
        })
    }

    pub(super) fn name(&self) -> &str {
        self.field.name()
    }

    /// How many rows there are until it ends, if it does.
    pub(super) fn rows(&self) -> Option<u64> {
        match self.kind {
            Kind::Sequence { start, end } => {
                Some(end.wrapping_sub(start) as u64).map(|n| n.saturating_add(1))
            }
            _ => None,
        }
    }

    /// Adds the keys of the options that say something about the field at `path`.
    pub(super) fn keys(&self, path: &str, keys: &mut Vec<String>) {
        let fixed = matches!(
            from_field(&self.field).map(|t| t.kind),
            Ok(LogicalType::Char(_) | LogicalType::Binary(_))
        );
        let own: &[&str] = match &self.kind {
            Kind::Sequence { .. } => &["start", "end"],
            Kind::Whole { .. } | Kind::Real { .. } | Kind::Decimal { .. } | Kind::Days { .. } => {
                &["min", "max"]
            }
            Kind::Text { .. } | Kind::Bytes { .. } if !fixed => &["length", "var-len"],
            Kind::Past(_) => &["max-past"],
            Kind::List { .. } | Kind::Map { .. } => &["length"],
            _ => &[],
        };
        keys.extend(["kind", "null-rate"].iter().chain(own).map(|option| format!("fields.{path}.{option}")));
        let mut below = |name: &str, field: &FieldGenerator| field.keys(&format!("{path}.{name}"), keys);
        match &self.kind {
            Kind::List { element, .. } => below("element", element),
            // How often an element is in a multiset is not chosen.
            Kind::Map { key, .. } if is_multiset(&self.field) => below("element", key),
            Kind::Map { key, value, .. } => {
                below("key", key);
                below("value", value);
            }
            Kind::Row(fields) => fields.iter().for_each(|field| below(field.name(), field)),
            _ => {}
        }
    }

    /// A value for each of these rows.
    pub(super) fn column(&self, mut draws: Vec<Draw>, now: Timestamp) -> Result<ArrayRef> {
        let nulls = (self.null_rate > 0.0)
            .then(|| draws.iter_mut().map(|draw| !draw.chance(self.null_rate)).collect::<Vec<bool>>());
        let nulls = nulls.map(NullBuffer::from);
        let values = self.values(&mut draws, now)?;
        let values = if values.data_type() == self.field.data_type() {
            values
        } else {
            cast(&values, self.field.data_type()).map_err(bug)?
        };
        let Some(nulls) = nulls else { return Ok(values) };
        let data = values.to_data().into_builder().nulls(Some(nulls)).build().map_err(bug)?;
        Ok(arrow::array::make_array(data))
    }

    fn values(&self, draws: &mut [Draw], now: Timestamp) -> Result<ArrayRef> {
        let millis = now.as_millis();
        let rows = draws.len();
        Ok(match &self.kind {
            Kind::Sequence { start, .. } => {
                let values = draws.iter().map(|draw| start.wrapping_add(draw.index() as i64));
                Arc::new(Int64Array::from_iter_values(values))
            }
            Kind::Boolean => {
                Arc::new(BooleanArray::from_iter(draws.iter_mut().map(|draw| Some(draw.bits() >> 63 == 1))))
            }
            Kind::Whole { min, max } => {
                let values =
                    Int64Array::from_iter_values(draws.iter_mut().map(|draw| whole(draw, *min, *max)));
                if matches!(self.field.data_type(), DataType::Interval(IntervalUnit::YearMonth)) {
                    let months = cast(&values, &DataType::Int32).map_err(bug)?;
                    return cast(&months, self.field.data_type()).map_err(bug);
                }
                Arc::new(values)
            }
            Kind::Real { min, max } => {
                let values = draws.iter_mut().map(|draw| min + draw.fraction() * (max - min));
                Arc::new(Float64Array::from_iter_values(values))
            }
            Kind::Decimal { min, max } => {
                let values = draws.iter_mut().map(|draw| decimal(draw, *min, *max));
                let array = Decimal128Array::from_iter_values(values);
                Arc::new(array.with_data_type(self.field.data_type().clone()))
            }
            Kind::Text { length, var_len } => {
                let mut values = StringViewBuilder::with_capacity(rows);
                draws.iter_mut().for_each(|draw| {
                    let length = length_of(draw, *length, *var_len);
                    values.append_value(draw.hex(length));
                });
                Arc::new(values.finish())
            }
            Kind::Bytes { length, var_len } => {
                let mut values = BinaryBuilder::new();
                for draw in draws {
                    let length = length_of(draw, *length, *var_len);
                    values.append_value((0..length).map(|_| draw.bits() as u8).collect::<Vec<u8>>());
                }
                Arc::new(values.finish())
            }
            Kind::Date => {
                let today = Int32Array::from(vec![millis.div_euclid(MILLIS_PER_DAY) as i32; rows]);
                cast(&today, &DataType::Date32).map_err(bug)?
            }
            Kind::Time => {
                let time = Int32Array::from(vec![millis.rem_euclid(MILLIS_PER_DAY) as i32; rows]);
                cast(&time, self.field.data_type()).map_err(bug)?
            }
            Kind::Past(most) => {
                let most = i64::try_from(most.as_millis()).unwrap_or(i64::MAX / 1000);
                let at = |draw: &mut Draw| millis.saturating_sub(whole(draw, 0, most)).saturating_mul(1000);
                let array = TimestampMicrosecondArray::from_iter_values(draws.iter_mut().map(at));
                match self.field.data_type() {
                    DataType::Timestamp(_, Some(zone)) => Arc::new(array.with_timezone(zone.clone())),
                    _ => Arc::new(array),
                }
            }
            Kind::Days { min, max } => {
                let value = |draw: &mut Draw| {
                    let millis = whole(draw, *min, *max);
                    let days = (millis / MILLIS_PER_DAY) as i32;
                    IntervalMonthDayNano::new(0, days, millis % MILLIS_PER_DAY * 1_000_000)
                };
                Arc::new(IntervalMonthDayNanoArray::from_iter_values(draws.iter_mut().map(value)))
            }
            Kind::List { length, element } => {
                let items = element.column(children(draws, *length), now)?;
                let offsets = OffsetBuffer::from_repeated_length(*length, rows);
                let item = element.field.clone();
                Arc::new(ListArray::try_new(item, offsets, items, None).map_err(bug)?)
            }
            Kind::Map { length, key, value } => {
                let DataType::Map(entries, sorted) = self.field.data_type() else {
                    return Err(Error::bug("a map is a map"));
                };
                let DataType::Struct(pair) = entries.data_type() else {
                    return Err(Error::bug("the entries of a map are a struct"));
                };
                let keys = key.column(children(draws, *length), now)?;
                let values = value.column(children(draws, *length), now)?;
                let pairs = StructArray::try_new(pair.clone(), vec![keys, values], None).map_err(bug)?;
                let offsets = OffsetBuffer::from_repeated_length(*length, rows);
                Arc::new(MapArray::try_new(entries.clone(), offsets, pairs, None, *sorted).map_err(bug)?)
            }
            Kind::Row(fields) => {
                let DataType::Struct(types) = self.field.data_type() else {
                    return Err(Error::bug("a row is a struct"));
                };
                if fields.is_empty() {
                    return Ok(Arc::new(StructArray::new_empty_fields(rows, None)));
                }
                let column = |field: &FieldGenerator| field.column(children(draws, 1), now);
                let columns = fields.iter().map(column).collect::<Result<_>>()?;
                Arc::new(StructArray::try_new(types.clone(), columns, None).map_err(bug)?)
            }
        })
    }
}

fn is_multiset(field: &FieldRef) -> bool {
    matches!(from_field(field).map(|t| t.kind), Ok(LogicalType::Multiset(_)))
}

fn real(of: &Of<'_>, min: f64, max: f64) -> Result<Kind> {
    of.bounds(min, max, "a number").map(|(min, max)| Kind::Real { min, max })
}

/// Uniform, with both bounds.
fn whole(draw: &mut Draw, min: i64, max: i64) -> i64 {
    match (max.wrapping_sub(min) as u64).checked_add(1) {
        Some(width) => min.wrapping_add(draw.below(width) as i64),
        None => draw.bits() as i64,
    }
}

fn decimal(draw: &mut Draw, min: i128, max: i128) -> i128 {
    let bits = u128::from(draw.bits()) << 64 | u128::from(draw.bits());
    min + (bits % (max.wrapping_sub(min) as u128 + 1)) as i128
}

fn length_of(draw: &mut Draw, length: usize, var_len: bool) -> usize {
    if var_len && length > 0 { 1 + draw.below(length as u64) as usize } else { length }
}

/// The random numbers of so many values in each row.
fn children(draws: &mut [Draw], each: usize) -> Vec<Draw> {
    let of_row = |draw: &mut Draw| {
        let seed = draw.bits();
        (0..each as u64).map(move |i| Draw::of(seed, i))
    };
    draws.iter_mut().flat_map(of_row).collect()
}

fn bug(error: arrow::error::ArrowError) -> Error {
    Error::bug("a generated column is not of its type").caused_by(error)
}
