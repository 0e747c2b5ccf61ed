//! Logical types.

/// The length of a `STRING` or `BYTES`: no limit.
pub const MAX_LENGTH: u32 = i32::MAX as u32;

/// A type and whether its values may be NULL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SqlType {
    /// The type.
    pub kind: LogicalType,
    /// Whether NULL is a value.
    pub nullable: bool,
}

/// A type of Flink's SQL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LogicalType {
    /// `BOOLEAN`.
    Boolean,
    /// `TINYINT`.
    TinyInt,
    /// `SMALLINT`.
    SmallInt,
    /// `INT`.
    Int,
    /// `BIGINT`.
    BigInt,
    /// `FLOAT`: 4 bytes.
    Float,
    /// `DOUBLE`.
    Double,
    /// `DECIMAL(precision, scale)`: at most 38 digits.
    Decimal(u8, u8),
    /// `CHAR(n)`: n characters, padded with spaces.
    Char(u32),
    /// `VARCHAR(n)`; [`MAX_LENGTH`] is `STRING`.
    VarChar(u32),
    /// `BINARY(n)`: n bytes.
    Binary(u32),
    /// `VARBINARY(n)`; [`MAX_LENGTH`] is `BYTES`.
    VarBinary(u32),
    /// `DATE`.
    Date,
    /// `TIME(p)`: p digits behind the second, of which three are kept, as in Flink.
    Time(u8),
    /// `TIMESTAMP(p)`: a date and a time of day, in no zone; p from 0 to 9.
    Timestamp(u8),
    /// `TIMESTAMP_LTZ(p)`: a point in time, shown in the session's zone.
    TimestampLtz(u8),
    /// `INTERVAL YEAR TO MONTH` and its like.
    IntervalYearMonth,
    /// `INTERVAL DAY TO SECOND` and its like.
    IntervalDaySecond,
    /// `ARRAY<t>`.
    Array(Box<SqlType>),
    /// `MAP<k, v>`.
    Map(Box<SqlType>, Box<SqlType>),
    /// `MULTISET<t>`: how often each value is there.
    Multiset(Box<SqlType>),
    /// `ROW<name type, ...>`.
    Row(Vec<RowField>),
    /// The type of an untyped `NULL`.
    Null,
}

/// A field of a `ROW`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RowField {
    /// Its name.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    /// Its comment.
    pub comment: Option<String>,
}

impl RowField {
    /// A field without a comment.
    pub fn new(name: impl Into<String>, sql_type: SqlType) -> Self {
        RowField { name: name.into(), sql_type, comment: None }
    }
}

impl LogicalType {
    /// `STRING`.
    pub const STRING: LogicalType = LogicalType::VarChar(MAX_LENGTH);
    /// `BYTES`.
    pub const BYTES: LogicalType = LogicalType::VarBinary(MAX_LENGTH);

    /// This type with NULL as a value.
    pub fn nullable(self) -> SqlType {
        SqlType { kind: self, nullable: true }
    }

    /// This type without NULL.
    pub fn not_null(self) -> SqlType {
        SqlType { kind: self, nullable: false }
    }

    /// Whether it is a number.
    pub fn is_numeric(&self) -> bool {
        use LogicalType::{BigInt, Decimal, Double, Float, Int, SmallInt, TinyInt};
        matches!(self, TinyInt | SmallInt | Int | BigInt | Float | Double | Decimal(..))
    }

    /// Whether it is a string of characters.
    pub fn is_character(&self) -> bool {
        matches!(self, LogicalType::Char(_) | LogicalType::VarChar(_))
    }

    /// Whether it is a `TIMESTAMP` or `TIMESTAMP_LTZ` of at most this many digits: what a time attribute may be (3).
    pub fn is_timestamp(&self) -> bool {
        matches!(self, LogicalType::Timestamp(_) | LogicalType::TimestampLtz(_))
    }
}
