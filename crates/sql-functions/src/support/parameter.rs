//! Which arguments a function takes, and how Flink widens them without being asked.

use arrow::datatypes::{DataType, Fields, IntervalUnit};
use datafusion_common::Result;
use flugs_sql_types::{LogicalType, from_arrow};
use std::sync::Arc;

/// What may stand in one place of an argument list. An untyped NULL may stand everywhere.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Parameter {
    /// Any value, as it is.
    Any,
    /// `BOOLEAN`.
    Boolean,
    /// `TINYINT`, `SMALLINT` or `INT`, widened to `INT`.
    Int,
    /// Any integer, widened to `BIGINT`.
    BigInt,
    /// Any number, as it is.
    Number,
    /// Any number, widened to `DOUBLE`.
    Double,
    /// `CHAR`, `VARCHAR` or `STRING`.
    String,
    /// `BINARY`, `VARBINARY` or `BYTES`.
    Bytes,
    /// Characters or bytes, as they are.
    StringOrBytes,
    /// `ARRAY`, as it is.
    Array,
    /// `MAP`, as it is.
    Map,
    /// What the function says: the type an argument of this type is widened to, none where it does not fit. The words
    /// complete "expects".
    Other(&'static str, fn(&DataType) -> Option<DataType>),
}

impl Parameter {
    /// The parameter as an error message names it.
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Parameter::Any => "any value",
            Parameter::Boolean => "BOOLEAN",
            Parameter::Int => "INT",
            Parameter::BigInt => "BIGINT",
            Parameter::Number => "a number",
            Parameter::Double => "DOUBLE",
            Parameter::String => "STRING",
            Parameter::Bytes => "BYTES",
            Parameter::StringOrBytes => "STRING or BYTES",
            Parameter::Array => "ARRAY",
            Parameter::Map => "MAP",
            Parameter::Other(expected, _) => expected,
        }
    }

    /// The type an argument of type `given` is widened to; none where it does not fit.
    pub(crate) fn accept(self, given: &DataType) -> Option<DataType> {
        use DataType::*;
        let null = matches!(given, Null);
        let integer = matches!(given, Int8 | Int16 | Int32 | Int64);
        match self {
            Parameter::Any => Some(canonical(given)),
            Parameter::Boolean => (null || *given == Boolean).then_some(Boolean),
            Parameter::Int => (null || matches!(given, Int8 | Int16 | Int32)).then_some(Int32),
            Parameter::BigInt => (null || integer).then_some(Int64),
            Parameter::Number if null => Some(Int32),
            Parameter::Number => is_number(given).then(|| given.clone()),
            Parameter::Double => (null || is_number(given)).then_some(Float64),
            Parameter::String => (null || is_string(given)).then_some(Utf8View),
            Parameter::Bytes => (null || is_bytes(given)).then_some(Binary),
            Parameter::StringOrBytes if is_bytes(given) => Some(Binary),
            Parameter::StringOrBytes => (null || is_string(given)).then_some(Utf8View),
            Parameter::Array => (null || matches!(given, List(_))).then(|| given.clone()),
            Parameter::Map => (null || matches!(given, Map(..))).then(|| given.clone()),
            Parameter::Other(_, accept) => accept(given),
        }
    }
}

/// The one type in which this crate sees strings and bytes.
fn canonical(given: &DataType) -> DataType {
    match given {
        _ if is_string(given) => DataType::Utf8View,
        _ if is_bytes(given) => DataType::Binary,
        other => other.clone(),
    }
}

fn is_string(given: &DataType) -> bool {
    matches!(given, DataType::Utf8View | DataType::Utf8 | DataType::LargeUtf8)
}

fn is_bytes(given: &DataType) -> bool {
    matches!(
        given,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_)
    )
}

fn is_number(given: &DataType) -> bool {
    use DataType::*;
    matches!(given, Int8 | Int16 | Int32 | Int64 | Float32 | Float64 | Decimal128(..))
}

/// A column type as SQL writes it.
pub(crate) fn type_name(data_type: &DataType) -> String {
    from_arrow(data_type).map_or_else(|_| data_type.to_string(), |t: LogicalType| t.to_string())
}

/// How many digits an integer type may have as a `DECIMAL`; none for other types.
pub(crate) fn int_digits(data_type: &DataType) -> Option<u8> {
    match data_type {
        DataType::Int8 => Some(3),
        DataType::Int16 => Some(5),
        DataType::Int32 => Some(10),
        DataType::Int64 => Some(19),
        _ => None,
    }
}

/// The type that holds the values of both: what `COALESCE`, `CASE`, `GREATEST` and `UNION` give. None where Flink has none.
pub fn common_type(left: &DataType, right: &DataType) -> Option<DataType> {
    use DataType::*;
    let (left, right) = (canonical(left), canonical(right));
    if left == right {
        return Some(left);
    }
    match (&left, &right) {
        (Null, other) | (other, Null) => Some(other.clone()),
        (a, b) if is_number(a) && is_number(b) => common_number(a, b),
        (Timestamp(a, zone), Timestamp(b, other)) if zone.is_some() == other.is_some() => {
            Some(Timestamp((*a).max(*b), zone.clone()))
        }
        // A date is the midnight it starts with.
        (Date32, Timestamp(unit, None)) | (Timestamp(unit, None), Date32) => Some(Timestamp(*unit, None)),
        (Interval(IntervalUnit::YearMonth), Interval(IntervalUnit::YearMonth)) => Some(left.clone()),
        (List(a), List(b)) => {
            let item = common_type(a.data_type(), b.data_type())?;
            let nullable = a.is_nullable() || b.is_nullable();
            Some(List(Arc::new(a.as_ref().clone().with_data_type(item).with_nullable(nullable))))
        }
        (Map(a, sorted), Map(b, _)) => {
            let entries = common_type(a.data_type(), b.data_type())?;
            Some(Map(Arc::new(a.as_ref().clone().with_data_type(entries)), *sorted))
        }
        (Struct(a), Struct(b)) if a.len() == b.len() => {
            let fields = a.iter().zip(b).map(|(a, b)| {
                let data_type = common_type(a.data_type(), b.data_type())?;
                let nullable = a.is_nullable() || b.is_nullable();
                let field = a.as_ref().clone().with_data_type(data_type).with_nullable(nullable);
                (a.name() == b.name()).then(|| Arc::new(field))
            });
            Some(Struct(fields.collect::<Option<Fields>>()?))
        }
        _ => None,
    }
}

fn common_number(left: &DataType, right: &DataType) -> Option<DataType> {
    use DataType::*;
    Some(match (left, right) {
        (Float64, _) | (_, Float64) => Float64,
        // FLOAT holds few digits, so Flink goes on with DOUBLE where a DECIMAL is on the other side.
        (Float32, Decimal128(..)) | (Decimal128(..), Float32) => Float64,
        (Float32, _) | (_, Float32) => Float32,
        (Decimal128(..), _) | (_, Decimal128(..)) => {
            let (p1, s1) = as_decimal(left)?;
            let (p2, s2) = as_decimal(right)?;
            let scale = s1.max(s2);
            let whole = (i16::from(p1) - i16::from(s1)).max(i16::from(p2) - i16::from(s2));
            let precision = (whole + i16::from(scale)).min(38);
            Decimal128(precision as u8, scale.min(precision as i8))
        }
        (Int64, _) | (_, Int64) => Int64,
        (Int32, _) | (_, Int32) => Int32,
        (Int16, _) | (_, Int16) => Int16,
        _ => Int8,
    })
}

fn as_decimal(data_type: &DataType) -> Option<(u8, i8)> {
    match data_type {
        DataType::Decimal128(precision, scale) => Some((*precision, *scale)),
        other => Some((int_digits(other)?, 0)),
    }
}

/// The types that `given` are widened to by `parameters`. `name` and `usage` are for the message.
pub(crate) fn coerce(
    name: &str,
    usage: &str,
    parameters: &super::definition::Parameters,
    given: &[DataType],
) -> Result<Vec<DataType>> {
    let (least, most) = (parameters.required.len(), parameters.most());
    if given.len() < least || most.is_some_and(|most| given.len() > most) {
        let expected = match most {
            Some(most) if most == least && least == 1 => "1 argument".to_owned(),
            Some(most) if most == least => format!("{least} arguments"),
            Some(most) => format!("{least} to {most} arguments"),
            None => format!("at least {least} arguments"),
        };
        let message = format!("{name} takes {expected}, {} given; it is called as {usage}", given.len());
        return Err(super::planning_error(message));
    }
    let widen = |(i, given): (usize, &DataType)| {
        let parameter = parameters.at(i);
        parameter.accept(given).ok_or_else(|| {
            super::planning_error(format!(
                "argument {} of {name} is {}, but {} is expected; it is called as {usage}",
                i + 1,
                type_name(given),
                parameter.expected()
            ))
        })
    };
    given.iter().enumerate().map(widen).collect()
}
