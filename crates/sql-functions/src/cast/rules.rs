//! Which types may be converted to which: by `CAST`, and without being asked when rows are inserted.

use super::cast_function;
use datafusion_expr::ScalarUDF;
use flugs_sql_types::{LogicalType, SqlType};

/// Whether `CAST` converts between two types: Flink's table of casts, and intervals to numbers.
pub fn can_cast(from: &LogicalType, to: &LogicalType) -> bool {
    use LogicalType::*;
    match (from, to) {
        (_, Null) => *from == Null,
        (Null, _) => true,
        (_, Char(_) | VarChar(_)) => true,
        (Array(a), Array(b)) | (Multiset(a), Multiset(b)) => can_cast(&a.kind, &b.kind),
        (Map(k, v), Map(l, w)) => can_cast(&k.kind, &l.kind) && can_cast(&v.kind, &w.kind),
        (Row(a), Row(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| can_cast(&a.sql_type.kind, &b.sql_type.kind))
        }
        (Char(_) | VarChar(_), to) => !matches!(to, Array(_) | Map(..) | Multiset(_) | Row(_)),
        (Binary(_) | VarBinary(_), Binary(_) | VarBinary(_)) => true,
        (from, Boolean) => from.is_numeric() || *from == Boolean,
        (Boolean, to) => to.is_numeric(),
        (TinyInt | SmallInt | Int | BigInt, IntervalYearMonth | IntervalDaySecond) => true,
        (IntervalYearMonth | IntervalDaySecond, TinyInt | SmallInt | Int | BigInt) => true,
        (IntervalYearMonth, IntervalYearMonth) | (IntervalDaySecond, IntervalDaySecond) => true,
        (from, to) if from.is_numeric() => to.is_numeric(),
        (Date, Date | Timestamp(_) | TimestampLtz(_)) => true,
        (Time(_), Time(_) | Timestamp(_) | TimestampLtz(_)) => true,
        (Timestamp(_) | TimestampLtz(_), Date | Time(_) | Timestamp(_) | TimestampLtz(_)) => true,
        _ => false,
    }
}

/// What to write instead of a cast that there is not, to end its error message.
pub(super) fn instead(from: &LogicalType, to: &LogicalType) -> &'static str {
    match (from, to) {
        (from, to) if from.is_numeric() && to.is_timestamp() => {
            "; write TO_TIMESTAMP_LTZ(number, 0) for seconds, TO_TIMESTAMP_LTZ(number, 3) for milliseconds"
        }
        (from, to) if from.is_timestamp() && to.is_numeric() => {
            "; write UNIX_TIMESTAMP(CAST(timestamp AS STRING)) for seconds"
        }
        (from, LogicalType::Array(_)) if from.is_character() => "; write SPLIT(string, separator)",
        (from, LogicalType::Map(..)) if from.is_character() => "; write STR_TO_MAP(string)",
        _ => "",
    }
}

/// Whether a value that is not NULL may become NULL.
pub(super) fn may_give_null(from: &LogicalType, to: &LogicalType) -> bool {
    let LogicalType::Decimal(precision, scale) = to else { return false };
    let whole = precision - scale;
    match from {
        LogicalType::Boolean => whole < 1,
        LogicalType::TinyInt => whole < 3,
        LogicalType::SmallInt => whole < 5,
        LogicalType::Int => whole < 10,
        LogicalType::BigInt => whole < 19,
        // Rounding may need one digit more.
        LogicalType::Decimal(p, s) => p - s + u8::from(s > scale) > whole,
        from => from.is_numeric(),
    }
}

/// What `INSERT` does with a column of another type than the table's.
#[derive(Debug, Clone, PartialEq)]
pub enum Implicit {
    /// Nothing: the values fit as they are.
    Same,
    /// It converts them.
    Cast(ScalarUDF),
}

/// How a column of a query gets into a column of a table; none where an explicit `CAST` is needed. These are the conversions
/// that lose nothing but digits behind the point, as in Flink. Lengths of texts and nullability are not looked at here.
pub fn implicit_cast(from: &LogicalType, to: &LogicalType) -> Option<Implicit> {
    if !is_implicit(from, to) {
        return None;
    }
    let same = from.to_arrow().equals_datatype(&to.to_arrow()) && precision_of(from) <= precision_of(to);
    Some(if same { Implicit::Same } else { Implicit::Cast(cast_function(to.clone().nullable(), false)) })
}

/// Digits behind the second; 9 where there are none to lose.
fn precision_of(kind: &LogicalType) -> u8 {
    match kind {
        LogicalType::Time(p) | LogicalType::Timestamp(p) | LogicalType::TimestampLtz(p) => *p,
        _ => 0,
    }
}

fn is_implicit(from: &LogicalType, to: &LogicalType) -> bool {
    use LogicalType::*;
    let nested = |a: &SqlType, b: &SqlType| is_implicit(&a.kind, &b.kind);
    match (from, to) {
        (Null, _) => true,
        (Char(_), Char(_)) | (Char(_) | VarChar(_), VarChar(_)) => true,
        (Binary(_), Binary(_)) | (Binary(_) | VarBinary(_), VarBinary(_)) => true,
        (TinyInt, SmallInt | Int | BigInt) | (SmallInt, Int | BigInt) | (Int, BigInt) => true,
        (from, Decimal(..)) => from.is_numeric(),
        (TinyInt | SmallInt | Int | BigInt | Decimal(..), Float) => true,
        (from, Double) => from.is_numeric(),
        (Time(_), Time(_)) | (Timestamp(_), Date | Time(_)) => true,
        (Timestamp(_) | TimestampLtz(_), Timestamp(_) | TimestampLtz(_)) => true,
        (Array(a), Array(b)) | (Multiset(a), Multiset(b)) => nested(a, b),
        (Map(k, v), Map(l, w)) => nested(k, l) && nested(v, w),
        (Row(a), Row(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| nested(&a.sql_type, &b.sql_type))
        }
        (from, to) => from == to,
    }
}
