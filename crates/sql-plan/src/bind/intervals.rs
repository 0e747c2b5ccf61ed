//! Intervals among datetimes, numbers and each other: DataFusion gives other types than Flink, and lets pass what Flink refuses.

use crate::bind::inside;
use arrow::datatypes::{DataType, IntervalMonthDayNano};
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::{BinaryExpr, Cast, Expr, ExprSchemable, Operator};
use flugs_sql_functions::temporal::{datetime_binary, interval_binary};
use flugs_sql_parser::{Location, Span, SqlError, SqlErrorKind};
use flugs_sql_types::from_arrow;

const DAY_NANOS: i64 = 86_400_000_000_000;

/// An interval of days to seconds as whole days and the rest: equal ones are compared as they stand.
pub(super) fn canonical(interval: IntervalMonthDayNano) -> ScalarValue {
    let IntervalMonthDayNano { months, days, nanoseconds } = interval;
    let carried = i32::try_from(nanoseconds / DAY_NANOS).ok().and_then(|carried| days.checked_add(carried));
    ScalarValue::IntervalMonthDayNano(Some(match carried {
        Some(days) => IntervalMonthDayNano::new(months, days, nanoseconds % DAY_NANOS),
        None => interval,
    }))
}

fn is_interval(t: &DataType) -> bool {
    matches!(t, DataType::Interval(_))
}

fn is_datetime(t: &DataType) -> bool {
    matches!(t, DataType::Date32 | DataType::Time32(_) | DataType::Timestamp(..))
}

fn shown(t: &DataType) -> String {
    from_arrow(t).map_or_else(|_| t.to_string(), |kind| kind.to_string())
}

/// Arithmetic with datetimes and intervals as a call of ours; none where DataFusion does what Flink does.
pub(super) fn arithmetic(binary: &BinaryExpr, schema: &DFSchema) -> Result<Option<Expr>> {
    use Operator::{Minus, Plus};
    let BinaryExpr { left, op, right } = binary;
    if !matches!(op, Plus | Minus) {
        return Ok(None);
    }
    let (l, r) = (left.get_type(schema)?, right.get_type(schema)?);
    // Timestamps and intervals are added in both alike.
    let is_day = |t: &DataType| is_datetime(t) && !matches!(t, DataType::Timestamp(..));
    let (function, turned) = match op {
        Plus | Minus if is_day(&l) && is_interval(&r) => (datetime_binary(*op), false),
        Plus if is_interval(&l) && is_day(&r) => (datetime_binary(*op), true),
        Plus | Minus if is_interval(&l) && is_interval(&r) && l != r => {
            let error = no_operator(binary, [&l, &r]);
            return Err(inside(error.help("write both in months, or both in days")));
        }
        Plus | Minus if is_interval(&l) && is_interval(&r) => (interval_binary(*op), false),
        Minus if is_datetime(&l) && is_datetime(&r) => return Err(inside(difference(binary, [&l, &r]))),
        _ => return Ok(None),
    };
    let (left, right) = (left.as_ref().clone(), right.as_ref().clone());
    let args = if turned { vec![right, left] } else { vec![left, right] };
    Ok(function.map(|f| Expr::ScalarFunction(ScalarFunction::new_udf(f, args))))
}

/// Several times an interval, either side of which may be the number. DataFusion has no such operator.
pub(super) fn is_multiple(left: &DataType, right: &DataType) -> Option<bool> {
    match () {
        () if is_interval(left) && right.is_signed_integer() => Some(false),
        () if left.is_signed_integer() && is_interval(right) => Some(true),
        () => None,
    }
}

/// A number as an interval of one unit, as in `CAST(n AS INTERVAL DAY)`; none where it is no cast of a number to an interval.
pub(super) fn of_number(cast: &Cast, unit: Option<&str>, schema: &DFSchema) -> Result<Option<Expr>> {
    let number = cast.expr.get_type(schema)?;
    if !is_interval(cast.field.data_type()) || !number.is_signed_integer() {
        return Ok(None);
    }
    if let (Some("MONTH"), Expr::Literal(ScalarValue::Int64(Some(n)), _)) = (unit, cast.expr.as_ref())
        && let Ok(months) = i32::try_from(*n)
    {
        return Ok(Some(Expr::Literal(ScalarValue::IntervalYearMonth(Some(months)), None)));
    }
    let one = match unit {
        Some("YEAR") => ScalarValue::IntervalYearMonth(Some(12)),
        Some("QUARTER") => ScalarValue::IntervalYearMonth(Some(3)),
        Some("MONTH") => ScalarValue::IntervalYearMonth(Some(1)),
        Some("WEEK") => ScalarValue::new_interval_mdn(0, 7, 0),
        Some("DAY") => ScalarValue::new_interval_mdn(0, 1, 0),
        Some("HOUR") => ScalarValue::new_interval_mdn(0, 0, DAY_NANOS / 24),
        Some("MINUTE") => ScalarValue::new_interval_mdn(0, 0, DAY_NANOS / 24 / 60),
        Some("SECOND") => ScalarValue::new_interval_mdn(0, 0, 1_000_000_000),
        _ => {
            let message = format!("{} becomes an INTERVAL of one unit", shown(&number));
            let error = SqlError::new(SqlErrorKind::Type, message);
            return Err(inside(error.help("write CAST(n AS INTERVAL SECOND), or n * INTERVAL '1' SECOND")));
        }
    };
    let args = vec![Expr::Literal(one, None), cast.expr.as_ref().clone()];
    Ok(interval_binary(Operator::Multiply).map(|f| Expr::ScalarFunction(ScalarFunction::new_udf(f, args))))
}

fn no_operator(binary: &BinaryExpr, [left, right]: [&DataType; 2]) -> SqlError {
    let message = format!("there is no operator for {} {} {}", shown(left), binary.op, shown(right));
    let error = SqlError::new(SqlErrorKind::Type, message);
    match place(binary) {
        Some(span) => error.at(span),
        None => error,
    }
}

/// A difference says what it is to be in, as in Flink.
fn difference(binary: &BinaryExpr, types: [&DataType; 2]) -> SqlError {
    let named = |side: &Expr, else_named: &str| match side {
        Expr::Column(column) => column.name.clone(),
        _ => else_named.to_owned(),
    };
    let (left, right) = (named(&binary.left, "later"), named(&binary.right, "earlier"));
    no_operator(binary, types).help(format!(
        "write ({left} - {right}) DAY TO SECOND for an interval, TIMESTAMPDIFF(SECOND, {right}, {left}) for a number"
    ))
}

/// From the first column of an expression to its last.
fn place(binary: &BinaryExpr) -> Option<Span> {
    let mut columns = binary.left.column_refs();
    binary.right.add_column_refs(&mut columns);
    let spans = || columns.iter().flat_map(|column| column.spans.iter());
    let location = |at: datafusion_common::Location| Location::new(at.line, at.column);
    let (start, end) = (spans().map(|s| s.start).min()?, spans().map(|s| s.end).max()?);
    Some(Span::new(location(start), location(end)))
}

/// Intervals of months and of days have nothing in common, where DataFusion would count neither as what it is.
pub(super) fn of_one_kind(types: &[DataType]) -> Result<()> {
    let mut intervals = types.iter().filter(|t| is_interval(t));
    let first = intervals.next();
    match intervals.find(|t| first != Some(*t)) {
        Some(other) => {
            let (first, other) = (first.map_or_else(String::new, shown), shown(other));
            let error =
                SqlError::new(SqlErrorKind::Type, format!("{first} and {other} have no type in common"));
            Err(inside(error.help("write both in months, or both in days")))
        }
        None => Ok(()),
    }
}
