//! Types as Flink writes them.

use crate::sql_type::{LogicalType, MAX_LENGTH, SqlType};
use std::fmt;

impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind, if self.nullable { "" } else { " NOT NULL" })
    }
}

impl fmt::Display for LogicalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogicalType::Boolean => f.write_str("BOOLEAN"),
            LogicalType::TinyInt => f.write_str("TINYINT"),
            LogicalType::SmallInt => f.write_str("SMALLINT"),
            LogicalType::Int => f.write_str("INT"),
            LogicalType::BigInt => f.write_str("BIGINT"),
            LogicalType::Float => f.write_str("FLOAT"),
            LogicalType::Double => f.write_str("DOUBLE"),
            LogicalType::Decimal(precision, scale) => write!(f, "DECIMAL({precision}, {scale})"),
            LogicalType::Char(n) => write!(f, "CHAR({n})"),
            LogicalType::VarChar(MAX_LENGTH) => f.write_str("STRING"),
            LogicalType::VarChar(n) => write!(f, "VARCHAR({n})"),
            LogicalType::Binary(n) => write!(f, "BINARY({n})"),
            LogicalType::VarBinary(MAX_LENGTH) => f.write_str("BYTES"),
            LogicalType::VarBinary(n) => write!(f, "VARBINARY({n})"),
            LogicalType::Date => f.write_str("DATE"),
            LogicalType::Time(p) => write!(f, "TIME({p})"),
            LogicalType::Timestamp(p) => write!(f, "TIMESTAMP({p})"),
            LogicalType::TimestampLtz(p) => write!(f, "TIMESTAMP_LTZ({p})"),
            LogicalType::IntervalYearMonth => f.write_str("INTERVAL YEAR TO MONTH"),
            LogicalType::IntervalDaySecond => f.write_str("INTERVAL DAY TO SECOND(3)"),
            LogicalType::Array(element) => write!(f, "ARRAY<{element}>"),
            LogicalType::Map(key, value) => write!(f, "MAP<{key}, {value}>"),
            LogicalType::Multiset(element) => write!(f, "MULTISET<{element}>"),
            LogicalType::Row(fields) => {
                f.write_str("ROW<")?;
                for (i, field) in fields.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}`{}` {}", field.name.replace('`', "``"), field.sql_type)?;
                    if let Some(comment) = &field.comment {
                        write!(f, " '{}'", comment.replace('\'', "''"))?;
                    }
                }
                f.write_str(">")
            }
            LogicalType::Null => f.write_str("NULL"),
        }
    }
}
