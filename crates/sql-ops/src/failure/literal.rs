//! Constants as they are written in SQL.

use arrow::array::ArrayRef;
use arrow::datatypes::IntervalMonthDayNano;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion_common::ScalarValue;

const NANOS: i64 = 1_000_000_000;

/// A constant in SQL's words; nested values and bytes nearly so.
pub fn literal(value: &ScalarValue) -> String {
    match value {
        _ if value.is_null() => "NULL".to_owned(),
        ScalarValue::Boolean(Some(value)) => value.to_string().to_uppercase(),
        ScalarValue::Utf8View(Some(text)) | ScalarValue::Utf8(Some(text)) => {
            format!("'{}'", text.replace('\'', "''"))
        }
        ScalarValue::Float32(Some(value)) if value.is_finite() => format!("{value:E}"),
        ScalarValue::Float64(Some(value)) if value.is_finite() => format!("{value:E}"),
        ScalarValue::Decimal128(..) => shown("", value),
        ScalarValue::IntervalYearMonth(Some(months)) => span(&months_alone(*months)),
        ScalarValue::IntervalMonthDayNano(Some(interval)) => span(interval),
        ScalarValue::Date32(_) => shown("DATE", value),
        ScalarValue::Time32Millisecond(_) => shown("TIME", value),
        ScalarValue::TimestampSecond(..)
        | ScalarValue::TimestampMillisecond(..)
        | ScalarValue::TimestampMicrosecond(..)
        | ScalarValue::TimestampNanosecond(..) => shown("TIMESTAMP", value),
        other => other.to_string(),
    }
}

fn shown(kind: &str, value: &ScalarValue) -> String {
    match value.to_array().ok().and_then(|array| cell(&array)) {
        Some(text) if kind.is_empty() => text,
        Some(text) => format!("{kind} '{text}'"),
        None => value.to_string(),
    }
}

/// The first value of a column as a result shows it, nearly.
pub(super) fn cell(values: &ArrayRef) -> Option<String> {
    const TIMES: Option<&str> = Some("%Y-%m-%d %H:%M:%S%.f");
    let options = FormatOptions::new().with_timestamp_format(TIMES).with_timestamp_tz_format(TIMES);
    let formatter = ArrayFormatter::try_new(values.as_ref(), &options).ok()?;
    formatter.value(0).try_to_string().ok()
}

fn months_alone(months: i32) -> IntervalMonthDayNano {
    IntervalMonthDayNano::new(months, 0, 0)
}

/// An interval in the largest units that take it without a rest.
fn span(interval: &IntervalMonthDayNano) -> String {
    let written = |n: i64, unit: &str| format!("INTERVAL '{n}' {unit}");
    let mut parts = Vec::new();
    match i64::from(interval.months) {
        0 => {}
        months if months % 12 == 0 => parts.push(written(months / 12, "YEAR")),
        months => parts.push(written(months, "MONTH")),
    }
    if interval.days != 0 {
        parts.push(written(i64::from(interval.days), "DAY"));
    }
    let units = [(86_400 * NANOS, "DAY"), (3_600 * NANOS, "HOUR"), (60 * NANOS, "MINUTE"), (NANOS, "SECOND")];
    match units.into_iter().find(|(length, _)| interval.nanoseconds % length == 0) {
        Some((length, unit)) if interval.nanoseconds != 0 => {
            parts.push(written(interval.nanoseconds / length, unit));
        }
        Some(_) => {}
        None => parts.push(fraction(interval.nanoseconds)),
    }
    if parts.is_empty() { "INTERVAL '0' SECOND".to_owned() } else { parts.join(" + ") }
}

/// Seconds with what is behind the point.
fn fraction(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let (whole, rest) =
        (nanos.unsigned_abs() / NANOS.unsigned_abs(), nanos.unsigned_abs() % NANOS.unsigned_abs());
    let rest = format!("{rest:09}");
    format!("INTERVAL '{sign}{whole}.{}' SECOND", rest.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_written_as_in_sql() {
        let span = |months, days, nanos| {
            ScalarValue::IntervalMonthDayNano(Some(IntervalMonthDayNano::new(months, days, nanos)))
        };
        let cases = [
            (span(0, 0, NANOS), "INTERVAL '1' SECOND"),
            (span(0, 0, 90 * NANOS), "INTERVAL '90' SECOND"),
            (span(0, 0, 7_200 * NANOS), "INTERVAL '2' HOUR"),
            (span(0, 0, -NANOS / 4), "INTERVAL '-0.25' SECOND"),
            (span(0, 0, 0), "INTERVAL '0' SECOND"),
            (span(14, 0, 0), "INTERVAL '14' MONTH"),
            (span(24, 3, 0), "INTERVAL '2' YEAR + INTERVAL '3' DAY"),
            (ScalarValue::IntervalYearMonth(Some(12)), "INTERVAL '1' YEAR"),
            (ScalarValue::from("it's"), "'it''s'"),
            (ScalarValue::Boolean(Some(true)), "TRUE"),
            (ScalarValue::Int32(None), "NULL"),
            (ScalarValue::Float64(Some(1.5)), "1.5E0"),
            (ScalarValue::Decimal128(Some(908), 3, 3), "0.908"),
            (ScalarValue::Date32(Some(1)), "DATE '1970-01-02'"),
            (ScalarValue::TimestampMicrosecond(Some(1_500_000), None), "TIMESTAMP '1970-01-01 00:00:01.500'"),
        ];
        for (value, text) in cases {
            assert_eq!(literal(&value), text);
        }
    }
}
