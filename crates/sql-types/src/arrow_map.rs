//! Types to Arrow and back.
//!
//! | SQL | Arrow |
//! | --- | --- |
//! | `CHAR`, `VARCHAR`, `STRING` | `Utf8View` |
//! | `BINARY`, `VARBINARY`, `BYTES` | `Binary` |
//! | `TIME(p)` | `Time32(Millisecond)` |
//! | `TIMESTAMP(0..3)`, `(4..6)`, `(7..9)` | `Timestamp` in milli-, micro-, nanoseconds, without a zone |
//! | `TIMESTAMP_LTZ(p)` | the same with the zone `+00:00` |
//! | intervals | `Interval(YearMonth)`, `Interval(MonthDayNano)` |
//! | `MULTISET<t>` | `Map` from `t` to `INT` |
//! | `ROW` | `Struct` |

use crate::sql_type::{LogicalType, MAX_LENGTH, RowField, SqlType};
use arrow::datatypes::{DataType, Field, Fields, IntervalUnit, Schema, SchemaRef, TimeUnit};
use flugs_types::{Error, Result};
use std::sync::Arc;

/// The key of a field's metadata under which its SQL type stands where Arrow's does not say all.
pub const TYPE_KEY: &str = "flugs.type";
/// The key of a field's comment.
const COMMENT_KEY: &str = "flugs.comment";
/// The zone of a `TIMESTAMP_LTZ` column.
pub const LTZ: &str = "+00:00";

fn unit_of(precision: u8) -> TimeUnit {
    match precision {
        0..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}

fn digits_of(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

impl LogicalType {
    /// The type of a column.
    pub fn to_arrow(&self) -> DataType {
        match self {
            LogicalType::Boolean => DataType::Boolean,
            LogicalType::TinyInt => DataType::Int8,
            LogicalType::SmallInt => DataType::Int16,
            LogicalType::Int => DataType::Int32,
            LogicalType::BigInt => DataType::Int64,
            LogicalType::Float => DataType::Float32,
            LogicalType::Double => DataType::Float64,
            LogicalType::Decimal(precision, scale) => DataType::Decimal128(*precision, *scale as i8),
            LogicalType::Char(_) | LogicalType::VarChar(_) => DataType::Utf8View,
            LogicalType::Binary(_) | LogicalType::VarBinary(_) => DataType::Binary,
            LogicalType::Date => DataType::Date32,
            LogicalType::Time(_) => DataType::Time32(TimeUnit::Millisecond),
            LogicalType::Timestamp(p) => DataType::Timestamp(unit_of(*p), None),
            LogicalType::TimestampLtz(p) => DataType::Timestamp(unit_of(*p), Some(LTZ.into())),
            LogicalType::IntervalYearMonth => DataType::Interval(IntervalUnit::YearMonth),
            LogicalType::IntervalDaySecond => DataType::Interval(IntervalUnit::MonthDayNano),
            LogicalType::Array(element) => DataType::List(Arc::new(to_field("item", element))),
            LogicalType::Map(key, value) => map(key, value),
            LogicalType::Multiset(element) => map(element, &LogicalType::Int.not_null()),
            LogicalType::Row(fields) => DataType::Struct(fields.iter().map(row_field).collect()),
            LogicalType::Null => DataType::Null,
        }
    }
}

fn map(key: &SqlType, value: &SqlType) -> DataType {
    // Arrow's maps have no NULL keys.
    let key = to_field("key", key).with_nullable(false);
    let entries = DataType::Struct(Fields::from(vec![key, to_field("value", value)]));
    DataType::Map(Arc::new(Field::new("entries", entries, false)), false)
}

fn row_field(field: &RowField) -> Field {
    let mut of_arrow = to_field(&field.name, &field.sql_type);
    if let Some(comment) = &field.comment {
        let mut metadata = of_arrow.metadata().clone();
        metadata.insert(COMMENT_KEY.to_owned(), comment.clone());
        of_arrow.set_metadata(metadata);
    }
    of_arrow
}

/// What Arrow's type does not say, as text; the outer type alone, since nested fields have metadata of their own.
fn note(kind: &LogicalType) -> Option<String> {
    match kind {
        LogicalType::Char(n) => Some(format!("CHAR({n})")),
        LogicalType::VarChar(n) if *n != MAX_LENGTH => Some(format!("VARCHAR({n})")),
        LogicalType::Binary(n) => Some(format!("BINARY({n})")),
        LogicalType::VarBinary(n) if *n != MAX_LENGTH => Some(format!("VARBINARY({n})")),
        LogicalType::Time(p) if *p != 0 => Some(format!("TIME({p})")),
        LogicalType::Timestamp(p) | LogicalType::TimestampLtz(p) if *p != digits_of(unit_of(*p)) => {
            Some(format!("TIMESTAMP({p})"))
        }
        LogicalType::Multiset(_) => Some("MULTISET".to_owned()),
        _ => None,
    }
}

fn noted(note: &str, kind: LogicalType) -> LogicalType {
    let (name, n) = match note.split_once('(') {
        Some((name, n)) => (name, n.trim_end_matches(')').parse().unwrap_or(0)),
        None => (note, 0),
    };
    match (name, kind) {
        ("CHAR", LogicalType::VarChar(_)) => LogicalType::Char(n),
        ("VARCHAR", LogicalType::VarChar(_)) => LogicalType::VarChar(n),
        ("BINARY", LogicalType::VarBinary(_)) => LogicalType::Binary(n),
        ("VARBINARY", LogicalType::VarBinary(_)) => LogicalType::VarBinary(n),
        ("TIME", LogicalType::Time(_)) => LogicalType::Time(n as u8),
        ("TIMESTAMP", LogicalType::Timestamp(_)) => LogicalType::Timestamp(n as u8),
        ("TIMESTAMP", LogicalType::TimestampLtz(_)) => LogicalType::TimestampLtz(n as u8),
        ("MULTISET", LogicalType::Map(element, _)) => LogicalType::Multiset(element),
        // The note is of another type than the column has by now, so it says nothing.
        (_, kind) => kind,
    }
}

/// A field of this type.
pub fn to_field(name: &str, sql_type: &SqlType) -> Field {
    let field = Field::new(name, sql_type.kind.to_arrow(), sql_type.nullable);
    match note(&sql_type.kind) {
        Some(note) => field.with_metadata([(TYPE_KEY.to_owned(), note)].into()),
        None => field,
    }
}

/// A schema of these columns.
pub fn to_schema<'a>(columns: impl IntoIterator<Item = (&'a str, &'a SqlType)>) -> SchemaRef {
    Arc::new(Schema::new(columns.into_iter().map(|(name, t)| to_field(name, t)).collect::<Vec<_>>()))
}

/// The type of a field. An error where SQL has no such type.
pub fn from_field(field: &Field) -> Result<SqlType> {
    let kind = from_arrow(field.data_type())?;
    let kind = match field.metadata().get(TYPE_KEY) {
        Some(note) => noted(note, kind),
        None => kind,
    };
    Ok(SqlType { kind, nullable: field.is_nullable() })
}

/// The type of a column as far as Arrow's type says it. Types that come from expressions but not from tables (unsigned
/// integers, other strings) give the SQL type that holds their values.
pub fn from_arrow(data_type: &DataType) -> Result<LogicalType> {
    Ok(match data_type {
        DataType::Boolean => LogicalType::Boolean,
        DataType::Int8 => LogicalType::TinyInt,
        DataType::Int16 | DataType::UInt8 => LogicalType::SmallInt,
        DataType::Int32 | DataType::UInt16 => LogicalType::Int,
        DataType::Int64 | DataType::UInt32 | DataType::UInt64 => LogicalType::BigInt,
        DataType::Float16 | DataType::Float32 => LogicalType::Float,
        DataType::Float64 => LogicalType::Double,
        DataType::Decimal128(precision, scale) if *scale >= 0 => {
            LogicalType::Decimal(*precision, *scale as u8)
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => LogicalType::STRING,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            LogicalType::BYTES
        }
        DataType::Date32 | DataType::Date64 => LogicalType::Date,
        DataType::Time32(_) | DataType::Time64(_) => LogicalType::Time(0),
        DataType::Timestamp(unit, None) => LogicalType::Timestamp(digits_of(*unit)),
        DataType::Timestamp(unit, Some(_)) => LogicalType::TimestampLtz(digits_of(*unit)),
        DataType::Interval(IntervalUnit::YearMonth) => LogicalType::IntervalYearMonth,
        DataType::Interval(_) | DataType::Duration(_) => LogicalType::IntervalDaySecond,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            LogicalType::Array(Box::new(from_field(item)?))
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(fields) = entries.data_type() else {
                return Err(Error::bug("the entries of a map are a struct"));
            };
            let [key, value] = &fields[..] else {
                return Err(Error::bug("the entries of a map are keys and values"));
            };
            LogicalType::Map(Box::new(from_field(key)?), Box::new(from_field(value)?))
        }
        DataType::Struct(fields) => {
            let field = |f: &Arc<Field>| -> Result<RowField> {
                let comment = f.metadata().get(COMMENT_KEY).cloned();
                Ok(RowField { name: f.name().clone(), sql_type: from_field(f)?, comment })
            };
            LogicalType::Row(fields.iter().map(field).collect::<Result<_>>()?)
        }
        DataType::Dictionary(_, values) => from_arrow(values)?,
        DataType::Null => LogicalType::Null,
        other => return Err(Error::job(format!("SQL has no type for columns of {other}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_comes_back_from_its_field() {
        use LogicalType::*;
        let any = |kind: LogicalType| Box::new(kind.nullable());
        let kinds = [
            Boolean,
            TinyInt,
            SmallInt,
            Int,
            BigInt,
            Float,
            Double,
            Decimal(23, 3),
            Char(7),
            VarChar(20),
            LogicalType::STRING,
            Binary(3),
            VarBinary(9),
            LogicalType::BYTES,
            Date,
            Time(0),
            Time(3),
            Timestamp(0),
            Timestamp(3),
            Timestamp(6),
            Timestamp(9),
            TimestampLtz(3),
            TimestampLtz(8),
            IntervalYearMonth,
            IntervalDaySecond,
            Array(Box::new(VarChar(5).not_null())),
            Map(Box::new(Char(2).not_null()), any(Timestamp(4))),
            Multiset(Box::new(Int.not_null())),
            Row(vec![
                RowField::new("a", VarChar(3).not_null()),
                RowField { comment: Some("why".into()), ..RowField::new("b", Row(vec![]).nullable()) },
            ]),
        ];
        for kind in kinds {
            for sql_type in [kind.clone().nullable(), kind.clone().not_null()] {
                assert_eq!(from_field(&to_field("c", &sql_type)).unwrap(), sql_type);
            }
        }
    }

    #[test]
    fn types_are_written_as_flink_writes_them() {
        let row = LogicalType::Row(vec![
            RowField::new("id", LogicalType::BigInt.not_null()),
            RowField::new("tags", LogicalType::Array(Box::new(LogicalType::STRING.nullable())).nullable()),
        ]);
        assert_eq!(row.not_null().to_string(), "ROW<`id` BIGINT NOT NULL, `tags` ARRAY<STRING>> NOT NULL");
        assert_eq!(LogicalType::Decimal(10, 0).nullable().to_string(), "DECIMAL(10, 0)");
    }
}
