//! Literals of dates, times and intervals.

use crate::ast::Interval;
use crate::cursor::{Step, accept, fail, here, text};
use crate::expression::{data_type, unit};
use flugs_sql_types::LogicalType;
use sqlparser::ast::{self, CastKind, DateTimeField, Expr, Value};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Span, Token};

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The length of an interval literal of this crate's shape; none for any other expression.
pub fn interval_of(expr: &Expr) -> Option<Interval> {
    let Expr::Interval(interval) = expr else { return None };
    let Expr::Value(value) = &*interval.value else { return None };
    let Value::SingleQuotedString(n) = &value.value else { return None };
    let n = n.parse().ok()?;
    match interval.leading_field {
        Some(DateTimeField::Month) => Some(Interval::Months(n)),
        Some(DateTimeField::Millisecond) => Some(Interval::Millis(n)),
        _ => None,
    }
}

/// `INTERVAL [sign] 'value' unit [TO unit]`; the next token is `INTERVAL`.
pub(crate) fn interval(p: &mut Parser) -> Step<Expr> {
    let start = p.next_token().span;
    let mut sign = 1;
    while matches!(p.peek_token_ref().token, Token::Minus | Token::Plus) {
        if p.next_token().token == Token::Minus {
            sign = -sign;
        }
    }
    let value = p.next_token();
    let digits = match &value.token {
        Token::SingleQuotedString(s) => s.trim().to_string(),
        Token::Number(n, _) => {
            return Err(fail(
                "the value of an interval is a string",
                value.span,
                format!("write it as '{n}'"),
            ));
        }
        _ => {
            let help = "write it as INTERVAL '10' SECOND; for a column write x * INTERVAL '1' SECOND";
            return Err(fail("the value of an interval is a string", value.span, help));
        }
    };
    let (negative, digits) = match digits.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, digits.strip_prefix('+').unwrap_or(&digits)),
    };
    if matches!(p.peek_token_ref().token, Token::EOF | Token::RParen | Token::Comma) {
        return Err(fail(
            "this interval has no unit",
            value.span,
            "write the unit behind it: INTERVAL '1' DAY",
        ));
    }
    let (from, to) = units(p)?;
    let whole = start.union(&p.get_current_token().span);
    let length =
        length(digits, from, to).map_err(|message| fail(message, value.span, expected_form(from, to)))?;
    let sign = if negative { -sign } else { sign };
    let (n, field) = match length {
        Interval::Months(n) => (n * sign, DateTimeField::Month),
        Interval::Millis(n) => (n * sign, DateTimeField::Millisecond),
    };
    Ok(Expr::Interval(ast::Interval {
        value: Box::new(text(n.to_string(), whole)),
        leading_field: Some(field),
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    }))
}

/// `unit [TO unit]`.
fn units(p: &mut Parser) -> Step<(&'static str, Option<&'static str>)> {
    let from = ranked_unit(p)?;
    let to = match accept(p, &["TO"]) {
        true => Some(ranked_unit(p)?),
        false => None,
    };
    Ok((from, to))
}

/// The units behind a difference, as in `(a - b) DAY TO SECOND`: whether they make an interval of months.
pub(crate) fn units_of_difference(p: &mut Parser) -> Step<bool> {
    let start = here(p);
    let (from, to) = units(p)?;
    let of_months = |unit| matches!(unit, "YEAR" | "QUARTER" | "MONTH");
    match to {
        Some(to) if !is_range(from, to) => {
            let span = start.union(&p.get_current_token().span);
            let help = "write YEAR TO MONTH, or DAY TO SECOND";
            Err(fail(format!("there is no interval {from} TO {to}"), span, help))
        }
        _ => Ok(of_months(from)),
    }
}

/// The units of `DAY TO SECOND` and its like, in their order.
const OF_DAYS: [&str; 4] = ["DAY", "HOUR", "MINUTE", "SECOND"];

fn is_range(from: &str, to: &str) -> bool {
    let rank = |unit: &str| OF_DAYS.iter().position(|u| *u == unit);
    (from, to) == ("YEAR", "MONTH") || rank(from).zip(rank(to)).is_some_and(|(from, to)| from < to)
}

/// A unit of an interval, with its precision behind it, which is not held against the value.
fn ranked_unit(p: &mut Parser) -> Step<&'static str> {
    let span = here(p);
    let unit = unit(p)?;
    if !matches!(
        unit,
        "YEAR" | "QUARTER" | "MONTH" | "WEEK" | "DAY" | "HOUR" | "MINUTE" | "SECOND" | "MILLISECOND"
    ) {
        return Err(fail(
            format!("an interval cannot be counted in {unit}"),
            span,
            "YEAR, MONTH, DAY, HOUR, MINUTE or SECOND",
        ));
    }
    if p.consume_token(&Token::LParen) {
        crate::cursor::number(p, "a precision")?;
        if p.consume_token(&Token::Comma) {
            crate::cursor::number(p, "a precision")?;
        }
        p.expect_token(&Token::RParen)?;
    }
    Ok(unit)
}

fn expected_form(from: &str, to: Option<&str>) -> String {
    let example = match (from, to) {
        ("YEAR", Some("MONTH")) => "'1-6' YEAR TO MONTH",
        ("DAY", Some("HOUR")) => "'1 12' DAY TO HOUR",
        ("DAY", Some("MINUTE")) => "'1 12:30' DAY TO MINUTE",
        ("DAY", Some("SECOND")) => "'1 12:30:15.5' DAY TO SECOND",
        ("HOUR", Some("MINUTE")) => "'12:30' HOUR TO MINUTE",
        ("HOUR", Some("SECOND")) => "'12:30:15.5' HOUR TO SECOND",
        ("MINUTE", Some("SECOND")) => "'30:15.5' MINUTE TO SECOND",
        (_, Some(_)) => "'1-6' YEAR TO MONTH or '1 12:30:15' DAY TO SECOND",
        ("SECOND", None) => "'1.5' SECOND",
        (unit, None) => return format!("a whole number is expected, as in INTERVAL '1' {unit}"),
    };
    format!("it is written as in INTERVAL {example}")
}

/// The length that digits and units say, without the sign.
fn length(digits: &str, from: &str, to: Option<&str>) -> Result<Interval, String> {
    let wrong = || format!("'{digits}' is not the value of such an interval");
    let too_long = || "this interval is too long".to_string();
    let millis = |parts: &[(&str, i64, i64)], fraction: i64| {
        let mut sum = fraction;
        for (digits, unit, below) in parts {
            let n = whole(digits).filter(|n| n < below).ok_or_else(wrong)?;
            sum = n.checked_mul(*unit).and_then(|n| sum.checked_add(n)).ok_or_else(too_long)?;
        }
        Ok(Interval::Millis(sum))
    };
    const ANY: i64 = i64::MAX;
    let Some(to) = to else {
        let months = |each: i64| {
            whole(digits).ok_or_else(wrong)?.checked_mul(each).ok_or_else(too_long).map(Interval::Months)
        };
        return match from {
            "YEAR" => months(12),
            "QUARTER" => months(3),
            "MONTH" => months(1),
            "WEEK" => millis(&[(digits, 7 * DAY, ANY)], 0),
            "DAY" => millis(&[(digits, DAY, ANY)], 0),
            "HOUR" => millis(&[(digits, HOUR, ANY)], 0),
            "MINUTE" => millis(&[(digits, MINUTE, ANY)], 0),
            "MILLISECOND" => millis(&[(digits, 1, ANY)], 0),
            _ => {
                let (seconds, fraction) = seconds(digits).ok_or_else(wrong)?;
                millis(&[(seconds, SECOND, ANY)], fraction)
            }
        };
    };
    if (from, to) == ("YEAR", "MONTH") {
        let (years, months) = digits.split_once('-').ok_or_else(wrong)?;
        let months = whole(months).filter(|m| *m < 12).ok_or_else(wrong)?;
        let years = whole(years).ok_or_else(wrong)?.checked_mul(12);
        return years.and_then(|y| y.checked_add(months)).map(Interval::Months).ok_or_else(too_long);
    }
    let rank = |unit: &str| OF_DAYS.iter().position(|u| *u == unit);
    let (Some(first), Some(last), true) = (rank(from), rank(to), is_range(from, to)) else {
        return Err(format!("there is no interval {from} TO {to}"));
    };
    let (digits_only, fraction) = match to {
        "SECOND" => seconds(digits).ok_or_else(wrong)?,
        _ => (digits, 0),
    };
    let parts: Vec<&str> = match digits_only.split_once(' ') {
        Some((days, rest)) if first == 0 => {
            std::iter::once(days).chain(rest.trim_start().split(':')).collect()
        }
        None if first > 0 => digits_only.split(':').collect(),
        _ => return Err(wrong()),
    };
    if parts.len() != last - first + 1 {
        return Err(wrong());
    }
    let scale = [(DAY, ANY), (HOUR, 24), (MINUTE, 60), (SECOND, 60)];
    let parts: Vec<_> = (parts.into_iter().enumerate())
        .map(|(i, digits)| (digits, scale[first + i].0, if i == 0 { ANY } else { scale[first + i].1 }))
        .collect();
    millis(&parts, fraction)
}

/// Digits and nothing else.
fn whole(digits: &str) -> Option<i64> {
    match !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        true => digits.parse().ok(),
        false => None,
    }
}

/// What stands before the point of a number of seconds, and the milliseconds behind it; further digits are cut off.
fn seconds(digits: &str) -> Option<(&str, i64)> {
    let Some((before, behind)) = digits.split_once('.') else { return Some((digits, 0)) };
    whole(behind)?;
    let millis: String = behind.chars().chain("000".chars()).take(3).collect();
    Some((before, whole(&millis)?))
}

/// `DATE 'x'`, `TIME 'x'` or `TIMESTAMP 'x'`; the next token is that word.
pub(crate) fn datetime(p: &mut Parser, word: &str) -> Step<Expr> {
    p.advance_token();
    let token = p.next_token();
    let Token::SingleQuotedString(value) = token.token else {
        return p.expected("a string in single quotes", token);
    };
    let kind = match word {
        "DATE" => is_date(&value).then_some(LogicalType::Date),
        "TIME" => time_digits(&value).map(LogicalType::Time),
        _ => timestamp_digits(&value).map(LogicalType::Timestamp),
    };
    let Some(kind) = kind else {
        let form = match word {
            "DATE" => "DATE '2024-02-29'",
            "TIME" => "TIME '23:59:59.123'",
            _ => "TIMESTAMP '2024-02-29 23:59:59.123'",
        };
        return Err(fail(
            format!("'{value}' is no {word}"),
            token.span,
            format!("it is written as in {form}"),
        ));
    };
    let expr = Box::new(text(value, token.span));
    Ok(Expr::Cast {
        kind: CastKind::Cast,
        expr,
        data_type: data_type(&kind.nullable(), None),
        array: false,
        format: None,
    })
}

fn is_date(value: &str) -> bool {
    let mut parts = value.splitn(3, '-').map(|part| if part.len() <= 4 { whole(part) } else { None });
    let (Some(Some(year)), Some(Some(month)), Some(Some(day))) = (parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// The digits behind the second, if it is a time.
fn time_digits(value: &str) -> Option<u8> {
    let (clock, fraction) = match value.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (value, None),
    };
    let parts: Vec<i64> =
        clock.split(':').map(|part| whole(part).filter(|_| part.len() <= 2)).collect::<Option<_>>()?;
    match parts.as_slice() {
        [0..=23, 0..=59, 0..=59] => {}
        [0..=23, 0..=59] if fraction.is_none() => {}
        _ => return None,
    }
    match fraction {
        Some(fraction) => whole(fraction).and_then(|_| u8::try_from(fraction.len()).ok()).filter(|n| *n <= 9),
        None => Some(0),
    }
}

fn timestamp_digits(value: &str) -> Option<u8> {
    match value.split_once([' ', 'T']) {
        Some((date, time)) if is_date(date) => time_digits(time),
        None if is_date(value) => Some(0),
        _ => None,
    }
}

/// The span of an interval literal.
pub(crate) fn interval_span(expr: &Expr) -> Option<Span> {
    match expr {
        Expr::Interval(interval) => match &*interval.value {
            Expr::Value(value) => Some(value.span),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_their_length() {
        let of = |digits, from, to| length(digits, from, to).ok();
        assert_eq!(of("10", "SECOND", None), Some(Interval::Millis(10_000)));
        assert_eq!(of("1.5", "SECOND", None), Some(Interval::Millis(1_500)));
        assert_eq!(of("0.0019", "SECOND", None), Some(Interval::Millis(1)));
        assert_eq!(of("1-2", "YEAR", Some("MONTH")), Some(Interval::Months(14)));
        assert_eq!(of("3", "QUARTER", None), Some(Interval::Months(9)));
        assert_eq!(of("10 00:00:01.5", "DAY", Some("SECOND")), Some(Interval::Millis(864_001_500)));
        assert_eq!(of("1 2", "DAY", Some("HOUR")), Some(Interval::Millis(93_600_000)));
        assert_eq!(of("100:30", "MINUTE", Some("SECOND")), Some(Interval::Millis(6_030_000)));
        for (digits, from, to) in [
            ("", "DAY", None),
            ("1.5", "DAY", None),
            ("1-12", "YEAR", Some("MONTH")),
            ("1 24:00:00", "DAY", Some("SECOND")),
            ("1:2", "DAY", Some("HOUR")),
            ("1", "MONTH", Some("DAY")),
            ("1 1", "HOUR", Some("DAY")),
            ("9223372036854775807", "DAY", None),
            ("x", "SECOND", None),
        ] {
            assert_eq!(of(digits, from, to), None, "{digits} {from}");
        }
    }

    #[test]
    fn dates_and_times_are_checked() {
        assert!(
            is_date("2024-02-29") && is_date("2000-2-9") && !is_date("2023-02-29") && !is_date("2024-13-01")
        );
        assert_eq!(time_digits("23:59:59.123"), Some(3));
        assert_eq!(time_digits("23:59"), Some(0));
        assert_eq!(time_digits("24:00:00"), None);
        assert_eq!(timestamp_digits("2024-02-29 00:00:00.123456"), Some(6));
        assert_eq!(timestamp_digits("2024-02-30 00:00:00"), None);
        assert_eq!(timestamp_digits("soon"), None);
    }
}
